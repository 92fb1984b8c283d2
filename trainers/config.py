"""A run's settings: TOML read by pydantic, `--set a.b=c` on top, and the recipe's own options under `[options]`.

Unknown keys are rejected with a suggestion of the nearest valid key. The resolved settings are saved with the run and
fully determine it.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PositiveInt, model_validator

from verikit.errors import ConfigError, SpecError, nearest
from verikit.names.registry import find, registered
from verikit.names.settings import checked
from verikit.names.spec import import_object, names_object
from verikit.platform.folders import check_code
from verikit.trainers.recipe import Recipe
from verikit.trainers.sections import (
    AdvantageSection,
    DistillSection,
    DistributedSection,
    GoldSection,
    PrecisionSection,
    Section,
)

PACKAGE = Path(__file__).parent


class ModelSection(Section):
    """[model]: the model to train."""

    path: str = ""
    """A folder or a Hugging Face Hub name. "": the recipe makes its own tiny model."""
    dtype: Literal["float32", "bfloat16", "auto"] = "auto"
    """Number format of the loaded weights. `auto`: the checkpoint's own."""
    attention: str = ""
    """transformers' `attn_implementation`. "": transformers chooses."""


class LossSection(Section):
    """[loss]: the policy objective."""

    kind: Literal["ppo", "gspo", "cispo", "likelihood"] = "ppo"
    """`likelihood` is supervised: -log p, with the trajectory's weight and no advantage."""
    clip_low: float = Field(default=0.2, ge=0)
    """The ratio to the sampling policy is clipped below 1 - `clip_low`."""
    clip_high: float = Field(default=0.28, ge=0)
    """The same above 1 + `clip_high`. DAPO clips higher above than below."""
    dual_clip: float | None = Field(default=None, gt=1)
    """The bound c of dual clip, 3 in the paper."""
    aggregation: Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"] = (
        "token-mean"
    )
    """How token losses become one number: a mean over all tokens, or sums or means per sequence."""
    length: PositiveInt | None = None
    """The constant of `seq-mean-token-sum-norm`: the maximum tokens per completion."""
    entropy: float = 0.0
    """Coefficient of the entropy bonus."""
    overlong: Literal["keep", "filter"] = "keep"
    """`filter`: trajectories truncated at the limit give no gradient (DAPO)."""
    soft_length: PositiveInt | None = None
    """DAPO's soft length penalty: sampled tokens beyond `soft_length - soft_margin` cost up to 1 of reward."""
    soft_margin: PositiveInt = 1
    """Tokens before `soft_length` at which the penalty starts."""
    mismatch: Literal["ignore", "truncate", "icepop", "sequence-mask"] = "ignore"
    """Correction for tokens whose probability differs between the engine that sampled and the trainer."""
    mismatch_cap: float = Field(default=2.0, gt=1)
    """`truncate`: the maximum ratio. Other kinds use the range [1/cap, cap]."""

    @model_validator(mode="after")
    def _fits(self) -> LossSection:
        if self.kind == "gspo" and self.aggregation != "seq-mean-token-mean":
            raise ValueError('gspo is a mean over sequences: set loss.aggregation = "seq-mean-token-mean"')
        if self.aggregation == "seq-mean-token-sum-norm" and self.length is None:
            raise ValueError("seq-mean-token-sum-norm needs loss.length, the constant it divides by")
        return self


class KLSection(Section):
    """[kl]: the KL penalty to the model at the start of training."""

    coefficient: float = Field(default=0.0, ge=0)
    """Factor on the penalty. 0: no penalty, and no reference model is loaded."""
    estimator: Literal["k1", "k2", "k3", "k1+", "k3+"] = "k3"
    """`k1+`, `k3+` have the value of k1 and k3 and the gradient of k2."""
    in_reward: bool = False
    """Subtract the penalty from the reward. Otherwise it is added to the loss."""


