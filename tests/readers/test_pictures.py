"""Pictures in prompts: they reach engines and judges from a file, and rules and reports read the text next to them."""

import json
from types import SimpleNamespace

import pytest

from tests.engines.server import Server, chat_reply
from verikit.adapters.harbor import _instruction
from verikit.audit.rows import AuditRow
from verikit.engines.errors import BadRequest
from verikit.engines.openai import OpenAI
from verikit.engines.pictures import EmbeddedPicture, parts_of, sendable
from verikit.engines.prompts import prompt_ids
from verikit.engines.types import Request
from verikit.engines.vendors.base import turns_of
from verikit.errors import UsageError
from verikit.guided.search import _begun
from verikit.readers import read
from verikit.report.items import conversation
from verikit.scoring.slices import question_of
from verikit.types import Group

URL = "data:image/png;base64,iVBORw0KGgo="
PICTURE = {"type": "image_url", "image_url": {"url": URL}}
TEXT = {"type": "text", "text": "What is shown?"}
SHOWN = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [TEXT, PICTURE]}]


@pytest.fixture
def group(tmp_path):
    def run(row, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text(json.dumps(row))
        [found] = read(path)
        return found

    return run


def test_a_prompt_keeps_its_pictures(group):
    assert group({"prompt": SHOWN, "completions": ["5"], "answer": "5"}).prompt == SHOWN


def test_parts_without_a_picture_become_their_text(group):
    parts = [TEXT, {"type": "thinking", "text": "hidden"}, {"type": "text", "text": "And why?"}]
    found = group({"prompt": [{"role": "user", "content": parts}], "completions": ["5"], "answer": "5"})
    assert found.prompt == [{"role": "user", "content": "What is shown?\n\nAnd why?"}]


@pytest.mark.parametrize("parts", [[1], [None, PICTURE], {"type": "image_url"}, 7, True])
def test_content_that_is_not_parts_is_an_error(group, parts):
    found = group({"prompt": [{"role": "user", "content": parts}], "completions": ["5"], "answer": "5"})
    assert found.field == "prompt[0]"


@pytest.mark.parametrize("stored", [URL, "attachment://abc"])
def test_pictures_of_inspect_are_in_openais_format(group, stored):
    asked = [{"role": "user", "content": [TEXT, {"type": "image", "image": stored, "detail": "auto"}]}]
    reply = {"role": "assistant", "content": "5", "source": "generate"}
    sample = {"id": "q", "epoch": 1, "input": asked, "target": "5", "messages": [*asked, reply], "scores": {}}
    log = {"version": 2, "status": "success", "eval": {}, "samples": [sample | {"attachments": {"abc": URL}}]}
    assert group(log, "log.json").prompt == [{"role": "user", "content": [TEXT, PICTURE]}]


def test_a_picture_of_inspect_without_an_address_is_no_picture_to_send(group):
    asked = [{"role": "user", "content": [TEXT, {"type": "image", "image": 3}]}]
    reply = {"role": "assistant", "content": "5", "source": "generate"}
    sample = {"id": "q", "epoch": 1, "input": asked, "target": "5", "messages": [*asked, reply], "scores": {}}
    found = group({"version": 2, "status": "success", "eval": {}, "samples": [sample]}, "log.json")
    assert found.prompt == [{"role": "user", "content": [TEXT, {"type": "image", "image": 3}]}]


def test_what_reads_text_gets_the_text_only():
    assert question_of(SHOWN) == "What is shown?"
    assert AuditRow(id="q", line=1, prompt=SHOWN, answer="5").question == "Be brief.\nWhat is shown?"
    assert conversation(SHOWN) == "system: Be brief.\n\nuser: What is shown?\n\n[picture]"


def test_a_model_that_reads_only_text_rejects_a_picture():
    pytest.importorskip("jinja2")  # the chat template of such a model
    tokenizer = SimpleNamespace(chat_template="{{ messages }}", name_or_path="m")
    with pytest.raises(BadRequest, match="the prompt has a picture"):
        prompt_ids(tokenizer, Request(SHOWN))


def test_a_task_for_agents_needs_a_prompt_without_pictures():
    with pytest.raises(UsageError, match="has a picture"):
        _instruction(Group(SHOWN, ["5"], "5", "q"))


# ---- what is sent to engines ----------------------------------------------------------------------------------------

SOURCE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
REFUSED = [
    {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
    {"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO*"}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVB"}},
    {"type": "image_url", "image_url": {"url": "data:text/html;base64,iVBO"}},
    {"type": "image_url"},
    {"type": "image_url", "image_url": 3},
    {"type": "image", "image": 3},
    {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/x.png"}},
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    {"type": "file", "file": {"file_id": "f"}},
]


def asked(part):
    return [{"role": "user", "content": [TEXT, part]}]


@pytest.mark.parametrize(
    "part", [PICTURE, SOURCE, {"type": "input_image", "image_url": URL}, {"type": "image", "image": URL}]
)
def test_an_embedded_picture_is_sent_in_any_format(part):
    assert sendable(asked(part), pictures=True) == asked(PICTURE)
    assert parts_of(asked(part)[0]["content"]) == ["What is shown?", EmbeddedPicture("image/png", "iVBORw0KGgo=")]


@pytest.mark.parametrize("part", REFUSED)
def test_nothing_else_than_an_embedded_picture_is_sent(part):
    with pytest.raises(BadRequest):
        sendable(asked(part), pictures=True)
    with pytest.raises(BadRequest):
        parts_of(asked(part)[0]["content"])


def test_a_model_without_pictures_gets_none():
    with pytest.raises(BadRequest, match="has a picture") as refused:
        sendable(asked(PICTURE), pictures=False)
    assert "pictures=True" in refused.value.hint
    assert sendable([{"role": "user", "content": "Why?"}], pictures=False) == [{"role": "user", "content": "Why?"}]


def test_a_system_message_is_text():
    assert turns_of(Request([{"role": "system", "content": [TEXT]}, {"role": "user", "content": "Why?"}])) == (
        "What is shown?", [{"role": "user", "content": "Why?"}],
    )  # fmt: skip
    with pytest.raises(BadRequest, match="a system message has a picture"):
        turns_of(Request([{"role": "system", "content": [TEXT, PICTURE]}, {"role": "user", "content": "Why?"}]))


def test_a_bad_picture_fails_only_its_own_request():
    with Server(lambda body, k: chat_reply()) as server, OpenAI(server.url, "m", pictures=True) as engine:
        found = engine.generate([Request(asked(part)) for part in (PICTURE, REFUSED[0], PICTURE)])
    assert [isinstance(one.error, BadRequest) for one in found] == [False, True, False]
    assert not any("passwd" in json.dumps(body) for body in server.bodies)


def test_a_search_continues_a_turn_with_a_picture():
    turn = {"role": "assistant", "content": [TEXT, PICTURE]}
    assert _begun([turn], [], "So")[-1]["content"] == [TEXT, PICTURE, {"type": "text", "text": "So"}]
