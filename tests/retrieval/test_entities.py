"""Entities that a model names: what is believed of its replies, and builds that go on."""

import json
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples

pytest.importorskip("bm25s")
pytest.importorskip("numpy")

from tests.conftest import ROOT
from tests.engines.server import Server, chat_reply
from verikit.cli import cli
from verikit.errors import AuthError, UsageError
from verikit.retrieval import Passage, load_index
from verikit.retrieval.entities import MOST_NAMES, MOST_REPLY, REPLIES, SCHEMA, SYSTEM, located, read_reply

BARE = [
    "The Glass Harbour is a 1962 drama film starring Ines Vall, made by Marta Oyelaran.",
    "A nurse from Port Selwyn, Marta Oyelaran came to cinema late.",
    "Ines Vall sang and acted on stage for forty years.",
    "Port Selwyn is a town of 4,000 people, twinned with Lisse.",
    *(f"Where was the director of the film number {n} born? Nobody knows." for n in range(40)),
]
NAMES = ["The Glass Harbour", "Ines Vall", "Marta Oyelaran", "Port Selwyn", "Lisse"]
QUESTION = "Where was the director of the film The Glass Harbour born?"
BOTH = [BARE[0], BARE[1]]


def named(text):
    """What a careful model says, with a name that it makes up."""
    names = [name for name in NAMES if name in text]
    triples = [["The Glass Harbour", "director", "Marta Oyelaran"]] if "made by" in text else []
    return json.dumps({"entities": [*names, "Atlantis"], "triples": triples})


def passage_of(body):
    return body["messages"][-1]["content"].removeprefix("Passage:\n").removesuffix("\n\nReply:")


