"""Multi-hop questions: converted to questions with their gold answers, and to their context passages.

Sources: HotpotQA (hotpot_train_v1.1.json, hotpotqa/hotpot_qa), 2WikiMultihopQA (Alab-NII's files; on Hugging Face
framolfese/, xanhho/ and voidful/2WikiMultihopQA), MuSiQue (StonyBrookNLP's musique_ans_v1.0 and musique_full, on
Hugging Face dgslibisey/MuSiQue), and all of these as FlashRAG repackages them (`golden_answers`, `metadata`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from verikit.convert.parts import LeftOut, decoded, gold, made, need, text, texts
from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow

BULKY = ("question", "context", "supporting_facts", "paragraphs", "question_decomposition", "metadata", "evidences")
ANSWERS = ("answer", "golden_answers", "answer_aliases", "answers_aliases")


def question(row: JsonRow, source: str) -> Iterator[JsonRow]:
    """A question with its accepted answers and the titles of its supporting passages (`gold_titles`).

    MuSiQue's unanswerable questions are skipped, and so are questions of test files, whose answers are secret.
    """
    if row.get("answerable") is False:
        raise LeftOut("not answerable")
    if not any(row.get(key) for key in ("answer", "golden_answers")):
        if any(key in row for key in ("answer", "golden_answers", "context", "paragraphs")):
            raise LeftOut("no answer")
        need(row, "answer", "golden_answers")
    found = [answer for key in ANSWERS if row.get(key) for answer in texts(row[key], key)]
    titles = _gold_titles(row)
    more: JsonRow = {"source": source} | ({"gold_titles": titles} if titles else {})
    yield made(row, text(row, "question"), gold(list(dict.fromkeys(found))), taken=(*BULKY, *ANSWERS), **more)


def beside(row: JsonRow) -> Iterator[JsonRow]:
    """The passages of a question, gold ones and distractors: {title, text}; the run drops those seen before."""
    passages = list(_passages(row))
    if not passages:
        raise SchemaError("contains no passages", field="context" if "context" in row else "paragraphs")
    for title, content in passages:
        if content.strip():
            yield {"id": "", "title": title, "text": content}


def _inner(row: JsonRow) -> Mapping[str, Any]:
    """Return the object that contains contexts: the row, or FlashRAG's `metadata`."""
    meta = row.get("metadata")
    return meta if isinstance(meta, dict) and not ({"context", "paragraphs"} & row.keys()) else row


def _gold_titles(row: JsonRow) -> list[str]:
    """Return the titles of a question's supporting passages without duplicates, in the row's order."""
    inner = _inner(row)
    if inner.get("paragraphs"):
        listed = _objects(inner["paragraphs"], "paragraphs")
        return _unique(item.get("title") for item in listed if item.get("is_supporting"))
    facts = decoded(inner.get("supporting_facts") or [], "supporting_facts")
    if isinstance(facts, dict):
        facts = facts.get("title") or []
    if not isinstance(facts, list):
        raise SchemaError("must be a list or an object", field="supporting_facts")
    return _unique(map(_title_of, facts))


def _title_of(fact: Any) -> Any:
    """The title of a fact: [title, sentence], {title: …}, or the title itself."""
    if isinstance(fact, list) and fact:
        return fact[0]
    return fact.get("title") if isinstance(fact, dict) else fact


def _unique(titles: Any) -> list[str]:
    return list(dict.fromkeys(title for title in titles if isinstance(title, str) and title.strip()))


def _passages(row: JsonRow) -> Iterator[tuple[str, str]]:
    inner = _inner(row)
    if inner.get("paragraphs"):
        for item in _objects(inner["paragraphs"], "paragraphs"):
            yield _named(item.get("title"), "paragraphs"), _joined(item.get("paragraph_text"), "paragraphs")
        return
    for item in _context(inner):
        columns = isinstance(item, dict)
        pair = [item.get("title"), item.get("sentences", item.get("content"))] if columns else item
        if not isinstance(pair, list) or len(pair) != 2:
            raise SchemaError("an item is [title, sentences]", field="context")
        yield _named(pair[0], "context"), _joined(pair[1], "context")


def _context(row: Mapping[str, Any]) -> list[Any]:
    """The items of `context`: a list, or lists of titles and sentences of one length."""
    context = decoded(row.get("context") or [], "context")
    if isinstance(context, list):
        return context
    if not isinstance(context, dict):
        raise SchemaError("must be a list or an object", field="context")
    titles, sentences = context.get("title"), context.get("sentences", context.get("content"))
    if not isinstance(titles, list) or not isinstance(sentences, list) or len(titles) != len(sentences):
        raise SchemaError("needs lists `title` and `sentences` of one length", field="context")
    return [list(pair) for pair in zip(titles, sentences, strict=True)]


def _objects(value: Any, field: str) -> list[dict[str, Any]]:
    found = decoded(value, field)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise SchemaError("is not a list of objects", field=field)
    return found


def _named(title: Any, field: str) -> str:
    if not isinstance(title, str):
        raise SchemaError("a title must be a string", field=field)
    return title


def _joined(value: Any, field: str) -> str:
    """Join sentences. HotpotQA's start with the separating space, 2Wiki's do not."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str) for part in parts):
        raise SchemaError("the sentences must be strings", field=field)
    joined = ""
    for part in parts:
        gap = " " if joined and part and not joined[-1].isspace() and not part[0].isspace() else ""
        joined += gap + part
    return joined.strip()


hotpotqa = partial(question, source="hotpotqa")
two_wiki = partial(question, source="2wiki")
musique = partial(question, source="musique")
