"""From rows with right and wrong candidates to a rubric, in stages that resume where they stopped.

    OUT/labels/      which candidates of each question are right
    OUT/proposals/   the proposer's replies
    OUT/verdicts/    the judge's verdict on every proposed criterion, for the candidates of all other questions
    OUT/rubric.json  the criteria that separate right from wrong candidates, with points
    OUT/report.json  counts, and how well the rubric ranks candidates of held-out questions

The questions are split in three by the seed. One third proposes criteria, one third selects and weighs them, and on the
last third the rubric is measured.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from verikit.base import Verifier
from verikit.engines import Engine, Request
from verikit.errors import UsageError, raise_if_gone
from verikit.judges.match.labels import Key, Label
from verikit.judges.rubric.verifier import Rubric
from verikit.judges.rubric_synth.proposals import LabelledCandidates, most_proposed, proposal_request, read_criteria
from verikit.judges.rubric_synth.separation import JudgedCandidates, fit_weights, ranking_accuracy, separations
from verikit.platform.batches import take
from verikit.scoring.folder import Folder
from verikit.scoring.stages import begin, run_stage
from verikit.stats.intervals import mean_interval
from verikit.stats.paired import Outcomes, paired_difference
from verikit.types import PASS_MARK, Group, Sample, Score

RUBRIC, REPORT = "rubric.json", "report.json"
FEWEST = 24
"""Questions with right and wrong candidates that are required: eight for each third."""
TOP = 10.0
"""Points of the heaviest criterion."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RubricSynthesis:
    """The components and settings of the stages."""

    proposer: Engine
    judge: str
    """Engine spec of the judge."""
    truth: Verifier | Mapping[Key, Label]
    """Decides which candidates are right: a verifier, or labels by id and index."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the verifier `rubric`."""
    most: int = 24
    """Criteria that are judged at most."""
    temperature: float = 0.7
    seed: int = 0
    batch: int = 32
    """Questions per call."""


