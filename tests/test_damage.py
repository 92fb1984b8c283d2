"""A bit that flips in any file of a run never passes in silence: the file is named, and a score run mends itself."""

import json
import random
import shutil

import pytest

from tests.scoring.conftest import content
from tests.test_folders import KINDS, files_of, verikit  # noqa: F401 - a fixture
from verikit.scoring import sums

NEVER_READ = (".lock",)
FLIPS = {"score": 12, "judge": 6, "eval": 3}


def flipped(data, draw):
    bit = draw.randrange(8 * len(data))
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("kind", FLIPS)
def test_a_flipped_bit_is_told_by_the_files_name_and_never_scored_on(verikit, tmp_path, kind):  # noqa: F811
    command, readers = KINDS[kind](tmp_path)
    assert verikit(*command)[0] == 0
    clean, run = tmp_path / "clean", tmp_path / "run"
    shutil.copytree(run, clean)
    whole = content(clean)
    names = [name for name in files_of(clean) if name not in NEVER_READ]
    assert {".progress", "config.json"} < set(names)
    draw = random.Random(0)
    for name in names:
        data = (clean / name).read_bytes()
        for _ in range(FLIPS[kind] if data else 0):
            for reader in (command, *(reader for reader in readers if reader[0] in ("report", "compare"))):
                shutil.rmtree(run)
                shutil.copytree(clean, run)
                (run / name).write_bytes(flipped(data, draw))
                code, told = verikit(*reader)
                assert f"run/{name}" in told, (reader, told)
                assert code == 2 if reader != command or kind == "judge" else code in (0, 2)
                if code == 0:
                    assert content(run) == whole


def test_only_prompts_near_the_damage_are_scored_again(verikit, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sums, "BLOCK", 256)
    rows = [
        {"id": f"p{i % 90}", "prompt": "?", "completions": ["1", "no"], "answer": str(i % 3)} if i % 7 else ["no row"]
        for i in range(1, 101)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("score", "in.jsonl", "-v", "exact", "--select", "best", "-o", "run", "-q", "--fail-over", "50%")
    assert verikit(*command)[0] == 0
    shutil.copytree(tmp_path / "run", tmp_path / "clean")
    whole = content(tmp_path / "clean")
    draw = random.Random(1)
    for name in ("scores.jsonl", "selected.jsonl", "errors.jsonl"):
        for _ in range(6):
            (tmp_path / "run" / name).write_bytes(flipped(whole[name], draw))
            code, told = verikit(*command)
            assert code == 0
            assert f"run/{name} was changed or damaged" in told
            again = int(told.partition("rescoring prompts within the first ")[2].split(" ")[0])
            assert 0 < again < (20 if name != "errors.jsonl" else 50)
            assert content(tmp_path / "run") == whole


def test_an_unfinished_run_goes_on_before_the_damage(verikit, tmp_path):  # noqa: F811
    from verikit.errors import UsageError
    from verikit.scoring.folder import Folder

    with Folder(tmp_path / "run", ("a",)) as folder:
        folder.recover()
        for line in range(1, 5):
            folder.append({"a": b"%d\n" % line}, line)
    (tmp_path / "run/a").write_bytes(b"1\n2\nX\n4\n")
    with (
        Folder(tmp_path / "run", ("a",)) as folder,
        pytest.raises(UsageError, match="run/a: changed since the run wrote it"),
    ):
        folder.recover()
    with Folder(tmp_path / "run", ("a",)) as folder:
        assert folder.recover(mend=True).line == 2
    assert (tmp_path / "run/a").read_bytes() == b"1\n2\n"


def test_a_report_in_text_and_one_of_a_run_without_checksums(verikit, tmp_path):  # noqa: F811
    command, _ = KINDS["score"](tmp_path)
    assert verikit(*command)[0] == 0
    (tmp_path / "run/.progress").unlink()
    assert verikit("report", tmp_path / "run")[0] == 0  # copied without hidden files