class OptimizerSection(Section):
    """[optimizer]."""

    kind: str = "adamw"
    """`adamw`, `adamw8bit`, `adamw4bit` or `adamw-stochastic`. The last rounds bf16 updates at random."""
    lr: float = Field(default=1e-6, gt=0)
    """Learning rate."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Decay rates of Adam's two moments."""
    weight_decay: float = 0.0
    """Decoupled weight decay, as in AdamW."""
    epsilon: float = 1e-8
    """Added to Adam's denominator."""
    grad_clip: float = Field(default=1.0, gt=0)
    """Maximum norm of the gradient. A larger gradient is scaled down."""
    warmup_steps: int = Field(default=0, ge=0)
    """Steps until the rate has risen to `lr`."""
    schedule: Literal["constant", "cosine"] = "constant"
    """`cosine` falls to a tenth of `lr` at the last step."""


class BatchSection(Section):
    """[batch]: how trajectories become updates."""

    tokens: PositiveInt = 4096
    """Maximum tokens per micro-batch, including padding. A longer sequence is a micro-batch on its own."""
    minibatches: PositiveInt = 1
    """Optimizer steps per collected batch."""
    epochs: PositiveInt = 1
    """Passes over each collected batch."""
    packing: bool = False
    """Put sequences end to end without padding (needs attention that supports packed positions: flash-attention)."""
    share_prompts: bool = True
    """Compute a prompt once for all completions of a micro-batch, if the model's attention allows it exactly."""
    dynamic: int = Field(default=0, ge=0)
    """Dynamic sampling (DAPO): maximum collections per step until enough groups have unequal rewards. 0: off."""
    ahead: bool = False
    """Collect the next batch while training on this one: one step off-policy; see `verikit.trainers.ahead`."""
    allow_truncated: bool = False
    """Train on samples with top-p below 1, whose log-probabilities differ from the ones used for sampling."""


class WarmupSection(Section):
    """[warmup]: imitate the recipe's demonstrations first, until its gate is reached."""

    steps: PositiveInt
    """Minimum steps. The learning rate's schedule ends with them, and further steps use its last rate."""
    gate: float = 0.0
    """The value of `Recipe.gate` that starts training."""
    gate_every: PositiveInt = 50
    """Steps between measurements of the gate, after `steps` and until it is reached."""
    max_steps: PositiveInt | None = None
    """The run stops with an error if the gate is not reached by this step. Default: four times `steps`."""
    optimizer: OptimizerSection = OptimizerSection(lr=5e-3)

    @property
    def last_step(self) -> int:
        """Latest step for reaching the gate."""
        return self.max_steps or 4 * self.steps

    def measures_gate(self, step: int) -> bool:
        """Whether the gate is measured after a step, 1 being the first."""
        return step >= self.last_step or (step >= self.steps and (step - self.steps) % self.gate_every == 0)

    @model_validator(mode="after")
    def _check(self) -> WarmupSection:
        if self.last_step < self.steps:
            raise ValueError(f"warmup.max_steps = {self.max_steps} is below warmup.steps = {self.steps}")
        return self


class EngineSection(Section):
    """[engine]: the engine that samples."""

    kind: Literal["hf", "vllm", "server"] = "hf"
    """`hf` samples in the trainer's process. `vllm` runs vLLM beside it. `server` asks a vLLM server."""
    rows: PositiveInt = 512
    """Maximum number of completions decoded in parallel."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the engine's class."""

    @model_validator(mode="after")
    def _read(self) -> EngineSection:
        if self.kind == "hf" and self.options:
            raise ValueError(
                f"engine.options ({', '.join(self.options)}) are for vllm and server: hf takes engine.rows"
            )
        if self.kind != "hf" and self.rows != EngineSection.model_fields["rows"].default:
            raise ValueError(f"engine.rows is for hf: {self.kind} chooses batches automatically, see engine.options")
        return self


