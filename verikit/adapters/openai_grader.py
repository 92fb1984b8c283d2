"""A verifier as an OpenAI grader: `verikit adapter write openai-grader SPEC`.

Only verifiers that a grader can express exactly are written. Others are rejected with an error that names the part. The
row's gold answer is under `answer` and its prompt under `prompt`. Sums, `mean`, `minimum`, `maximum` and `clip` become
a formula over the parts. A verifier is recognised by its registered type, so this module does not import the judges.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from verikit.base import Verifier
from verikit.compose.combine import Clip, Combined, Constant, Mapped
from verikit.errors import UsageError
from verikit.graders.formula import FUNCTIONS, renamed
from verikit.graders.schema import Multi, read_grader
from verikit.names.registry import find

MODEL = "gpt-4.1-2025-04-14"
"""The model to write if a judge's engine names none."""
_SAID = "{{sample.output_text}}"
_EXACT = """def grade(sample, item):
    golds = item["answer"]
    golds = [golds] if isinstance(golds, str) else golds
    return float(any(sample["output_text"].strip() == gold.strip() for gold in golds))
"""
_LENGTH = """import re

def grade(sample, item):
    text = sample["output_text"]
    size = {size}
    return float(size >= {min}{most})
"""
_SIZES = {"chars": "len(text)", "words": 'len(re.findall(r"\\S+", text))', "lines": "len(text.splitlines())"}
_ROUGE = {"rouge1": "rouge_1", "rouge2": "rouge_2", "rouge3": "rouge_3", "rouge4": "rouge_4", "rougeL": "rouge_l"}
_HOLE = re.compile(r"\{(\w+)\}")


def written(verifier: Verifier) -> str:
    """Return the grader's JSON.

    Raises:
        UsageError: A grader can't express a part of the verifier.
    """
    grader = grader_of(verifier)
    read_grader(grader)
    return json.dumps(grader, indent=2, ensure_ascii=False) + "\n"


def grader_of(verifier: Verifier) -> dict[str, Any]:
    """Return the grader as a table.

    Raises:
        UsageError: A grader can't express a part of the verifier.
    """
    if _registered(verifier, "openai_grader") and verifier.reads == "reply":
        own: Any = verifier
        return _dumped(own.spec)
    graders: dict[str, dict[str, Any]] = {}
    formula = _formula(verifier, graders)
    if graders.keys() == {formula}:
        return graders[formula]
    if not graders:
        raise UsageError("a constant is not a grader")
    return {"type": "multi", "name": "verikit", "graders": graders, "calculate_output": formula}


def _formula(verifier: Verifier, graders: dict[str, dict[str, Any]]) -> str:
    """A verifier as a formula over graders, which are added."""
    if isinstance(verifier, Constant):
        return _number(verifier.value)
    if isinstance(verifier, Mapped) and isinstance(verifier.fn, Clip):
        inner = _formula(verifier.part, graders)
        return f"min(max({inner}, {_number(verifier.fn.low)}), {_number(verifier.fn.high)})"
    if isinstance(verifier, Combined):
        return _combined(verifier, [_formula(part, graders) for part in verifier.parts])
    say = _SAYABLE.get(verifier.name)
    if say is None or not _registered(verifier, verifier.name):
        raise _refused(verifier, "no OpenAI grader expresses it", f"supported: {', '.join(_SAYABLE)}, and sums of them")
    if verifier.reads != "reply":
        raise _refused(verifier, f"it reads {verifier.reads}, and sample.output_text is the reply")
    return say(verifier, graders)


def _registered(verifier: Verifier, name: str) -> bool:
    """Whether a verifier is of the type that is registered under a name."""
    return verifier.name == name and type(verifier) is find("verifiers", name)


