"""bleu, chrf, ter, rouge, wer, cer and fuzzy: equal to the packages they call, and to blame whom they should."""

import random
import string

import pytest

from verikit import Sample
from verikit.errors import UsageError
from verikit.verifiers.overlap.fuzzy import RATIOS, Fuzzy
from verikit.verifiers.overlap.rouge import Rouge
from verikit.verifiers.overlap.sacrebleu import Bleu, Chrf, Ter
from verikit.verifiers.overlap.wer import Cer, Wer

sacrebleu = pytest.importorskip("sacrebleu")
jiwer = pytest.importorskip("jiwer")
rapidfuzz = pytest.importorskip("rapidfuzz")

WORDS = "the a cat dog sat on mat, quickly. Ran running runs São 北京 it's 3.14 don't — (end)".split()
MEASURES = [Bleu(), Chrf(), Ter(), Rouge(), Wer(), Cer(), Fuzzy()]


def pairs(n=60):
    """(text, references), near misses of each other."""
    rng = random.Random(7)
    for _ in range(n):
        base = [rng.choice(WORDS) for _ in range(rng.randint(1, 14))]
        said = [rng.choice(WORDS) if rng.random() < 0.3 else word for word in base if rng.random() < 0.9] or ["a"]
        rng.random() < 0.3 and rng.shuffle(said)
        yield " ".join(said), [" ".join(base), *([" ".join(reversed(base))] if rng.random() < 0.4 else [])]


def same(verifier, peer):
    for text, references in pairs():
        (score,) = verifier.score([Sample("", text, references)])
        assert score.value == pytest.approx(peer(text, references), abs=1e-9), (text, references)


@pytest.mark.parametrize("options", [{}, {"lowercase": True}, {"tokenize": "char"}, {"smooth_method": "floor"}])
def test_bleu_is_sacrebleus(options):
    ours = {("smooth" if key == "smooth_method" else key): value for key, value in options.items()}
    same(Bleu(**ours), lambda text, refs: sacrebleu.sentence_bleu(text, refs, **options).score / 100)


@pytest.mark.parametrize("options", [{}, {"word_order": 2}, {"char_order": 4, "beta": 3}])
def test_chrf_is_sacrebleus(options):
    same(Chrf(**options), lambda text, refs: sacrebleu.sentence_chrf(text, refs, **options).score / 100)


def test_ter_is_sacrebleus_and_a_similarity_unless_the_rate_is_asked_for():
    same(Ter(rate=True), lambda text, refs: sacrebleu.sentence_ter(text, refs).score / 100)
    same(Ter(), lambda text, refs: max(0, 1 - sacrebleu.sentence_ter(text, refs).score / 100))
    same(
        Ter(punctuation=False, case_sensitive=True, rate=True),
        lambda text, refs: sacrebleu.sentence_ter(text, refs, no_punct=True, case_sensitive=True).score / 100,
    )


@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
@pytest.mark.parametrize("stemmer", [False, True])
@pytest.mark.parametrize("part", ["fmeasure", "precision", "recall"])
def test_rouge_is_rouge_scores(kind, stemmer, part):
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")  # imports for seconds
    peer = rouge_scorer.RougeScorer([kind], use_stemmer=stemmer)
    same(
        Rouge(kind, part, stemmer),
        lambda text, refs: max(getattr(peer.score(reference, text)[kind], part) for reference in refs),
    )


def test_wer_and_cer_are_jiwers():
    for ours, peer in ((Wer, jiwer.wer), (Cer, jiwer.cer)):
        same(ours(rate=True), lambda text, refs, peer=peer: min(peer(reference, text) for reference in refs))
        same(ours(), lambda text, refs, peer=peer: max(0, 1 - min(peer(reference, text) for reference in refs)))


@pytest.mark.parametrize("space", ["\t", "\n", "\xa0", "\u2028", "\u3000"])
def test_wer_parts_words_at_every_space_where_jiwer_does_not(space):
    assert Wer()(f"turn{space}it{space}off", "turn it off").value == 1.0
    assert jiwer.wer("turn it off", f"turn{space}it{space}off") > 0


@pytest.mark.parametrize("ratio", RATIOS)
def test_fuzzy_is_rapidfuzzs(ratio):
    if ratio == "levenshtein":
        peer = rapidfuzz.distance.Levenshtein.normalized_similarity
    elif ratio == "jaro_winkler":
        peer = rapidfuzz.distance.JaroWinkler.normalized_similarity
    else:
        peer = lambda a, b: getattr(rapidfuzz.fuzz, ratio)(a, b) / 100  # noqa: E731
    same(Fuzzy(ratio), lambda text, refs: max(peer(reference, text) for reference in refs))


