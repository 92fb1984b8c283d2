"""The base class of every judge: an engine, a prompt and one way to report failures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, get_args

from verikit.artifacts.shape import MOST_SIDE
from verikit.base import TextVerifier
from verikit.engines import Engine, Request
from verikit.engines.openai.options import check_spec
from verikit.engines.usage import added
from verikit.errors import ConfigError, EngineError, EngineTimeout, VerikitError
from verikit.judges.asking.ask import FORCED, PROBE, Record, ask, connect
from verikit.judges.asking.contradicted import counted_if_contradicted
from verikit.judges.asking.prompt import JudgePrompt, Task, load_prompt
from verikit.judges.asking.reply import JudgeVerdict
from verikit.judges.evidence import Evidence, Shown, reference_shown, reply_shown
from verikit.judges.evidence.actions import speaks_of_actions
from verikit.judges.evidence.digest import DigestBudget, digest
from verikit.judges.evidence.entries import entries
from verikit.judges.evidence.looks import LookingEngine, LookLimits, offered
from verikit.judges.evidence.pictures import MOST_PICTURES
from verikit.judges.evidence.pieces import read_in_pieces
from verikit.judges.evidence.run_pictures import has_pictures, with_run_pictures
from verikit.judges.evidence.shown import MAX_CHARS, NotShown
from verikit.judges.evidence.special_tokens import clearing
from verikit.messages import CompletionMessage
from verikit.platform import tracing
from verikit.platform.raised import describe
from verikit.replies.views import text_read
from verikit.types import Sample, Score
from verikit.workspaces.grading import SHOWN_DIGITS

Shows = Literal["reply", "turns", "trajectory", "workspace"]
TooLong = Literal["unscored", "zero", "pieces"]
ANSWERS = ("answer", "answer_1", "answer_2")
"""Names of the strings that candidates wrote."""


@dataclass(frozen=True, repr=False)
class Judge(TextVerifier):
    """A verifier that queries a model. The engine is loaded at its first call."""

    task: ClassVar[Task]
    local_files: ClassVar[tuple[str, ...]] = ("engine", "prompt")
    tallied: ClassVar[tuple[str, ...]] = (FORCED,)
    sees_media = True

    engine: str | Engine
    """A spec such as `openai:http://host:8000/v1#model`, or an engine."""
    prompt: str = ""
    """Name of a built-in prompt, or the path of a TOML file."""
    _: KW_ONLY
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The engine's own options, if `engine` is a spec: `{'concurrency': 8, 'timeout_s': 60}`."""
    cache: bool = True
    """If `engine` is a spec, read and store replies in the user's cache of generations."""
    retry: bool = False
    """If a reply can't be read, retry once with a reminder of the format."""
    structured: bool = True
    """Constrain replies to the prompt's verdicts while they are sampled, if the engine can.

    If a reply is only its verdict, the first request is constrained. Otherwise a reply without a verdict gets a second,
    constrained request with a reminder. The reason then contains `forced`, and a run counts these verdicts.
    """
    probe: int = PROBE
    """Stop if the first `probe` replies all contain no verdict. 0 never stops."""
    max_chars: int = MAX_CHARS
    """Maximum characters of each string that the judge sees."""
    too_long: TooLong = "unscored"
    """How an answer with more than `max_chars` characters is judged: `unscored`, `zero` or `pieces`.

    `zero` gives it the lowest value, for training.
    With `pieces` the engine makes notes on each part, and the judge sees the notes and the answer's end.
    """
    shows: Shows = "reply"
    """Show the `reply`, all `turns` of a conversation, the `trajectory` or the `workspace`.

    `trajectory` shows messages, calls, results and changed files as numbered entries. `workspace` also shows all files
    that were left.
    """
    scope: Sequence[str] = ()
    """Paths and patterns of the workspace files whose content is shown. Empty: all changed files and outputs."""
    looks: int = 0
    """Maximum looks at entries and files that the judge may take before its verdict.

    Files may then be shown in part.
    """
    look_chars: int = 20_000
    """Maximum characters that all looks of a request show."""
    look_tokens: int = 0
    """Maximum tokens that all looks of a request show, at four bytes per token. 0: only characters are counted."""
    look_pictures: int = 4
    """Maximum pictures that all looks of a request show, of pages and of entries. Runs leave these places free.

    If the engine takes no pictures, the text of pages is shown.
    """
    look_pixels: int = 1024
    """Pixels of each picture's longer side, at most 4,096."""
    budget: int = 8000
    """Tokens of a conversation that are shown, at four bytes per token. Long entries keep head, tail and rare lines."""
    changes: str = "workspace"
    """The row's key with the file changes.

    The changes are a unified diff, or `before` and `after`, each an object of contents by path.
    """
    expected: bool = False
    """Average over the probabilities of all verdicts at the verdict's position (G-Eval, Liu et al. 2023).

    The value then shows how unsure a judge is. Requires an engine that returns log-probabilities.
    """
    file: JudgePrompt = field(init=False, compare=False)
    """The prompt file's content."""
    _record: Record = field(default_factory=Record, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        file = load_prompt(self.prompt)
        if self.expected:
            file = file.model_copy(update={"reply": replace(file.reply, read="logprobs")})
        object.__setattr__(self, "file", file)
        if self.file.task != self.task:
            raise ConfigError(
                f"{self.prompt!r} is a {self.file.task} prompt", hint=f"{self.name} needs a {self.task} one"
            )
        for name, value, least in (
            ("probe", self.probe, 0),
            ("max_chars", self.max_chars, 1),
            ("budget", self.budget, 1),
            ("looks", self.looks, 0),
            ("look_chars", self.look_chars, 1),
            ("look_tokens", self.look_tokens, 0),
            ("look_pictures", self.look_pictures, 0),
            ("look_pixels", self.look_pixels, 64),
        ):
            if not isinstance(value, int) or value < least:
                raise ConfigError(f"{name} must be an integer >= {least}, got {value!r}")
        for name, allowed in (("too_long", TooLong), ("shows", Shows)):
            if getattr(self, name) not in get_args(allowed):
                raise ConfigError(f"{name} must be one of {', '.join(get_args(allowed))}, got {getattr(self, name)!r}")
        if isinstance(self.engine, str) and self.engine.startswith("openai:"):
            check_spec(self.engine.removeprefix("openai:"))
        if self.look_pixels > MOST_SIDE:
            raise ConfigError(f"look_pixels must be at most {MOST_SIDE:,}, got {self.look_pixels!r}")
        if self.looks and self.shows == "reply":
            raise ConfigError("looks is for judges that see runs", hint="shows='workspace', looks=8")
        object.__setattr__(self, "scope", self._patterns())
        if "api_key" in self.options:
            raise ConfigError("api_key would be stored with the run", hint="set OPENAI_API_KEY instead")
        if not isinstance(self.options, Mapping):
            raise ConfigError(f"options must be a table of the engine's options, got {self.options!r}")

    def _patterns(self) -> tuple[str, ...]:
        """The patterns of the files that are shown."""
        patterns = (self.scope,) if isinstance(self.scope, str) else tuple(self.scope)
        if not all(isinstance(pattern, str) and pattern for pattern in patterns) or (patterns and not self._sees_files):
            hint = "shows='workspace', scope=['report.docx']"
            raise ConfigError("scope must be a list of paths and patterns of a workspace", hint=hint)
        return patterns

    def __repr__(self) -> str:
        """Every option that affects the verdicts, with the prompt and a digest of its content."""
        hidden = ("_record", "file", "probe", "options", "cache")
        shown = {field_.name: getattr(self, field_.name) for field_ in fields(self) if field_.name not in hidden}
        # Options are not shown unchanged: the number of requests in flight does not affect verdicts.
        shown["engine"] = self.engine if isinstance(self.engine, str) and not self.options else self._engine.identity
        shown["prompt"] = f"{self.prompt}#{self.file.digest}"
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @property
    def _sees_files(self) -> bool:
        return self.shows == "workspace"

    def score_missing(self, sample: Sample, reason: str) -> Score:
        """0.0, unless the judge sees more than the reply."""
        return self.score_batch([sample])[0] if self._sees_files else super().score_missing(sample, reason)

    def shown_reply(
        self, text: str, messages: Sequence[CompletionMessage], changes: Any = None, sample: Sample | None = None
    ) -> Shown:
        """The shown part of an answer: its text, the run that produced it, or also a sample's workspace."""
        if self._sees_files:
            from verikit.judges.evidence.workspace import workspace_evidence  # loads the readers of files

            budget = self._shown_of_runs._replace(whole=not self.looks)
            answered = replace(sample or Sample(), completion=text, messages=messages)
            return workspace_evidence(answered, self.scope, budget, lambda said: text_read(said, self.reads))
        if self.shows == "reply" or not (messages or (changes and self.shows == "trajectory")):
            return reply_shown(text, messages)
        run = messages or ({"role": "assistant", "content": text},)
        found = entries(run, changes if self.shows == "trajectory" else None, lambda said: text_read(said, self.reads))
        if not found:
            return reply_shown(text, messages)
        return digest(found, self._shown_of_runs, actions=self.shows == "trajectory")

    @property
    def _shown_of_runs(self) -> DigestBudget:
        return DigestBudget(self.budget, clearing(self._engine.tokenizer), pictures=self._picture_places)

    @property
    def _picture_places(self) -> int:
        """How many pictures a request may have before any look. 0 if the engine takes none."""
        looks = self.look_pictures if self.looks else 0
        return max(0, MOST_PICTURES - looks) if self._engine.pictures else 0

    def shown_sample(self, sample: Sample) -> Shown:
        """What is shown of a sample's completion."""
        return self.shown_reply(sample.completion, sample.messages, sample.meta.get(self.changes), sample)

    def warn_unseen(self, rows: Sequence[tuple[Shown, Sequence[str]]]) -> None:
        """Warn once if criteria mention actions and their rows show none. Each row is (shown content, criteria)."""
        if self._record.warned:
            return
        blind = sum(
            not (isinstance(shown, Evidence) and shown.acts) and any(map(speaks_of_actions, criteria))
            for shown, criteria in rows
        )
        if blind:
            self._record.warned = True
            problem = f"{self.name}: criteria speak of actions, and {blind} of {len(rows)} rows show none"
            warnings.warn(f"{problem}: shows='trajectory' shows calls, results and changed files", stacklevel=3)

    def fitted(self, batch: Sequence[Mapping[str, Shown]]) -> list[dict[str, Shown]]:
        """The strings to be shown, and the pictures of runs that are sent.

        With `too_long='pieces'`, notes on their parts replace long answers.
        """
        if self.too_long == "pieces":
            clear = clearing(self._engine.tokenizer)
            batch = read_in_pieces(self._engine, batch, ANSWERS, max_chars=self.max_chars, clear=clear)
        places = self._picture_places if any(map(has_pictures, batch)) else 0
        return [with_run_pictures(texts, places) for texts in batch]

    def request(self, texts: Mapping[str, Shown], criterion: str = "") -> Request | VerikitError:
        """The request for a verdict on these strings by this criterion, or the error that prevents it."""
        engine = self._engine
        clear = clearing(engine.tokenizer)
        try:
            made = self.file.request(
                texts,
                max_chars=self.max_chars,
                criterion=criterion,
                clear=clear,
                engine=engine.identity,
                pictures=engine.pictures,
            )
        except (NotShown, EngineError) as error:
            return error
        if not self.looks:
            return made
        pictures = self.look_pictures if engine.pictures else 0
        limits = LookLimits(self.looks, self.look_chars, pictures, self.look_pixels, self.look_tokens or None)
        return offered(made, texts, limits, clear)

    def ask(self, requests: Sequence[Request | VerikitError]) -> list[JudgeVerdict]:
        """Send the requests to the engine in one call. An entry that is an error gets a verdict without a reply.

        Raises:
            ConfigError: None of the first replies contains a verdict.
        """
        answered = iter(self._ask([request for request in requests if isinstance(request, Request)]))
        return [next(answered) if isinstance(request, Request) else self.unasked(request) for request in requests]

    def unasked(self, problem: VerikitError) -> JudgeVerdict:
        """The verdict if no request could be sent.

        It is the worst value if the agent left nothing to judge, or if the answer is too long and `too_long` is `zero`.
        """
        too_long = problem.too_long if isinstance(problem, NotShown) and self.too_long == "zero" else ""
        name = problem.nothing or too_long if isinstance(problem, NotShown) else ""
        if name not in ANSWERS:
            return JudgeVerdict(None, error=problem)
        low, high = self.file.reply.span
        return JudgeVerdict(high if name == "answer_2" else low, unasked=str(problem))

    def _ask(self, requests: Sequence[Request]) -> list[JudgeVerdict]:
        with tracing.span(
            f"judge {self.name}", verikit__judge__prompt=self.prompt, verikit__requests=len(requests)
        ) as span:
            verdicts = ask(
                self.asked,
                requests,
                self.file.reply,
                remind=self.file.remind,
                retry=self.retry,
                hold=self.structured,
            )
            if self.task == "pairwise" and self.file.reply.labels:
                verdicts = list(map(counted_if_contradicted, verdicts))
            if span is not None:
                span.set_attribute("verikit.without_verdict", sum(verdict.error is not None for verdict in verdicts))
        self._record.note(verdicts, self.probe)
        return verdicts

    @property
    def batch(self) -> int:  # type: ignore[override]
        """Samples per batch: the number of requests that the engine has in flight."""
        return int(self.options.get("concurrency", 64))

    def connected(self) -> Engine:
        """The loaded engine. Call this to check that the engine is available.

        Raises:
            SpecError, ConfigError, MissingExtra: The engine is not available.
        """
        return self._engine

    @property
    def asked(self) -> Engine:
        """The engine that gives verdicts. With `looks` it is wrapped in one that answers them."""
        return LookingEngine(self._engine) if self.looks else self._engine

    @property
    def _engine(self) -> Engine:
        if isinstance(self.engine, str):
            return connect(self.engine, self.options, cached=self.cache)
        return self.engine

    def reference(self, sample: Sample) -> Shown:
        """The gold answer as the prompt shows it. None if there is no gold answer or the prompt doesn't show it."""
        return reference_shown(sample.answer) if self.file.needs_reference else None


def with_entries_shown(score: Score, texts: Mapping[str, Shown]) -> Score:
    """A score whose reason shows how much of a run the judge saw."""
    told = entries_shown(texts)
    return replace(score, reason=score.reason + told) if told else score


def entries_shown(texts: Mapping[str, Shown]) -> str:
    """How many entries and pictures of each run were shown, to append to a reason. "" if there is no run."""
    runs = [shown for shown in texts.values() if isinstance(shown, Evidence) and shown.entries]
    return "".join(
        f"; shown {run.seen} of {run.entries} entries{_of_pictures(run)}{_of_workspace(run)}" for run in runs
    )


def _of_pictures(run: Evidence) -> str:
    return f" and {run.sent} of {run.pictures} pictures" if run.pictures else ""


def _of_workspace(run: Evidence) -> str:
    return f" with workspace {run.workspace[:SHOWN_DIGITS]}" if run.workspace else ""


def usage_of_shown(texts: Mapping[str, Shown]) -> dict[str, float]:
    """The usage of preparing the shown evidence."""
    return added(*(shown.usage for shown in texts.values() if isinstance(shown, Evidence)))


def failed(error: Exception, usage: Mapping[str, float]) -> Score:
    """The unscored result of a failed verdict. The error is never the candidate's."""
    make = Score.timeout if isinstance(error, EngineTimeout) else Score.error
    return make(describe(error), usage=usage, cause=error if isinstance(error, EngineError) else None)