def _combined(verifier: Combined, parts: Sequence[str]) -> str:
    if verifier.name == "sum":
        return " + ".join(f"{_number(w)} * ({part})" for w, part in zip(verifier.weights, parts, strict=True))
    if verifier.name == "mean":
        return f"({' + '.join(f'({part})' for part in parts)}) / {len(parts)}"
    if verifier.name in ("minimum", "maximum"):
        return f"{verifier.name[:3]}({', '.join(parts)})"
    raise _refused(verifier, f"{verifier.name} is not arithmetic")


def _refused(verifier: Verifier, problem: str, hint: str = "") -> UsageError:
    return UsageError(f"{verifier.name} can't be exported as an OpenAI grader: {problem}", hint=hint)


def _number(value: float) -> str:
    """A number without an exponent."""
    text = repr(float(value))
    return f"{value:.20f}".rstrip("0") if "e" in text and math.isfinite(value) else text


def _added(graders: dict[str, dict[str, Any]], name: str, grader: Mapping[str, Any]) -> str:
    """Add a grader and return its name, which is a valid identifier and not the name of a function."""
    base = re.sub(r"\W", "_", name, flags=re.ASCII)
    base = base if re.match(r"[A-Za-z_]", base) else f"_{base}"
    free = base
    for number in count(2):
        if free not in graders and free not in FUNCTIONS:
            break
        free = f"{base}_{number}"
    graders[free] = {**grader, "name": free}
    return free


def _python(graders: dict[str, dict[str, Any]], name: str, source: str) -> str:
    return _added(graders, name, {"type": "python", "source": source, "image_tag": "2025-05-08"})


def _exact(verifier: Any, graders: dict[str, dict[str, Any]]) -> str:
    if (verifier.normalizer, verifier.extract) != ("none", "whole"):
        raise _refused(verifier, "it looks for a stated answer", "exact(extract='whole') compares the whole reply")
    return _python(graders, "exact", _EXACT)


def _length(verifier: Any, graders: dict[str, dict[str, Any]]) -> str:
    most = "" if verifier.max is None else f" and size <= {verifier.max}"
    return _python(graders, "length", _LENGTH.format(size=_SIZES[verifier.unit], min=verifier.min, most=most))


def _rouge(verifier: Any, graders: dict[str, dict[str, Any]]) -> str:
    metric = _ROUGE.get(verifier.kind)
    if metric is None or verifier.measure_of != "fmeasure" or verifier.stemmer:
        raise _refused(verifier, "graders have rouge1 to rouge4 and rougeL, as F1 and without stemming")
    if verifier.extract != "whole":
        raise _refused(verifier, "it looks for a stated answer", "rouge(extract='whole') measures the whole reply")
    return _added(
        graders,
        metric,
        {"type": "text_similarity", "input": _SAID, "reference": "{{item.answer}}", "evaluation_metric": metric},
    )


def _own(verifier: Any, graders: dict[str, dict[str, Any]]) -> str:
    """A grader that was read from JSON, a multi one as a formula within the formula."""
    spec = verifier.spec
    if not isinstance(spec, Multi):
        return _added(graders, spec.name or spec.type, _dumped(spec))
    names = {name: _added(graders, name, _dumped(grader)) for name, grader in spec.graders.items()}
    return f"({renamed(spec.calculate_output, names)})"


def _dumped(spec: Any) -> dict[str, Any]:
    """Return a parsed grader's JSON. Values left to OpenAI's defaults are still omitted."""
    table: dict[str, Any] = spec.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    if isinstance(spec, Multi):
        table["graders"] = {name: {**_dumped(grader), "name": name} for name, grader in spec.graders.items()}
    if "max_tokens" in table.get("sampling_params", {}):
        table["sampling_params"]["max_completions_tokens"] = table["sampling_params"].pop("max_tokens")
    return {**table, "name": spec.name or spec.type}


def _judge(verifier: Any, graders: dict[str, dict[str, Any]]) -> str:
    reply = verifier.file.reply
    if reply.scale is None or reply.read != "text" or verifier.turns != "last":
        raise _refused(verifier, "a score_model reads a number from a reply")
    low, high = reply.scale
    note = f"\n\nGive the rating, a number from {low:g} to {high:g}, as `result`."
    grader = {"type": "score_model", "range": [low, high], **_asking(verifier, note)}
    name = _added(graders, "rating", grader)
    return f"({name} - {_number(low)}) / {_number(high - low)}"


