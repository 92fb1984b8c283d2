"""SQL as text: the query in a reply, whether its rows have an order, and the same query with its sort keys shown.

One pass over tokens, linear in the text. This module does not interpret queries; the database does that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from verikit.replies.text import tagged
from verikit.verifiers.reading.fences import fenced
from verikit.verifiers.reading.json_reply import document

LABELS = frozenset(
    {"sql", "sqlite", "sqlite3", "duckdb", "postgresql", "postgres", "mysql", "tsql", "plsql", "mariadb"}
)
"""Labels of fences that contain a query."""
_START = re.compile(r"[\s(]{0,200}(?:select|with|values|from|table)\b", re.IGNORECASE)
_LABEL = r"(?:(?:final |my |the )?(?:sql|answer|query|solution)(?: query| statement)?(?: is)?[*_]{0,2}[ \t]?:[*_]{0,2})"
_IN_PROSE = re.compile(rf"^[ \t]{{0,40}}[*_]{{0,2}}{_LABEL}?[ \t]{{0,9}}(?=(?:select|with)\s)", re.I | re.M)
_LABELLED_CODE = re.compile(rf"{_LABEL}\s{{0,9}}`([^`\n]{{1,4000}})`", re.I)
_CODE = re.compile(r"`([^`\n]{1,4000})`")
_WITH = re.compile(r"\s*with\s+(?:recursive\s+)?[\w\"`\[\]]{1,200}\s*(?:\([^()]{0,300}\)\s*)?as\b", re.I)
_NO_COLUMNS = frozenset(
    ("is", "are", "the", "and", "or", "in", "must", "can", "should", "statement", "statements", "clause", "queries")
)
"""Words that, after SELECT, mark it as a noun or a verb of prose."""
_JSON_KEYS = ("sql", "SQL", "query", "sql_query")
_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))"
    r"|(?P<text>'(?:[^']|'')*(?:'|\Z))"
    r'|(?P<name>"(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z))'
    r"|(?P<word>[A-Za-z_][\w$]*)|(?P<number>[0-9][\w.]*)|(?P<mark>.)",
    re.DOTALL,
)
_ENDS = frozenset({"limit", "offset", "fetch", "for"})
_SETS = frozenset({"union", "intersect", "except"})


class SqlToken(NamedTuple):
    """One token that is neither space nor comment."""

    kind: str
    text: str
    start: int
    end: int
    depth: int
    """How many brackets are open around it."""

    @property
    def word(self) -> str:
        """A keyword in lower case; "" for other tokens."""
        return self.text.lower() if self.kind == "word" else ""


def tokens(sql: str) -> list[SqlToken]:
    """The tokens of a query; an unclosed token runs to the end."""
    found: list[SqlToken] = []
    depth = 0
    for match in _TOKEN.finditer(sql):
        kind = str(match.lastgroup)
        if kind == "space":
            continue
        depth -= match[0] in (")", "]")
        found.append(SqlToken(kind, match[0], match.start(), match.end(), max(depth, 0)))
        depth = max(depth, 0) + (match[0] in ("(", "["))
    return found


def _fitting(blocks: Sequence[tuple[str, str]]) -> list[str]:
    """The contents of blocks labelled as SQL, or else of unlabelled blocks that start like a query."""
    labelled = [content for label, content in blocks if label in LABELS]
    return labelled or [content for label, content in blocks if not label and _begins(content)]


def query(reply: str) -> str:
    """The query of a reply, without its closing semicolon; "" if there isn't one.

    The search covers the last `<answer>` or `<sql>` tag, or else the whole reply. The first of these that occurs
    counts, and its last instance:

    - a fence labelled as SQL,
    - another fence that starts like a query,
    - a JSON object with the key `sql` or `query`,
    - the whole text if it starts like a query,
    - a place in prose, up to a semicolon or an empty line: inline code, a line that starts with SELECT or WITH, or the
      text after a label such as "Answer:".
    """
    for name in ("answer", "sql"):
        if (inner := tagged(reply, name)) is not None:
            reply = inner
            break
    blocks = [(label, content) for label, content in fenced(reply) if content.strip()]
    fitting = _fitting(blocks)
    if fitting:
        return stripped(fitting[-1])
    if (stated := _in_json(reply)) is not None:
        return stated
    if _begins(reply):
        return stripped(reply)
    return "" if blocks else _in_prose(reply)


def _in_json(reply: str) -> str | None:
    """The query in the reply's JSON object; None if it doesn't have a key for a query."""
    if not any(f'"{key}"' in reply for key in _JSON_KEYS):
        return None
    value = document(reply).value
    stated = [value[key] for key in _JSON_KEYS if key in value] if isinstance(value, dict) else []
    return stripped(stated[0]) if stated and isinstance(stated[0], str) else None


def _last_code(reply: str) -> re.Match[str] | None:
    """The last query that is inline code."""
    codes = [match for match in _CODE.finditer(reply) if _begins(match[1]) and _names_table(match[1])]
    codes += [match for match in _LABELLED_CODE.finditer(reply) if _begins(match[1])]
    return max(codes, key=lambda match: match.start(1), default=None)


def _in_prose(reply: str) -> str:
    """The last query among prose, as inline code or from the start of a line."""
    code = _last_code(reply)
    starts = [match.end() for match in _IN_PROSE.finditer(reply) if _begins(reply[match.end() : match.end() + 2000])]
    line = _statement(reply[starts[-1] :]) if starts else ""
    if code is not None and (not starts or code.start(1) >= starts[-1] + len(line)):
        return stripped(code[1])
    return stripped(line)


def _statement(text: str) -> str:
    """The text up to its first semicolon, or without one up to its first empty line."""
    ends = [token.start for token in tokens(text) if token.text == ";"]
    return text[: ends[0]] if ends else re.split(r"\n[ \t]*\n", text, maxsplit=1)[0]


def _names_table(text: str) -> bool:
    """Whether a query has a FROM with something after it, unlike inline code that only names a clause."""
    return "from" in [token.word for token in tokens(text)][1:-1]


def _begins(text: str) -> bool:
    """Whether text starts like a query, ignoring comments."""
    matches = (match for match in _TOKEN.finditer(text, 0, 2000) if match.lastgroup != "space" and match[0] != "(")
    first, second = next(matches, None), next(matches, None)
    if first is None or _START.match(first[0] + " ") is None:
        return False
    if first[0].lower() == "with":
        return _WITH.match(text, first.start()) is not None
    return first[0].lower() != "select" or second is None or second[0].lower() not in _NO_COLUMNS


def stripped(sql: str) -> str:
    """A query without its closing semicolon and the comments after it."""
    found = tokens(sql)
    while found and found[-1].text == ";":
        found.pop()
    return sql[: found[-1].end].strip() if found else ""


class SortKeys(NamedTuple):
    """The sort keys of an ordered query."""

    sql: str
    """The query with keys that are not output columns as further columns; "" if all are, or if they can't be added."""
    columns: tuple[int, ...]
    """The 1-based output column of each key; 0: the further column of its position."""
    collations: tuple[str, ...]
    """The stated collation of each key, in lower case; "" if it does not state one."""


