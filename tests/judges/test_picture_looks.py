"""Looks at entries of a run that have pictures."""

import pytest

from tests.judges.scripted import Scripted
from tests.judges.test_pictures import opened, part, stored
from tests.judges.test_run_pictures import judged, parts_of, run, said, sent, shot, step
from verikit.judges import Pointwise
from verikit.types import Sample
from verikit.workspaces import Workspace


def looked(messages, *looks, **options):
    """The last request of a judge that takes these looks."""
    replies = iter([*looks, "[[10]]"])
    score, requests = judged(messages, rule=lambda _: next(replies), looks=3, **options)
    assert score.value == 1.0, score
    return requests[-1]


def test_a_look_at_an_entry_sends_its_picture():
    request = looked(run(*range(30)), "LOOK step 4")
    assert sent(request, 0) == [0, *range(19, 30)], "four places are left to looks"
    assert "entry #N and its pictures." in said(request, 0)
    assert sent(request) == [1]
    assert "picture 1 below" in said(request)
    assert said(request).count(request.meta["run_fence"]) == 2
    assert "You may look 2 more times" in said(request)


def test_looks_at_pictures_are_limited_and_hostile_ones_are_told():
    many = [*step(1), *step(2, *map(shot, range(10, 20))), *step(3, part(b"broken")), *run()]
    request = looked(many, "LOOK step 4", "LOOK step 2", look_pictures=3)
    assert sent(request, 2) == [10, 18, 19]
    assert "⟨7 pictures that are not shown⟩" in said(request, 2)
    assert sent(request) == []
    assert "⟨a picture that is not shown⟩" in said(request)
    request = looked(many, "LOOK step 6", look_pictures=3)
    assert "⟨a picture that is not shown: the file does not begin as a picture does⟩" in said(request)
    request = looked(many, "LOOK step 4", taken=False)
    assert "⟨10 pictures that are not shown⟩" in said(request)
    assert "and its pictures" not in said(request, 0)


def test_addresses_take_no_place_of_a_look():
    addresses = [{"type": "image_url", "image_url": {"url": f"http://127.0.0.1:9/{n}.png"}} for n in range(5)]
    request = looked([*step(1, addresses[0], shot(7), *addresses[1:]), *run()], "LOOK step 2")
    assert sent(request) == [7]
    assert f"<look {request.meta['run_fence']}>\npicture 1 below" in said(request)


@pytest.mark.parametrize("look", ["LOOK step 2", "LOOK page large.png 1"])
def test_a_look_shows_a_picture_at_the_size_that_was_set(look):
    large = stored(size=(2100, 2100))
    left = Workspace({"large.png": large}, trajectory=[*step(1, part(large)), *run()])
    replies = iter([look, "[[10]]"])
    engine = Scripted(lambda _: next(replies))
    engine.pictures = True
    judge = Pointwise(engine, shows="workspace", looks=1, look_pixels=2048)
    assert judge.score([Sample("q", "Done.", workspace=left)])[0].value == 1.0
    sizes = [
        opened(told)[0].size
        for turn in (0, -1)
        for told in parts_of(engine.requests[-1], turn)
        if told["type"] == "image_url"
    ]
    assert sizes == [(1024, 1024), (2048, 2048)]


def test_pictures_of_two_runs_are_looked_at_by_their_numbers():
    replies = iter(["LOOK step 2", "LOOK step 5", "[[C]]", "[[C]]"])
    _, requests = judged(run(1), "pairwise", opponent=run(2), rule=lambda _: next(replies), looks=2, order="fixed")
    assert [sent(request) for request in requests[1:]] == [[1], [2]]