def _reference_judge(verifier: Any, graders: dict[str, dict[str, Any]]) -> str:
    labels = verifier.file.reply.labels
    if set(labels.values()) != {0.0, 1.0}:
        raise _refused(verifier, "a label_model's labels pass or not")
    passing = [label for label, value in labels.items() if value == 1.0]
    note = f"\n\nGive the verdict, one of {', '.join(labels)}, as `result`."
    grader = {"type": "label_model", "labels": list(labels), "passing_labels": passing, **_asking(verifier, note)}
    return _added(graders, "verdict", grader)


def _check_sum(verifier: Any) -> None:
    """Raise if a rubric's value is not a sum of its criteria's points."""
    rubric = verifier.criteria
    if verifier.on_missing != "unscored":
        raise _refused(verifier, f"on_missing={verifier.on_missing!r} scores criteria that no verdict was read on")
    if rubric is None:
        raise _refused(verifier, "each row has its own rubric", "rubric(engine, rubric='FILE')")
    plain = rubric.rule in ("points", "sum") and verifier.asks == 1
    if not plain or any(item.must or item.scale for item in rubric.items):
        raise _refused(verifier, "gates, scales, repeats and rules other than points are not a sum")


def _rubric(verifier: Any, graders: dict[str, dict[str, Any]]) -> str:
    """A grader for each criterion of a rubric of all rows, and their points in the formula."""
    rubric = verifier.criteria
    _check_sum(verifier)
    labels = verifier.file.reply.labels
    terms = []
    for item in rubric.items:
        note = f"\n\nGive the verdict on the criterion, one of {', '.join(labels)}, as `result`."
        passing = [label for label, value in labels.items() if (value == 1.0) != item.negate]
        grader = {"type": "label_model", "labels": list(labels), "passing_labels": passing}
        name = _added(graders, "criterion", grader | _asking(verifier, note, criteria=verifier.listed([item])))
        terms.append(f"{_number(item.points)} * {name}")
    total = " + ".join(terms)
    formula = f"({total}) / {_number(rubric.positive)}" if rubric.rule == "points" else f"({total})"
    return f"min(max({formula}, 0), 1)" if verifier.clip else formula


def _asking(verifier: Any, note: str, **blocks: str) -> dict[str, Any]:
    """Return a model grader's input: the judge's prompt with templates, between markers that only the file contains."""
    mark = secrets.token_hex(6)
    holes = {"prompt": "{{item.prompt}}", "answer": _SAID, "reference": "{{item.answer}}", **blocks}
    shown = {"fence": mark} | {name: f"<{name} {mark}>\n{text}\n</{name} {mark}>" for name, text in holes.items()}

    def fill(hole: re.Match[str]) -> str:
        return shown.get(hole[1], hole[0])

    file = verifier.file
    turns = [(role, text) for role, text in (("system", file.system), ("user", file.user)) if text]
    messages = [{"role": role, "content": _HOLE.sub(fill, text)} for role, text in turns]
    messages[-1]["content"] += note
    engine = verifier.engine if isinstance(verifier.engine, str) else ""
    model = engine.partition("#")[2] if engine.startswith("openai:") else ""
    sampling = {"temperature": file.sampling.temperature, "max_completions_tokens": file.sampling.max_tokens}
    return {"model": model or MODEL, "input": messages, "sampling_params": sampling}


_SAYABLE: Mapping[str, Callable[[Any, dict[str, dict[str, Any]]], str]] = {
    "exact": _exact,
    "judge": _judge,
    "length": _length,
    "openai_grader": _own,
    "reference_judge": _reference_judge,
    "rouge": _rouge,
    "rubric": _rubric,
}
"""Writers by registered name. The type is also checked, since a custom type of that name may differ."""
