"""Grading inside lm-eval: a filter that scores all replies of a task in one batch, and functions that read its scores.

lm-eval calls a filter once with all documents and all repeats. `Graded` scores that whole batch with each metric's
verifier. `results` turns a document's scores into its metrics. An unscored reply is counted and excluded from all
metrics.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.evals.columns import Columns
from verikit.evals.docs import KEPT, STEP_SCORES, THRESHOLD, Doc
from verikit.evals.judging import judge_spec
from verikit.evals.long_tests import kept
from verikit.evals.replies import Failed, FilesReply, Noted, TurnReplies
from verikit.evals.typed import Filter
from verikit.messages import thoughts_in
from verikit.names.spec import load
from verikit.replies.split import split
from verikit.scoring.rows import from_row, to_row
from verikit.select import clusters, equality
from verikit.stats import Summary
from verikit.types import WORKSPACE, Message, Prompt, Sample, Score
from verikit.workspaces import TaskWorkspace

Grade = dict[str, Any]
"""One reply's scores by metric, as rows; its length; of several replies its cluster of equal answers and its rank."""
BY, CLUSTER, CHARS = "by", "cluster", "chars"
NOTES = (BY, CLUSTER, CHARS, STEP_SCORES, THRESHOLD)
"""Keys of a grade other than the metrics."""
AT_ONCE = 32
"""Replies of one batch, where documents have long tests."""
AT_K = ("pass@", "pass^", "maj@", "bon@")


