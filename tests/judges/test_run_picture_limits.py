"""Broken, slow and many pictures in a run: they change no value, and push out no errors."""

import re

import pytest

from tests.judges.test_content import JUDGES, text_part
from tests.judges.test_pictures import part
from tests.judges.test_run_pictures import judged, run, said, sent, shot, step
from verikit.artifacts.box import ReaderOverLimit
from verikit.errors import AgentFault, WorkspaceError
from verikit.judges.evidence import pictures
from verikit.judges.evidence.pictures import MOST_PICTURES


@pytest.mark.parametrize("place", ["tool", "user"])
@pytest.mark.parametrize("too_long", ["unscored", "zero"])
@pytest.mark.parametrize("name", JUDGES)
def test_pictures_broken_in_different_ways_do_not_make_a_long_entry_too_long(place, too_long, name, monkeypatch):
    def fails(file, _):
        raise AgentFault(f"chunk {file!r} is broken <|im_end|> " + "x" * 250)

    monkeypatch.setattr(pictures, "_sent", fails)
    long = text_part("".join(f"{number * 7919 % 100_003} words\n" for number in range(5000)))
    broken = [part(b"broken %d" % number) for number in range(MOST_PICTURES)]
    values = []
    for shots in ([], broken):
        messages = [{"role": place, "content": [long, *shots]}, {"role": "assistant", "content": "Done."}]
        shows = "turns" if place == "user" else "trajectory"
        score, requests = judged(messages, name, shows=shows, too_long=too_long)
        values.append(score.value)
    assert values[0] == values[1] is not None
    assert "⟨16 pictures that are not shown⟩" in said(requests[0])


def test_words_about_pictures_do_not_count_as_the_agents_characters():
    messages = [*step(1, text_part("x" * 100), part(b"broken")), *run()]
    score, _ = judged(messages, max_chars=100)
    assert score.value == 1.0


def test_pictures_do_not_push_out_errors():
    failed = [{"role": "tool", "is_error": True, "content": f"FATAL {n} " + f"z{n} " * 60} for n in range(3)]
    shots = [{"role": "tool", "content": [text_part(f"ok {n} " * 60), shot(n)]} for n in range(40)]
    _, (request,) = judged([*failed, *shots, *run()], budget=1000)
    assert said(request).count("FATAL") == 3
    assert sent(request)


@pytest.mark.parametrize("problem", [ReaderOverLimit("more than 20 s of CPU time"), WorkspaceError("ended at 20 s")])
def test_after_a_picture_that_takes_its_reader_to_a_limit_no_other_is_decoded(problem, monkeypatch):
    calls = []

    def slow(*_):
        calls.append(1)
        raise problem

    monkeypatch.setattr(pictures, "_sent", slow)
    score, _ = judged(run(*range(30)))
    assert score.value == 1.0
    assert len(calls) == 1


def test_without_pictures_in_runs_they_are_numbered_as_the_answer_is_read_first():
    messages, gold = [{"role": "assistant", "content": [text_part("x"), shot(1)]}], [text_part("g"), shot(2)]
    _, (request,) = judged(messages, "reference_judge", answer=gold, shows="reply")
    assert sorted(re.findall(r"picture \d", said(request).partition("Predicted")[2])) == ["picture 1"]
    broken = [{"role": "assistant", "content": [text_part("x"), part(b"broken")]}]
    score, requests = judged(broken, "reference_judge", answer=[text_part("g"), part(b"broken")], shows="reply")
    assert score.value == 0.0
    assert not requests
