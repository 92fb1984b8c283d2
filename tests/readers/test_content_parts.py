"""Content parts in the rows of a file: prompts, candidates and gold answers keep their pictures, and text is text."""

import json

import pytest

import verikit
from verikit.judges.evidence import reference_shown
from verikit.readers import read

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
TEXT = {"type": "text", "text": "7"}


def samples(tmp_path, **row):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"prompt": "q", "answer": "7", **row}) + "\n")
    return [sample for group in read(str(path)) for sample in group.samples()]


CANDIDATES = {
    "parts": lambda parts: parts,
    "a message": lambda parts: {"role": "assistant", "content": parts},
    "a choice": lambda parts: {"message": {"role": "assistant", "content": parts}},
    "messages": lambda parts: [{"role": "assistant", "content": parts}],
    "an object with text": lambda parts: {"text": parts},
}


@pytest.mark.parametrize("key", ["completion", "completions"])
@pytest.mark.parametrize("given", CANDIDATES.values(), ids=CANDIDATES)
def test_a_candidate_in_parts_keeps_its_text_and_its_picture(given, key, tmp_path):
    def scored(*parts):
        found = samples(tmp_path, **{key: given(list(parts)) if key == "completion" else [given(list(parts))]})
        (score,) = verikit.answer().score(found)
        return score.value, found[0]

    assert scored(TEXT)[0] == 1.0
    value, sample = scored(TEXT, PICTURE)
    assert value == 1.0
    assert sample.messages[0]["content"] == [TEXT, PICTURE]
    value, sample = scored(PICTURE)
    assert value is None
    assert sample.messages[0]["content"] == [PICTURE]


def test_a_candidate_that_is_one_picture_is_unscored(tmp_path):
    for row in ({"completion": PICTURE}, {"completions": [PICTURE]}):
        assert verikit.answer().score(samples(tmp_path, **row))[0].value is None


@pytest.mark.parametrize("spec", ["answer", "exact", "f1", "json_match", "numeric"])
@pytest.mark.parametrize(("gold", "value"), [([TEXT], 1.0), ([PICTURE], None), ([TEXT, PICTURE], None)])
def test_a_gold_answer_in_parts_is_its_text_and_none_if_it_has_a_picture(spec, gold, value, tmp_path):
    verifier = verikit.load(spec)
    assert verifier.score(samples(tmp_path, completion="7", answer=gold))[0].value == value
    assert verifier.score([verikit.Sample("q", "7", gold)])[0].value == value


BLANK = {
    "a thought": [{"type": "thinking", "thinking": "7"}],
    "no text": [{"type": "text"}],
    "spaces": [{"type": "text", "text": " \n"}],
}


@pytest.mark.parametrize("spec", ["answer", "exact", "f1", "cover_em", "json_match", "numeric"])
@pytest.mark.parametrize("gold", BLANK.values(), ids=BLANK)
def test_a_gold_answer_in_blank_parts_is_none(spec, gold, tmp_path):
    verifier = verikit.load(spec)
    assert verifier.score(samples(tmp_path, completion="7", answer=gold))[0].value is None
    assert verifier.score([verikit.Sample("q", "7", gold)])[0].value is None
    assert reference_shown(gold) is None


@pytest.mark.parametrize("kind", ["document", "file", "image", "audio"])
@pytest.mark.parametrize("text", [{"completion": "7"}, {"content": "7"}, {"message": {"content": "7"}}])
def test_a_candidate_with_a_text_and_a_type_keeps_its_text_and_its_keys(kind, text, tmp_path):
    given = {"type": kind, **text, "rm": 0.3}
    for row in ({"completion": given}, {"completions": [given]}):
        (sample,) = samples(tmp_path, **row)
        assert sample.completion == "7"
        assert verikit.load("column('rm')").score([sample])[0].value == 0.3


def test_a_rule_that_reads_no_gold_answer_scores_a_row_whose_gold_is_a_picture(tmp_path):
    assert verikit.length(max=9).score(samples(tmp_path, completion="7", answer=[PICTURE]))[0].value == 1.0
