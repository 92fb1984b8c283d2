"""Query an engine: all live requests in one call, each reply read strictly, and one retry if allowed.

A reply with a false citation is always retried once, because a judge can correct it.
A failed request or an unreadable reply gives a verdict with an error. A judge that never gives a verdict is not a data
problem. If none of the first replies can be read, the prompt or model is wrong. A `ConfigError` then stops the run
before it spends more.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from verikit.engines import Cache, Engine, Generation, Output, Request, load_engine
from verikit.engines.cache import default_path
from verikit.engines.usage import added, counted
from verikit.errors import ConfigError, EngineError, Refusal, UnparseableVerdict
from verikit.judges.asking.held import bound, generate, tell_refused, unbound
from verikit.judges.asking.reply import JudgeVerdict, ReplyFormat
from verikit.judges.evidence.cited import CITABLE, FalseCitation, check_citations
from verikit.replies.split import CUT
from verikit.types import Message

PROBE = 8
"""Number of first replies that must contain at least one verdict."""
FORCED = "forced"
"""Usage key that counts verdicts constrained to the labels after a reply without one."""


def connect(spec: str, options: Mapping[str, Any], *, cached: bool) -> Engine:
    """The engine of a spec with these options. Judges that name the same engine share it within a process.

    With `cached`, it uses the user's cache of generations, or the one of `caching_in`. A recording needs no cache.

    Raises:
        SpecError: The spec is invalid, or the engine has no such option.
        ConfigError: The options contain a key. They are stored with the run.
        MissingExtra: The engine's packages are not installed.
    """
    if "api_key" in options:
        raise ConfigError("api_key would be stored with the run", hint="set OPENAI_API_KEY instead")
    kept = _caches[-1] if _caches else Cache(default_path())
    return _connected(
        spec, json.dumps(options, sort_keys=True), kept if cached and not spec.startswith("replay:") else None
    )


@cache
def _connected(spec: str, options: str, kept: Cache | None) -> Engine:
    return load_engine(spec, cache=kept, **json.loads(options))


@contextmanager
def caching_in(kept: Cache) -> Iterator[None]:
    """Store the replies of this process's judges, in any thread, here instead of in the user's cache."""
    _caches.append(kept)
    try:
        yield
    finally:
        _caches.remove(kept)


_caches: list[Cache] = []


class Record:
    """Whether a judge has ever given a verdict. Its threads share the record."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unread: list[JudgeVerdict] | None = []
        self.warned: bool = False
        """Whether the warning about criteria on unseen actions was issued."""

    def __reduce__(self) -> tuple[type[Record], tuple[()]]:
        return (Record, ())

    def note(self, verdicts: Sequence[JudgeVerdict], probe: int) -> None:
        """Count replies.

        Raises:
            ConfigError: The number of replies reached `probe`, and none of them could be read.
        """
        with self._lock:
            if self._unread is None:
                return
            for verdict in verdicts:
                if verdict.error is None:
                    self._unread = None
                    return
                if not isinstance(verdict.error, EngineError):
                    self._unread.append(verdict)
            if not probe or len(self._unread) < probe:
                return
            unread, self._unread = self._unread, []
        raise ConfigError(
            f"the judge's first {len(unread)} replies contain no verdict. First error: {unread[0].error}",
            hint="choose a prompt whose reply format this model follows, or another model",
        )


def ask(
    engine: Engine,
    requests: Sequence[Request],
    reply: ReplyFormat,
    *,
    remind: str = "",
    retry: bool = False,
    hold: bool = False,
) -> list[JudgeVerdict]:
    """Send the requests in one call and read each reply.

    Args:
        engine: The judge's engine.
        requests: Conversations.
        reply: How replies are read.
        remind: The reminder sent after an unreadable reply.
        retry: Retry once after an unreadable reply. A reply with a false citation is retried in any case.
        hold: Retry too, and constrain replies to the verdicts if the engine can. Replies that are only their verdict
            are constrained from the first request.
    """
    generations, held = generate(engine, requests, reply.choices() if hold else ())
    sent = zip(requests, generations, held, strict=True)
    verdicts = [_read(request, given, reply, held=was) for request, given, was in sent]
    final = (EngineError, FalseCitation)
    unread = [i for i, verdict in enumerate(verdicts) if verdict.error and not isinstance(verdict.error, final)]
    reminders = {i: reminder(requests[i], verdicts[i].reply, remind) for i in unread if retry or hold}
    bounded = _bounded(engine, reply, {i: reminders[i] for i in reminders if hold and _holdable(verdicts[i])})
    refused: list[Generation] = []
    for (i, request), generation in zip(bounded.items(), _asked(engine, list(bounded.values())), strict=True):
        if (given := unbound(generation, request)) is None:
            refused.append(generation)
            continue
        del reminders[i]
        second = _read(request, given, reply, held=True)
        usage = second.usage if second.error else {**second.usage, FORCED: 1.0}
        verdicts[i] = _gone_on(verdicts[i], replace(second, usage=usage))
    if refused:
        tell_refused(engine, refused[0], "asked again without" if retry else "left without a verdict")
    plain = {**(reminders if retry else {}), **_corrections(requests, verdicts, remind)}
    for (i, request), generation in zip(plain.items(), _asked(engine, list(plain.values())), strict=True):
        verdicts[i] = _gone_on(verdicts[i], _read(request, generation, reply))
    return verdicts