def test_fuzzy_gives_a_verdict_where_a_least_similarity_is_given():
    strict = Fuzzy(at_least=0.9)
    assert [strict(text, "colour").value for text in ("colour", "color", "dolour")] == [1, 1, 0]
    with pytest.raises(UsageError, match="at_least"):
        Fuzzy(at_least=90)


@pytest.mark.parametrize("verifier", MEASURES, ids=lambda v: v.name)
def test_equal_texts_are_1_no_text_is_0_and_no_reference_is_unscored(verifier):
    text = "The quick brown fox jumps over the lazy dog."
    assert verifier(text, text).value == pytest.approx(1.0)
    assert verifier(f"<think>hm</think>{text}", [text, "other"]).value == pytest.approx(1.0)
    assert verifier("  ", text).value == 0.0
    assert verifier("", text).status == "ok"
    for gold in (None, "", []):
        assert verifier(text, gold).status == "error"


@pytest.mark.parametrize("verifier", MEASURES, ids=lambda v: v.name)
def test_a_text_over_the_cap_is_0_unread_and_one_below_it_is_measured(verifier):
    rng = random.Random(0)
    long = "".join(rng.choice(string.ascii_lowercase + "  ") for _ in range(verifier.max_chars))
    assert verifier(long, long[::-1][: verifier.max_chars // 8]).status == "ok"
    assert verifier("a " * (verifier.max_chars // 2), "a b " * 100).status == "ok"
    over = "x" * (verifier.max_chars + 1)
    assert verifier(over, "x").value == 0.0
    assert verifier("x", over).status == "error"


@pytest.mark.parametrize("measure", [Wer, Cer, Ter])
def test_no_text_and_a_text_over_the_cap_are_no_perfect_rates(measure):
    rate = measure(rate=True, max_chars=40)
    silent, thoughts = rate("", "a b"), rate("<think>hm</think>", "a b")
    assert silent.value == thoughts.value == rate(" ", "a b").value == 1.0
    assert rate("x " * 50, "a b").value > rate("x " * 20, "a b").value > 1.0
    assert rate("x " * 50, "a " * 20).value >= 1.0
    assert measure()("", "a b").value == measure()("<think>hm</think>", "a b").value == 0.0


@pytest.mark.parametrize("verifier", [Fuzzy(normalizer="squad"), Wer("squad"), Cer("squad")], ids=lambda v: v.name)
def test_a_reference_that_normalises_to_nothing_is_the_datas_fault(verifier):
    assert verifier("The.", "the").status == "error"
    assert verifier("The.", ["the", "cat"]).value == 0.0
    assert verifier("The cat.", ["the", "cat"]).value == 1.0


def test_words_moved_everywhere_run_ter_out_of_time():
    rng = random.Random(0)
    words = [str(rng.randrange(10)) for _ in range(400)]
    moved = " ".join(rng.sample(words, len(words)))
    value, rate = Ter(timeout_s=1.0)(moved, " ".join(words)), Ter(timeout_s=1.0, rate=True)(moved, " ".join(words))
    assert value.value == 0.0
    assert rate.value > 1.0
    assert value.reason == rate.reason == "the search for moved words took more than 1.0 s"
    assert Ter(timeout_s=60.0)(" ".join(words[:100]), " ".join(words[:101])).value == pytest.approx(1 - 1 / 101)
    with pytest.raises(UsageError, match="timeout_s"):
        Ter(timeout_s=0)


@pytest.mark.parametrize("kind", ["rougeL", "rougeLsum"])
def test_common_subsequences_of_too_many_words_are_refused_unread(kind):
    long = Rouge(kind)("a b " * 5_000, "a " * 5_000)
    assert long.value == 0.0
    assert "too many" in long.reason
    assert Rouge(kind)("a " * 5_000, "a b " * 5_000).status == "error"
    assert Rouge("rouge1")("a b " * 5_000, "a b " * 5_000).value == 1.0


def test_any_white_space_parts_words():
    assert Wer()("turn\nthe\tlight  off\n", "turn the light off").value == 1.0


def test_the_stated_answer_can_be_measured_instead_of_the_whole():
    assert Fuzzy(extract="stated")("Let me see. The answer is **Paris**.", "Paris").value == 1.0
    assert Fuzzy()("Let me see. The answer is **Paris**.", "Paris").value < 0.5