def _is_single_select(words: Sequence[str]) -> bool:
    """Whether a query is one SELECT … FROM that keeps all its rows, so columns can be added."""
    if words.count("select") != 1 or words.count("from") != 1 or {"distinct", *_SETS} & set(words):
        return False
    return words.index("select") < words.index("from")


def _is_bracketed(found: Sequence[SqlToken]) -> bool:
    """Whether one pair of brackets encloses the whole query."""
    if len(found) <= 2 or found[0].text != "(" or found[-1].text != ")":
        return False
    return all(token.depth > found[0].depth for token in found[1:-1])


def sort_keys(sql: str) -> SortKeys | None:
    """The sort keys of the outermost ORDER BY; None if there isn't one, so the rows are a bag."""
    found = tokens(sql)
    while _is_bracketed(found):
        found = found[1:-1]
    outer = [token for token in found if token.depth == found[0].depth]
    words = [token.word for token in outer]
    starts = [i for i in range(len(words) - 1) if words[i : i + 2] == ["order", "by"]]
    if not starts:
        return None
    begin = outer[starts[-1] + 1].end
    stop = next((t.start for t in outer[starts[-1] + 2 :] if t.word in _ENDS), found[-1].end)
    collated = [_collated(_key(part)) for part in _parts(found, begin, stop)]
    keys, collations = [key for key, _ in collated], tuple(name for _, name in collated)
    named = _output_names(found, outer)
    columns = tuple(_column(key, named) for key in keys)
    if all(columns):
        return SortKeys("", columns, collations)
    if not _is_single_select(words) or found[0].depth or not all(keys):
        return SortKeys("", (0,), ("",))
    at = outer[words.index("from")].start
    shown = ", ".join("NULL" if column else f"({_source(sql, key)})" for key, column in zip(keys, columns, strict=True))
    return SortKeys(f"{sql[:at]}, {shown} {sql[at:]}", columns, collations)


def _parts(found: Sequence[SqlToken], begin: int, stop: int) -> list[list[SqlToken]]:
    """The tokens between two offsets, split at the commas outside brackets."""
    inside = [token for token in found if begin <= token.start < stop]
    parts: list[list[SqlToken]] = [[]]
    for token in inside:
        if token.text == "," and token.depth == found[0].depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _key(part: list[SqlToken]) -> list[SqlToken]:
    """A sort key without its direction."""
    if len(part) > 2 and part[-2].word == "nulls" and part[-1].word in ("first", "last"):
        part = part[:-2]
    return part[:-1] if part and part[-1].word in ("asc", "desc") else part


def _collated(key: list[SqlToken]) -> tuple[list[SqlToken], str]:
    """A sort key without its COLLATE, and the collation."""
    if len(key) > 2 and key[-2].word == "collate":
        return key[:-2], _unquoted(key[-1])
    return key, ""


def _column(key: Sequence[SqlToken], named: Sequence[str]) -> int:
    """The 1-based output column that a key is by its number or by its name; otherwise 0."""
    if len(key) != 1:
        return 0
    if key[0].kind == "number":
        return int(key[0].text) if key[0].text.isdecimal() and len(key[0].text) < 5 else 0
    name = _unquoted(key[0])
    return named.index(name) + 1 if name in named else 0


def _output_names(found: Sequence[SqlToken], outer: Sequence[SqlToken]) -> list[str]:
    """The names that a query gives its columns with AS, "" for the others; empty if a star hides their positions."""
    words = [token.word for token in outer]
    if "select" not in words or "from" not in words[words.index("select") :]:
        return []
    begin = words.index("select")
    parts = _parts(found, outer[begin].end, outer[words.index("from", begin)].start)
    if any(part and part[-1].text == "*" for part in parts):
        return []
    return [_unquoted(part[-1]) if len(part) > 2 and part[-2].word == "as" else "" for part in parts]


def _unquoted(token: SqlToken) -> str:
    """An identifier in lower case; no other token is equal to one."""
    if token.kind == "name":
        return token.text[1:-1].lower()
    return token.word or f"({token.text})"


def _source(sql: str, key: Sequence[SqlToken]) -> str:
    return sql[key[0].start : key[-1].end]
