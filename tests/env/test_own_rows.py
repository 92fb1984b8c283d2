"""Stored rollouts joined with the rows of your own data file."""

import pytest
from click.testing import CliRunner

from tests.env.test_rollouts import trace, written
from verikit.cli import cli
from verikit.env import check, read
from verikit.errors import SchemaError, UsageError


def stored(path, *tasks):
    """Traces of a task's data each, as a package of verikit's leaves them: without the reference."""
    traces = []
    for data, reply, score in tasks:
        traces.append(trace(reply, score) | {"task": {"type": "T", "data": data}})
    return written(path / "traces.jsonl", [{"id": "e", "task": {}, "traces": [item]} for item in traces])


def test_traces_without_references_get_them_from_your_own_rows(tmp_path):
    first = {"idx": 0, "id": "a", "number": 0, "prompt": "6 * 7?"}
    second = {"idx": 1, "id": "b", "number": 1, "prompt": "5 * 8?", "system_prompt": "Be brief."}
    traces = stored(tmp_path, (first, "42", 2.0), (second, "41", 0.0))
    system = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "5 * 8?"}]
    rows = [{"prompt": system, "answer": "40"}, {"question": "6 *  7?", "answer": "42", "number": 6}]
    data = written(tmp_path / "sums.jsonl", rows)
    right, wrong = read(traces, tasks=data)
    assert (right.sample.answer, right.sample.meta["number"]) == ("42", 6)  # the row's field, not the trace's
    assert (wrong.sample.answer, wrong.reward) == ("40", 0.0)
    assert check(traces, "answer", tasks=data).equal == 2
    assert check(traces, "answer").compared == 0
    done = CliRunner().invoke(cli, ["env", "check", str(tmp_path), "answer", "--with", str(data)])
    assert done.output.startswith("equal: 2 of 2")


def test_the_fields_of_your_own_rows_can_be_named(tmp_path):
    traces = stored(tmp_path, ({"prompt": "6 * 7?"}, "42", 2.0))
    data = written(tmp_path / "sums.jsonl", [{"ask": "6 * 7?", "sum": 42}])
    arguments = ["env", "check", str(traces), "answer", "--with", str(data), "--map", "prompt=ask"]
    for named in (["--map", "answer=sum"], ["--answer", "sum"]):
        assert CliRunner().invoke(cli, [*arguments, *named]).output.startswith("equal: 1 of 1")


def test_a_mapping_that_would_be_ignored_is_refused(tmp_path):
    traces = stored(tmp_path, ({"prompt": "6 * 7?"}, "42", 2.0))
    command = ["env", "check", str(traces), "answer", "--map", "prompt=ask"]
    assert "add --with FILE" in CliRunner().invoke(cli, command, standalone_mode=False).exception.hint
    gyms = written(tmp_path / "tasks.jsonl", [{"responses_create_params": {"input": "6 * 7?"}}])
    with pytest.raises(UsageError, match="fixed keys"):
        read(traces, tasks=gyms, mapping={"prompt": "ask"})


def test_rows_with_one_prompt_are_told_apart_by_id_and_never_guessed(tmp_path):
    named, unnamed = ({"prompt": "Which?", "id": "b"}, "B", 2.0), ({"prompt": "Which?", "id": "z"}, "B", 2.0)
    rows = [{"prompt": "Which?", "answer": letter.upper(), "id": letter} for letter in "ab"]
    data = written(tmp_path / "rows.jsonl", rows)
    found, error = read(stored(tmp_path, named, unnamed), tasks=data)
    assert found.sample.answer == "B"
    assert isinstance(error, SchemaError)
    assert "2 rows have this prompt and differ" in str(error)
    assert "traces.jsonl:2" in str(error)


def test_a_file_of_other_rows_is_an_error_and_no_comparison(tmp_path):
    traces = stored(tmp_path, ({"prompt": "6 * 7?"}, "42", 2.0))
    data = written(tmp_path / "others.jsonl", [{"prompt": "7 * 7?", "answer": "49"}])
    with pytest.raises(UsageError, match=r"not in .*others\.jsonl") as raised:
        check(traces, "answer", tasks=data)
    assert "--map prompt=KEY" in raised.value.hint
    data = written(tmp_path / "none.jsonl", [{"ask": "6 * 7?"}])
    with pytest.raises(SchemaError, match=r"none\.jsonl:1.*prompt is missing"):
        check(traces, "answer", tasks=data)
