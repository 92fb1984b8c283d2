r"""Judge prompts: TOML files with the text, the expected reply, and how to sample it.

    system, user    templates. {prompt}, {answer}, {answer_1}, {answer_2}, {reference}, {criteria} become fenced
                    texts (`shown.py`), {fence} is the mark around them. The content of \boxed{} is text
    remind          sent if a reply can't be read and one retry is allowed
    criterion       how a rubric's criterion is shown: {number}, {text}, {points}, {form} (the possible verdicts)
    [reply]         a `ReplyFormat`. A rubric's `find` also contains {fence} and {number}
    [sampling]      max_tokens, temperature

A name without a slash or suffix is a built-in prompt (`verikit/judges/prompts/`). Anything else is a path to your own
file.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from verikit.engines.types import Request
from verikit.errors import ConfigError, nearest
from verikit.judges.asking.reply import ReplyFormat
from verikit.judges.evidence.cited import CITABLE, Citable
from verikit.judges.evidence.content import Evidence, Shown, Turn, turns, with_files
from verikit.judges.evidence.entries import EntryKind
from verikit.judges.evidence.pictures import PictureSlots
from verikit.judges.evidence.run_pictures import has_pictures
from verikit.judges.evidence.shown import MAX_CHARS, NotShown, fence, fenced, visible, visible_to_judge
from verikit.judges.evidence.special_tokens import Clear, without_specials
from verikit.names.settings import checked
from verikit.types import Message

Task = Literal["pairwise", "pointwise", "reference", "rubric"]
FIELDS: Mapping[Task, frozenset[str]] = {
    "pairwise": frozenset({"prompt", "answer_1", "answer_2"}),
    "pointwise": frozenset({"prompt", "answer"}),
    "reference": frozenset({"prompt", "answer", "reference"}),
    "rubric": frozenset({"prompt", "answer", "criteria"}),
}
"""The fields that a task's template must show. Any template may also show a reference."""
_HOLE = re.compile(r"(?<!\\boxed)\{(\w+)\}")
_NAMES = {"answer_1": "first answer", "answer_2": "second answer"}
_MADE = re.compile(r"note_\w{1,8}")
"""Roles of turns that verikit creates."""
_ANSWER = re.compile(r"\{answer(?:_1)?\}")
TOP_LOGPROBS = 20
_OWN_MARK = " The marks and lines of the run carry the code {} instead."
ALONE = """Judge by this criterion alone, whatever else is good or bad:
{}
Reply in the form asked for above.
"""


class Sampling(BaseModel):
    """How a reply is sampled."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    max_tokens: int = Field(1024, ge=1)
    temperature: float = Field(0.0, ge=0)


class JudgePrompt(BaseModel):
    """One prompt file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    task: Task
    about: str = ""
    system: str = ""
    user: str
    remind: str = "Give the verdict now, in the form asked for and nothing else."
    criterion: str = "{number}. {text} ({form})"
    reply: ReplyFormat
    sampling: Sampling = Sampling()  # type: ignore[call-arg]

    def model_post_init(self, context: object) -> None:
        """Check the templates' holes.

        Raises:
            ConfigError: A hole is unknown, or one that the task needs is missing.
        """
        holes = set(_HOLE.findall(self.system + self.user))
        needed = FIELDS[self.task]
        if unknown := holes - needed - {"fence", "reference"}:
            raise ConfigError(f"a {self.task} prompt has no {{{min(unknown)}}}", hint=f"use {_names(needed)}")
        if missing := needed - holes:
            raise ConfigError(f"a {self.task} prompt must show {{{min(missing)}}}")

    @property
    def digest(self) -> str:
        """8 hex digits that change with the content."""
        return hashlib.sha256(self.model_dump_json(exclude={"about"}).encode()).hexdigest()[:8]

    @property
    def needs_reference(self) -> bool:
        """Whether a reference is shown."""
        return "{reference}" in self.system + self.user

    def request(
        self,
        texts: Mapping[str, Shown],
        *,
        max_chars: int = MAX_CHARS,
        criterion: str = "",
        clear: Clear = without_specials,
        engine: str = "the judge's engine",
        pictures: bool = False,
    ) -> Request:
        """The request that shows these strings, with the model's special tokens broken by `clear`.

        The mark is derived from the prompt only, and a criterion comes before the answers. So requests for answers to
        the same prompt share their start, which a server's prefix cache can reuse.

        Args:
            texts: The strings to show, by the names in the template.
            max_chars: Maximum characters of each.
            criterion: The only criterion to judge by, if any.
            clear: Breaks the special tokens of the model that reads it.
            engine: The engine's name, for messages.
            pictures: Whether the engine takes pictures.

        Raises:
            NotShown: A text has more than `max_chars` characters, or has a picture or file that can't be shown.
        """
        slots = PictureSlots(pictures, engine)
        # With pictures in runs, pictures are numbered from the question on: requests about one question start alike.
        names = sorted(texts, key=lambda name: has_pictures(texts) and name.startswith("answer"))
        shown = {name: _turns(name, texts[name], max_chars, clear, slots) for name in names}
        every = [turn.text for said in shown.values() for turn in said]
        mark = fence([turn.text for turn in shown.get("prompt", ())], every)
        run_mark = _run_mark(mark, texts.values(), every) if pictures else mark
        blocks = {"fence": mark}
        citable = Citable()
        for name, said in shown.items():
            text = texts[name]
            run = text if isinstance(text, Evidence) else Evidence()
            own = run_mark if run.entries else mark
            note = run.note + (_OWN_MARK.format(own) if own != mark else "")
            inside = _entries(said, own, len(citable.entries)) if run.entries else _said(said, own)
            blocks[name] = "\n".join(filter(None, (note, fenced(name, inside, own))))
            citable += run.citable
        return Request(
            slots.placed(self._messages(blocks, criterion)),
            max_tokens=self.sampling.max_tokens,
            temperature=self.sampling.temperature,
            logprobs=TOP_LOGPROBS if self.reply.read == "logprobs" else None,
            meta={"fence": mark, "run_fence": run_mark, "entries": len(citable.entries), CITABLE: citable},
        )

    def _messages(self, blocks: Mapping[str, str], criterion: str) -> list[Message]:
        """The prompt's messages with these blocks filled in. An empty template gives no message."""
        templates = (("system", self.system, ""), ("user", self.user, criterion))
        return [
            Message(role=role, content=_filled(template, blocks, more))
            for role, template, more in templates
            if template
        ]