def _corrections(requests: Sequence[Request], verdicts: Sequence[JudgeVerdict], remind: str) -> dict[int, Request]:
    """The requests that follow a false citation, by index."""
    return {
        i: reminder(requests[i], verdict.reply, correction(verdict.error, remind))
        for i, verdict in enumerate(verdicts)
        if isinstance(verdict.error, FalseCitation)
    }


def correction(error: Exception | None, remind: str) -> str:
    """The reminder after a false citation: what is wrong with it, and the format of a verdict."""
    return f"{error}. Cite only entries, files and words that you were shown.\n\n{remind}"


def _holdable(verdict: JudgeVerdict) -> bool:
    return not isinstance(verdict.error, Refusal)


def _bounded(engine: Engine, reply: ReplyFormat, requests: Mapping[int, Request]) -> dict[int, Request]:
    """The requests with their replies constrained to a verdict, for those that the engine can constrain."""
    found = {i: bound(engine, request, reply) for i, request in requests.items()}
    return {i: request for i, request in found.items() if request is not None}


def _gone_on(first: JudgeVerdict, second: JudgeVerdict) -> JudgeVerdict:
    """The second verdict, with the first reply and the usage so far."""
    text = f"{first.reply}\n\n{second.reply}" if second.reply else first.reply
    return replace(second, reply=text, usage=added(first.usage, second.usage))


def told(usage: Mapping[str, float]) -> str:
    """A suffix for a verdict's reason that shows how it was obtained."""
    return ", forced" if usage.get(FORCED) else ""


def _asked(engine: Engine, requests: Sequence[Request]) -> list[Generation]:
    return engine.generate(requests) if requests else []


def _read(request: Request, generation: Generation, reply: ReplyFormat, *, held: bool = False) -> JudgeVerdict:
    usage = counted(generation)
    if generation.error is not None:
        return JudgeVerdict(None, error=generation.error, usage=usage)
    if not generation.outputs:
        return JudgeVerdict(None, error=EngineError("the engine gave no output"), usage=usage)
    output = generation.outputs[0]
    verdict = reply.parse(output, held=held)
    whole = reply.where == "whole" and (held or reply.read == "logprobs")
    verdict = verdict if whole else unless_cut(verdict, output, request.max_tokens)
    return replace(unless_false(verdict, output, request), usage=usage)


def unless_false(verdict: JudgeVerdict, output: Output, request: Request) -> JudgeVerdict:
    """A verdict. It becomes an error if the reply cites an entry, file or words that the shown run does not contain."""
    citable = request.meta.get(CITABLE)
    wrong = check_citations(output.text, citable) if citable and verdict.error is None else None
    return replace(verdict, value=None, label="", error=wrong) if wrong else verdict


def unless_cut(verdict: JudgeVerdict, output: Output, max_tokens: int) -> JudgeVerdict:
    """A verdict. It becomes an error if the token limit cut the reply off, since the judge had not finished."""
    if output.finish_reason not in CUT or isinstance(verdict.error, Refusal):
        return verdict
    problem = str(verdict.error or f"max_tokens cut the reply off behind the verdict {verdict.label!r}")
    hint = f"the limit is {max_tokens:,} tokens; a judge that thinks needs more: [sampling] of its prompt"
    return replace(verdict, value=None, label="", error=UnparseableVerdict(problem, hint=hint))


def reminder(request: Request, reply: str, remind: str) -> Request:
    """The same conversation, continued with the reply and a reminder of the format."""
    assert request.kind == "chat", "judge prompts are conversations"
    said = [Message(role="assistant", content=reply or "(no reply)"), Message(role="user", content=remind)]
    return replace(request, prompt=[*request.prompt, *said])