class RunSection(Section):
    """[run]: the run's length, and what to save and log."""

    steps: PositiveInt = 100
    """Training steps."""
    evaluate_every: int = Field(default=10, ge=0)
    """Steps between evaluations. 0: only at the end."""
    save_every: PositiveInt = 20
    """Steps between checkpoints."""
    keep: PositiveInt = 2
    """Number of checkpoints to keep."""
    best: str = ""
    """Also keep the weights with the best value of this held-out metric, in `best/`. `-loss`: the lowest loss."""
    gold: GoldSection | None = None
    """Score held-out rows with a second verifier, and act if it falls while the reward rises."""
    samples_every: int = Field(default=5, ge=0)
    """Steps between logged completions. 0: none."""
    samples: int = Field(default=8, ge=0)
    """Completions logged at each of those steps."""
    track: tuple[str, ...] = ()
    """Trackers that also receive the metrics and samples; see `--track`.

    Supported: `wandb:PROJECT`, `tensorboard`, `trackio:PROJECT`, `mlflow:EXPERIMENT`.
    """
    max_mismatch: float = Field(default=0.5, ge=0)
    """Maximum difference of sampler and trainer: the mean of |log p - log p'| over a step's tokens. 0: no limit."""
    max_unscored_steps: PositiveInt = 3
    """Stop after this many steps in a row with too many trajectories unscored or unsampled."""
    max_unscored_share: float = Field(default=0.2, ge=0, le=1)
    """Maximum fraction of a role's trajectories unscored, or of the engine's requests lost, per step.

    A step above it causes a warning and counts towards `max_unscored_steps`.
    """
    max_idle_steps: int = Field(default=8, ge=0)
    """Stop a run if its first steps, this many, train on no row because each group's rewards are equal. 0: continue."""
    max_bad_steps: PositiveInt = 5
    """Stop after this many steps in a row whose gradient is not finite."""
    threads: int = Field(default=0, ge=0)
    """CPU threads of torch. 0: OMP_NUM_THREADS, or the cores divided among this machine's processes."""

    @model_validator(mode="after")
    def _fits(self) -> RunSection:
        if self.gold is not None and not self.evaluate_every:
            raise ValueError("run.gold is measured at each evaluation: set run.evaluate_every above 0")
        return self

    @model_validator(mode="before")
    @classmethod
    def _read_old(cls, table: Any) -> Any:
        """Read the settings that `track` replaced. The folders of earlier runs have both, mostly empty."""
        if not isinstance(table, dict) or table.keys().isdisjoint(("tensorboard", "wandb")):
            return table
        kept = {key: value for key, value in table.items() if key not in ("tensorboard", "wandb")}
        board, project = table.get("tensorboard"), table.get("wandb")
        old = [spec for spec, named in (("tensorboard", board), (f"wandb:{project}", project)) if named]
        if old:
            told = f"run.tensorboard and run.wandb will be removed: set run.track = {json.dumps(old)}"
            warnings.warn(told, FutureWarning, stacklevel=2)
            kept["track"] = list(dict.fromkeys([*table.get("track", ()), *old]))
        return kept


class Config(Section):
    """All settings of one run."""

    recipe: str
    """A recipe's name, or `package.module:Class`."""
    name: str = ""
    """The run's name, for its folder and trackers."""
    seed: int = 0
    """Seed of everything random. On the same machine and number of processes, it gives the same run."""
    model: ModelSection = ModelSection()
    advantage: AdvantageSection = AdvantageSection()
    loss: LossSection = LossSection()
    kl: KLSection = KLSection()
    distill: DistillSection | None = None
    optimizer: OptimizerSection = OptimizerSection()
    batch: BatchSection = BatchSection()
    warmup: WarmupSection | None = None
    engine: EngineSection = EngineSection()
    precision: PrecisionSection = PrecisionSection()
    distributed: DistributedSection = DistributedSection()
    run: RunSection = RunSection()
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the recipe."""
    folder: str = ""
    """The config file's folder, or the working directory for a built-in config. Relative paths start there."""

    @model_validator(mode="after")
    def _fits(self) -> Config:
        if self.batch.ahead and self.loss.kind == "likelihood":
            raise ValueError("batch.ahead needs a loss with an importance weight, which likelihood has not")
        if self.distill is not None and self.loss.kind == "likelihood":
            raise ValueError("distill needs a policy loss, such as ppo: likelihood imitates given completions")
        sampler = self.engine.kind, self.distributed.kind, self.batch.ahead
        if not self.precision.lora_merged and sampler != ("hf", "ddp", False):
            needed = 'engine.kind = "hf", distributed.kind = "ddp" and batch.ahead = false'
            raise ValueError(f"precision.lora_merged = false needs {needed}")
        if self.advantage.kind != "gdpo":
            return self
        if self.kl.in_reward:
            raise ValueError(
                "gdpo compares parts of the reward, and kl.in_reward is not a part: leave the KL in the loss"
            )
        if self.loss.soft_length:
            raise ValueError("gdpo takes a length penalty as a part of the reward: soft_overlong, not loss.soft_length")
        return self


