"""In the sandbox: episodes of an OpenEnv environment. Only the standard library and pydantic are needed.

An episode is a reset and the same action until it ends. A task is chosen by `seed`; one that the environment draws by
itself is fixed by the seed of Python's `random`.
"""

import asyncio
import enum
import importlib
import importlib.util
import inspect
import json
import random
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

MAX_STEPS = 16
RESETS = 10
"""With the same seed, to see whether it is ignored."""
MAX_VALUES, MAX_DEPTH, MAX_LIST, MAX_VALUE = 160, 4, 40, 20_000
_SELECTS = ("seed", "index")
_HIDDEN = ("done", "reward", "metadata")
_MARKS = re.compile(r"[0-9a-f]{8,64}(?:-[0-9a-f]{4,12}){0,4}|\d{4}-\d\d-\d\d[T ][\d:.+-]*|\d{9,}(?:\.\d+)?")
"""Identifiers and times."""
_MEANT = ("expected", "correct", "gold", "true", "target", "right", "answer", "label")


class EpisodeTask(NamedTuple):
    """A task, as the environment can be asked for it again."""

    seed: int
    resets: int


class StepEnd(NamedTuple):
    """What a step returns."""

    done: bool
    reward: Any
    seen: Any


class Episodes:
    """Plays episodes of one environment."""

    def __init__(self, make: Callable[[], Any], action: Any) -> None:
        self.make, self.action = make, action

    def begin(self, task: EpisodeTask, entropy: bool = False) -> tuple[Any, Any]:
        """A new environment after its reset, and the observation."""
        random.seed(None if entropy else task.seed)
        if not entropy and "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(task.seed)
        env = self.make()
        taken = _parameters(env.reset)
        given = {name: task.seed for name in _SELECTS if name in taken}
        seen = None
        for _ in range(task.resets):
            seen = _done(env.reset(**given))
        random.seed()  # a grader that draws is not hidden by the seed of the task
        return env, seen

    def play(self, task: EpisodeTask, reply: str, seen: str | None = None, entropy: bool = False) -> StepEnd | None:
        """The last step of an episode; None if the server refuses the action.

        Args:
            task: The task.
            reply: The action, as text or as a JSON object.
            seen: The prompt that it must have.
            entropy: Don't seed Python's `random`.
        """
        env, begun = self.begin(task, entropy)
        if seen is not None and _asked(begun) != seen:
            raise NotImplementedError("the same task each time for the same seed")
        action = action_of(self.action, reply)
        if action is None:
            return None
        for _ in range(MAX_STEPS):
            told = _step_end(_done(env.step(action)))
            if told.done:
                return told
        raise NotImplementedError(f"an episode that ends within {MAX_STEPS} equal actions")


def of_openenv(job: dict[str, Any]) -> tuple[Episodes, list[dict[str, Any]]]:
    """The episodes of an environment, and its tasks."""
    frame = sys.modules["openenv"]
    _import(job["modules"])
    make, action = frame.MADE[-1] if frame.MADE else _own_class(job["folder"], frame)
    if not (isinstance(action, type) and hasattr(action, "model_fields")):
        raise NotImplementedError("a class of actions with fields")
    if isinstance(make, frame.OpenEnvironment):  # older servers share one
        held = make
        make = lambda: held  # noqa: E731
    episodes = Episodes(make, action)
    rows = job["listed"] if "listed" in job else list(_listed(episodes, job["rows"]))
    return episodes, rows


def _import(names: list[str]) -> None:
    """The module of the server, under the first name that can be imported."""
    for name in names[:-1]:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return
    importlib.import_module(names[-1])


def _own_class(folder: str, frame: types.ModuleType) -> tuple[Callable[[], Any], Any]:
    """The environment of a server that makes its app by itself, and the class of its actions."""
    found = [one for one in _classes(folder) if {"reset", "step"} <= set(vars(one))]
    found = [one for one in found if not issubclass(one, frame.UnknownClass)]  # a client
    if len(found) != 1:
        raise NotImplementedError("an app that create_app makes, or one class with reset and step")
    hints = [kind for name, kind in typing.get_type_hints(found[0].step).items() if name != "return"]
    return found[0], hints[0] if hints else None


def _classes(folder: str) -> set[Any]:
    """The classes of the modules of a folder."""
    modules = [one for one in sys.modules.values() if str(getattr(one, "__file__", "")).startswith(f"{folder}/")]
    return {one for module in modules for one in vars(module).values() if isinstance(one, type)}