def careful(body, k):
    return chat_reply(named(passage_of(body))) | {"usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def write(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def build(corpus, folder, server, *args):
    spec = f"openai:{server.url}#m"
    how = ["--model-args", "retries=0,api_key=k,deadline_s=5", *args]
    return CliRunner().invoke(
        cli, ["index", "build", str(corpus), "-o", str(folder), "--entities", spec, *how], standalone_mode=False
    )


def texts(folder, query, k=2):
    return [passage.text for passage in load_index(f"graph:bm25:{folder}").retrieve([query], k)[0]]


def made(folder):
    files = [*sorted((folder / "graph").iterdir()), folder / REPLIES, folder / f"{REPLIES}.run"]
    return {path.name: path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An index that was built in one go, from a server whose address is part of it."""
    home = tmp_path_factory.mktemp("whole")
    with Server(careful) as server:
        done = build(write(home / "bare.jsonl", BARE), home / "index", server)
        assert done.exception is None, done.output
        bodies = list(server.bodies)
    return home / "index", done, bodies


def test_passages_without_titles_are_walked_by_the_names_that_a_model_finds(whole):
    folder, done, _ = whole
    assert set(texts(folder, QUESTION)) == set(BOTH)
    first = [passage.text for passage in load_index(f"bm25:{folder}").retrieve([QUESTION], 20)[0]]
    assert BARE[1] not in first
    assert done.return_value == 0
    assert "8 names of entities in 44 passages, 4,400 prompt and 440 reply tokens" in done.stderr
    assert "44 were dropped: not a name, or not found in the passage" in done.stderr


def test_each_passage_is_asked_once_as_data_under_the_schema(whole):
    _, _, bodies = whole
    assert sorted(map(passage_of, bodies)) == sorted(BARE)
    for body in bodies:
        assert body["messages"][0] == {"role": "system", "content": SYSTEM}
        assert body["response_format"]["json_schema"]["schema"] == SCHEMA
        assert body["temperature"] == 0


def test_a_name_that_is_not_in_the_passage_is_no_way_to_it(whole):
    assert texts(whole[0], "Where is Lisse?", 1) == [BARE[3]]
    assert texts(whole[0], "Atlantis") == []  # which the model named in each of them


def test_a_relation_that_the_text_has_no_word_of_says_which_name_is_meant(whole):
    """The passage says `made by`; only the triple says `director`."""
    folder, _, _ = whole
    assert texts(folder, "The Glass Harbour: director?")[1] == BARE[1]
    assert texts(folder, "The Glass Harbour: starring?")[1] == BARE[2]


def test_names_swallow_no_title_and_titles_stay_where_nothing_was_named(tmp_path):
    rows = [
        ("Blood Street", "A 1988 film by Leo Fong."),
        ("Leo Fong", "Leo Fong was an actor."),
        *((f"film Blood Street {n}", f"About the film Blood Street, number {n}.") for n in range(3)),
    ]
    corpus = tmp_path / "films.jsonl"
    corpus.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for title, text in rows))

    def sloppy(body, k):
        return chat_reply('{"entities": ["film Blood Street"], "triples": []}' if "About" in passage_of(body) else "no")

    with Server(sloppy) as server:
        done = build(corpus, tmp_path / "index", server)
    assert "2 replies without a list of entities" in done.stderr
    assert done.return_value == 0
    graph = load_index(f"graph:bm25:{tmp_path / 'index'}")
    found = [passage.title for passage in graph.retrieve(["Who made the film Blood Street?"], 3)[0]]
    assert {"Blood Street", "Leo Fong"} <= set(found)


def test_a_request_that_fails_is_told_and_asked_again_by_the_same_command_to_the_same_bytes(tmp_path):
    down = True

    def failing(body, k):
        return (500, {"error": "busy"}) if down and "Ines" in passage_of(body) else careful(body, k)

    corpus = write(tmp_path / "bare.jsonl", BARE)
    with Server(failing) as server:
        done = build(corpus, tmp_path / "index", server)
        assert done.return_value == 3
        assert "2 requests failed: their passages use the titles found by rules" in done.stderr
        assert "Run the command again to retry them" in done.stderr
        assert len(texts(tmp_path / "index", QUESTION)) == 2
        down, asked = False, len(server.bodies)
        assert build(corpus, tmp_path / "index", server).return_value == 0
        assert sorted(map(passage_of, server.bodies[asked:])) == [BARE[2], BARE[0]]
        assert set(texts(tmp_path / "index", QUESTION)) == set(BOTH)
        asked = len(server.bodies)
        assert build(corpus, tmp_path / "index", server).return_value == 0
        assert len(server.bodies) == asked
        assert build(corpus, tmp_path / "whole", server).return_value == 0
    assert made(tmp_path / "index") == made(tmp_path / "whole")


def test_a_killed_build_goes_on_to_the_same_bytes(tmp_path):
    slow = True

    def dawdling(body, k):
        time.sleep(0.1 if slow else 0)
        return careful(body, k)

    corpus = write(tmp_path / "bare.jsonl", BARE)
    with Server(dawdling) as server:
        args = ["--entities", f"openai:{server.url}#m", "--model-args"]
        args.append("retries=0,api_key=k,deadline_s=5,concurrency=2")
        command = [sys.executable, "-m", "verikit", "index", "build", corpus, "-o", tmp_path / "killed", "-q", *args]
        with subprocess.Popen([*map(str, command)], cwd=ROOT) as running:
            while len(server.bodies) < 20:
                assert running.poll() is None
                time.sleep(0.02)
            running.send_signal(signal.SIGKILL)
        assert not (tmp_path / "killed" / "graph").exists()
        slow, asked = False, len(server.bodies)
        for folder in ("killed", "whole"):
            done = build(corpus, tmp_path / folder, server, "--model-args", "concurrency=2")
            assert done.return_value == 0, done.output
            if folder == "killed":
                assert len(server.bodies) - asked < len(BARE) - 10
    assert made(tmp_path / "killed") == made(tmp_path / "whole")


def test_an_engine_that_refuses_stops_the_build_and_another_engine_needs_another_folder(tmp_path):
    corpus = write(tmp_path / "bare.jsonl", BARE)
    with Server(lambda body, k: (401, {"error": "who are you"})) as server:
        assert isinstance(build(corpus, tmp_path / "index", server).exception, AuthError)
        assert not (tmp_path / "index" / "graph").exists()
    with Server(careful) as server:
        assert build(corpus, tmp_path / "other", server).exception is None
        again = build(corpus, tmp_path / "other", server, "--model-args", "concurrency=3").exception
    assert isinstance(again, UsageError)
    assert "delete" in str(again.hint)
    assert REPLIES in str(again.hint)


def test_what_it_cost_is_told_by_a_table_of_prices(tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\nprompt = 1.0\ncompletion = 10.0\n")
    with Server(careful) as server:
        done = build(write(tmp_path / "bare.jsonl", BARE), tmp_path / "index", server, "--prices", str(prices))
    assert "4,400 prompt and 440 reply tokens, 0.0088 spent" in done.stderr


def test_options_of_an_engine_want_one(tmp_path):
    args = ["index", "build", str(tmp_path), "-o", str(tmp_path / "x"), "--model-args", "a=1"]
    assert "--model-args goes with --entities" in str(CliRunner().invoke(cli, args, standalone_mode=False).exception)


def test_a_graph_that_tells_of_more_titles_than_it_has_keys_is_refused(tmp_path):
    with Server(careful) as server:
        build(write(tmp_path / "bare.jsonl", BARE), tmp_path / "index", server)
    path = tmp_path / "index" / "graph" / "graph.json"
    about = json.loads(path.read_text())
    for titles in (about["keys"] + 1, -1, None, "x", [1], float("inf")):
        path.write_text(json.dumps(about | {"titles": titles}))
        with pytest.raises(UsageError, match="is damaged"):
            load_index(f"graph:bm25:{tmp_path / 'index'}")


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_writes_junk_leaves_the_titles_and_is_counted(tmp_path):
    pytest.importorskip("torch")
    from tests.engines.tiny import save, tokenizer

    context = len(tokenizer().encode(SYSTEM)) + 150

    model = save(tmp_path / "model", max_position_embeddings=context)
    rows = [("Oslo Nights", "By Kari Moe."), ("Kari Moe", "She sang."), ("Long", "word " * 2000)]
    corpus = tmp_path / "films.jsonl"
    corpus.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for title, text in rows))
    args = ["index", "build", str(corpus), "-o", str(tmp_path / "index"), "--entities", f"hf:{model}", "-q"]
    done = CliRunner().invoke(cli, [*args, "--model-args", "device=cpu"], standalone_mode=False)
    assert done.exception is None
    assert "0 names of entities in 3 passages" in done.stderr
    assert "2 replies without a list of entities" in done.stderr
    assert "1 requests failed" in done.stderr
    assert done.return_value == 3
    found = load_index(f"graph:bm25:{tmp_path / 'index'}").retrieve(["Who made Oslo Nights?"], 2)[0]
    assert [passage.title for passage in found] == ["Oslo Nights", "Kari Moe"]


# Replies


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ('{"entities": ["A", "B"], "triples": []}', {"A": "", "B": ""}),
        ('Sure!\n```json\n{"entities" : ["A"],\n "triples": [["A", "is in", "B"]]}\n```', {"A": "is in", "B": "is in"}),
        ('<think>{"entities": ["Z"]}</think>{"entities": ["A"]}', {"A": ""}),
        ('{"triples": [["A", "r", "B"], ["A", "s", "C"]], "entities": ["A"]}', {"A": "r s", "B": "r", "C": "s"}),
        ('{"entities": ["A", "B", "C', {"A": "", "B": ""}),
        (
            '{"entities": ["A", null, 3, {"name": "B"}, ["C"], "D"], "triples": [["A"], [1, 2, 3], "x"]}',
            {"A": "", "D": ""},
        ),
        ('{"entities": []}', {}),
        ('{"entities": "A"}', None),
        ('{"names": ["A"]}', None),
        ("A, B and C", None),
        ("", None),
    ],
)
def test_lists_are_read_as_far_as_they_can_be(reply, names):
    assert read_reply(reply) == names


def test_a_reply_without_an_end_is_read_in_linear_time_and_gives_so_many_names(linear):
    for filling in ("[", '{"a":', " ", ",", '"', '"entities": [', '["A","r","B"],', "\\"):
        for opening in ('{"entities": [', '{"triples": ['):
            linear(lambda text, opening=opening: read_reply(opening + text), filling, most=MOST_REPLY)
    many = json.dumps({"entities": [f"N{n}" for n in range(500)], "triples": [["X", "r", f"Y{n}"] for n in range(500)]})
    assert list(read_reply(many)) == [f"N{n}" for n in range(MOST_NAMES)]


@given(st.text(alphabet='{}[]",:\\ entitiesABr\n', max_size=60))
@settings(max_examples=examples(150), deadline=None)
def test_any_reply_is_read_or_is_none(text):
    read_reply(text)
    found = read_reply('{"entities": [' + text)
    assert found is None or all(isinstance(name, str) for name in found)


WORD = st.sampled_from(["Ana", "ana", "Bo", "bo", "Çé", "ce", "12", "The", "it", "日本"])
TEXT = st.lists(WORD, max_size=10).map(" ".join)


def stands(name, text):
    """Whether a name stands in a text with a capital, by comparing it with every stretch of words."""
    plain = {"çé": "ce"}
    wanted, words = ([plain.get(w.lower(), w.lower()) for w in t.split()] for t in (name, text))
    spelt, letters, stops = text.split(), [w[0].isalpha() for w in name.split()], {"the", "it"}
    return bool(wanted) and any(
        words[at : at + len(wanted)] == wanted
        and any(letter and not w[0].islower() for letter, w in zip(letters, spelt[at:], strict=False))
        and not set(wanted) <= stops
        for at in range(len(words))
    )


@given(TEXT, TEXT, TEXT)
@settings(max_examples=examples(150), deadline=None)
def test_a_name_is_taken_exactly_if_it_stands_in_the_passage(name, title, text):
    found = located({name: "made by"}, Passage(title, text))
    assert bool(found) == (stands(name, text) or stands(name, title))


def test_what_is_too_long_or_says_nothing_is_no_name():
    text = "The He 1998 drama film " + "Xylo " * 300 + "x" * 100
    long = "Xylo " * 17
    refused = ["He", "1998", "drama film", long, "Xylo" + " " * 300, "", "  ", "\x00", "\ud800"]
    assert located(dict.fromkeys(refused, ""), Passage("", text)) == {}
    assert len(located({"Xylo " * 16: "", "1998 drama": "", "DRAMA FILM": ""}, Passage("", text))) == 1


def test_the_search_for_names_does_not_grow_with_the_square_of_the_passage(linear):
    names = {"Ana " * n + "Bo": "" for n in range(1, 16)} | {f"Ana N{n}": "" for n in range(49)}
    linear(lambda text: located(names, Passage("", text + "end")), "Ana ", most=24_000)
