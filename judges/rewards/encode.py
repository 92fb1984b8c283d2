"""A conversation as a reward model's input: by the chat template, as a pair of texts, or as one text.

Inputs have a length limit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from verikit.errors import ConfigError, VerikitError
from verikit.judges.evidence.shown import NotShown
from verikit.judges.heads import EncodedText
from verikit.messages import content_text, media_of
from verikit.types import Message, Sample

Form = Literal["auto", "chat", "pair", "text"]
"""How a sample becomes a model's input.

`chat`: by the chat template, with the reply as the assistant's turn. `pair`: prompt and reply as a pair of texts
(BERT-style). `text`: the reply appended to the prompt. `auto`: `chat`, which requires a template.
"""
Truncation = Literal["", "left", "right"]


class Unfit(VerikitError):
    """A sample that can't be a model's input. The message contains the reason."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A sample as a model's input, with its length before truncation (0: not truncated)."""

    text: EncodedText
    whole: int = 0


@dataclass(frozen=True)
class PairEncoder:
    """Encodes samples with a model's tokenizer."""

    tokenizer: Any
    form: Form = "auto"
    template: str = ""
    """The file of a chat template (Jinja) that replaces the tokenizer's own."""
    limit: int = 2**31
    """Maximum tokens."""
    truncate: Truncation = ""
    """The side that is cut off a longer sample. "": the sample is unfit."""

    def __call__(self, sample: Sample) -> Encoded:
        """Encode one sample.

        Raises:
            Unfit: It is longer than the limit, or the template rejects its conversation.
            ConfigError: There is no template, or it can't be read.
        """
        text = self._encode(sample)
        length = len(text.ids)
        if not length:
            raise Unfit("there is no token to read")
        if length <= self.limit:
            return Encoded(text)
        if not self.truncate:
            raise Unfit(f"{length} tokens do not fit into the model's {self.limit}", hint="truncate='left' or 'right'")
        kept = slice(length - self.limit, None) if self.truncate == "left" else slice(self.limit)
        return Encoded(EncodedText(text.ids[kept], text.types[kept]), length)

    def _encode(self, sample: Sample) -> EncodedText:
        if self.form in ("auto", "chat"):
            text = self._rendered(conversation(sample, self._literal))
            return EncodedText(self.tokenizer(text, add_special_tokens=False).input_ids)
        prompt, reply = self._literal(plain(sample.prompt)), self._literal(sample.completion)
        made = self.tokenizer(prompt, reply) if self.form == "pair" else self.tokenizer(prompt + reply)
        return EncodedText(made.input_ids, made.get("token_type_ids") or ())

    def _rendered(self, messages: list[dict[str, Any]]) -> str:
        from jinja2 import TemplateError

        own = {"chat_template": self._template} if self._template else {}
        if not own and not self.tokenizer.chat_template:
            raise ConfigError(
                "the model's tokenizer has no chat template", hint="template='FILE', or form='pair' or 'text'"
            )
        try:
            text: str = self.tokenizer.apply_chat_template(messages, tokenize=False, **own)
        except (TemplateError, TypeError) as error:
            raise Unfit(f"the chat template rejects the conversation: {error}") from None
        return text

    @cached_property
    def _template(self) -> str:
        if not self.template:
            return ""
        try:
            return Path(self.template).read_text()
        except (OSError, ValueError) as error:
            raise ConfigError(f"{self.template} can't be read as a chat template: {error}") from None

    def _literal(self, text: str) -> str:
        """A text with the model's special tokens broken, so a candidate can't close its turn and open another."""
        return self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)

    @cached_property
    def _special(self) -> re.Pattern[str]:
        known = getattr(self.tokenizer, "added_tokens_decoder", {}).values()
        names = {str(token) for token in known if getattr(token, "special", False)}
        names |= set(self.tokenizer.all_special_tokens)
        longest = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest)) or r"(?!)")


def conversation(sample: Sample, literal: Any = str) -> list[dict[str, Any]]:
    """The sample's messages with the completion as the assistant's turn. Texts are passed through `literal`."""
    asked: Sequence[Message] = (
        [Message(role="user", content=sample.prompt)] if isinstance(sample.prompt, str) else sample.prompt
    )
    turns = [dict(message) for message in asked] + [{"role": "assistant", "content": sample.completion}]
    return [{**turn, "content": literal(_text(turn["content"]))} if turn.get("content") else turn for turn in turns]


def plain(prompt: str | Sequence[Message]) -> str:
    """A prompt as one string: the turns' contents, separated by blank lines."""
    return prompt if isinstance(prompt, str) else "\n\n".join(_text(message["content"]) for message in prompt)


def _text(content: Any) -> str:
    """A content's text.

    Raises:
        NotShown: It has a picture or other media, which a reward model can't see.
    """
    if words := media_of(content):
        raise NotShown(f"the prompt has a {words[0]}, and a reward model reads text")
    return content_text(content)