def _step_end(told: Any) -> StepEnd:
    """A step of OpenEnv, or of Gymnasium's form."""
    if isinstance(told, tuple) and len(told) in (4, 5):
        seen, reward, *ends = told[:-1]
        ended = StepEnd(any(ends), reward, seen)
    elif isinstance(told, Mapping):
        ended = StepEnd(bool(told.get("done")), told.get("reward"), told)
    else:
        ended = StepEnd(bool(getattr(told, "done", False)), getattr(told, "reward", None), told)
    if not isinstance(ended.reward, int | float | None):
        raise NotImplementedError("a reward that is a number")
    return ended


def _done(found: Any) -> Any:
    async def awaited() -> Any:
        return await found

    return asyncio.run(awaited()) if inspect.isawaitable(found) else found


def _parameters(method: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(method).parameters


def _fields(seen: Any) -> dict[str, Any]:
    """The fields of an observation that tell the agent something."""
    seen = seen[0] if isinstance(seen, tuple) and seen else seen
    held = dict(seen) if isinstance(seen, Mapping) else getattr(seen, "__dict__", {"observation": seen})
    told = getattr(seen, "model_dump", lambda: held)()
    return {name: value for name, value in told.items() if name not in _HIDDEN and value not in (None, "", [], {})}


def _asked(seen: Any) -> str:
    """The observation as the prompt of a task, without identifiers and times."""
    return _MARKS.sub("…", json.dumps(_fields(seen), default=str, sort_keys=True))


def _listed(episodes: Episodes, count: int) -> Iterator[dict[str, Any]]:
    """Different tasks, each with its prompt and the values of the environment's state."""
    known: set[str] = set()
    for task in _tasks(count):
        try:
            env, seen = episodes.begin(task)
        except Exception:
            if not known:
                raise
            continue  # there may be fewer tasks
        prompt = _asked(seen)
        if prompt not in known:
            known.add(prompt)
            values = _values(episodes, env, task)
            yield {"prompt": prompt, "seed": task.seed, "resets": task.resets, "values": values}
        if len(known) == count:
            return


def _tasks(count: int) -> Iterator[EpisodeTask]:
    """By seed first; then those that later resets give."""
    yield from (EpisodeTask(seed, 1) for seed in range(count))
    yield from (EpisodeTask(0, resets) for resets in range(2, count + 1))


def _values(episodes: Episodes, env: Any, task: EpisodeTask, entropy: bool = False) -> list[list[str]]:
    """Texts that may be the right reply, each after its path."""
    values = [*_state(env), *_told_at_the_end(episodes, task, entropy)]
    return [*_filled(episodes.action, values), *_scalars(values)][:MAX_VALUES]


def _told_at_the_end(episodes: Episodes, task: EpisodeTask, entropy: bool) -> Iterator[tuple[str, Any]]:
    """What the last observation of an undone episode shows. Some environments tell the right answer then."""
    try:
        last = episodes.play(task, "", entropy=entropy)
    except Exception:  # noqa: BLE001 - of the environment's code
        return
    yield from _walked(_fields(last.seen) if last is not None else {}, "observation", 0, set())


def _state(env: Any) -> Iterator[tuple[str, Any]]:
    """The values of an environment's attributes, and of the containers that its module names."""
    held = {name: one for name, one in vars(env).items() if name not in ("transform", "rubric")}
    yield from _walked(held, "", 0, set())
    module = sys.modules.get(type(env).__module__)
    named = {name: one for name, one in vars(module or types).items() if isinstance(one, list | dict | tuple)}
    yield from _walked({name: one for name, one in named.items() if not name.startswith("__")}, "", 0, set())


def _walked(thing: Any, path: str, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Each value in a thing, with its path. Places in a list have no number."""
    if isinstance(thing, str | int | float):
        yield path, thing.value if isinstance(thing, enum.Enum) else thing
        return
    if depth > MAX_DEPTH or id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, list | tuple | set | frozenset):
        yield path, thing
        pairs = [(f"{path}[]", one) for one in islice(thing, MAX_LIST)]
    else:
        inner = thing if isinstance(thing, Mapping) else _attributes(thing)
        yield path, inner
        pairs = [(f"{path}.{name}".lstrip("."), one) for name, one in islice(inner.items(), MAX_LIST)]
    for at, one in pairs:
        yield from _walked(one, at, depth + 1, seen)


def _attributes(thing: Any) -> dict[str, Any]:
    """The attributes of data; none of code and of generators of random numbers."""
    if isinstance(thing, type | types.ModuleType) or callable(thing) or isinstance(thing, random.Random):
        return {}
    slots = (name for one in type(thing).__mro__ for name in getattr(one, "__slots__", ()) if isinstance(name, str))
    try:
        return {**{name: getattr(thing, name, None) for name in slots}, **vars(thing)}
    except TypeError:
        return {}


def _scalars(values: list[tuple[str, Any]]) -> Iterator[list[str]]:
    """Values as texts. The ones outside of lists come first, since those may belong to other tasks."""
    for path, value in sorted(values, key=lambda one: "[]" in one[0]):
        yield from ([path, text] for text in _texts(value) if 0 < len(text) <= MAX_VALUE)


def _texts(value: Any) -> list[str]:
    """A value as texts that may be an answer."""
    if isinstance(value, list | tuple) and 0 < len(value) <= MAX_LIST:
        plain = all(isinstance(one, str | int | float) for one in value)
        return [json.dumps(value), ", ".join(map(str, value))] if plain else []
    return [str(value)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def _filled(action: Any, values: list[tuple[str, Any]]) -> Iterator[list[str]]:
    """Actions of several fields, filled from mappings of the state that have the fields' names."""
    fields = _own_fields(action)
    required = {*_required(fields)}
    for path, value in values if len(fields) > 1 else []:
        found = _named(fields, value) if isinstance(value, Mapping) else {}
        text = json.dumps(found, default=str)
        if found and required <= set(found) and len(text) <= MAX_VALUE:
            yield [path, text]


def _named(fields: Mapping[str, Any], value: Mapping[Any, Any]) -> dict[str, Any]:
    """The values of fields, as far as a mapping has them."""
    names = {str(name).lower(): one for name, one in islice(value.items(), MAX_LIST)}
    found = {name: _meant(names, name.lower()) for name in fields}
    return {name: one for name, one in found.items() if one is not None}


def _meant(names: Mapping[str, Any], name: str) -> Any:
    """The value under a name, or under that of the right value."""
    forms = [form for mark in _MEANT for form in (f"{mark}_{name}", f"{name}_{mark}")]
    return next((names[form] for form in (*forms, name) if names.get(form) is not None), None)


def action_of(kind: Any, reply: str) -> Any:
    """The action of a reply: its JSON object, or the reply as text. None if the server refuses it."""
    fields = _own_fields(kind)
    told = _object(reply)
    made = _made(kind, told) if told and set(told) <= set(fields) else None
    return made if made is not None else _made(kind, dict.fromkeys(_text_fields(fields), reply))


def _own_fields(kind: Any) -> dict[str, Any]:
    """The fields of a class of actions, without that of the framework."""
    return {name: one for name, one in kind.model_fields.items() if name != "metadata"}


def _required(fields: Mapping[str, Any]) -> list[str]:
    return [name for name, one in fields.items() if one.is_required()]


def _made(kind: Any, fields: dict[str, Any]) -> Any:
    try:
        return kind(**fields)
    except ValueError:
        return None


def _text_fields(fields: Mapping[str, Any]) -> list[str]:
    """The required fields, which must be texts; if there are none, all texts."""
    texts = [name for name, one in fields.items() if _is_text(one.annotation)]
    required = _required(fields)
    choice = next((name for name in required if name not in texts), "")
    if choice:
        raise NotImplementedError(f"an action of text: a fixed choice of {choice} may be right by chance")
    if not (required or texts):
        raise NotImplementedError("an action with a text")
    return required or texts


def _object(reply: str) -> dict[str, Any] | None:
    try:
        told = json.loads(reply)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _is_text(kind: Any) -> bool:
    """Whether a field takes any string."""
    return kind is str or {*typing.get_args(kind)} == {str, type(None)}


def ignored_seed(episodes: Episodes, path: str) -> str:
    """Two different values at a path for the same seed; empty if there are none, or if `reset` takes no seed.

    Prompts are not compared, because they may have identifiers and durations of any form.
    """
    env, _ = episodes.begin(EpisodeTask(0, 1))
    if "seed" not in _parameters(env.reset):
        return ""
    drawn = {_values_at(path, episodes, EpisodeTask(1, 1)) for _ in range(RESETS)} - {""}
    return " and ".join(sorted(drawn)[:2]) if len(drawn) > 1 else ""


def _values_at(path: str, episodes: Episodes, task: EpisodeTask) -> str:
    """The values at a path, in a task that may be drawn anew."""
    env, _ = episodes.begin(task, entropy=True)
    return ", ".join(sorted(text for at, text in _values(episodes, env, task, entropy=True) if at == path))


def prepare() -> None:
    """Make identifiers from Python's `random`, and let a server be imported that can't be started here."""
    if importlib.util.find_spec("uvicorn") is None:
        sys.modules["uvicorn"] = types.ModuleType("uvicorn")
    uuid.uuid4 = lambda: uuid.UUID(int=random.getrandbits(128), version=4)
