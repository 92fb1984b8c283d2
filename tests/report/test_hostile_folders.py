"""Run folders of every kind that a stranger made: any text may stand in any place of any file.

What comes of one is a message, or a page whose markup is that of the untouched run: no text of a run is ever an
element, an attribute or a part of a picture's markup.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.env.audit.harbor_tasks import change, sound
from tests.report.conftest import EXAMPLES, HOSTILE, island, training_run, write
from tests.report.test_page import Parser
from verikit.errors import VerikitError
from verikit.report import Options, report

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))
ODD = [None, True, -1, 0, 1e308, 10**400, float("nan"), float("inf"), [], {}, [[]], {"a": None}, ""]
PICTURE = {"svg", "g", "path", "line", "polyline", "polygon", "rect", "circle", "text", "tspan", "title", "desc"}


def scored(verikit: Callable[..., int], folder: Path) -> Path:
    candidates = [json.loads(line) for line in (EXAMPLES / "candidates.jsonl").read_text("utf-8").splitlines()[:6]]
    write(folder / "in.jsonl", candidates)
    by = "mean(answer, length(max=80))"
    assert verikit("score", "in.jsonl", "-v", by, "--select", "majority", "-o", "run", "-q") == 0
    return folder / "run"


def judged(verikit: Callable[..., int], folder: Path) -> Path:
    spec = f"pairwise('replay:{EXAMPLES}/judge/judge.jsonl')"
    files = (EXAMPLES / "judge/ours.jsonl", EXAMPLES / "judge/theirs.jsonl")
    assert verikit("judge", *files, "-j", spec, "-o", "run", "-q", "--fail-over", "50%") == 0
    return folder / "run"


def evaluated(verikit: Callable[..., int], folder: Path) -> Path:
    pytest.importorskip("lm_eval")
    rows = [{"id": str(i), "question": f"{i}+1?", "answer": str(i + 1)} for i in range(3)]
    for name, extra in (("data.jsonl", {}), ("stored.jsonl", {"output": "\\boxed{2}"})):
        write(folder / name, [row | extra for row in rows])
    model = ("--model", "replay:stored.jsonl", "--data", "data.jsonl")
    assert verikit("eval", "verikit_math500", *model, "-o", "run", "-q") == 0
    return folder / "run"


def trained(verikit: Callable[..., int], folder: Path) -> Path:
    return training_run(folder / "run")


def audited(verikit: Callable[..., int], folder: Path) -> Path:
    write(folder / "in.jsonl", [{"id": str(i), "prompt": f"{i % 3}+1?", "answer": str(i)} for i in range(6)])
    verikit("audit", "in.jsonl", "--by", "answer", "-o", "run", "-q")
    return folder / "run"


def environments_audited(verikit: Callable[..., int], folder: Path) -> Path:
    for number in range(3):
        change(sound(folder / f"tasks/t{number}", number), "task.toml", "[agent]", "[agents]")
    verikit("env", "audit", "tasks", "-o", "run", "-q")
    return folder / "run"


KINDS = {
    "score": scored,
    "judge": judged,
    "eval": evaluated,
    "train": trained,
    "audit": audited,
    "env audit": environments_audited,
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each part of a document, the whole left out."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from places(part, (*path, key))


def changed(document: Any, draw: random.Random) -> Any:
    """The document with a hostile text or an odd value for one of its parts, or for the name of one."""
    made = copy.deepcopy(document)
    found = list(places(made))
    if not found:
        return draw.choice(HOSTILE)
    path = draw.choice(found)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    if isinstance(holder, dict) and draw.random() < 0.25:
        holder[draw.choice(HOSTILE)] = holder.pop(path[-1])
    else:
        holder[path[-1]] = draw.choice(ODD) if draw.random() < 0.2 else draw.choice(HOSTILE)
    return made


def rewritten(data: bytes, draw: random.Random) -> bytes:
    """A file of JSON, or of lines of JSON, with some parts of it changed."""
    try:
        documents, lines = [json.loads(data)], False
    except ValueError:
        documents, lines = [json.loads(line) for line in data.splitlines()], True
    for _ in range(draw.choice([1, 2, 5])):
        at = draw.randrange(len(documents))
        documents[at] = changed(documents[at], draw)
    return "\n".join(map(json.dumps, documents)).encode() + b"\n" * lines


def check(page: bytes, plain: Parser) -> None:
    """The page's markup is that of the untouched run's page, and its pictures hold shapes and texts alone."""
    found = Parser()
    found.feed(page.decode())
    assert found.tags == plain.tags
    assert [name for name, _ in found.attributes] == [name for name, _ in plain.attributes]
    for run in island(page)["runs"]:
        for chart in run["charts"]:
            for node in ElementTree.fromstring(chart["picture"]).iter():
                assert node.tag.rpartition("}")[2] in PICTURE
                assert not [name for name in node.attrib if name.startswith("on") or "href" in name]


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_in_any_place_of_a_run_is_ever_markup(
    verikit: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    run = KINDS[kind](verikit, tmp_path)
    capsys.readouterr()
    plain = Parser()
    untouched = report([run], Options())
    plain.feed(untouched.decode())
    check(untouched, plain)
    files = sorted(path for path in run.iterdir() if path.suffix in (".json", ".jsonl") and path.stat().st_size)
    draw, pages = random.Random(kind), 0
    for number in range(60 * EFFORT):
        made = tmp_path / f"made{number}"
        shutil.copytree(run, made)
        (made / ".progress").unlink(missing_ok=True)  # whoever changes a file can leave its checksum out
        path = made / draw.choice(files).name
        path.write_bytes(rewritten(path.read_bytes(), draw))
        try:
            page = report([made], Options())
        except VerikitError:
            continue
        check(page, plain)
        pages += 1
        shutil.rmtree(made)
    assert pages > 5