def shipped() -> dict[str, Path]:
    """Return the built-in configs as a mapping of names to paths."""
    found = [*PACKAGE.glob("configs/*.toml"), *PACKAGE.glob("recipes/*/configs/*.toml")]
    return {path.stem: path for path in sorted(found)}


def load_config(source: str, changes: Sequence[str] = ()) -> Config:
    """Read settings from a file or a built-in config, and apply `a.b=c` changes (values as TOML, otherwise strings).

    Raises:
        ConfigError: The file doesn't exist, or a key or value is wrong. The hint names the nearest key.
    """
    named = shipped()
    own = not source.endswith(".toml") and "/" not in source
    path = named.get(source) if own else Path(source)
    if path is None:
        hint = nearest(source, named, f"one of {', '.join(named)}. Or give a FILE.toml")
        raise ConfigError(f"config {source!r} not found", hint=hint)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"can't read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    folder = Path.cwd() if own else path.resolve().parent
    table = {"name": path.stem, "folder": str(folder)} | table
    return read_config(changed(table, changes))


def read_config(table: Mapping[str, Any]) -> Config:
    """Check settings, including the recipe's options. The result includes the defaults of missing settings.

    Raises:
        ConfigError: A key or value is wrong.
    """
    config = checked(Config, table)
    options = checked(find_recipe(config.recipe).Options, config.options, "options.")
    return config.model_copy(update={"options": options.model_dump(mode="json")})


def changed(table: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Return a copy of the table with `a.b=c` changes applied.

    Raises:
        ConfigError: A change is not KEY=VALUE, or its key goes through a value.
    """
    result = {key: dict(value) if isinstance(value, dict) else value for key, value in table.items()}
    for change in changes:
        key, equals, text = change.partition("=")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except ValueError:
            value = text
        *tables, last = key.strip().split(".")
        node = result
        for name in tables:
            if node.get(name) is None:  # also a table that is off by default, as in a resumed run's settings
                node[name] = {}
            node = node[name]
            if not isinstance(node, dict):
                raise ConfigError(f"--set {change}: {name} is a value, not a table")
        if not equals or not last:
            raise ConfigError(f"--set {change}: not KEY=VALUE, such as run.steps=20")
        node[last] = value
    return result


def find_recipe(name: str) -> type[Recipe]:
    """Return a recipe's class: registered under `verikit.recipes`, `package.module:Class` or `file.py:Class`.

    Raises:
        ConfigError: The recipe doesn't exist or can't be imported.
    """
    if names_object(name):
        check_code(name)
    try:
        made = import_object(name) if names_object(name) else find("recipes", name)
    except SpecError as error:
        hint = error.hint or f"there are {', '.join(registered('recipes'))}; or package.module:Class, file.py:Class"
        raise ConfigError(str(error), hint=hint) from None
    if not (isinstance(made, type) and issubclass(made, Recipe)):
        raise ConfigError(f"{name} is not a recipe class", hint="it has to derive from verikit.trainers.recipe.Recipe")
    return made


def differences(old: Config, new: Config) -> Iterator[str]:
    """Yield `key: old -> new` for every setting that differs."""
    yield from _differences(old.model_dump(mode="json"), new.model_dump(mode="json"), "")


def _differences(old: Any, new: Any, key: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(name), new.get(name), f"{key}.{name}".lstrip("."))
    elif old != new:
        yield f"{key}: {old!r} -> {new!r}"