def synthesise_rubric(
    groups: Sequence[Group],
    out: Path,
    parts: RubricSynthesis,
    config: Mapping[str, Any],
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Run all stages into a folder and return the report.

    Args:
        groups: Questions with candidates, in the order of the folder's first run.
        out: The folder. It is created if absent.
        parts: Engines, truth and settings.
        config: The settings that affect the result. A folder is resumed only with the same settings.
        progress: Called with a stage's name, the number of finished items, and the total.

    Raises:
        UsageError: Too few questions have right and wrong candidates. No criterion was proposed, or none separates.
            Or the folder was created under another config.
    """
    with Folder(out, ()) as folder:
        begin(folder, config, out)

        def stage(name: str, items: Sequence[Any], work: Callable[[Sequence[Any]], list[dict[str, Any]]]) -> list[Any]:
            return run_stage(out / name, items, work, parts.batch, lambda done, total: progress(name, done, total))

        labels = stage("labels", groups, lambda batch: _labels(batch, parts.truth))
        questions = [LabelledCandidates(group, tuple(row["right"])) for group, row in zip(groups, labels, strict=True)]
        proposing, selecting, held_out = _thirds([question for question in questions if question.mixed], parts.seed)
        replies = stage("proposals", proposing, lambda batch: _propose(batch, parts))
        read = [read_criteria(row["reply"]) for row in replies]
        criteria = most_proposed(read, parts.most)
        if not criteria:
            raise UsageError(
                f"the proposer's {len(replies)} replies contain no criteria", hint=f"see {out / 'proposals'}"
            )
        judge = Rubric(parts.judge, rubric={"criteria": criteria}, **parts.options)
        rows = stage("verdicts", [*selecting, *held_out], lambda batch: _verdicts(batch, judge))
        judged = [JudgedCandidates(row["id"], row["right"], row["met"]) for row in rows]
        rubric, report = choose(criteria, judged[: len(selecting)], judged[len(selecting) :])
        report["questions"] = {
            "read": len(groups), "proposed from": len(proposing), "selected on": len(selecting),
            "held out": len(held_out),
        }  # fmt: skip
        report["criteria"] = {"proposed": sum(map(len, read))} | report["criteria"]
        folder.write_json(REPORT, report)
        if not rubric["criteria"]:
            raise UsageError(
                f"none of {len(criteria)} criteria separates right from wrong candidates on {len(selecting)} questions",
                hint=f"see {out / REPORT}. More questions or another proposer may help",
            )
        folder.write_json(RUBRIC, rubric)
    return report


def _labels(groups: Sequence[Group], truth: Verifier | Mapping[Key, Label]) -> list[dict[str, Any]]:
    if isinstance(truth, Verifier):
        samples = [sample for group in groups for sample in group.samples()]
        values = iter([score.value for score in truth.score(samples)])
    else:
        keys = ((group.id, index) for group in groups for index in range(len(group.completions)))
        labels = map(truth.get, keys)
        values = iter([None if label is None else label.value for label in labels])
    return [{"id": group.id, "right": list(map(_is_right, take(values, len(group.completions))))} for group in groups]


def _is_right(value: float | None) -> bool | None:
    return None if value is None else value >= PASS_MARK


def _thirds(questions: Sequence[LabelledCandidates], seed: int) -> list[list[LabelledCandidates]]:
    """Split questions by the seed. Rows of one id stay together."""
    ids = sorted({question.group.id for question in questions})
    if len(ids) < FEWEST:
        raise UsageError(
            f"{len(ids)} questions have right and wrong candidates, {FEWEST} are needed",
            hint="sample more candidates per question, or check the labels",
        )
    random.Random(seed).shuffle(ids)
    third = {id: place * 3 // len(ids) for place, id in enumerate(ids)}
    return [[q for q in questions if third[q.group.id] == part] for part in range(3)]


def _propose(questions: Sequence[LabelledCandidates], parts: RubricSynthesis) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"id": question.group.id, "reply": "", "error": ""} for question in questions]
    requests: dict[int, Request] = {}
    for number, question in enumerate(questions):
        try:
            requests[number] = proposal_request(question, seed=parts.seed, temperature=parts.temperature)
        except ValueError as error:
            rows[number]["error"] = f"not sent: {error}"
    generations = parts.proposer.generate(list(requests.values()))
    raise_if_gone([generation.error for generation in generations])
    for number, generation in zip(requests, generations, strict=True):
        if generation.outputs:
            rows[number]["reply"] = generation.outputs[0].text
        else:
            rows[number]["error"] = str(generation.error or "no output")
    return rows


def _verdicts(questions: Sequence[LabelledCandidates], judge: Rubric) -> list[dict[str, Any]]:
    """Verdicts on the candidates that are known to be right or wrong."""
    rows: list[dict[str, Any]] = []
    samples: list[Sample] = []
    for question in questions:
        known = [pair for pair in zip(question.group.samples(), question.right, strict=True) if pair[1] is not None]
        samples += [sample for sample, _ in known]
        rows.append({"id": question.group.id, "right": [right for _, right in known]})
    scores = judge.score(samples)
    raise_if_gone([score.cause for score in scores])
    met = iter(_values(scores, judge))
    return [row | {"met": take(met, len(row["right"]))} for row in rows]


def _values(scores: Sequence[Score], judge: Rubric) -> list[list[float | None]]:
    """The verdict on each criterion of each candidate."""
    names = [item.name for item in judge.criteria.items] if judge.criteria else []
    return [[score.parts[name].value if name in score.parts else None for name in names] for score in scores]


def choose(
    criteria: Sequence[str], selecting: Sequence[JudgedCandidates], held_out: Sequence[JudgedCandidates]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Select criteria and their points on some questions, and measure the rubric on others.

    Returns:
        The rubric, in the form of the verifier `rubric`, and the report.
    """
    found = separations(selecting, len(criteria))
    signs = {number: 1 if item.difference > 0 else -1 for number, item in enumerate(found) if item.kept}
    weights = fit_weights(selecting, signs)
    heaviest = max(weights.values(), default=0.0)
    points = {number: round(TOP * weight / heaviest, 1) for number, weight in weights.items()} if heaviest else {}
    kept = {number: value for number, value in points.items() if value > 0}
    signed = {number: signs[number] * value for number, value in kept.items()}
    items = [
        {"criterion": criteria[number], "points": value, **({"negate": True} if signs[number] < 0 else {})}
        for number, value in kept.items()
    ]
    alike = dict.fromkeys(range(len(criteria)), 1.0)
    verdicts = [verdict for question in (*selecting, *held_out) for met in question.met for verdict in met]
    report = {
        "criteria": {
            "judged": len(criteria), "separate": len(signs), "kept": len(kept), "kept share": len(kept) / len(criteria),
        },
        "verdicts": {"asked": len(verdicts), "missing": verdicts.count(None)},
        "pairs ranked rightly on held-out questions": _compared(held_out, alike, signed),
        "by criterion": [
            {
                "criterion": text, "difference": item.difference, "questions": item.questions, "p": item.p,
                "points": kept.get(number, 0.0), "fault": item.difference < 0,
            }
            for number, (text, item) in enumerate(zip(criteria, found, strict=True))
        ],
    }  # fmt: skip
    return {"criteria": items}, report


def _compared(
    questions: Sequence[JudgedCandidates], before: Mapping[int, float], after: Mapping[int, float]
) -> dict[str, Any]:
    """The ranking by all proposed criteria, one point each, beside the ranking by the rubric, on the same questions."""
    rankings = (("all, one point each", before), ("the rubric", after))
    first, second = (_accuracies(questions, name, weights) for name, weights in rankings)
    found: dict[str, Any] = {
        outcomes.metric: mean_interval(outcomes.values.values()).as_row() if outcomes.values and weights else None
        for outcomes, weights in ((first, before), (second, after))
    }
    change = paired_difference(first, second) if after else None
    if change is not None:
        found["difference"] = {"value": change.value, "low": change.low, "high": change.high, "p": change.p}
    return found


def _accuracies(questions: Sequence[JudgedCandidates], name: str, weights: Mapping[int, float]) -> Outcomes:
    """The share of a question's pairs that the weights rank rightly. Candidates of one question count once."""
    by_id: dict[str, list[float]] = {}
    for question in questions:
        share = ranking_accuracy(question, weights)
        if share is not None:
            by_id.setdefault(question.id, []).append(share)
    values = {id: fmean(shares) for id, shares in by_id.items()}
    return Outcomes("", name, values, {id: id for id in values})
