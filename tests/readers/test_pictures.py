"""Pictures in prompts: they reach engines and judges from a file, and rules and reports read the text next to them."""

import json
from types import SimpleNamespace

import pytest

from verikit.adapters.harbor import _instruction
from verikit.audit.rows import AuditRow
from verikit.engines.errors import BadRequest
from verikit.engines.prompts import prompt_ids
from verikit.engines.types import Request
from verikit.errors import UsageError
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