def load_prompt(name: str) -> JudgePrompt:
    """Read a built-in prompt by name, or a file by path.

    Raises:
        ConfigError: It does not exist, or it can't be read.
    """
    own = "/" not in name and not name.endswith(".toml")
    path = files("verikit.judges") / "prompts" / f"{name}.toml" if own else Path(name)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"judge prompt {name!r} not found", hint=nearest(name, prompt_names())) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"judge prompt {name}: {error}") from None
    return checked(JudgePrompt, table, where=f"judge prompt {name}: ")


def prompt_names() -> list[str]:
    """The names of the built-in prompts."""
    folder = files("verikit.judges") / "prompts"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _filled(template: str, blocks: Mapping[str, str], criterion: str) -> str:
    """A filled template. A criterion is placed before the first answer's paragraph, or at the end without one."""

    def show(text: str) -> str:
        return _HOLE.sub(lambda hole: blocks[hole[1]], text)

    if not criterion:
        return show(template)
    alone = ALONE.format(criterion)
    answer = _ANSWER.search(template)
    start = template.rfind("\n\n", 0, answer.start()) if answer else -1
    if start < 0:
        return f"{show(template)}\n{alone}"
    return f"{show(template[:start])}\n\n{alone}{show(template[start + 1 :])}"


def _turns(name: str, text: Shown, max_chars: int, clear: Clear, slots: PictureSlots) -> list[Turn]:
    """The turns with their roles, as a judge may see them."""
    try:
        found = turns(text, calls=True)
    except NotShown as problem:
        raise problem.named(name) from None
    what = _NAMES.get(name, name)
    made = with_files(found, name, what)
    size = sum(len(turn.text) for turn in made) - sum(len(turn.text) for turn in found)
    if size > max_chars:
        raise _too_long(f"the {what} has files of {size:,} characters, over max_chars={max_chars:,}", name)
    return [turn._replace(role=_role(turn.role), text=_visible(name, turn, max_chars, clear, slots)) for turn in made]


def _run_mark(mark: str, texts: Iterable[Shown], apart_from: Sequence[str]) -> str:
    """The mark of runs. With pictures it depends on all of them: no picture can show a mark that depends on it."""
    runs = [text for text in texts if isinstance(text, Evidence)]
    found = sorted(item.digest for run in runs for entry in run.citable.pictures for item in entry)
    return fence([mark, *found], [mark, *apart_from]) if found else mark


def _said(said: Sequence[Turn], mark: str) -> str:
    """A single text unchanged, or several turns, each between marks."""
    return said[0].text if len(said) == 1 else "\n".join(fenced(turn.role, turn.text, mark) for turn in said)


def _entries(said: Sequence[Turn], mark: str, before: int) -> str:
    """The entries of a run, each after a line with its number and the mark. Numbers continue from earlier runs."""
    rows = []
    for turn in said:
        of = f" of #{turn.of + before}" if turn.of else ""
        rows += [f"[#{turn.number + before} {mark}] {turn.role}{of}"] if turn.number else []
        rows.append(turn.text)
    return "\n".join(rows)


def _role(role: str) -> str:
    made = _MADE.fullmatch(role) or role in get_args(EntryKind)
    return role if made or role in ("text", "system", "user", "assistant", "tool") else "other"


def _visible(name: str, turn: Turn, max_chars: int, clear: Clear, slots: PictureSlots) -> str:
    """A turn's text, with the marks of its pictures below it."""
    what = _NAMES.get(name, name)
    try:
        text = visible_to_judge(turn.text, max_chars, clear)
        told = visible(turn.told, clear=clear)
        return "\n".join(filter(None, (text, told, *(slots.mark(item, what, name) for item in turn.media))))
    except ValueError as problem:
        raise _too_long(f"the {what} has {problem}", name) from None


def _too_long(problem: str, name: str) -> NotShown:
    return NotShown(problem, hint="raise max_chars, or set too_long='pieces' (for answers)", too_long=name)


def _names(names: Sequence[str] | frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))
