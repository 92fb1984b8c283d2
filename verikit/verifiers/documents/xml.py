"""Is the text XML of the right shape?

Expat reads it and rejects every entity declaration before its use. Entities are neither expanded nor fetched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.parsers import expat

from verikit.base import TextVerifier
from verikit.errors import MissingExtra, UsageError
from verikit.types import Sample, Score
from verikit.verifiers.reading.fences import fenced

_LABELS = frozenset({"xml", "svg", "xhtml", "html", "rss", "xsd", "xsl"})
_START = re.compile(r"<(?:\?xml\b|!DOCTYPE\b|!--|[A-Za-z_])")
_MOST_OPEN = 200
_SEPARATOR = "\x01"
"""Separates a name's namespace, local part and prefix; a character that XML can't contain."""


@dataclass(frozen=True)
class Xml(TextVerifier):
    """1.0 if the XML in the completion is well-formed and valid under the schema, if there is one.

    The XML is the last fence with that label, or the text from the first tag to the last. Invalid are declarations of
    entities, an element nested more than 200 deep, and a prefix without a declared namespace.
    """

    schema: str = ""
    """An XML Schema (XSD), or the path of its file. Requires lxml. "": any well-formed document."""
    root: str = ""
    """The name of the root element, with its prefix if it has one. "": any."""
    max_chars: int = 100_000
    """A longer completion is 0.0 without being read."""
    name = "xml"
    local_files = ("schema",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_chars < 1:
            raise UsageError(f"max_chars must be at least 1, got {self.max_chars!r}")
        if self.schema and not self.schema.lstrip().startswith("<"):
            try:
                object.__setattr__(self, "schema", Path(self.schema).read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise UsageError(f"can't read the XML schema {self.schema[:80]!r}: {error}") from None
        if self.schema and find_spec("lxml") is not None:
            _validator(self.schema)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately.

        Raises:
            MissingExtra: There is a schema, and lxml is not installed.
        """
        if self.schema and find_spec("lxml") is None:
            raise MissingExtra("xml with a schema", "text")
        return [self._score_sample(sample.completion) for sample in samples]

    def _score_sample(self, reply: str) -> Score:
        if len(reply) > self.max_chars:
            return Score(0.0, reason=f"{len(reply)} characters, over the cap of {self.max_chars}")
        body = _document(reply)
        if not body:
            return Score(0.0, reason="no XML in the reply")
        root, problem = _parsed(body)
        if not problem and self.root and root != self.root:
            problem = f"the root is {root[:80]!r}, not {self.root!r}"
        problem = problem or (_fault(self.schema, body) if self.schema else "")
        return Score(float(not problem), answer=body, reason=problem[:200] or "well-formed")


def _document(reply: str) -> str:
    marked = [content for label, content in fenced(reply) if label in _LABELS]
    text = marked[-1] if marked else reply
    start, end = _START.search(text), text.rfind(">")
    return text[start.start() : end + 1] if start and end > start.start() else ""


def _parsed(body: str) -> tuple[str, str]:
    """The root's name, and the problem with the document."""
    names: list[str] = []
    depth = deepest = 0

    def opened(name: str, _: object) -> None:
        nonlocal depth, deepest
        depth += 1
        deepest = max(depth, deepest)
        if deepest > _MOST_OPEN:
            raise ValueError(f"nested more than {_MOST_OPEN} deep")
        if not names:
            names.append(_qualified(name))

    def closed(_: str) -> None:
        nonlocal depth
        depth -= 1

    def declared(*_: object) -> int:
        raise ValueError("a declaration of an entity")

    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=_SEPARATOR)
    parser.namespace_prefixes = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.EntityDeclHandler = parser.UnparsedEntityDeclHandler = declared
    parser.ExternalEntityRefHandler = declared
    try:
        parser.Parse(body.encode("utf-8", "surrogatepass"), True)
    except (expat.ExpatError, ValueError) as problem:
        return "", f"not XML: {problem}"
    return names[0], ""


def _qualified(name: str) -> str:
    """A name as written in the document, from expat's triple of namespace, local part and prefix."""
    parts = name.split(_SEPARATOR)
    return f"{parts[-1]}:{parts[-2]}" if len(parts) > 2 else parts[-1]


def _fault(schema: str, body: str) -> str:
    import lxml.etree as etree

    try:
        tree = etree.fromstring(re.sub(r"\A<\?xml[^>]{0,200}\?>", "", body).encode("utf-8"), _strict())
    except etree.XMLSyntaxError as problem:
        return f"not XML: {problem}"
    validator = _validator(schema)
    if validator.validate(tree):
        return ""
    return str(validator.error_log[0].message) if len(validator.error_log) else "the schema rejects it"


def _strict() -> Any:
    import lxml.etree as etree

    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False)


@lru_cache(maxsize=16)
def _validator(schema: str) -> Any:
    import lxml.etree as etree

    try:
        return etree.XMLSchema(etree.fromstring(schema.encode("utf-8"), _strict()))
    except (etree.XMLSyntaxError, etree.XMLSchemaParseError) as error:
        raise UsageError(f"bad XML schema: {str(error)[:200]}") from None
