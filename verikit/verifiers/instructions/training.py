"""The 29 checks that IFBench's authors train with (IF-RLVR), in addition to IFEval's.

Each gives the verdict of allenai/open-instruct's `IFEvalG`; if text makes that scorer crash, the instruction is not
followed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from verikit.verifiers.instructions import words
from verikit.verifiers.instructions.arguments import (
    Arguments,
    count,
    holds,
    number,
    occurrences,
    text,
)
from verikit.verifiers.instructions.ifeval import DIVIDER, divided, filled
from verikit.verifiers.instructions.sentences import split_by_rules

_LOWER = re.compile(r"\b[a-z]+\b")
_LETTER = re.compile(r"[a-zA-Z]")
_MARKS = re.compile(r"[^\w\s]")
_PLAIN = re.compile(r"[\w\s'\"%&,;:!-]*")


def repeat_phrase(value: str, arguments: Arguments) -> bool:
    """A phrase exactly N times, each with at most one word changed, and the last with exactly one."""
    asked = text(arguments, "phrase").split()
    found = [phrase.split() for phrase in phrases(value, asked[0], asked[-1])]
    if not found or len(found) != number(arguments, "small_n"):
        return False
    changes = [changed(phrase, asked) for phrase in found]
    return all(change in (0, 1) for change in changes) and changes[-1] == 1


def changed(phrase: list[str], asked: list[str]) -> int:
    """The number of changed words in a phrase; -1 if its length differs."""
    if len(phrase) != len(asked):
        return -1
    return sum(word != wanted for word, wanted in zip(phrase, asked, strict=True))


def phrases(value: str, first: str, last: str) -> Iterator[str]:
    """The shortest spans on one line, from the left, that start and end with two given words."""
    if not _PLAIN.fullmatch(first + last):
        yield from (match[0] for match in occurrences(f"{first} .*? {last}", value, cased=True))
        return
    for line in value.split("\n"):
        start = line.find(f"{first} ")
        while start >= 0 and (end := line.find(f" {last}", start + len(first) + 1)) >= 0:
            yield line[start : end + 1 + len(last)]
            start = line.find(f"{first} ", end + 1 + len(last))


def copy(value: str, arguments: Arguments) -> bool:
    """The request and nothing else, ignoring case."""
    return value.strip().lower() == text(arguments, "prompt_to_repeat").strip().lower()


def copy_span_idx(value: str, arguments: Arguments) -> bool:
    """The characters of the request between two indices."""
    span = text(arguments, "prompt_to_repeat")[number(arguments, "n_start") : number(arguments, "n_end")]
    return value.strip().lower() == span.strip().lower()


def sentence_hyphens(value: str, arguments: Arguments) -> bool:
    """Hyphens separate the sentences, without spaces around them."""
    golds = split_by_rules(value.replace("-", " "))
    return all(part.strip() == part == gold for part, gold in zip(value.split("-"), golds, strict=False))


def no_adjacent_consecutive(value: str, arguments: Arguments) -> bool:
    """No word starts with the letter after the previous word's first letter."""
    heads = [word[0].lower() for word in value.split()]
    pairs = itertools.pairwise(heads)
    return all(len(first) == len(second) == 1 and ord(second) - ord(first) != 1 for first, second in pairs)


def square_brackets(value: str, arguments: Arguments) -> bool:
    """Each word in square brackets."""
    return all(word.startswith("[") and word.endswith("]") for word in value.split())


def word_once(value: str, arguments: Arguments) -> bool:
    """A keyword, read as a pattern and also found inside words, occurs exactly once."""
    return count(text(arguments, "keyword").strip(), value) == 1


def exclude_word_harder(value: str, arguments: Arguments) -> bool:
    """A keyword does not occur between two spaces."""
    return f" {text(arguments, 'keyword').strip()} " not in value


def paragraphs(value: str, arguments: Arguments) -> bool:
    """Two paragraphs with `***` between them."""
    return divided(value) == 2


