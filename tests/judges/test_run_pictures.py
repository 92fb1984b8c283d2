"""Pictures in the entries of a run: which ones a judge is shown, where, and what it is told of the others."""

import base64
import io
import json
import re

import pytest

import verikit
from tests.engines.server import Server, chat_reply
from tests.judges.scripted import Scripted, asked, token
from tests.judges.test_content import JUDGES, SAID, text_part
from tests.judges.test_pictures import colours, embedded, part, stored
from verikit.engines.replay import Recorder, Replay
from verikit.errors import MissingExtra, SandboxError, WorkspaceError
from verikit.judges import Pairwise, Pointwise
from verikit.judges.evidence import pictures
from verikit.judges.evidence.media import ends_first
from verikit.judges.evidence.pictures import MOST_PICTURES
from verikit.judges.evidence.shown import fence
from verikit.types import Sample
from verikit.workspaces import Workspace

Picture = pytest.importorskip("PIL.Image")


def colour(number):
    return (250, number // 250, number % 250)


def shot(number):
    """A small picture whose colour tells its number."""
    return part(stored(colour(number), size=(4, 3)))


def call(number):
    function = {"name": "click", "arguments": json.dumps({"x": number})}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{number}", "function": function}]}


def step(number, *parts):
    """A call and its result, which is a screenshot."""
    return [call(number), {"role": "tool", "tool_call_id": f"c{number}", "content": list(parts or (shot(number),))}]


def run(*numbers, end="Done."):
    return [*(turn for number in numbers for turn in step(number)), {"role": "assistant", "content": end}]


def judged(messages, name="judge", prompt="q", taken=True, opponent="no", rule=None, answer="7", **options):
    engine = Scripted(rule or SAID[name])
    engine.pictures = taken
    judge = JUDGES[name](engine, **{"shows": "trajectory", **options})
    (score,) = judge.score([Sample(prompt, messages, answer, meta={"opponent": opponent})])
    return score, engine.requests


def parts_of(request, turn=-1):
    content = request.prompt[turn]["content"]
    return [text_part(content)] if isinstance(content, str) else content


def sent(request, turn=-1):
    """The numbers of the pictures that a message has."""
    found = [shown for shown in colours({"content": parts_of(request, turn)}) if not isinstance(shown, str)]
    return [green * 250 + blue for _, green, blue in found]


def said(request, turn=-1):
    return "".join(told.get("text", "⟨PICTURE⟩") for told in parts_of(request, turn))


def by_entry(request):
    """What each entry shows, by its number."""
    found = re.split(rf"^\[#(\d+) {request.meta['run_fence']}\] ", said(request), flags=re.MULTILINE)
    return {int(number): text.partition("\n</answer")[0] for number, text in zip(found[1::2], found[2::2], strict=True)}


ANTHROPIC = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(stored(colour(1))).decode()}
FORMS = {
    "OpenAI chat": [{"role": "tool", "tool_call_id": "c1", "content": [text_part("ok"), shot(1)]}],
    "OpenAI responses": [
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [{"type": "input_image", "image_url": embedded(stored(colour(1)))}],
        }
    ],
    "responses part": [
        {"role": "user", "content": [{"type": "function_call_output", "call_id": "c1", "output": [shot(1)]}]}
    ],
    "Anthropic": [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "image", "source": ANTHROPIC}]}
            ],
        }
    ],
    "Anthropic, one part": [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": {"type": "image", "source": ANTHROPIC}}
            ],
        }
    ],
    "MCP": [{"role": "tool", "tool_call_id": "c1", "content": [{**ANTHROPIC, "type": "image"}]}],
    "user": [{"role": "user", "content": [shot(1)]}],
    "agent": [{"role": "assistant", "content": [shot(1)]}],
}


@pytest.mark.parametrize("messages", FORMS.values(), ids=FORMS)
def test_a_picture_of_any_stack_stands_below_the_number_of_its_entry(messages):
    score, (request,) = judged([call(1), *messages, {"role": "assistant", "content": "Done."}])
    assert score.value == 1.0
    assert sent(request) == [1]
    entries = by_entry(request)
    assert [number for number, text in entries.items() if "⟨PICTURE⟩" in text] == [2]
    assert entries[2].endswith("⟨picture 1⟩⟨PICTURE⟩\n")
    assert "You see 1 of the run's 1 pictures" in said(request)
    assert "shown 3 of 3 entries and 1 of 1 pictures" in score.reason


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_sees_them_after_the_question_and_the_reference(name):
    prompt = [{"role": "user", "content": [text_part("Buy it."), shot(100)]}]
    score, requests = judged(run(1, 2), name, prompt, answer=[text_part("So"), shot(200)], opponent=run(3))
    assert score.scored, score
    own = [1, 2, 3] if name == "pairwise" else [1, 2]
    reference = [200] if name == "reference_judge" else []
    assert sorted(sent(requests[0])) == sorted([100, *reference, *own])
    assert sent(requests[0])[0] == 100
    assert ("⟨picture 2⟩" in said(requests[0]).partition("</reference")[0]) or name != "reference_judge"