class Graded(Filter):
    """Scores replies with one verifier per metric. The first metric is the task's own."""

    def __init__(
        self,
        metrics: Mapping[str, str],
        extract: Callable[[str], str | None] | None = None,
        judge: str | None = None,
        by: str | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Load the verifiers.

        Args:
            metrics: Maps each name to a verifier's spec. `judge:KIND` is a judge of that kind that uses the engine
                `judge`.
            extract: Extracts the answer from a reply. If it returns None, the candidate gets 0.
            judge: Spec of an engine, or of a whole judge. Without it, judged metrics are skipped.
            by: A verifier that ranks a document's replies without access to its answer, for BoN.
            columns: The documents' columns for `question`, `answer` and `id`, if they have other names.

        Raises:
            UsageError: A spec can't be parsed, or the task's own metric needs a judge and none is given.
        """
        specs = {name: judge_spec(spec, judge) for name, spec in metrics.items()}
        if (own := next(iter(specs))) and specs[own] is None:
            raise UsageError(
                "this task needs a judge", hint="--judge openai:http://host:8000/v1#model, or VERIKIT_JUDGE"
            )
        self.verifiers: dict[str, Verifier] = {name: load(spec) for name, spec in specs.items() if spec is not None}
        self.own: str = own
        self.extract: Callable[[str], str | None] | None = extract
        self.by: Verifier | None = load(by) if by else None
        self.columns: Columns = Columns(columns)

    def apply(self, resps: Iterable[Sequence[str]], docs: Sequence[Doc]) -> list[list[Grade]]:
        """Return the scores of each document's replies."""
        replies = [list(group) for group in resps]
        read = [self.columns.read(doc, position) for position, doc in enumerate(docs)]
        flat = [(doc, text) for doc, group in zip(read, replies, strict=True) for text in group]
        answers = [self.extract(split(text).reply) if self.extract else text for _, text in flat]
        fixed = [_fixed(text, answer) for (_, text), answer in zip(flat, answers, strict=True)]
        asked = [(doc, answer or "", text) for (doc, text), answer in zip(flat, answers, strict=True)]
        scored = {name: _scored(verifier, asked, fixed) for name, verifier in self.verifiers.items()}
        if self.by is not None:
            scored[BY] = _scored(self.by, [(doc, text, text) for doc, text in flat], fixed)
        grades = iter(
            [_grade(text, {name: scores[i] for name, scores in scored.items()}) for i, (_, text) in enumerate(flat)]
        )
        grouped = [[next(grades) for _ in group] for group in replies]
        for group in grouped:
            if len(group) > 1:
                self._vote(group)
        return grouped

    def _vote(self, group: Sequence[Grade]) -> None:
        own = [grade[self.own] for grade in group]
        answers = [row.get("answer") if row["value"] is not None else None for row in own]
        verifier = self.verifiers[self.own]
        alike = equality(verifier, [from_row(row) for row in own])
        for grade, cluster in zip(group, clusters(answers, *alike), strict=True):
            grade[CLUSTER] = cluster


def _fixed(text: str, answer: str | None) -> Score | None:
    """Return the score that a reply gets for any metric, if it failed to arrive or has no answer."""
    if isinstance(text, Failed):
        return Score.error(text.reason)
    return Score(0.0, reason=split(text).missing or "no answer found") if answer is None else None


def _scored(verifier: Verifier, asked: Sequence[tuple[Doc, str, str]], fixed: Sequence[Score | None]) -> list[Score]:
    """Score the unscored replies, in one batch or in small batches if documents have long tests."""
    live = [parts for parts, known in zip(asked, fixed, strict=True) if known is None]
    most = AT_ONCE if any(KEPT in doc for doc, _, _ in live) else max(1, len(live))
    scores = iter(
        [
            score
            for start in range(0, len(live), most)
            for score in verifier.score([sample(*parts) for parts in live[start : start + most]])
        ]
    )
    return [next(scores) if known is None else known for known in fixed]


@lru_cache(maxsize=1)
def _long_tests(digest: str) -> Mapping[str, Any]:
    """A document's tests; the replies to it share them."""
    found: Mapping[str, Any] = json.loads(kept(digest))
    return found


def sample(doc: Doc, answer: str, reply: str) -> Sample:
    """A reply to a document as verifiers see it; the document's own keys are its meta."""
    meta = {key: value for key, value in doc.items() if value is not None}
    if tests := meta.pop("tests", None):
        meta |= json.loads(tests)
        meta["prompt"] = doc["question"]
    if digest := meta.pop(KEPT, None):
        meta |= _long_tests(digest)
    given = meta.pop(WORKSPACE, None) or {}
    meta |= {key: value for key, value in meta_of(reply).items() if key != WORKSPACE}
    conversation = meta.pop("conversation", None)
    prompt = _prompt(doc["question"], conversation, meta.get("turns"), reply)
    golds = list(doc["answer"]) or None
    return Sample(
        prompt, answer, golds, doc["id"], meta, thoughts_in(meta_of(reply)), workspace=_workspace(given, reply)
    )


def _prompt(question: str, conversation: str | None, turns: Sequence[str] | None, reply: str) -> Prompt:
    """The question, or the conversation before the reply. `turns` are questions, each asked after the reply before."""
    if not turns:
        return json.loads(conversation) if conversation else question
    replies = reply.turns if isinstance(reply, TurnReplies) else ()
    prompt = [Message(role="user", content=turns[0])]
    for answered, asked in zip(replies, turns[1:], strict=False):
        prompt += [Message(role="assistant", content=split(answered).reply), Message(role="user", content=asked)]
    return prompt


def _workspace(given: Mapping[str, Any], reply: str) -> TaskWorkspace | None:
    """The files that an agent left, of documents and stored runs whose paths start at the root.

    The files are a part of the reply. Only verikit makes replies with files, of a folder that the user named.
    """
    return TaskWorkspace({**given, **reply.meta[WORKSPACE]}, "/") if isinstance(reply, FilesReply) else None


def meta_of(reply: str) -> Mapping[str, Any]:
    """The keys of a reply's own."""
    return reply.meta if isinstance(reply, Noted) else {}


def _means(grades: Sequence[Grade]) -> dict[str, float]:
    """Each verifier's mean over the repeats that have a score."""
    means: dict[str, float] = {}
    for name in [name for name in grades[0] if name not in NOTES]:
        values = [grade[name]["value"] for grade in grades if grade[name]["value"] is not None]
        if values:
            means[name] = sum(values) / len(values)
    return means


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, float]:
    """Return a document's metrics: each verifier's mean over the scored repeats, and the estimates at k.

    `unscored` is the fraction of replies that the task's own metric could not score because of errors or bad data.
    `unparsed` is the fraction of scored replies in which no answer was found.
    """
    grades = filtered[0]
    own = next(iter(grades[0]))
    found = _means(grades)
    scored = [grade[own] for grade in grades if grade[own]["value"] is not None]
    found["unscored"] = 1 - len(scored) / len(grades)
    if scored:
        found["unparsed"] = sum(row.get("answer") is None for row in scored) / len(scored)
    if len(grades) > 1:
        summary = Summary(ks(len(grades)))
        add(summary, grades)
        found |= {name: estimate.value for name, estimate in summary.estimates().items() if name.startswith(AT_K)}
    return found


def ks(repeats: int) -> list[int]:
    """The k that estimates are given at: powers of two above 1, and all."""
    return sorted({repeats, *(2**i for i in range(1, repeats.bit_length()))})


def add(summary: Summary, grades: Sequence[Grade]) -> None:
    """Count one document's replies by the task's own metric."""
    own = next(iter(grades[0]))
    ranking = [from_row(grade[BY]) for grade in grades] if BY in grades[0] else None
    voted = [grade.get(CLUSTER) for grade in grades]
    summary.add(
        [from_row(grade[own]) for grade in grades],
        ranking,
        voted if any(cluster is not None for cluster in voted) else None,
    )


def _grade(text: str, scores: Mapping[str, Score]) -> Grade:
    """Return the stored values of a reply: its scores, its length, and its step scores."""
    steps = {key: value for key, value in meta_of(text).items() if key in (STEP_SCORES, THRESHOLD)}
    return {name: to_row(score) for name, score in scores.items()} | {CHARS: len(split(text).reply)} | steps
