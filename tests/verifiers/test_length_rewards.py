"""repetition, cosine_length, soft_overlong: the papers' and open-r1's formulas, and who is to blame for no length."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from verikit import Sample
from verikit.errors import UsageError
from verikit.verifiers.style.repetition import Repetition
from verikit.verifiers.style.soft_overlong import SoftOverlong

WHOLE = verikit.exact(extract="whole")


def open_r1_repetition(text, n, penalty):
    """open-r1's `get_repetition_penalty_reward`, read from its source."""
    words = text.lower().split()
    if text == "" or len(words) < n:
        return 0.0
    seen, total = set(), 0
    for gram in zip(*[words[i:] for i in range(n)], strict=False):
        seen.add(gram)
        total += 1
    return (1 - len(seen) / total) * penalty


@given(st.lists(st.sampled_from(["a", "b", "A", "c."]), max_size=30), st.integers(1, 5))
def test_the_repetition_penalty_is_open_r1s(words, n):
    text = " ".join(words)
    assert Repetition(n, penalty=-1.0)(text).value == pytest.approx(open_r1_repetition(text, n, -1.0), abs=1e-12)
    assert Repetition(n)(text).value == pytest.approx(1 + open_r1_repetition(text, n, -1.0), abs=1e-12)


def test_a_loop_is_near_0_and_plain_text_is_1():
    assert Repetition()("I will check again. " * 200).value < 0.02
    assert Repetition()("Each of these words occurs here just a single time.").value == 1.0
    assert Repetition(4, "chars")("哈哈" * 100).value < 0.02
    assert [Repetition(at_least=0.5)(text).value for text in ("a b c d e", "a a a a a a")] == [1, 0]
    assert Repetition()("").value == 1.0
    for wrong in ({"n": 0}, {"penalty": 1.0}, {"at_least": 2}, {"penalty": -1.0, "at_least": 0.5}):
        with pytest.raises(UsageError):
            Repetition(**wrong)


def open_r1_cosine(correct, length, max_length):
    """open-r1's `get_cosine_scaled_reward` with its defaults, read from its source."""
    cosine = math.cos(length / max_length * math.pi)
    low, high = (0.5, 1.0) if correct else (-0.5, -1.0)
    return low + 0.5 * (high - low) * (1.0 + cosine)


@given(st.booleans(), st.integers(1, 1000))
def test_the_cosine_reward_is_open_r1s_up_to_its_length(correct, length):
    gold = "x" * length
    score = verikit.cosine_length(WHOLE)(gold, gold if correct else "y")
    assert score.value == pytest.approx(open_r1_cosine(correct, length, 1000), abs=1e-12)


def test_beyond_its_length_the_cosine_reward_stays_or_is_what_was_asked_for():
    long = "x" * 5000
    assert verikit.cosine_length(WHOLE)(long, long).value == pytest.approx(0.5)
    assert verikit.cosine_length(WHOLE, exceeded=-10)(long, long).value == -10
    words = verikit.cosine_length(verikit.exact(), unit="words", max_length=4)
    assert words("a b", "a b").value == pytest.approx(0.75)
    assert words("<think>1 2</think>a b", "a b").value < 0.6  # thoughts count


def test_what_the_part_does_not_score_has_no_score_and_keeps_its_reason():
    score = verikit.cosine_length(verikit.exact())("text", None)
    assert (score.status, score.value) == ("error", None)
    assert "gold" in score.reason
    assert verikit.cosine_length(verikit.exact(), unit="tokens")("a", "a").status == "error"
    assert verikit.cosine_length(verikit.exact(), unit="tokens")(
        "a", "a", completion_tokens=500
    ).value == pytest.approx(0.75)
    for wrong in ({"max_length": 0}, {"right": (1.0, math.inf)}, {"wrong": (1.0,)}, {"unit": "lines"}):
        with pytest.raises(UsageError):
            verikit.cosine_length(verikit.exact(), **wrong)


def dapo(length, most, cache):
    """Equation 13 of arXiv 2503.14476, case by case."""
    if length <= most - cache:
        return 0.0
    return ((most - cache) - length) / cache if length <= most else -1.0


def test_soft_overlong_is_dapos_equation_on_every_kind_of_count():
    rng = random.Random(3)
    for _ in range(200):
        most = rng.randint(1, 400)
        cache, length = rng.randint(1, most), rng.randint(0, 500)
        verifier = SoftOverlong(most, cache)
        metas = [
            {"completion_tokens": length}, {"usage": {"completion_tokens": length}}, {"token_ids": [7] * length},
            {"response_length": float(length)},
        ]  # fmt: skip
        for score in verifier.score([Sample("", "text", meta=meta) for meta in metas]):
            assert score.value == pytest.approx(dapo(length, most, cache), abs=1e-12)
        assert SoftOverlong(most, cache, unit="chars")("x" * length).value == pytest.approx(dapo(length, most, cache))


def test_without_a_count_a_length_in_tokens_is_unscored():
    for meta in ({}, {"completion_tokens": None}, {"completion_tokens": True}, {"completion_tokens": -1}):
        score = SoftOverlong().score([Sample("", "text", meta=meta)])[0]
        assert (score.status, score.value) == ("error", None)
    with pytest.raises(UsageError, match="cache"):
        SoftOverlong(100, 200)


def test_a_tokenizer_counts_the_text_thoughts_included(tmp_path):
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    tokenizer = Tokenizer(WordLevel({"a": 0, "?": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        verifier = SoftOverlong(10, 5, tokenizer=str(path))
        assert verifier("a " * 8).value == pytest.approx(-0.6)
        assert verifier("<think> a a a a a </think> a a").value == pytest.approx(-0.8)
    (tmp_path / "other.json").write_text(json.dumps({}))
    for path in (tmp_path / "other.json", tmp_path / "absent"):
        with pytest.raises(UsageError, match="tokenizer"):
            SoftOverlong(10, 5, tokenizer=str(path))("a b")
