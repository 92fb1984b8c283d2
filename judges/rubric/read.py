"""Read published rubric formats: HealthBench, RubricHub, RaR, SWE-Atlas, rewardkit's TOML, PaperBench's trees.

    [{"criterion": …, "points": 5, "tags": […]}]           HealthBench, and RubricHub, whose tags name a checker
    [{"title": …, "description": …, "weight": 5}]          RaR
    [{"title": …, "annotations": {"type", "importance"}}]  SWE-Atlas, where negative ones must not be met
    [judge], [[criterion]], [scoring]                      rewardkit
    {"requirements", "weight", "sub_tasks": […]}           PaperBench
    ["States that …", …]                                   plain strings, one point each

A row may contain the list as a JSON string, as columns of parquet files do.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from verikit.base import unique_names
from verikit.errors import ConfigError, SchemaError
from verikit.judges.rubric.criteria import Criteria, Criterion

KEYS = (
    "rubric",
    "rubrics",
    "Rubrics",
    "criteria",
    "rubric_list",
    "reward_model.rubrics",
    "extra_info.rubrics",
    "extra_info.reward_model.rubrics",
)
"""Keys that are searched for a row's rubric, in this order. A dot descends into an object."""
MOST = 5000
"""Maximum criteria of one rubric."""
_TEXT = ("criterion", "requirements", "requirement", "description", "text", "question", "title")
_POINTS = ("points", "weight", "max_points")
_MUST = ("must", "must_have", "required")
_LISTS = ("criteria", "criterion", "rubrics", "rubric", "items")
_RULES = {
    "weighted-mean": "points",
    "weighted-sum": "sum",
    "all-pass": "all",
    "any-pass": "any",
    "required-pass": "required",
    "threshold": "threshold",
}
"""rewardkit's names."""
_OPAQUE = re.compile(r"[0-9a-fA-F-]{24,}")
_SLUG = 60


def read_file(path: str) -> Criteria:
    """Read a rubric from a JSON or TOML file.

    Raises:
        ConfigError: The file can't be read, or it does not contain a rubric.
    """
    try:
        text = Path(path).read_text("utf-8")
        return read(tomllib.loads(text) if path.endswith(".toml") else json.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"the rubric {path}: {error}") from None
    except SchemaError as error:
        raise ConfigError(f"the rubric {path}: {error}") from None


def in_row(meta: Mapping[str, Any], key: str = "") -> Criteria:
    """The rubric of a row.

    Args:
        meta: The row's keys.
        key: The rubric's key. A dot descends into an object. "": the first of `KEYS` that has one.

    Raises:
        SchemaError: The row has no rubric, or it can't be read.
    """
    for name in (key,) if key else KEYS:
        found = at(meta, name)
        if found is not None and found != "" and found != []:
            return read(found)
    raise SchemaError(f"the row has no rubric under {key or ', '.join(KEYS)}", field=key or KEYS[0])


def at(meta: Any, key: str) -> Any:
    """The value of a key whose dots descend into objects. None if there is no value."""
    if isinstance(meta, Mapping) and key in meta:
        return meta[key]
    for name in key.split("."):
        if not isinstance(meta, Mapping):
            return None
        meta = meta.get(name)
    return meta


def read(data: Any) -> Criteria:
    """Read a rubric in any of the formats.

    Raises:
        SchemaError: The format is unknown.
    """
    data = _opened(data)
    if isinstance(data, str):
        return _criteria([Criterion(data)])
    if isinstance(data, Mapping) and "sub_tasks" in data:
        return _criteria(list(_leaves(data)), "sum")
    if isinstance(data, Mapping):
        return _table(data)
    return _criteria([_criterion(item) for item in _listed(data)])


def _opened(data: Any) -> Any:
    """A JSON string as its value. Any other string is returned unchanged."""
    if not isinstance(data, str):
        return data
    if not data.strip():
        raise SchemaError("a rubric with no text", field="rubric")
    if data.lstrip()[0] not in "[{":
        return data
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the rubric is not JSON: {error}", field="rubric") from None


def _listed(data: Any) -> Sequence[Any]:
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
        raise SchemaError(f"a rubric is a list of criteria, not a {type(data).__name__}", field="rubric")
    if len(data) > MOST:
        raise SchemaError(f"the rubric has {len(data)} criteria, more than the limit of {MOST}", field="rubric")
    return data


def _table(data: Mapping[str, Any]) -> Criteria:
    """An object with the list under a name. `scoring`, or `rule` and `threshold`, set how it counts."""
    name = next((name for name in _LISTS if isinstance(data.get(name), (list, tuple, str))), None)
    if name is None:
        raise SchemaError(f"a rubric with no {', '.join(_LISTS)} among {', '.join(map(str, data))}", field="rubric")
    kit = "scoring" in data or "judge" in data or name == "criterion"
    scoring = data.get("scoring") or {}
    if not isinstance(scoring, Mapping):
        raise SchemaError(f"scoring must be a table, got {scoring!r}", field="scoring")
    said = scoring.get("aggregation", data.get("rule", "points"))
    rule = _RULES.get(str(said).replace("_", "-"), said)
    threshold = _number(scoring.get("threshold", data.get("threshold", 0.5)), "threshold")
    found = _opened(data[name])
    return _criteria([_criterion(item, kit=kit) for item in _listed(found)], rule, threshold)


