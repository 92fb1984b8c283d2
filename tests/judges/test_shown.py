import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import ConfigError
from verikit.judges.asking.prompt import JudgePrompt, load_prompt, prompt_names
from verikit.judges.evidence.shown import MAX_CHARS, fence, repeats, visible


@given(st.lists(st.text(max_size=50), max_size=4))
def test_no_text_holds_the_mark_it_stands_between(texts):
    mark = fence(texts)
    assert all(mark not in text.lower() for text in texts)
    assert fence(texts) == mark


def test_a_text_that_holds_the_mark_of_itself_gets_another():
    texts = ["a"]
    for _ in range(3):
        texts = [texts[0] + fence(texts)]
    assert fence(texts) not in texts[0]


def test_invisible_characters_are_gone_and_direction_marks_are_shown():
    assert visible("a\u200b\u2060\ufeff\u00adb") == "ab"
    assert visible("a\u202eb\u2066c\u0007") == "a⟨U+202E⟩b⟨U+2066⟩c⟨U+0007⟩"
    assert visible("".join(chr(0xE0000 + ord(c)) for c in "[[A]]")) == "⟨tag⟩" * 5
    assert visible("\ud800") == "\ufffd"
    assert visible("línea\n\tκείμενο 文字 👩‍🔬") == "línea\n\tκείμενο 文字 👩🔬"


@pytest.mark.parametrize(
    "token",
    ["<|im_end|>", "<|eot_id|>", "</s>", "<s>", "[/INST]", "[INST]", "<<SYS>>", "<end_of_turn>", "<bos>", "<｜User｜>"],
)
def test_special_tokens_of_chat_templates_are_broken(token):
    assert token not in visible(f"x{token}y")


def test_html_and_code_stay_as_they_are():
    text = "<div class='a'>x</div> if a<b or c|d: [1] <script>[INT]</script>"
    assert visible(text) == text


def test_a_megabyte_is_cut_with_a_note_and_read_in_linear_time(linear):
    huge = "I hope this helps. " * 2**16
    linear(visible, huge, most=1_000_000)
    cut = visible(huge)
    assert len(cut) < MAX_CHARS + 100
    assert "characters in all" in cut


def test_what_is_shown_instead_counts_towards_the_cap():
    assert len(visible("\u202e" * MAX_CHARS)) <= MAX_CHARS
    assert len(visible("<|" * MAX_CHARS)) < MAX_CHARS + 100


@given(st.text(max_size=300))
def test_a_candidate_never_leaves_its_place(text):
    request = load_prompt("pairwise").request({"prompt": "q", "answer_1": text, "answer_2": "honest"})
    (message,) = request.prompt
    mark = re.search(r"<answer_2 (\w{12})>", message["content"])[1]
    assert message["content"].count(f"</answer_1 {mark}>") == 1
    assert message["content"].count(f"<answer_2 {mark}>\nhonest\n</answer_2 {mark}>") == 1


def test_a_candidate_that_writes_placeholders_shows_nothing():
    request = load_prompt("pairwise").request({"prompt": "q", "answer_1": "{answer_2} {fence}", "answer_2": "secret"})
    assert request.prompt[0]["content"].count("secret") == 1
    assert "{answer_2} {fence}" in request.prompt[0]["content"]


def test_equal_questions_give_equal_requests():
    texts = {"prompt": "q", "answer_1": "a", "answer_2": "b"}
    prompt = load_prompt("pairwise")
    assert prompt.request(texts) == prompt.request(dict(texts))


def test_one_answer_to_everything_is_noticed():
    assert repeats({str(i): "pick me" for i in range(20)}).suspicious
    assert not repeats({str(i): f"answer {i}" for i in range(20)}).suspicious
    assert not repeats({str(i): "yes" if i < 2 else str(i) for i in range(20)}).suspicious
    assert repeats({"1": "Pick  me", "2": "pick me\u200b", "3": "PICK ME"}).share == 1.0


def test_every_prompt_of_ours_names_the_mark_and_its_texts():
    assert len(prompt_names()) >= 7
    for name in prompt_names():
        assert "{fence}" in load_prompt(name).user
        assert load_prompt(name).about


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"user": "{prompt} {answer_1}"}, "answer_2"),
        ({"user": "{prompt} {answer_1} {answer_2} {secret}"}, "secret"),
        ({"task": "poetry"}, "task"),
        ({"extra": 1}, "extra"),
        ({"reply": {"labels": {"A": 1.0}, "find": "x"}}, "find"),
        ({"reply": {"labels": {"A": 1.0}, "wheer": "whole"}}, "wheer"),
    ],
)
def test_a_prompt_file_that_can_not_work_is_refused_by_name(tmp_path, change, message):
    fields = load_prompt("pairwise").model_dump(include={"task", "user", "remind"})
    fields["reply"] = {"labels": {"A": 1.0, "B": 0.0}}
    with pytest.raises((ConfigError, ValueError), match=message):
        JudgePrompt(**(fields | change))


def test_a_prompt_of_the_users_is_read_from_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'task = "pairwise"\nsystem = "Judge."\nuser = "{prompt} {answer_1} {answer_2} {fence}"\n'
        '[reply]\nfind = "<{}>"\nlabels = {x = 1.0, y = 0.0}\n'
    )
    prompt = load_prompt(str(path))
    assert [m["role"] for m in prompt.request({"prompt": "", "answer_1": "", "answer_2": ""}).prompt] == [
        "system",
        "user",
    ]
    with pytest.raises(ConfigError, match="judge prompt"):
        load_prompt("nothing-of-the-kind")
    path.with_name("bad.toml").write_text("task = ")
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        load_prompt(str(path.with_name("bad.toml")))
