"""Supervised learning: what of each form of row is learnt, and that it is learnt."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.engines import tiny  # noqa: E402
from verikit.errors import ConfigError, SchemaError  # noqa: E402
from verikit.trainers.recipe import Setting  # noqa: E402
from verikit.trainers.recipes.sft import SFT, SFTOptions, StepLabelOptions, StepLabels  # noqa: E402


def recipe(tmp_path, *rows, kind=SFT, template=True, **options):
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = (SFTOptions if kind is SFT else StepLabelOptions)(data="data.jsonl", **options)
    return kind(made, Setting(tiny.tokenizer(template), 0, tmp_path))


def learnt(trajectory):
    ids = [token for token, own in zip(trajectory.ids, trajectory.mask, strict=True) if own]
    return tiny.tokenizer().decode(ids)


def test_of_a_prompt_and_completion_the_completion_and_its_end_are_learnt(tmp_path):
    trajectory = recipe(tmp_path, {"prompt": "the quick", "completion": " brown fox"}).rows[0]
    assert learnt(trajectory) == " brown fox</s>"


def test_of_a_conversation_every_assistant_turn_is_learnt(tmp_path):
    turns = [("user", "yes"), ("assistant", "no"), ("user", "maybe"), ("assistant", "fox")]
    trajectory = recipe(tmp_path, {"messages": [{"role": r, "content": c} for r, c in turns]}).rows[0]
    assert learnt(trajectory) == " no</s> fox</s>"
    whole = tiny.tokenizer().decode(trajectory.ids)
    assert whole == "<s>user: yes</s><s>assistant: no</s><s>user: maybe</s><s>assistant: fox</s>"


def test_ids_with_a_mask_are_taken_as_they_are(tmp_path):
    trajectory = recipe(tmp_path, {"ids": [1, 2, 3, 4], "mask": [0, 1, 0, 1]}).rows[0]
    assert (list(trajectory.ids), list(trajectory.mask)) == ([1, 2, 3, 4], [False, True, False, True])


def test_of_a_steps_tokens_the_last_carries_the_label_and_an_unknown_label_is_not_learnt(tmp_path):
    row = {"problem": "1 + 1", "steps": ["fox", "dog", "the"], "labels": [1, None, 0]}
    trajectory = recipe(tmp_path, row, kind=StepLabels).rows[0]
    positions = [at for at, own in enumerate(trajectory.mask) if own]
    encode = tiny.tokenizer()
    ends = [len(encode(f"1 + 1\n\n{text}").input_ids) - 1 for text in ("fox\n\n", "fox\n\ndog\n\nthe\n\n")]
    assert positions == ends
    assert [trajectory.labels[at] for at in positions] == [1, 0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"prompt": "x"}, "needs prompt and completion"),
        ({"ids": [1, 2], "mask": [1, 0]}, "no tokens to train on"),
        ({"messages": [{"role": "user", "content": "x"}]}, "no tokens to train on"),
        ([1], "must be a JSON object"),
        ({"messages": "hi"}, "list of objects"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "template rejects the conversation: no tools"),
        ({"ids": [1, 99999]}, "99999 is not in the vocabulary"),
        ({"ids": [1, 2], "mask": [1]}, "2 ids and a mask of 1"),
        ({"prompt": "a", "completion": 3}, "must be strings"),
    ],
)
def test_a_row_that_can_not_be_learnt_is_named_by_its_line(tmp_path, row, told):
    with pytest.raises(SchemaError, match=told) as refused:
        recipe(tmp_path, {"prompt": "a", "completion": "b"}, row)
    assert refused.value.line == 2


def test_a_label_of_another_kind_is_refused_and_never_taken_for_right(tmp_path):
    with pytest.raises(SchemaError, match="1, 0 or null, got -1"):
        recipe(tmp_path, {"problem": "1 + 1", "steps": ["fox", "dog"], "labels": [1, -1]}, kind=StepLabels)


def test_a_conversation_without_a_template_says_what_to_give_instead(tmp_path):
    with pytest.raises(SchemaError, match="no chat template"):
        recipe(tmp_path, {"messages": [{"role": "assistant", "content": "x"}]}, template=False)


def test_sequences_over_the_limit_are_left_out_and_counted_and_no_rows_are_refused(tmp_path):
    long = {"prompt": "the", "completion": " fox" * 50}
    made = recipe(tmp_path, {"prompt": "the", "completion": " fox"}, long, max_tokens=20)
    assert (len(made.rows), made.left_out) == (1, 1)
    with pytest.raises(ConfigError, match="no rows"):
        recipe(tmp_path, long, max_tokens=20)


def test_each_epoch_has_every_row_once_in_an_order_of_its_own(tmp_path):
    made = recipe(tmp_path, *({"ids": [1, i], "mask": [0, 1]} for i in range(8)), batch=4)
    first = [trajectory.ids[1] for step in (1, 2) for trajectory in made.collect(None, step)]
    second = [trajectory.ids[1] for step in (3, 4) for trajectory in made.collect(None, step)]
    assert sorted(first) == sorted(second) == list(range(8))
    assert first != second
