"""Reward models behind a server: the pooling endpoints of vLLM and SGLang.

vLLM       POST /classify  {messages} or {input: token ids}, use_activation false -> data[i].probs, the raw logits
           POST /pooling   the same with task "classify"                          -> data[i].data
           POST /score     {text_1, text_2}, for cross-encoders                   -> data[i].score
           POST /rerank    {query, documents}, one request per prompt             -> results[i].relevance_score
SGLang     POST /classify  {input_ids: [...]}                                     -> [{embedding: [...]}]
           POST /v1/rerank {query, documents}                                     -> [{index, score}]

/v1/models shows which of the two a server is, its models, and (vLLM) the maximum input length. Activations are switched
off, so the numbers are the head's own, as in transformers. A server interprets special tokens in texts, so they are
broken by a space before sending.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from verikit.engines.errors import BadReply
from verikit.engines.openai.dispatch import Dispatcher
from verikit.engines.openai.options import header_key
from verikit.engines.openai.wire import FailedTry, exchange
from verikit.errors import EngineError
from verikit.judges.evidence.special_tokens import without_specials
from verikit.judges.heads import EncodedText
from verikit.judges.rewards.encode import conversation, plain
from verikit.judges.rewards.reward import Numbers
from verikit.types import Sample

if TYPE_CHECKING:
    import httpx

EndPoint = Literal["auto", "classify", "pooling", "score", "rerank"]
RETRIES = 5
FIRST_WAIT_S = 0.25
AT_ONCE = 32
"""Maximum texts or documents per request."""


@dataclass(frozen=True, slots=True)
class About:
    """A server's description of itself."""

    model: str
    sglang: bool = False
    max_tokens: int = 2**31


class _Asked:
    """A dispatcher's job: one request, retried after temporary failures. It fills its places in the results."""

    def __init__(self, post: Callable[[], list[Numbers]], results: list[Any], indices: Sequence[int]) -> None:
        self._post, self._results, self._indices = post, results, indices
        self._tries = 0

    def __call__(self) -> float | None:
        """Try once. Returns the seconds until the next try, or None if it is finished."""
        self._tries += 1
        try:
            replies: Sequence[Numbers | EngineError] = self._post()
            if len(replies) != len(self._indices):
                raise FailedTry(BadReply(f"{len(replies)} results for {len(self._indices)} texts"))
        except FailedTry as failed:
            if failed.error.retryable and self._tries <= RETRIES:
                return float(max(FIRST_WAIT_S * 2 ** (self._tries - 1), failed.wait))
            replies = [failed.error] * len(self._indices)
        for index, reply in zip(self._indices, replies, strict=True):
            self._results[index] = reply
        return None


