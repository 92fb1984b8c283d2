"""Send several criteria in one request, and read a verdict on each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from verikit.engines import Engine, Generation, Request
from verikit.engines.usage import added, counted
from verikit.errors import EngineError
from verikit.judges.asking.ask import correction, reminder, unless_cut, unless_false
from verikit.judges.asking.contradicted import CONTRADICTED, opposite_criteria
from verikit.judges.asking.prompt import JudgePrompt
from verikit.judges.asking.reply import JudgeVerdict, ReplyFormat
from verikit.judges.evidence.cited import FalseCitation
from verikit.judges.rubric.criteria import Criterion
from verikit.replies.split import split

_MARK = "◆"
"""Replaces a request's mark while its reply is read. Patterns are then built only once.

It is a single character, so removing it from a text can't leave another one behind.
"""
_HOLE = re.compile(r"\{(number|text|points|form)\}")


@dataclass(frozen=True, slots=True)
class Question:
    """One request and its criteria, by their numbers in it."""

    request: Request
    criteria: tuple[Criterion, ...]

    @property
    def mark(self) -> str:
        """The mark around quoted texts, which verdicts also contain."""
        return str(self.request.meta["fence"])


def listed(criteria: Sequence[Criterion], prompt: JudgePrompt) -> str:
    """The criteria as the prompt shows them, numbered from 1."""
    labels = sorted(prompt.reply.labels, key=lambda label: -prompt.reply.labels[label])
    lines = []
    for number, item in enumerate(criteria, 1):
        text = f"{item.text} (part of: {item.within})" if item.within else item.text
        holes = {"number": f"{number}", "text": text, "points": f"{item.points:g}", "form": item.form(*labels[:2])}
        lines.append(_HOLE.sub(lambda hole, holes=holes: holes[hole[1]], prompt.criterion))  # type: ignore[misc]
    return "\n".join(lines)


def formats(question: Question, reply: ReplyFormat) -> list[ReplyFormat]:
    """How the verdict on each criterion of a question is written in the reply.

    The mark in it is `_MARK`, unless verdicts are read at their tokens, which are unchanged from the engine.
    """
    found, mark = [], question.mark if reply.read == "logprobs" else _MARK
    for number, item in enumerate(question.criteria, 1):
        find = reply.find.replace("{fence}", mark).replace("{number}", str(number))
        labels = {} if item.scale else reply.labels
        where = "line_end" if reply.where == "end" else reply.where  # one line per criterion
        found.append(replace(reply, find=find, where=where, labels=labels, scale=item.scale))
    return found


def ask_all(
    engine: Engine, questions: Sequence[Question], prompt: JudgePrompt, *, retry: bool = False
) -> list[list[JudgeVerdict]]:
    """Send all requests in one call and read each criterion's verdict.

    With `retry`, a request that left some criterion without a verdict is retried once, and so is a reply with a false
    citation in any case. Verdicts of the first reply stay. The usage of a request is attached to its first verdict.
    """
    if not questions:
        return []
    generations = engine.generate([question.request for question in questions])
    found = [_read(asked, prompt.reply, got) for asked, got in zip(questions, generations, strict=True)]
    again: dict[int, Request] = {}
    for i, (question, verdicts) in enumerate(zip(questions, found, strict=True)):
        remark = _remark(verdicts, prompt.remind.replace("{fence}", question.mark), retry)
        if remark is not None:
            again[i] = reminder(question.request, verdicts[0].reply, remark)
    for i, got in zip(again, engine.generate(list(again.values())) if again else [], strict=True):
        found[i] = _both(found[i], _read(questions[i], prompt.reply, got))
    return found


def _remark(verdicts: Sequence[JudgeVerdict], remind: str, retry: bool) -> str | None:
    """The text to retry a request with. None if it isn't retried."""
    false = next((each.error for each in verdicts if isinstance(each.error, FalseCitation)), None)
    if false is not None:
        return correction(false, remind)
    return remind if retry and any(map(_unread, verdicts)) else None


def _unread(verdict: JudgeVerdict) -> bool:
    return verdict.error is not None and not isinstance(verdict.error, EngineError)


def _both(first: Sequence[JudgeVerdict], second: Sequence[JudgeVerdict]) -> list[JudgeVerdict]:
    """The first verdicts, replaced by the second if they were unreadable. The replies are concatenated."""
    reply = "\n\n".join(filter(None, (first[0].reply, second[0].reply)))
    chosen = [pair[_unread(pair[0])] for pair in zip(first, second, strict=True)]
    usage = added(first[0].usage, second[0].usage)
    return [replace(verdict, reply=reply, usage={} if i else usage) for i, verdict in enumerate(chosen)]


def _read(question: Question, reply: ReplyFormat, generation: Generation) -> list[JudgeVerdict]:
    error: Exception | None = generation.error
    if error is None and not generation.outputs:
        error = EngineError("the engine gave no output")
    if error is not None:
        found = [JudgeVerdict(None, error=error) for _ in question.criteria]
    else:
        said = generation.outputs[0]
        output = said
        if reply.read == "text":
            output = replace(said, text=said.text.replace(_MARK, "").replace(question.mark, _MARK))
        asked = question.request
        read = [unless_cut(form.parse(output), said, asked.max_tokens) for form in formats(question, reply)]
        found = [replace(unless_false(verdict, said, asked), reply=said.text) for verdict in read]
    usage = counted(generation)
    if error is None:
        reasons = reply.reasons(split(generation.outputs[0].text).reply)
        usage |= {CONTRADICTED: float(wrong)} if (wrong := opposite_criteria(reasons, found)) else {}
    found[0] = replace(found[0], usage=usage)
    return found
