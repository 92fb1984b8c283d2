"""A run that was stopped anywhere ends in the same bytes; one that is not the same run is refused."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scoring.conftest import HOSTILE, content, lines, row, write
from verikit.base import Verifier
from verikit.errors import UsageError, VerikitError
from verikit.scoring import input as reading
from verikit.scoring import run as running
from verikit.scoring.folder import Folder
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file
from verikit.scoring.sums import Commit
from verikit.types import Score

PLAN = ScoringPlan(verifier="exact", by="length(max=3)", select="majority", ks=(1, 2))
FIRST = {"prompt": "one?", "answer": "1"}
ROWS = [
    b"nonsense",
    row(1),
    row(2),
    b"",
    row(1, "a repeated id"),
    {"prompt": "no id?", "completions": ["\ud83d\ude00", "y", "y"], "answer": "y"},
    row(4, answer=None),
    b"[]",
    *(row(i) for i in range(5, 12)),
    {"prompt": "no candidates"},
]
SINGLES = [
    *({"id": "a", **FIRST, "completion": text} for text in "112"),
    b"nonsense",
    {"id": "a", **FIRST, "completion": "1"},
    {"id": "b", **FIRST, "completion": "x"},
    b"nonsense",
    b"more of it",
    {**FIRST, "completion": "1"},
    {**FIRST, "completion": "2"},
    {"id": "a", **FIRST, "completion": "a repeated id"},
]


@pytest.fixture(scope="module", params=[ROWS, SINGLES], ids=["groups", "single candidates"])
def finished(request, tmp_path_factory):
    """An input, and what an uninterrupted run of it leaves."""
    folder = tmp_path_factory.mktemp("finished")
    file = write(folder / "in.jsonl", request.param)
    score_file(str(file), PLAN, folder / "out")
    return file, content(folder / "out")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_files_cut_anywhere_under_any_chunking_end_in_the_same_bytes(finished, tmp_path_factory, data):
    file, whole = finished
    out = tmp_path_factory.mktemp("cut") / "out"
    rows = data.draw(st.integers(1, 6), label="rows a chunk")
    stop = data.draw(st.integers(0, 8), label="chunks before the stop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Verifier, "batch", rows)
        patch.setattr(reading, "MAX_ROWS", rows)
        patch.setattr(running, "Folder", stopping(stop))
        with suppress(KeyboardInterrupt):
            score_file(str(file), PLAN, out)
        patch.setattr(running, "Folder", Folder)
        for name in data.draw(st.sets(st.sampled_from(sorted(running.FILES)))):
            size = (out / name).stat().st_size if (out / name).exists() else 0
            if size:
                with open(out / name, "r+b") as stream:
                    stream.truncate(data.draw(st.integers(0, size), label=name))
        if data.draw(st.booleans(), label="tear .progress"):
            torn = (out / ".progress").read_bytes()
            (out / ".progress").write_bytes(torn[: data.draw(st.integers(0, len(torn)))])
        for limit in data.draw(st.lists(st.integers(1, 12), max_size=2), label="limits"):
            score_file(str(file), PLAN, out, limit=limit)
        score_file(str(file), PLAN, out)
    assert content(out) == whole


def stopping(after: int) -> type[Folder]:
    """A folder whose run is interrupted in the middle of a commit, after so many."""

    class Stopping(Folder):
        appended = 0

        def append(self, written, line, checksum=0):
            if self.appended == after:
                for name, data in written.items():
                    self._put(name, data[: len(data) // 2 + 1])
                raise KeyboardInterrupt
            super().append(written, line, checksum)
            self.appended += 1

    return Stopping


def test_an_interrupt_leaves_the_folder_unlocked_and_without_a_summary(finished, tmp_path, monkeypatch):
    file, whole = finished
    monkeypatch.setattr(running, "Folder", stopping(0))
    with pytest.raises(KeyboardInterrupt):
        score_file(str(file), PLAN, tmp_path / "out")
    monkeypatch.undo()
    assert not (tmp_path / "out/summary.json").exists()
    score_file(str(file), PLAN, tmp_path / "out")
    assert content(tmp_path / "out") == whole


def test_a_second_run_finds_nothing_to_do_and_leaves_the_same_bytes(finished, tmp_path, monkeypatch):
    file, whole = finished
    score_file(str(file), PLAN, tmp_path / "out")
    monkeypatch.setattr("verikit.scoring.chunk.Scorer.__call__", None)
    score_file(str(file), PLAN, tmp_path / "out")
    assert content(tmp_path / "out") == whole


def test_a_limit_finishes_the_prompt_it_falls_into(score, tmp_path):
    file = write(tmp_path / "in.jsonl", SINGLES)
    score(file, "-o", "out", "--limit", 2)
    assert [r["index"] for r in lines(tmp_path / "out/scores.jsonl")] == [0, 1, 2, 3]


def test_a_limit_below_what_is_done_says_so(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(i) for i in range(5)])
    score(file, "-o", "out")
    outcome = score(file, "-o", "out", "--limit", 2)
    assert (outcome.code, "kept beyond --limit 2" in outcome.err) == (0, True)
    assert "5 prompts" in outcome.out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("-v", "f1"), "verifier: 'exact', not 'f1'"),
        (("--by", "length(max=3)"), "by"),
        (("--select", "first"), "select"),
        (("--seed", "3"), "seed"),
        (("--map", "prompt=prompt"), "mapping"),
    ],
)
def test_an_output_made_under_another_plan_is_refused_and_kept(score, tmp_path, options, named):
    file = write(tmp_path / "in.jsonl", [row(1)])
    score(file, "-o", "out")
    before = content(tmp_path / "out")
    outcome = score(file, "-o", "out", *options)
    assert outcome.code == 2
    assert f"out was made with another {named}" in outcome.err
    assert "--restart" in outcome.err
    assert content(tmp_path / "out") == before
    assert score(file, "-o", "out", "--restart", *options).code == 0


@pytest.mark.parametrize("limit", [6, 3])
def test_another_k_is_estimated_from_the_scores_that_are_there(score, tmp_path, limit):
    file = write(tmp_path / "in.jsonl", [row(i, str(i), "no", "nor") for i in range(6)])
    score(file, "-o", "out", "--k", "1,2", "--limit", limit)
    assert score(file, "-o", "out", "--k", "3").code == 0
    assert "pass@3" in json.loads((tmp_path / "out/summary.json").read_bytes())["metrics"]
    score(file, "-o", "fresh", "--k", "3")
    assert content(tmp_path / "out") == content(tmp_path / "fresh")


def test_an_edited_verifier_is_another_one(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1)])
    code = "def v(sample):\n    return {}\n"
    for folder, value in (("a", 0), ("b", 1)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "v.py").write_text(code.format(value))
    assert score(file, "-v", f"{tmp_path}/a/v.py:v", "-o", "out").code == 0
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    config = json.loads((tmp_path / "copy/config.json").read_bytes())
    config["verifier"] = f"{tmp_path}/b/v.py:v"
    (tmp_path / "copy/config.json").write_text(json.dumps(config))
    outcome = score(file, "-v", f"{tmp_path}/b/v.py:v", "-o", "copy")
    assert (outcome.code, "the code or its release has changed" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    "other", [[row(1, "7"), row(2)], [row(1)], [row(2), row(1)], [{"prompt": "?", "completions": ["1"]}] * 2]
)
def test_another_input_in_the_place_of_the_old_one_is_refused(score, tmp_path, other):
    file = write(tmp_path / "in.jsonl", [row(1), row(2)])
    score(file, "-o", "out")
    before = content(tmp_path / "out")
    outcome = score(write(file, other), "-o", "out")
    assert outcome.code == 2
    assert "changed since the last run" in outcome.err
    assert content(tmp_path / "out") == before


def test_rows_added_to_the_end_are_scored_by_the_same_command(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(i) for i in range(3)])
    score(file, "-o", "out")
    write(file, [row(i) for i in range(5)])
    assert "5 prompts" in score(file, "-o", "out").out


def test_files_that_no_run_made_are_never_overwritten(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1)])
    (tmp_path / "scores.jsonl").write_text("mine\n")
    outcome = score(file, "-o", ".")
    assert (outcome.code, "contains scores.jsonl but no .progress" in outcome.err) == (2, True)
    assert (tmp_path / "scores.jsonl").read_text() == "mine\n"
    assert score(file, "-o", ".", "--restart").code == 0


def test_scores_that_were_edited_are_named_and_made_again(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1)])
    score(file, "-o", "out")
    whole = content(tmp_path / "out")
    scores = tmp_path / "out/scores.jsonl"
    size = scores.stat().st_size
    for edited in (b"x" * size, json.dumps({"line": 1, "x": "y" * size}).encode(), b""):
        scores.write_bytes(edited)
        outcome = score(file, "-o", "out")
        assert (outcome.code, "scores.jsonl was changed or damaged" in outcome.err) == (0, True)
        assert content(tmp_path / "out") == whole
    scores.write_bytes(b"x" * size)
    outcome = score("-", "-o", "out", stdin=file.read_bytes())
    assert (outcome.code, "stdin can be read only once" in outcome.err) == (2, True)


def flaky(tmp_path: Path, n: int = 30) -> tuple[object, ...]:
    rows = [row(i, str(i), "bad" if i % 3 == 0 else "no") for i in range(1, n + 1)]
    file = write(tmp_path / "in.jsonl", [*rows[:5], b"nonsense", *rows[5:]])
    return file, "-v", f"{HOSTILE}:flaky", "--by", f"{HOSTILE}:flaky", "--select", "best"


@pytest.mark.parametrize("jobs", [1, 2])
def test_retried_errors_end_in_the_bytes_of_a_run_without_errors(score, tmp_path, jobs):
    command = flaky(tmp_path)
    assert score(*command, "-o", "well").code == 3
    (tmp_path / "down").touch()
    assert "10 unscored: the judge is down" in score(*command, "-o", "out").out
    (tmp_path / "down").unlink()
    assert "the judge is down" in score(*command, "-o", "out").out
    outcome = score(*command, "-o", "out", "--retry-errors", "--jobs", jobs, "--fail-over", "5%")
    assert outcome.code == 0
    assert content(tmp_path / "out") == content(tmp_path / "well")


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupted_retry_keeps_what_it_scored(score, tmp_path, after):
    command = flaky(tmp_path)
    score(*command, "-o", "well")
    (tmp_path / "down").touch()
    score(*command, "-o", "out")
    (tmp_path / "down").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "MAX_ROWS", 1)
        patch.setattr(running, "Folder", stopping(after))
        assert score(*command, "-o", "out", "--retry-errors").code == 1
    score(*command, "-o", "out")
    assert sum(r["status"] == "error" for r in lines(tmp_path / "out/scores.jsonl")) == 10 - after
    score(*command, "-o", "out", "--retry-errors")
    assert content(tmp_path / "out") == content(tmp_path / "well")


def test_retrying_what_came_through_a_pipe_is_refused(score, tmp_path):
    assert "pass a file" in score("-", "--retry-errors", stdin=b"{}").err


FILES = ("a", "b")


def committed(path: Path, n: int) -> None:
    with Folder(path, FILES) as folder:
        folder.recover()
        for line in range(1, n + 1):
            folder.append({"a": b"%d\n" % line, "b": b"x" * line}, line, line)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers(0, 5), noise=st.binary(max_size=40), cuts=st.tuples(st.integers(0, 20), st.integers(0, 20)))
def test_a_folder_opens_at_the_last_commit_its_files_still_hold(tmp_path_factory, n, noise, cuts):
    path = tmp_path_factory.mktemp("folder")
    committed(path, n)
    for name, cut in zip(FILES, cuts, strict=True):
        (path / name).write_bytes((path / name).read_bytes()[:cut])
    with open(path / ".progress", "ab") as stream:
        stream.write(noise)
    with Folder(path, FILES) as folder:
        commit = folder.recover(mend=True)
    a, b = (path / "a").read_bytes(), (path / "b").read_bytes()
    assert a == b"".join(b"%d\n" % line for line in range(1, commit.line + 1))
    assert b == b"x" * sum(range(commit.line + 1))
    held = [k for k in range(n + 1) if cuts[0] >= 2 * k and cuts[1] >= k * (k + 1) // 2]
    assert commit.line == max(held)


def test_a_rewrite_is_all_or_nothing(tmp_path):
    committed(tmp_path, 2)
    with Folder(tmp_path, FILES) as folder:
        commit = folder.recover()
        with pytest.raises(ZeroDivisionError):
            folder.rewrite({"a": (b"%d" % (1 // i) for i in (1, 0))}, commit)
    with Folder(tmp_path, FILES) as folder:
        assert folder.recover() == commit
        assert not (tmp_path / ".next").exists()
        again = folder.rewrite({"a": [b"new"]}, commit)
        assert (again.line, again.checksum, again.sizes) == (2, 2, {"a": 3, "b": 3})
    # A rewrite that was decided, and killed halfway: the rest is carried out.
    (tmp_path / ".ready").mkdir()
    (tmp_path / ".ready/a").write_bytes(b"newer")
    sums = {"a": crc32(b"newer"), "b": crc32(b"xxx")}
    (tmp_path / ".ready/.progress").write_bytes(Commit(2, 2, {"a": 5, "b": 3}, sums).encode())
    with Folder(tmp_path, FILES) as folder:
        assert folder.recover().sizes == {"a": 5, "b": 3}
    assert (tmp_path / "a").read_bytes() == b"newer"


def test_a_folder_has_one_writer(tmp_path):
    with Folder(tmp_path, FILES), pytest.raises(UsageError, match="another run is writing to it"):
        Folder(tmp_path, FILES)
    with Folder(tmp_path, FILES):
        pass


def test_a_folder_that_cant_be_written_to_says_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="can't write to"):
        Folder(tmp_path / "file", FILES)
    with Folder(tmp_path / "ok", FILES) as folder:
        folder.recover()
        (tmp_path / "ok/.summary.new").mkdir()
        with pytest.raises(VerikitError, match=r"can't write .*summary"):
            folder.write_json("summary", {})


def test_an_interrupt_of_a_slow_verifier_keeps_all_but_the_row_it_was_at(score, tmp_path):
    (tmp_path / "slow.py").write_text(
        "from verikit import verifier\n@verifier\ndef slow(sample):\n"
        "    if sample.completion == '3':\n        raise KeyboardInterrupt\n    return 1.0\n"
    )
    file = write(tmp_path / "in.jsonl", [row(i, str(i)) for i in range(6)])
    assert score(file, "-v", "slow.py:slow", "-o", "out").code == 1
    assert [line["id"] for line in lines(tmp_path / "out/scores.jsonl")] == ["r0", "r1", "r2"]


def test_a_verifier_that_wants_many_samples_at_once_gets_them(tmp_path):
    sizes = []

    class Engineered(Verifier):
        name, batch = "engineered", 10

        def score_batch(self, samples):
            sizes.append(len(samples))
            return [Score(1.0)] * len(samples)

    file = write(tmp_path / "in.jsonl", [row(i, "x") for i in range(40)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScoringPlan, "load", lambda plan: (Engineered(), None, None))
        patch.setattr(running, "CHUNK_SECONDS", 0.0)
        score_file(str(file), ScoringPlan(), tmp_path / "out")
    assert sizes == [10, 10, 10, 10]


def test_a_limit_counts_rows_whatever_lines_they_are_on(score, tmp_path):
    table = 'id,prompt,completion,answer\na,"first\nline",1,1\nb,2?,2,2\nc,3?,3,3\nd,4?,4,4\n'
    (tmp_path / "in.csv").write_text(table)
    score("in.csv", "-o", "table", "--limit", 3)
    assert [r["id"] for r in lines(tmp_path / "table/scores.jsonl")] == ["a", "b", "c"]
    write(tmp_path / "in.jsonl", [b"", row(0), b"", b"", row(1), row(2), row(3)])
    score("in.jsonl", "-o", "spaced", "--limit", 3)
    assert [r["id"] for r in lines(tmp_path / "spaced/scores.jsonl") if not r["index"]] == ["r0", "r1", "r2"]


def test_a_limit_goes_on_from_what_is_done_and_counts_it(score, tmp_path):
    (tmp_path / "in.csv").write_text("id,prompt,completion,answer\n" + "".join(f"{i},{i}?,{i},{i}\n" for i in range(6)))
    for limit in (2, 4, 3):
        outcome = score("in.csv", "-o", "out", "--limit", limit)
    assert [r["id"] for r in lines(tmp_path / "out/scores.jsonl")] == ["0", "1", "2", "3"]
    assert "kept beyond --limit 3" in outcome.err
    score("in.csv", "-o", "out")
    score("in.csv", "-o", "whole")
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_first_try_in_which_nothing_was_scored_gives_way_to_the_corrected_command(score, tmp_path):
    file = write(
        tmp_path / "in.jsonl", [{"id": str(i), "prompt": "?", "completion": "1", "label": "1"} for i in range(4)]
    )
    assert score(file, "-o", "out").code == 3
    outcome = score(file, "-o", "out", "--map", "gold=label")
    assert (outcome.code, "4 scored" in outcome.out) == (0, True)
    assert "had other settings and scored no candidate: it is replaced" in outcome.err
    score(file, "-o", "whole", "--map", "gold=label")
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_rows_that_are_corrected_take_the_place_of_rows_of_which_none_was_scored(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(i, answer=None) for i in range(4)])
    assert score(file, "-o", "out").code == 3
    write(file, [row(i) for i in range(4)])
    outcome = score(file, "-o", "out")
    assert (outcome.code, "8 scored" in outcome.out) == (0, True)
    assert "had other rows and scored no candidate: it is replaced" in outcome.err


def test_a_first_try_through_a_pipe_gives_way_as_well(score, tmp_path):
    data = json.dumps({"id": "1", "prompt": "?", "completion": "1", "label": "1"}).encode()
    assert score("-", "-o", "out", stdin=data).code == 3
    assert score("-", "-o", "out", "--map", "gold=label", stdin=data).code == 0


def test_a_part_that_has_a_score_is_not_replaced(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(0, answer=None)])
    assert score(file, "-o", "out", "-v", "0.5*exact + 0.5*length(max=9)").code == 3
    before = content(tmp_path / "out")
    outcome = score(file, "-o", "out", "-v", "length(max=9)")
    assert (outcome.code, "--restart" in outcome.err) == (2, True)
    assert content(tmp_path / "out") == before


def test_the_same_command_does_not_score_again_what_could_not_be_scored(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(0, answer=None)])
    score(file, "-o", "out")
    before = content(tmp_path / "out")
    outcome = score(file, "-o", "out")
    assert "it is replaced" not in outcome.err
    assert content(tmp_path / "out") == before