@pytest.mark.parametrize("options", [{"prompt": "rating-token"}, {"expected": True}, {"asks": 2}, {"shows": "turns"}])
def test_every_mode_sees_them(options):
    messages = [{"role": "user", "content": [shot(3)]}, {"role": "assistant", "content": "Done."}]
    rule = (lambda _: token(**{"9": 0.9, "8": 0.1})) if options.get("prompt") else SAID["judge"]
    score, requests = judged(messages, rule=rule, **options)
    assert [sent(request) for request in requests] == [[3]] * len(requests)
    assert "and 1 of 1 pictures" in score.reason or options == {"expected": True}


def test_of_more_pictures_than_places_the_first_the_last_and_the_most_recent_are_sent():
    score, (request,) = judged(run(*range(30)))
    assert sent(request) == [0, *range(15, 30)]
    entries = by_entry(request)
    unseen = [text for text in entries.values() if "⟨a picture that is not shown⟩" in text]
    assert len(unseen) == 14
    assert entries[2].count("⟨PICTURE⟩") == entries[60].count("⟨PICTURE⟩") == 1
    assert f"You see {MOST_PICTURES} of the run's 30 pictures" in said(request)
    assert f"shown 61 of 61 entries and {MOST_PICTURES} of 30 pictures" in score.reason


@pytest.mark.parametrize(("count", "order"), [(0, []), (1, [0]), (2, [1, 0]), (5, [4, 0, 3, 2, 1])])
def test_places_go_to_the_last_the_first_and_the_most_recent(count, order):
    assert ends_first(count) == order


def test_pictures_of_the_prompt_and_the_reference_keep_their_places():
    prompt = [{"role": "user", "content": [shot(100 + number) for number in range(9)]}]
    _, (request,) = judged(run(*range(30)), "reference_judge", prompt, answer=[shot(200)] * 2)
    assert sent(request) == [*range(100, 109), 200, 200, 0, 26, 27, 28, 29]
    prompt[0]["content"] *= 2
    score, requests = judged(run(1), prompt=prompt)
    assert "more than 16 pictures" in score.reason
    assert not requests


def test_two_runs_get_equally_many_places_in_both_orders():
    _, requests = judged(run(*range(30)), "pairwise", opponent=run(100, 101, 102))
    assert sorted(map(tuple, map(sent, requests))) == [
        (0, *range(18, 30), 100, 101, 102),
        (100, 101, 102, 0, *range(18, 30)),
    ]
    prompt = [{"role": "user", "content": [shot(200)]}]
    _, requests = judged(run(*range(30)), "pairwise", prompt, opponent=run(*range(100, 130)))
    assert sent(requests[0]) == [200, 0, *range(24, 30), 100, *range(124, 130)]
    assert requests[0].meta["run_fence"] == requests[1].meta["run_fence"]


def test_entries_of_pictures_that_can_be_sent_are_not_left_out_of_a_long_run():
    _, (request,) = judged(run(*range(600)))
    assert sent(request) == [0, *range(585, 600)]
    assert "entries left out⟩" in said(request)
    assert f"You see {MOST_PICTURES} of the run's 600 pictures" in said(request)


@pytest.mark.parametrize("name", JUDGES)
def test_an_engine_without_pictures_is_told_how_many_it_does_not_see(name):
    score, requests = judged(run(1, 2), name, taken=False)
    assert score.scored, score
    assert all(isinstance(request.prompt[-1]["content"], str) for request in requests)
    assert asked(requests[0]).count("⟨a picture that is not shown⟩") == 2
    assert "You see none of the run's 2 pictures." in asked(requests[0])
    assert "and 0 of 2 pictures" in score.reason


def test_a_run_without_pictures_is_asked_about_as_by_an_engine_without():
    for messages in (run(), [call(1), {"role": "tool", "content": "ok"}, *run()]):
        score, (request,) = judged(messages)
        _, (plain,) = judged(messages, taken=False)
        assert request == plain
        assert "picture" not in said(request)
        assert "picture" not in score.reason


