import pickle
import random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import verikit  # noqa: E402
from tests.engines import tiny  # noqa: E402
from verikit.errors import ConfigError, SpecError  # noqa: E402
from verikit.judges.genprm import Classifier, Critic  # noqa: E402
from verikit.types import Sample  # noqa: E402

torch.set_num_threads(1)
RNG = random.Random(0)
SAMPLES = [
    Sample(f"sum {k}", "\n\n".join("0123456789"[: RNG.randrange(1, 9)] for _ in range(RNG.randrange(1, 5))))
    for k in range(20)
]


def made(kind, labels=2):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tiny.tokenizer()), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=128, initializer_range=0.2,
        num_labels=labels, pad_token_id=0,
    )  # fmt: skip
    return getattr(transformers, f"LlamaFor{kind}")(config).eval()


def by_hand(model, sample, read, chat=False):
    """One step at a time, nothing padded."""
    encode = tiny.tokenizer()
    text = sample.prompt + "\n\n"
    if chat:
        turn = [{"role": "user", "content": sample.prompt}]
        text = encode.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
    ids, found = list(encode(text, add_special_tokens=not chat).input_ids), []
    for step in sample.completion.split("\n\n"):
        ids += encode(step + "\n\n", add_special_tokens=False).input_ids
        with torch.no_grad():
            found.append(float(read(model(torch.tensor([ids])).logits)))
    return found


@pytest.mark.parametrize(
    ("kind", "name", "labels", "read", "options"),
    [
        ("token", "TokenClassification", 2, lambda logits: logits[0, -1].softmax(-1)[1], {}),
        ("token", "TokenClassification", 2, lambda logits: logits[0, -1].softmax(-1)[1], {"chat": True}),
        ("token", "TokenClassification", 1, lambda logits: logits[0, -1, 0].sigmoid(), {}),
        ("token", "TokenClassification", 3, lambda logits: logits[0, -1].softmax(-1)[0], {"right": 0}),
        ("sequence", "SequenceClassification", 2, lambda logits: logits[0].softmax(-1)[1], {}),
        ("tag", "CausalLM", 2, None, {"right": "+", "wrong": "-"}),
    ],
)
def test_each_kind_gives_the_models_own_probabilities(kind, name, labels, read, options):
    model, encode = made(name, labels), tiny.tokenizer()
    if read is None:
        pair = [encode.convert_tokens_to_ids(text) for text in ("-", "+")]
        read = lambda logits: logits[0, -1, pair].softmax(-1)[1]  # noqa: E731
    scores = Classifier("m", kind, loaded=(model, encode), **options).score(SAMPLES)
    for sample, score in zip(SAMPLES, scores, strict=True):
        wanted = by_hand(model, sample, read, options.get("chat", False))
        assert [float(step) for step in score.steps] == pytest.approx(wanted, abs=1e-5)
        assert score.value == pytest.approx(min(wanted), abs=1e-5)


def test_a_solution_that_does_not_fit_is_zero_and_a_problem_that_does_not_has_no_score():
    model = Classifier("m", loaded=(made("TokenClassification"), tiny.tokenizer()))
    scores = model.score([Sample("a", "x" * 300), Sample("a" * 300, "b"), Sample("a", "b")])
    assert [score.status for score in scores] == ["ok", "error", "ok"]
    assert scores[0].value == 0.0
    assert all("128 tokens" in score.reason for score in scores[:2])


def test_a_saved_classifier_loads_by_its_spec(tmp_path):
    made("TokenClassification").save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    found = verikit.load(f"prm('{tmp_path}', aggregate='last')").score(SAMPLES)
    loaded = Classifier("m", aggregate="last", loaded=(made("TokenClassification"), tiny.tokenizer())).score(SAMPLES)
    assert [score.value for score in found] == pytest.approx([score.value for score in loaded], abs=1e-5)
    other = pickle.loads(pickle.dumps(verikit.load(f"prm('{tmp_path}', aggregate='last')")))
    assert [score.value for score in other.score(SAMPLES)] == [score.value for score in found]
    with pytest.raises(SpecError, match="can't load"):
        verikit.load(f"prm('{tmp_path}/none')").score_steps([], [])


def test_a_model_without_a_trained_head_is_refused(tmp_path):
    made("CausalLM").save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    with pytest.raises(SpecError, match="not a token classifier"):
        Classifier(str(tmp_path)).score(SAMPLES[:1])
    assert Classifier(str(tmp_path), "tag", right="+").score(SAMPLES[:1])[0].status == "ok"


@pytest.mark.parametrize("options", [{"kind": "regression"}, {"right": "+"}, {"kind": "tag"}])
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ConfigError):
        Classifier("m", **options)


def test_tags_must_be_single_tokens():
    model = Classifier("m", "tag", right="right", loaded=(made("CausalLM"), tiny.tokenizer()))
    with pytest.raises(ConfigError, match="single tokens"):
        model.score(SAMPLES[:1])


def test_a_classifier_guides_the_critic():
    from verikit.engines import Engine, Generation, Output

    class Policy(Engine):
        name = "policy"

        def generate(self, requests):
            assert all("\n>" in request.prompt[-1]["content"] for request in requests)
            return [Generation((Output("0123"),)) for _ in requests]

    found = Critic(Policy(), Classifier("m", loaded=(made("TokenClassification"), tiny.tokenizer())), turns=1)
    assert all(1 <= len(refinement.turns) <= 2 for refinement in found.refine(SAMPLES))
