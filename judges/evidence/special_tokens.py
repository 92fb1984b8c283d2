"""Break special tokens in texts: a candidate that writes one could end its turn and open another.

A token is broken by a space after its first character, so a reader still sees it. For a model in this process, the
tokens are those added to its tokenizer. For another model they are recognised by shape: a word between angle brackets,
pipes or other marks.

HTML elements, `<answer>` (used by many replies), the types of common languages and the headers of C++ have that shape
and stay unchanged. A token that is a plain word (`sop`) has no shape.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

Clear = Callable[[str], str]
"""Breaks the special tokens of a text."""
# The elements of the HTML standard, except for those that are also names of tokens: s, img, audio, video.
_ELEMENTS = """a abbr address area article aside b base bdi bdo blockquote body br button canvas caption cite code col
colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3 h4
h5 h6 head header hgroup hr html i iframe input ins kbd label legend li link main map mark menu meta meter nav
noscript object ol optgroup option output p param picture pre progress q rp rt ruby samp script search section select
slot small source span strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr
track u ul var wbr"""
_TYPES = """int float double char bool boolean byte short long void str string number any unknown never object auto
usize isize [iuf]\\d{1,3} u?int\\d{1,2}_t size_t [A-Z] [a-rt-z] String Integer Float Double Boolean Character Long
Object Any Number"""
_HEADERS = """algorithm any array atomic bit bitset charconv chrono compare complex concepts deque exception execution
expected filesystem format functional future initializer_list iomanip ios iosfwd iostream istream iterator limits list
locale map memory mutex new numbers numeric optional ostream print queue random ranges ratio regex set span sstream
stack stdexcept streambuf string string_view system_error thread tuple typeindex typeinfo type_traits unordered_map
unordered_set utility valarray variant vector
c(?:assert|ctype|errno|float|limits|locale|math|setjmp|signal|stdarg|stddef|stdint|stdio|stdlib|string|time|uchar|wchar|wctype)"""
_LEFT = "|".join(dict.fromkeys(f"answer {_ELEMENTS} {_TYPES} {_HEADERS}".split()))
_NAMES = (
    "INST|SYS|SYSTEM|USER|BOT|BOS|EOS|EOT|EOD|EOP|SOP|CLS|SEP|PAD|UNK|IMG|IMAGE|AUDIO|VIDEO|PREFIX|SUFFIX|MIDDLE|THINK"
    r"|ARGS|TOOL|END|START|[a-z]?MASK|(?:control|unused|reserved|special|extra)_?\d{1,6}|@\w{1,30}@"
)
_SHAPES = re.compile(
    "|".join(
        (
            rf"<(?=/?(?!(?:{_LEFT})\s?/?>)(?=[^>]{{0,64}}[^\W\d_])[\w:=▁-]{{1,64}}/?>)",  # <think>, </s>, <seed:eos>
            r"<(?=/?\|[^\s<>|])",  # <|im_end|>, <|turn>
            r"(?<=[^\s<>|])\|(?=>)",  # <turn|>
            r"\[(?=\|(?=[^|]{0,64}[^\W\d_])[^\s\[\]|]{1,64}\|\])",  # [|endofturn|]
            rf"\[(?=/?(?:{_NAMES}|[A-Z0-9]{{1,30}}_[A-Z0-9_]{{1,40}})\]|/[A-Z]{{2,30}}\])",  # [INST], [TOOL_CALLS]
            r"\[(?=[^\s\[\]]{0,8}~[^\s\[\]]{0,8}\[)|\](?=[^\s\[\]]{0,8}~[^\s\[\]]{0,8}[\[\]])",  # [e~[, ]~b]
            r"\](?=<\])|\[(?=>\[)",  # ]<]image[>[
            r">(?=>[A-Z_]{2,30}<<)|\|(?=\|\|[A-Z_]{2,40}\|\|\|)",  # >>TITLE<<, |||EMAIL_ADDRESS|||
            r"◁(?=/?\w{1,30}▷)|/(?=no_?think)",  # ◁think▷, /nothink
        )
    )
)


def without_specials(text: str) -> str:
    """A text in which everything shaped like a special token is broken by a space."""
    return _broken(text, _SHAPES)


def clearing(tokenizer: Any) -> Clear:
    """A function that breaks a tokenizer's special tokens.

    If it is None or lists none, tokens are recognised by shape.
    """
    return without_specials if tokenizer is None else _clearing(tokenizer)


@lru_cache(maxsize=8)
def _clearing(tokenizer: Any) -> Clear:
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    names = {_core(token.content) for token in added if token.special or re.search(r"[^\w\s]", token.content)}
    longest = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
    if not longest:
        return without_specials
    pattern = re.compile(rf"(?=({'|'.join(map(re.escape, longest))}))(?s:.)")
    return lambda text: _broken(text, pattern)


def _core(token: str) -> str:
    """A token without the spaces at its ends, which need not be in the text."""
    return _folded(token).strip(" \t\r\n▁")


def _broken(text: str, pattern: re.Pattern[str]) -> str:
    """A text with a space after each match. A match is the first character of a token."""
    pieces, at = [], 0
    for match in pattern.finditer(_folded(text)):
        pieces.append(text[at : match.end()])
        at = match.end()
    return " ".join([*pieces, text[at:]]) if pieces else text


def _folded(text: str) -> str:
    """A text of the same length with look-alikes of ASCII characters replaced by them, as tokenizers may normalise."""
    if text.isascii():
        return text
    plain = {ord(char): unicodedata.normalize("NFKC", char) for char in set(text) if not char.isascii()}
    return text.translate({code: char for code, char in plain.items() if len(char) == 1 and char.isascii()})
