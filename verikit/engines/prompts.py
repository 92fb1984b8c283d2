"""Prompts as token ids, by the model's own tokenizer and chat template. Shared by the engines in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from verikit.engines.errors import BadRequest, NoChatTemplate
from verikit.engines.types import Request
from verikit.errors import ContextOverflow
from verikit.messages import media_of

_MARK = "verikit-continues-here"


def prompt_ids(tokenizer: Any, request: Request) -> list[int]:
    """Return the token ids of a request's prompt.

    Text is encoded with the tokenizer's special tokens, a conversation with its template. If the last turn is the
    assistant's, it is continued.

    Raises:
        NoChatTemplate: The prompt is a conversation, and the tokenizer has no template.
        BadRequest: The template rejects the conversation, or the prompt is empty or has a picture.
    """
    if request.kind == "ids":
        ids, size = list(request.prompt_ids), len(tokenizer)
        if bad := [token for token in ids if not 0 <= token < size]:
            raise BadRequest(f"token id {bad[0]} is not in the vocabulary of {size}")
    elif request.kind == "text":
        ids = list(tokenizer(request.prompt).input_ids)
    else:
        ids = list(tokenizer(_conversation(tokenizer, request), add_special_tokens=False).input_ids)
    if not ids:
        raise BadRequest("the prompt is empty")
    return ids


def _conversation(tokenizer: Any, request: Request) -> str:
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise NoChatTemplate(
            f"{tokenizer.name_or_path or 'this model'} has no chat template",
            hint="send the prompt as a string, or use an instruction-tuned model (its tokenizer_config.json has one)",
        )
    messages = [dict(message) for message in request.prompt if isinstance(message, Mapping)]
    _check_text(messages)
    begun = str(messages[-1]["content"]) if request.continues else ""
    if begun:
        # A template may strip a turn or close it. So a mark is rendered, then replaced by the unchanged text.
        messages[-1]["content"] = _MARK
    try:
        text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=not begun)
    except TemplateError as error:
        raise BadRequest(f"the chat template rejects the conversation: {error}") from None
    if not begun:
        return text
    head, mark, _ = text.rpartition(_MARK)
    if not mark:
        raise BadRequest("the chat template does not show the last turn, so it can't be continued")
    return head + begun


def _check_text(messages: Sequence[Mapping[str, Any]]) -> None:
    if shown := next((word for message in messages for word in media_of(message.get("content"))), ""):
        raise BadRequest(f"the prompt has a {shown}, and a model in this process reads only text")


def room(request: Request, length: int, context: int) -> int:
    """Return how many tokens may follow a prompt: the request's limit, or the rest of the context.

    Raises:
        ContextOverflow: No room is left.
    """
    if length + min(1, request.max_tokens) > context:
        raise ContextOverflow(f"the prompt's {length} tokens leave no room in a context of {context}")
    return min(request.max_tokens, context - length)


def stop_test(tokenizer: Any, stops: Sequence[str]) -> Callable[[list[int]], bool]:
    """Create a test of whether ids have just completed one of some strings. Call it after every token."""
    tail = max(map(len, stops)) + 8  # a token is at least a byte, a character at most 4 tokens
    last = {stop[-1] for stop in stops}
    before = _letter(tokenizer)
    unsure = before is None and any(character.isspace() for character in last)

    @cache
    def may_end(token: int) -> bool:
        # On its own, a token may lose its space; after a letter it doesn't. A partial character is a replacement mark.
        piece = tokenizer.decode([token]) + ("" if before is None else tokenizer.decode([before, token]))
        return unsure or "\ufffd" in piece or not last.isdisjoint(piece)

    def stopped(ids: list[int]) -> bool:
        if not may_end(ids[-1]):
            return False
        text = tokenizer.decode(ids[-tail * 4 :] if len(ids) > tail * 4 else ids, skip_special_tokens=True)
        return any(stop in text for stop in stops)

    return stopped


def _letter(tokenizer: Any) -> int | None:
    """Return a token that is a letter on its own, if there is one."""
    ids = tokenizer("a", add_special_tokens=False).input_ids
    return ids[-1] if ids and tokenizer.decode(ids[-1:]).strip() == "a" else None


def cut(text: str, stops: Sequence[str]) -> str:
    """Return the text up to the first of some strings."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


def first_stop(text: str, stops: Sequence[str]) -> str | None:
    """Return the stop string that occurs first in a text (the longest if several start there), or None."""
    found = [(at, -len(stop), stop) for stop in stops if (at := text.find(stop)) >= 0]
    return min(found)[2] if found else None


def choice_test(tokenizer: Any, choices: Sequence[str], eos: int) -> Callable[[list[int]], list[int]]:
    """Create a function that returns the allowed next tokens while ids spell one of the choices, ended by `eos`."""
    spelled = [[*tokenizer(choice, add_special_tokens=False).input_ids, eos] for choice in choices]

    def allowed(ids: list[int]) -> list[int]:
        at = len(ids)
        return sorted({path[at] for path in spelled if len(path) > at and path[:at] == ids})

    return allowed


def weights_identity(path: str) -> str:
    """Return a key of a model's weights for caches: its files with size and modification time, or the name given."""
    folder = Path(path)
    if folder.is_file():
        folder, files = folder.parent, [folder]
    elif folder.is_dir():
        files = sorted(file for file in folder.iterdir() if file.suffix in (".safetensors", ".bin", ".json", ".jinja"))
    else:
        return path
    return f"{folder.resolve()} " + " ".join(
        f"{file.name}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files
    )