def paragraphs2(value: str, arguments: Arguments) -> bool:
    """Two paragraphs with an empty line between them."""
    return filled(value.split("\n\n")) == 2


def first_word_sent(value: str, arguments: Arguments) -> bool:
    """Each sentence starts with a given word."""
    wanted = text(arguments, "first_word").strip().lower()
    return all(begins(sentence, wanted) for sentence in split_by_rules(value))


def first_word_answer(value: str, arguments: Arguments) -> bool:
    """The text starts with a given word."""
    return begins(value, text(arguments, "first_word").strip().lower())


def begins(value: str, word: str) -> bool:
    """Whether the first word of text, lower-cased, is `word`."""
    found = value.split(maxsplit=1)
    return bool(found) and found[0].lower() == word


def last_word_sent(value: str, arguments: Arguments) -> bool:
    """Each sentence ends with a given word, ignoring punctuation."""
    wanted = text(arguments, "last_word").strip().lower()
    return all(last_word(sentence) == wanted for sentence in split_by_rules(value))


def last_word_answer(value: str, arguments: Arguments) -> bool:
    """The text ends with a given word, ignoring punctuation."""
    return last_word(value) == text(arguments, "last_word").strip().lower()


def last_word(value: str) -> str | None:
    """The last word of text in lower case and without punctuation; None if there isn't a word."""
    found = value.split()
    return _MARKS.sub("", found[-1]).lower() if found else None


def bigram_wrapping(value: str, arguments: Arguments) -> bool:
    """Each pair of words in `<<…>>`; a last word without a partner is ignored."""
    found = value.split()
    pairs = zip(found[::2], found[1::2], strict=False)
    return all(first.startswith("<<") and second.endswith(">>") for first, second in pairs)


def copying_multiple(value: str, arguments: Arguments) -> bool:
    """The request N times, separated by `******`."""
    wanted = text(arguments, "prompt_to_repeat").strip().lower()
    parts = value.split("******")
    return len(parts) == number(arguments, "N") and all(part.strip().lower() == wanted for part in parts)


def punctuation_dot(value: str, arguments: Arguments) -> bool:
    """No full stop."""
    return "." not in value


def punctuation_exclamation(value: str, arguments: Arguments) -> bool:
    """No exclamation mark."""
    return "!" not in value


def lowercase_counting(value: str, arguments: Arguments) -> bool:
    """At most N words in lower case."""
    return len(_LOWER.findall(value)) <= number(arguments, "N")


def letter_counting(value: str, arguments: Arguments) -> bool:
    """N letters."""
    return holds(len(_LETTER.findall(value)), arguments, "N")


def counting_composition(value: str, arguments: Arguments) -> bool:
    """Three paragraphs separated by `***`, each of N sentences of M words; punctuation marks are words."""
    parts = DIVIDER.split(value)
    n_sent, n_words = number(arguments, "n_sent"), number(arguments, "n_words")
    found = [split_by_rules(part) for part in parts]
    if len(parts) != 3 or any(len(part) != n_sent for part in found):
        return False
    return all(len(words.tokenize(sentence)) == n_words for part in found for sentence in part)


def count_unique(value: str, arguments: Arguments) -> bool:
    """No word or punctuation mark occurs twice."""
    found = words.tokenize(value)
    return len(found) == len(set(found))


def count_increment_word(value: str, arguments: Arguments) -> bool:
    """One keyword occurs once and another twice, read as patterns and also found inside words."""
    return all(count(text(arguments, key).strip(), value) == n for n, key in enumerate(("keyword1", "keyword2"), 1))


def palindrome(value: str, arguments: Arguments) -> bool:
    """A word that reads the same backwards, even a single letter."""
    return any(word == word[::-1] for word in value.split())


def start_end(value: str, arguments: Arguments) -> bool:
    """The first word is the last, ignoring case."""
    found = words.tokenize(value)
    return len(found) > 1 and found[0].lower() == found[-1].lower()
