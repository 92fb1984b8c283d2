"""[distill]: a policy learns from a teacher's log-probabilities of its own tokens."""

from statistics import fmean
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.conftest import make, same, settings, train  # noqa: E402
from tests.trainers.test_grpo import JITTER  # noqa: E402
from verikit.engines.errors import ServerFailed  # noqa: E402
from verikit.engines.types import Generation  # noqa: E402
from verikit.errors import ConfigError, TrainerError  # noqa: E402
from verikit.trainers import distill  # noqa: E402
from verikit.trainers.check import check  # noqa: E402
from verikit.trainers.experience import experience  # noqa: E402
from verikit.trainers.recipes.arithmetic import Arithmetic  # noqa: E402
from verikit.trainers.recipes.tiny_model import make_tokenizer  # noqa: E402
from verikit.trainers.run import read_log  # noqa: E402


@pytest.fixture
def teacher(tmp_path):
    """A folder with a random model of the arithmetic world, whose predictions are sharp."""
    model, tokenizer = Arithmetic.make_model(None, 7)
    with torch.no_grad():
        model.model.norm.weight.mul_(4)
    model.save_pretrained(tmp_path / "teacher")
    tokenizer.save_pretrained(tmp_path / "teacher")
    return tmp_path / "teacher"


def config(teacher, **changes):
    usual = {"distill__teacher": f"hf:{teacher}", "run__evaluate_every": 0, "options__held_out_size": 8}
    return settings(**usual | changes).model_copy(update={"warmup": None})


@pytest.mark.slow(seconds=8)
def test_a_policy_learns_from_a_teacher_and_needs_no_reward(tmp_path, teacher):
    """No answer is right here, so all rewards are equal. Only the teacher's term teaches."""
    train(tmp_path / "run", config(teacher, run__steps=20, options__prompts=8, optimizer__lr=3e-3, run__save_every=99))
    rows = [row for row in read_log(tmp_path / "run/metrics.jsonl") if "teacher_kl" in row]
    kl = [row["teacher_kl"] for row in rows]
    assert {row["reward"] for row in rows} == {0.0}
    assert fmean(kl[-4:]) < 0.5 * fmean(kl[:2])


def test_a_token_gets_the_difference_of_teacher_and_student_and_its_weight_of_the_reward(tmp_path, teacher):
    """Compared with transformers' own logits."""
    from transformers import AutoModelForCausalLM

    reward = {"distill__reward": 0.5, "distill__coefficient": 2.0}
    trainer = make(tmp_path / "run", config(teacher, **reward, **JITTER))
    model = AutoModelForCausalLM.from_pretrained(teacher)
    trajectories = trainer._collect(1)
    plain = experience(trajectories, trainer.config, None)
    made = experience(trajectories, trainer.config, None)
    trainer.teacher.add_advantages(made)
    for before, after, trajectory in zip(plain.rows, made.rows, made.trajectories, strict=True):
        with torch.no_grad():
            logp = model(torch.tensor([list(trajectory.ids)])).logits[0].log_softmax(-1)
        known = torch.stack([logp[at, target] for at, target in zip(after.where, after.targets, strict=True)])
        wanted = 0.5 * before.advantage + 2.0 * (known - before.sampled)
        torch.testing.assert_close(after.advantage, wanted, atol=1e-4, rtol=1e-4)
    trainer.close()
    trainer.folder.close()


def test_a_resumed_distillation_equals_an_unbroken_one(tmp_path, teacher):
    whole = train(tmp_path / "whole", config(teacher, run__steps=2))
    train(tmp_path / "cut", config(teacher, run__steps=1))
    assert same(whole, train(tmp_path / "cut", config(teacher, run__steps=2), resume=True))


def test_a_teacher_with_another_tokenizer_is_refused_before_it_is_loaded(tmp_path, teacher, monkeypatch):
    make_tokenizer([*"0123456789+=;}", "\\boxed{", "x"]).save_pretrained(teacher)
    monkeypatch.setattr(distill, "load_engine", None)
    told = "another tokenizer than the policy: 16 tokens are missing or have another id, such as"
    with pytest.raises(ConfigError, match=told):
        make(tmp_path / "run", config(teacher))
    assert any(not fine and told in line for fine, line in check(config(teacher), 1))


def test_a_teacher_whose_tokenizer_is_unknown_is_refused_with_the_setting(tmp_path, teacher):
    with pytest.raises(ConfigError, match="can't load the tokenizer") as refused:
        make(tmp_path / "run", config(teacher, distill__tokenizer=str(tmp_path / "none")))
    assert "distill.tokenizer" in str(refused.value.hint)


def test_a_teacher_that_fails_or_gives_no_probabilities_stops_the_run_by_name(tmp_path, teacher, monkeypatch):
    trainer = make(tmp_path / "run", config(teacher))
    replies = [Generation(error=ServerFailed("out of memory")), Generation()]
    for reply, told in zip(replies, ("out of memory", "no log-probabilities of the prompt"), strict=True):
        engine = SimpleNamespace(generate=lambda requests, reply=reply: [reply] * len(requests), close=lambda: None)
        monkeypatch.setattr(trainer.teacher, "_engine", engine)
        with pytest.raises(TrainerError, match=f"the teacher hf:.* failed: .*{told}"):
            trainer._train_step(1)
    trainer.close()
    trainer.folder.close()


def test_settings_that_do_not_go_with_a_teacher_are_refused(tmp_path, teacher):
    with pytest.raises(ConfigError, match="distill needs a policy loss"):
        config(teacher, loss__kind="likelihood")
    with pytest.raises(ConfigError, match="at temperature 1"):
        train(tmp_path / "run", config(teacher, options__temperature=0.7, run__steps=1))