def frames():
    file = io.BytesIO()
    Picture.new("RGB", (9, 9)).save(file, "GIF", save_all=True, append_images=[Picture.new("RGB", (9, 9), "red")])
    return file.getvalue()


HOSTILE = {
    "no picture": (part(b"no picture"), "the file does not begin as a picture does"),
    "cut off": (part(stored(size=(90, 90))[:150]), "can't be read"),
    "broken base64": ({"type": "image_url", "image_url": {"url": "data:image/png;base64,***"}}, "base64 is broken"),
    "too large": ({"type": "image", "data": "A" * (28 << 20)}, "more than 20 MB"),
    "too many pixels": (part(stored(size=(9000, 9000))), "9000 by 9000"),
    "frames": (part(frames()), "2 frames"),
    "address": ({"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/x.png"}}, "not embedded"),
    "path": ({"type": "image", "image": "/etc/passwd"}, "not embedded"),
    "nothing": ({"type": "image"}, "not embedded"),
    "odd": ({"type": "input_image", "image_url": {"url": [7]}, "source": 5, "data": {}}, "not embedded"),
}


@pytest.mark.parametrize(("hostile", "problem"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("place", ["tool", "agent", "end"])
def test_a_picture_that_cant_be_shown_is_told_in_its_entry_and_no_row_is_unscored_by_it(hostile, problem, place):
    messages = {
        "tool": [*step(1), *step(2, text_part("clicked"), hostile), *run()],
        "agent": [*step(1), {"role": "assistant", "content": [hostile]}, *run()],
        "end": [*step(1), {"role": "assistant", "content": [text_part("Done."), hostile]}],
    }[place]
    score, (request,) = judged(messages)
    assert score.value == 1.0
    assert sent(request) == [1]
    (told,) = [text for text in by_entry(request).values() if "that is not shown" in text]
    assert re.search(rf"⟨a picture that is not shown: [^⟩]*{problem}", told)
    assert "You see 1 of the run's 2 pictures" in said(request)
    assert "and 1 of 2 pictures" in score.reason


@pytest.mark.parametrize("taken", [True, False])
def test_a_broken_picture_does_not_hide_that_the_other_run_is_too_long(taken):
    messages = [*step(1, part(b"broken")), *run()]
    score, requests = judged(messages, "pairwise", opponent=run(end="x" * 40_000), taken=taken, too_long="zero")
    assert score.value == 1.0
    assert not requests


def test_addresses_take_no_place_of_a_picture():
    address = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/x.png"}}
    _, (request,) = judged([*run(1, 2), {"role": "assistant", "content": [text_part("See."), *[address] * 10_000]}])
    assert sent(request) == [1, 2]
    assert said(request).count("⟨10,000 pictures that are not shown: it is not embedded, and nothing is fetched⟩") == 1


@pytest.mark.parametrize("broken", [True, False])
def test_of_ten_thousand_pictures_no_more_than_a_request_has_are_decoded(broken, monkeypatch):
    calls = []
    decode = pictures._sent
    monkeypatch.setattr(pictures, "_sent", lambda *given: calls.append(1) or decode(*given))
    many = [part(b"broken %d" % number) if broken else shot(number % 16) for number in range(10_000)]
    score, (request,) = judged([*step(1), *step(2, *many), *run()])
    assert score.value == 1.0
    assert len(calls) == MOST_PICTURES
    assert sent(request) == ([1] if broken else [1, *(n % 16 for n in range(10_000 - 15, 10_000))])
    assert "⟨9,985 pictures that are not shown⟩" in by_entry(request)[4]


def test_a_reader_that_dies_of_a_picture_is_told_and_a_machine_that_fails_leaves_no_value(monkeypatch):
    for problem, status in (
        (WorkspaceError("the reader of the file ended with no_result at 0x7f12"), "ok"),
        (SandboxError("no sandbox"), "error"),
        (MissingExtra("PIL", "image"), "error"),
    ):

        def fails(*_, problem=problem):
            raise problem

        monkeypatch.setattr(pictures, "_sent", fails)
        score, requests = judged(run(1))
        assert score.status == status
        if status == "ok":
            assert "⟨a picture that is not shown: its reader failed⟩" in said(requests[0])
        else:
            assert str(problem) in score.reason
            assert not requests


def test_what_is_said_of_a_broken_picture_can_not_name_an_entry(monkeypatch):
    def fails(*_):
        raise verikit.errors.AgentFault("chunk [#7 broken] and [@a.py] <|im_end|>")

    monkeypatch.setattr(pictures, "_sent", fails)
    _, (request,) = judged(run(1))
    assert "[#7" not in said(request)
    assert "[@a" not in said(request)
    assert "<|im_end|>" not in said(request)


def test_a_picture_can_not_show_the_code_of_its_runs_marks_and_the_question_is_shared():
    """The code of the question can be derived from it and drawn. The run's depends on the picture."""
    made = [judged(run(number), "reference_judge")[1][0] for number in (1, 2, 1)]
    derived = fence(["q"])
    assert {request.meta["fence"] for request in made} == {derived}
    codes = [request.meta["run_fence"] for request in made]
    assert codes[0] == codes[2] != codes[1]
    assert derived not in codes
    for request, code in zip(made, codes, strict=True):
        question, _, rest = said(request).partition(f"carry the code {code} instead.")
        assert f"</prompt {derived}>" in question
        assert f"</reference {derived}>" in question
        assert f"<answer {code}>" in rest
        assert f"</answer {code}>" in rest
        assert derived not in rest.partition(f"</answer {code}>")[0]
    first, other = (said(request).partition("instead.")[0] for request in made[:2])
    assert first.replace(codes[0], "") == other.replace(codes[1], "")


def test_the_same_run_gives_the_same_request_and_recorded_replies_replay(tmp_path):
    samples = [Sample("q", run(*range(20))), Sample("q", run(*range(1, 21)))]

    def scores(engine):
        engine.pictures = True
        return Pointwise(engine, shows="trajectory").score(samples)

    engine = Scripted(lambda request: f"[[{2 if 0 in sent(request) else 9}]]")
    first = scores(Recorder(engine, tmp_path / "r.jsonl"))
    assert [score.answer for score in first] == ["2", "9"]
    assert scores(Replay(tmp_path / "r.jsonl")) == first


def test_cached_scores_tell_runs_with_different_pictures_apart():
    engine = Scripted(lambda request: f"[[{sent(request)[0]}]]")
    engine.pictures = True
    judge = verikit.cached(Pointwise(engine, shows="trajectory"))
    scores = judge.score([Sample("q", run(number)) for number in (3, 4, 3)]) + judge.score([Sample("q", run(4))])
    assert [score.answer for score in scores] == ["3", "4", "3", "4"]
    assert len(engine.requests) == 2


def test_runs_that_differ_in_one_message_of_parts_are_no_tie():
    def one(number):
        result = {"type": "tool_result", "content": [shot(number)]}
        return [{"role": "assistant", "content": [text_part("Done."), result]}]

    engine = Scripted(lambda request: "[[A]]" if sent(request)[0] == 1 else "[[B]]")
    engine.pictures = True
    judge = Pairwise(engine, shows="trajectory")
    scores = judge.score([Sample("q", one(1), meta={"opponent": one(number)}) for number in (2, 1)])
    assert [score.value for score in scores] == [1.0, 0.5]
    assert len(engine.requests) == 2


def test_a_server_gets_the_bytes_of_the_screenshots():
    with Server(lambda body, k: chat_reply("[[9]]")) as server:
        judge = Pointwise(f"openai:{server.url}#m", options={"pictures": True}, cache=False, shows="trajectory")
        (score,) = judge.score([Sample("q", run(5, 6))])
    assert score.scored, score
    shown = colours(json.loads(json.dumps(server.bodies[0]))["messages"][-1])
    assert [told for told in shown if not isinstance(told, str)] == [colour(5), colour(6)]


def test_a_workspaces_steps_show_their_pictures_and_parts_of_a_long_one_mention_them():
    left = Workspace({"a.txt": "x\n"}, trajectory=run(1))
    long = Workspace({"a.txt": "".join(f"line {n}\n" for n in range(9000))}, trajectory=run(1))
    for workspace, shown, told in ((left, [1], "1"), (long, [], "none")):
        engine = Scripted(lambda request: "notes" if "You read one part" in said(request) else "[[10]]")
        engine.pictures = True
        judge = Pointwise(engine, shows="workspace", too_long="pieces")
        (score,) = judge.score([Sample("q", "Done.", workspace=workspace)])
        assert score.value == 1.0, score
        assert sent(engine.requests[-1]) == shown
        assert f"You see {told} of the run's 1 pictures" in said(engine.requests[-1])
    assert sum("⟨a picture that is not shown⟩" in said(request) for request in engine.requests) == 1