def _criteria(items: Sequence[Criterion], rule: Any = "points", threshold: float = 0.5) -> Criteria:
    names = unique_names(item.name or slug(item.text) for item in items)
    named = [replace(item, name=name) for item, name in zip(items, names, strict=True)]
    return Criteria(tuple(named), rule, threshold)


def slug(text: str) -> str:
    """A short name for a text. Equal texts get equal names."""
    words = re.findall(r"\w+", text[: 4 * _SLUG].lower())
    name = ""
    for word in words:
        if name and len(name) + len(word) >= _SLUG:
            break
        name += f"_{word[:_SLUG]}" if name else word[:_SLUG]
    return name or "criterion"


def _criterion(item: Any, *, kit: bool = False) -> Criterion:
    """One criterion. The importance in a rewardkit file does not gate, as in rewardkit itself."""
    if isinstance(item, str):
        return Criterion(_text(item))
    key = _text_key(item)
    notes = item["annotations"] if isinstance(item.get("annotations"), Mapping) else {}
    importance = str(item.get("importance", notes.get("importance", ""))).lower().replace("_", " ")
    levels = tuple(map(str, item.get("levels") or ()))
    return Criterion(
        _text(item[key]),
        _name(item, key),
        _points(item, kit=kit),
        must=any(item.get(name) is True for name in _MUST) or (importance == "must have" and not kit),
        optional=_flag(item, "optional", "optional" in importance),
        negate=_flag(item, "negate", "negative" in str(notes.get("type", "")).lower()),
        categories=_categories(item),
        scale=_scale(item, levels),
        levels=levels,
    )


def _points(item: Mapping[str, Any], *, kit: bool) -> float:
    # The `points` of a rewardkit or Likert criterion are the size of its scale.
    names = ("weight",) if kit or item.get("type") == "likert" else _POINTS
    return _number(next((item[name] for name in names if item.get(name) is not None), 1.0), "points")


def _text_key(item: Any) -> str:
    """The key with a criterion's text."""
    if not isinstance(item, Mapping):
        raise SchemaError(f"a criterion must be a string or an object, got {item!r:.80}", field="criterion")
    for key in _TEXT:
        if isinstance(item.get(key), str) and item[key].strip():
            return key
    raise SchemaError(f"a criterion with none of {', '.join(_TEXT)}: {item!r:.120}", field="criterion")


def _text(text: str) -> str:
    if not text.strip():
        raise SchemaError("a criterion with no text", field="criterion")
    return text.strip()


def _name(item: Mapping[str, Any], key: str) -> str:
    """A name that a person gave it. Opaque ids do not count."""
    for name in ("name", "id", "title"):
        found = item.get(name)
        if name != key and isinstance(found, (str, int)) and not isinstance(found, bool):
            text = str(found).strip()
            if text and len(text) <= _SLUG and not _OPAQUE.fullmatch(text):
                return text
    return ""


def _flag(item: Mapping[str, Any], name: str, default: bool) -> bool:
    found = item.get(name, default)
    if not isinstance(found, bool):
        raise SchemaError(f"expected true or false, got {found!r}", field=name)
    return found


def _categories(item: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in ("category", "axis", "task_category", "tags"):
        value = item.get(name)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found += map(str, value)
    return tuple(dict.fromkeys(filter(None, found)))


def _scale(item: Mapping[str, Any], levels: Sequence[str]) -> tuple[float, float] | None:
    kind = item.get("type")
    if kind == "likert":
        low, high = 1.0, _number(item.get("points", 5), "points")
    elif kind == "numeric":
        low, high = _number(item.get("min", 0.0), "min"), _number(item.get("max", 1.0), "max")
    elif levels:
        low, high = 0.0, len(levels) - 1.0
    elif isinstance(item.get("scale"), list) and len(item["scale"]) == 2:
        low, high = (_number(end, "scale") for end in item["scale"])
    else:
        return None
    if not low < high:
        raise SchemaError(f"a scale from {low:g} to {high:g}", field="scale")
    return low, high


def _number(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise SchemaError(f"expected a finite number, got {value!r:.80}", field=field)
    return float(value)


def _leaves(root: Mapping[str, Any]) -> Iterator[Criterion]:
    """A tree's leaves.

    A node is the weighted mean of its children, so a leaf's points are its fraction of the whole.
    """
    stack: list[tuple[Any, float, tuple[str, ...]]] = [(root, 1.0, ())]
    found = 0
    while stack:
        node, share, path = stack.pop()
        if not isinstance(node, Mapping) or not isinstance(node.get("requirements"), str):
            raise SchemaError(f"a node with no requirements: {node!r:.120}", field="requirements")
        text, children = _text(node["requirements"]), _listed(node.get("sub_tasks") or ())
        if not children:
            found += 1
            if found > MOST:
                raise SchemaError(f"a tree of more than {MOST} leaves", field="sub_tasks")
            within = "; ".join(path[1:])
            yield Criterion(text, _name(node, "requirements"), share, categories=_categories(node), within=within)
            continue
        weights = [_weight(child) for child in children]
        total = math.fsum(weights)
        for child, weight in reversed(list(zip(children, weights, strict=True))):
            stack.append((child, share * weight / total if total else 0.0, (*path, text)))


def _weight(node: Any) -> float:
    weight = _number(node.get("weight", 1) if isinstance(node, Mapping) else None, "weight")
    if weight < 0:
        raise SchemaError("a tree's weights are not below zero", field="weight")
    return weight
