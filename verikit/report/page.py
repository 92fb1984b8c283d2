"""One self-contained HTML page: data as an inert JSON island, with verikit's script and style fixed by their hashes.

Model output is only data. It can't escape the island (every `<`, `>` and `&` in it is escaped). The script inserts text
only through `textContent`, and the page's policy allows no other script and no loading of resources.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from verikit.report.drawing import draw
from verikit.report.model import FILTERS, VERDICTS, Chart, Run, SampleItem, Text
from verikit.report.pictures import svg

SCRIPTS = ("dom.js", "charts.js", "browser.js", "sample.js", "page.js")
_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}


def render(title: str, runs: Sequence[Run], together: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the page in UTF-8. `together` has charts and tables that compare several runs of a kind."""
    strings = _Strings()
    content = {
        "title": title,
        "together": together,
        "runs": [_plain(run, strings) for run in runs],
        "filters": FILTERS,
        "verdicts": VERDICTS,
        "strings": strings.texts,
    }
    style = _asset("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_asset, SCRIPTS)) + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": policy,
        "TITLE": html.escape(title),
        "STYLE": style,
        "DATA": _json(content).translate(_ESCAPED),
        "SCRIPT": script,
    }
    pieces = _asset("page.html").split("%%")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces)).encode("utf-8", "replace")


def _json(content: Any) -> str:
    """Return JSON that browsers can read. NaN and infinity (from foreign logs or settings) become null."""
    try:
        return json.dumps(content, default=_slots, separators=(",", ":"), allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(content, default=_slots), parse_constant=lambda name: None)
        return json.dumps(finite, separators=(",", ":"))


class _Strings:
    """Strings, each stored once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._index_of: dict[str, int] = {}

    def index(self, text: str) -> int:
        if text not in self._index_of:
            self._index_of[text] = len(self.texts)
            self.texts.append(text)
        return self._index_of[text]


def _plain(run: Run, strings: _Strings) -> dict[str, Any]:
    return _slots(run) | {"items": [_item(item, strings) for item in run.items]}


def _item(item: SampleItem, strings: _Strings) -> dict[str, Any]:
    held = {"texts": [_text(text, strings) for text in item.texts]}
    return _slots(item) | held | ({"files": [_slots(file) for file in item.files]} if item.files else {})


def _text(text: Text, strings: _Strings) -> list[Any]:
    whole: list[Any] = [text.title, strings.index(text.head)]
    return [*whole, strings.index(text.tail), text.omitted] if text.omitted else whole


def _slots(value: Any) -> dict[str, Any]:
    """The fields of one of `model`'s classes; a chart also has its picture, to be saved."""
    fields = {name: getattr(value, name) for name in value.__slots__}
    return fields | {"picture": svg(draw(value))} if isinstance(value, Chart) else fields


def _asset(name: str) -> str:
    return (files("verikit.report") / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
