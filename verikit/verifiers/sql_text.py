"""SQL as text: the query in a reply, whether its rows have an order, and the same query with its sort keys shown.

One pass over tokens, linear in the text. Nothing here says what a query means; the database does that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from verikit.text import tagged
from verikit.verifiers.fences import fenced

LABELS = frozenset(
    {"sql", "sqlite", "sqlite3", "duckdb", "postgresql", "postgres", "mysql", "tsql", "plsql", "mariadb"}
)
"""Labels of fences that hold a query."""
_START = re.compile(r"[\s(]{0,200}(?:select|with|values|from|table)\b", re.IGNORECASE)
_IN_PROSE = re.compile(r"^[ \t]{0,40}(?:sql(?:[ \t]query)?[ \t]?:[ \t]{0,9})?(?=(?:select|with)\s)", re.I | re.M)
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
    """One token that is no space and no comment."""

    kind: str
    text: str
    start: int
    end: int
    depth: int
    """How many brackets are open around it."""

    @property
    def word(self) -> str:
        """A keyword in lower case; "" for everything else."""
        return self.text.lower() if self.kind == "word" else ""


def tokens(sql: str) -> list[SqlToken]:
    """The tokens of a query; what is never closed runs to the end."""
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


def query(reply: str) -> str:
    """The query of a reply, without its closing semicolon; "" where there is none.

    It is looked for in the last `<answer>` or `<sql>` tag, else in the whole reply: the last fence labelled as SQL, the
    last other fence that begins like a query, the whole text where that does, and the last line of prose that begins
    with SELECT or WITH, up to a semicolon or an empty line.
    """
    for name in ("answer", "sql"):
        if (inner := tagged(reply, name)) is not None:
            reply = inner
            break
    blocks = [(label, content) for label, content in fenced(reply) if content.strip()]
    labelled = [content for label, content in blocks if label in LABELS]
    fitting = labelled or [content for label, content in blocks if not label and _begins(content)]
    if fitting:
        return stripped(fitting[-1])
    if _begins(reply):
        return stripped(reply)
    starts = [] if blocks else [match.end() for match in _IN_PROSE.finditer(reply)]
    if not starts:
        return ""
    said = reply[starts[-1] :]
    ends = [token.start for token in tokens(said) if token.text == ";"]
    return stripped(said[: ends[0]] if ends else re.split(r"\n[ \t]*\n", said, maxsplit=1)[0])


def _begins(text: str) -> bool:
    """Whether a text, comments aside, begins like a query."""
    first = next(iter(tokens(text[:2000])), None)
    return first is not None and _START.match(text, first.start) is not None


def stripped(sql: str) -> str:
    """A query without its closing semicolon and the comments after it."""
    found = tokens(sql)
    while found and found[-1].text == ";":
        found.pop()
    return sql[: found[-1].end].strip() if found else ""


class SortKeys(NamedTuple):
    """What the rows of an ordered query are sorted by."""

    sql: str
    """The query with keys that are no output column as further columns; "" if there are none such, or no way to."""
    columns: tuple[int, ...]
    """Of each key the 1-based output column it is; 0: the further column of its position."""
    collations: tuple[str, ...]
    """Of each key the collation it states, in lower case; "" where it states none."""


def sort_keys(sql: str) -> SortKeys | None:
    """What the outermost ORDER BY sorts by; None where there is none, so that the rows are a bag."""
    found = tokens(sql)
    while (
        len(found) > 2
        and found[0].text == "("
        and found[-1].text == ")"
        and all(t.depth > found[0].depth for t in found[1:-1])
    ):
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
    single = words.count("select") == words.count("from") == 1 and not {"distinct", *_SETS} & set(words)
    if not single or found[0].depth or not all(keys) or words.index("from") < words.index("select"):
        return SortKeys("", (0,), ("",))
    at = outer[words.index("from")].start
    shown = ", ".join("NULL" if column else f"({_source(sql, key)})" for key, column in zip(keys, columns, strict=True))
    return SortKeys(f"{sql[:at]}, {shown} {sql[at:]}", columns, collations)


def _parts(found: Sequence[SqlToken], begin: int, stop: int) -> list[list[SqlToken]]:
    """The tokens between two offsets, cut at the commas that are in no brackets."""
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
    """The 1-based output column that a key is by its number or by its name; else 0."""
    if len(key) != 1:
        return 0
    if key[0].kind == "number":
        return int(key[0].text) if key[0].text.isdecimal() and len(key[0].text) < 5 else 0
    name = _unquoted(key[0])
    return named.index(name) + 1 if name in named else 0


def _output_names(found: Sequence[SqlToken], outer: Sequence[SqlToken]) -> list[str]:
    """The names that a query gives its columns with AS, "" for the others; none where a star hides their positions."""
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