class RewardServer:
    """Queries a server for the outputs of its model's head. Close it after use."""

    def __init__(self, spec: str, endpoint: EndPoint, timeout_s: float, concurrency: int) -> None:
        """Set up the client for a server (`http://host:8000[/v1][#model]`). No request is sent yet."""
        url, _, self._model = spec.partition("#")
        self._url = url.rstrip("/").removesuffix("/v1")
        self._key = header_key(os.environ.get("OPENAI_API_KEY", ""))
        self._timeout_s = timeout_s
        self._endpoint = "classify" if endpoint == "auto" else endpoint
        self._local = threading.local()
        self._about: About | None = None
        self._dispatcher = Dispatcher(concurrency, self._close_client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._dispatcher.close()
        self._close_client()

    def about(self) -> About:
        """The server's description of itself.

        Raises:
            EngineError: The server can't be reached, or has no such model.
        """
        if self._about is None:
            for attempt in range(RETRIES + 1):
                try:
                    self._about = self._read_models(self._exchange("GET", "v1/models", None))
                    break
                except FailedTry as failed:
                    if attempt == RETRIES or not failed.error.retryable:
                        raise failed.error from None
                    time.sleep(FIRST_WAIT_S * 2**attempt)
        assert self._about is not None
        return self._about

    def conversations(self, samples: Sequence[Sample], form: str) -> list[Numbers | EngineError]:
        """The outputs for each sample's conversation, formatted by the server's template."""
        if self._endpoint == "rerank":
            return self._in_groups(samples)
        ask = self._score if self._endpoint == "score" else self._classify
        if self._endpoint != "score" and form in ("pair", "text"):
            texts = [without_specials(plain(sample.prompt) + sample.completion) for sample in samples]
            return self._run([(partial(self._inputs, part), at) for part, at in _portions(texts)])
        return self._run([(partial(ask, sample), [at]) for at, sample in enumerate(samples)])

    def encoded(self, texts: Sequence[EncodedText]) -> list[Numbers | EngineError]:
        """The outputs for each text's ids."""
        ids = [list(text.ids) for text in texts]
        ask = self._sglang if self.about().sglang else self._inputs
        return self._run([(partial(ask, part), at) for part, at in _portions(ids)])

    def _run(self, jobs: Sequence[tuple[Callable[[], list[Numbers]], Sequence[int]]]) -> list[Any]:
        results: list[Any] = [None] * sum(len(at) for _, at in jobs)
        for _ in self._dispatcher.run([_Asked(post, results, at) for post, at in jobs]):
            pass
        return results

    def _in_groups(self, samples: Sequence[Sample]) -> list[Numbers | EngineError]:
        """Send the candidates of one prompt in one request."""
        groups: dict[str, list[int]] = {}
        for at, sample in enumerate(samples):
            groups.setdefault(without_specials(plain(sample.prompt)), []).append(at)
        jobs: list[tuple[Callable[[], list[Numbers]], Sequence[int]]] = []
        for query, members in groups.items():
            for start in range(0, len(members), AT_ONCE):
                part = members[start : start + AT_ONCE]
                documents = [without_specials(samples[at].completion) for at in part]
                jobs.append((partial(self._rerank, query, documents), part))
        return self._run(jobs)

    def _classify(self, sample: Sample) -> list[Numbers]:
        return self._posted({"messages": conversation(sample, without_specials)})

    def _inputs(self, inputs: Sequence[Any]) -> list[Numbers]:
        own = {} if isinstance(inputs[0], str) else {"add_special_tokens": False}
        return self._posted({"input": list(inputs), **own})

    def _posted(self, body: Mapping[str, Any]) -> list[Numbers]:
        pooling = self._endpoint == "pooling"
        own = {"task": "classify"} if pooling else {}
        reply = self._post(self._endpoint, {**body, **own, "use_activation": False})
        return _numbers(reply, "data", "data" if pooling else "probs")

    def _score(self, sample: Sample) -> list[Numbers]:
        asked, reply = without_specials(plain(sample.prompt)), without_specials(sample.completion)
        body = {"text_1": asked, "text_2": reply, "use_activation": False}
        return _numbers(self._post("score", body), "data", "score")

    def _rerank(self, query: str, documents: list[str]) -> list[Numbers]:
        body = {"query": query, "documents": documents}
        if self.about().sglang:
            return _numbers(self._post("v1/rerank", body), "", "score")
        return _numbers(self._post("rerank", {**body, "use_activation": False}), "results", "relevance_score")

    def _sglang(self, ids: Sequence[Any]) -> list[Numbers]:
        reply = self._post("classify", {"input_ids": list(ids)})
        told = isinstance(reply, list) and all(isinstance(item, dict) for item in reply)
        return _numbers([{"index": at, **item} for at, item in enumerate(reply)] if told else None, "", "embedding")

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._exchange("POST", path, {"model": self.about().model, **body})

    def _exchange(self, method: str, path: str, body: Any) -> Any:
        client: httpx.Client | None = getattr(self._local, "client", None)
        if client is None:
            client = self._local.client = self._connect()
        return exchange(client, method, path, body, timeout_s=self._timeout_s, secret=self._key)

    def _connect(self) -> httpx.Client:
        import httpx

        headers = {"content-type": "application/json"}
        if key := self._key.get_secret_value():
            headers["authorization"] = f"Bearer {key}"
        return httpx.Client(base_url=self._url, headers=headers)

    def _close_client(self) -> None:
        if (client := getattr(self._local, "client", None)) is not None:
            client.close()

    def _read_models(self, reply: Any) -> About:
        try:
            models = {str(item["id"]): item for item in reply["data"]}
            name = self._model or next(iter(models))
            told = models.get(name) or next(iter(models.values()))
            sglang = told.get("owned_by") == "sglang"
            return About(name, sglang, int(told.get("max_model_len") or 2**31))
        except (KeyError, TypeError, AttributeError, ValueError, StopIteration):
            raise FailedTry(BadReply(f"{self._url}/v1/models is not in the protocol's form")) from None


def _portions(texts: Sequence[Any]) -> list[tuple[list[Any], list[int]]]:
    """Texts grouped by similar length, with their indices."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    cut = [order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE)]
    return [([texts[at] for at in part], part) for part in cut]


def _numbers(reply: Any, key: str, value: str) -> list[Numbers]:
    """The numbers in a reply, in the order of its indices.

    Raises:
        FailedTry: The reply is not in the protocol's format.
    """
    try:
        listed = sorted(reply[key] if key else reply, key=lambda item: item["index"])
        return [Numbers(_floats(item[value])) for item in listed]
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise FailedTry(
            BadReply(f"the reply is not in the protocol's form: {type(problem).__name__} {problem}")
        ) from None


def _floats(value: Any) -> list[float]:
    """A number, a list of numbers, or numbers per token. For the last form, only the last token counts."""
    if isinstance(value, list):
        return _floats(value[-1]) if isinstance(value[0], list) else [float(item) for item in value]
    return [float(value)]
