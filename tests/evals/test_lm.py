import pytest

pytest.importorskip("lm_eval")
pytest.importorskip("torch")

from lm_eval.api.instance import Instance

from tests.engines.tiny import model, save, tokenizer
from tests.evals.scripted import ROWS, Scripted, write
from verikit.engines.hf.engine import HF
from verikit.errors import UsageError
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings, build
from verikit.evals.run import run_task


def instance(kind, *arguments, doc=None):
    return Instance(request_type=kind, doc=doc or {}, arguments=arguments, idx=0, metadata=("task", 0, 1))


@pytest.fixture(scope="module")
def engine():
    return HF.of(model(), tokenizer())


def test_log_likelihoods_are_lm_evals_own(engine):
    from lm_eval.models.huggingface import HFLM

    pairs = [("the quick brown", " fox jumps"), ("Answer:", " A"), ("Answer:", " B"), ("0 + 1 =", " 2 maybe")]
    requests = [instance("loglikelihood", *pair) for pair in pairs]
    theirs = HFLM(pretrained=model(), tokenizer=tokenizer(), batch_size=1).loglikelihood(requests, disable_tqdm=True)
    for ours, (logprob, greedy) in zip(EngineLM(engine).loglikelihood(requests), theirs, strict=True):
        assert ours[0] == pytest.approx(logprob, abs=1e-4)
        assert ours[1] == greedy


def test_an_engine_without_log_probabilities_of_prompts_says_so():
    with pytest.raises(UsageError, match="no log-probabilities of prompts"):
        EngineLM(Scripted(lambda request: "x")).loglikelihood([instance("loglikelihood", "a", "b")])


def test_equal_requests_of_lm_eval_are_told_apart_from_repeats_of_one(engine):
    asked, other = (instance("generate_until", "the quick", {"until": [], "max_gen_toks": 4}) for _ in range(2))
    calls = []
    lm = EngineLM(Scripted(lambda request: calls.append(request.n) or "x"))
    assert lm.generate_until([asked, asked, asked, other]) == ["x"] * 4
    assert calls == [3, 1]


def test_sampled_repeats_differ_and_a_seed_gives_them_again(engine):
    asked = instance("generate_until", "the quick", {"until": [], "max_gen_toks": 8, "temperature": 1.0})
    first, again = (EngineLM(engine, seed=1).generate_until([asked] * 4) for _ in range(2))
    assert first == again
    assert len(set(first)) > 1
    assert EngineLM(engine, seed=2).generate_until([asked] * 4) != first


def test_a_model_without_a_chat_template_leaves_every_row_unscored_by_name(tmp_path):
    plain = HF.of(model(), tokenizer(template=False))
    settings = Settings(data=write(tmp_path / "rows.jsonl", ROWS["math500"]), chat=True)
    (row, *_) = run_task(build("verikit_math500", settings), EngineLM(plain), settings)
    (grade,) = row["filtered_resps"][0]
    assert grade["acc"]["value"] is None
    assert "no chat template" in grade["acc"]["reason"]


def test_one_tiny_model_gives_the_same_table_through_the_engine_and_lm_evals_own_class(tmp_path):
    from lm_eval.models.huggingface import HFLM

    folder = save(tmp_path / "tiny")
    settings = Settings(data=write(tmp_path / "rows.jsonl", ROWS["math500"]), generation={"max_gen_toks": 8})
    task = build("verikit_math500", settings)
    ours = run_task(task, EngineLM(HF(folder)), settings)
    theirs = run_task(build("verikit_math500", settings), HFLM(pretrained=folder, batch_size=1, device="cpu"), settings)
    # lm-eval puts the tokenizer's special tokens where the engine does; replies must agree to the letter.
    assert [row["resps"] for row in ours] == [row["resps"] for row in theirs]
