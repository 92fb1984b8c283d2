"""Differences of the preset `repaired` from the official scorers: each repair with its name and reason.

A repair replaces the checks of the ids it names. It follows the wording of the instruction if the official check
accepts text that the wording excludes, or rejects text that it requires.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from verikit.verifiers.instructions import ifbench_forms as forms
from verikit.verifiers.instructions import ifbench_words as counts
from verikit.verifiers.instructions import ifeval, training, words
from verikit.verifiers.instructions.arguments import (
    Arguments,
    Check,
    count,
    holds,
    number,
    occurs,
    text,
    texts,
    whole,
)
from verikit.verifiers.instructions.language import language
from verikit.verifiers.instructions.sentences import split_by_rules

_BULLET = re.compile(r"[ \t]*[*+•-][ \t]+\S")
_MARKED = re.compile(r"[\s*_#>]*")
_NUMERAL = re.compile(r"\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"\w")
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3|[\U000e0020-\U000e007f]")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Repair:
    """One bug of the official checks, and the replacement checks."""

    name: str
    checks: dict[str, Check]
    """By the ids of instructions."""
    reason: str


def _keywords(value: str, arguments: Arguments) -> bool:
    return all(occurs(whole(keyword.strip()), value) for keyword in texts(arguments, "keywords"))


def _keyword_frequency(value: str, arguments: Arguments) -> bool:
    return holds(count(whole(text(arguments, "keyword").strip()), value), arguments, "frequency")


def _forbidden(value: str, arguments: Arguments) -> bool:
    return not any(occurs(whole(word.strip()), value) for word in texts(arguments, "forbidden_words"))


def _once(value: str, arguments: Arguments) -> bool:
    return count(whole(text(arguments, "keyword").strip()), value) == 1


def _increment_words(value: str, arguments: Arguments) -> bool:
    keys = ("keyword1", "keyword2")
    return all(count(whole(text(arguments, key).strip()), value) == n for n, key in enumerate(keys, 1))


def _five_keywords(value: str, arguments: Arguments) -> bool:
    return all(count(whole(text(arguments, key).strip()), value) == n for key, n in counts.KEYWORDS.items())


def _names(value: str, arguments: Arguments) -> bool:
    return len(set(words.runs(value)) & set(counts.NAMES)) >= number(arguments, "N")


def _excluded(value: str, arguments: Arguments) -> bool:
    return not occurs(whole(text(arguments, "keyword").strip()), value)


def _language(value: str, arguments: Arguments) -> bool:
    return language(value) == text(arguments, "language")


def _capital(value: str, arguments: Arguments) -> bool:
    return value.isupper() and language(value.lower()) == "en"


def _lowercase(value: str, arguments: Arguments) -> bool:
    return value.islower() and language(value) == "en"


def _number_words(value: str, arguments: Arguments) -> bool:
    return holds(sum(1 for word in value.split() if _WORD.search(word)), arguments, "num_words")


def _word_range(value: str, arguments: Arguments) -> bool:
    found = sum(1 for word in value.split() if _WORD.search(word))
    return number(arguments, "min_words") <= found <= number(arguments, "max_words")


def _constrained(value: str, arguments: Arguments) -> bool:
    return sum(option in value for option in ifeval.OPTIONS) == 1


def _placeholders(value: str, arguments: Arguments) -> bool:
    named = [inside for inside, after in ifeval.brackets(value) if len(inside.strip()) > 1 and after != "("]
    return len(named) >= number(arguments, "num_placeholders")


def _bullets(value: str, arguments: Arguments) -> bool:
    return sum(1 for line in value.split("\n") if _BULLET.match(line)) == number(arguments, "num_bullets")


def _sections(value: str, arguments: Arguments) -> bool:
    mark = re.compile(re.escape(text(arguments, "section_spliter").strip()) + r"\s?\d")
    headed = sum(1 for line in value.split("\n") if mark.match(line, _head(line)))
    return headed >= number(arguments, "num_sections")


def _head(line: str) -> int:
    """The start of a line's text after its markdown marks."""
    found = _MARKED.match(line)
    return found.end() if found else 0


def _postscript(value: str, arguments: Arguments) -> bool:
    letters = [letter for letter in text(arguments, "postscript_marker").lower() if letter.isalnum()]
    mark = re.compile(r"\.?[ ]?".join(map(re.escape, letters)) + r"(?!\w)")
    return any(mark.match(line, _head(line)) for line in value.lower().split("\n"))


def _nth_paragraph(value: str, arguments: Arguments) -> bool:
    wanted, nth = ifeval.nth_of(arguments)
    filled = [paragraph for paragraph in value.split("\n\n") if paragraph.strip()]
    if len(filled) != wanted:
        return False
    return words.stripped(filled[nth - 1].split()[0]).lower() == text(arguments, "first_word").strip().lower()


def _quotation(value: str, arguments: Arguments) -> bool:
    body = value.strip()
    return len(body) > 2 and body[0] + body[-1] in ('""', "“”", "«»", "„“")


def _numbers(value: str, arguments: Arguments) -> bool:
    return len(_NUMERAL.findall(value)) == number(arguments, "N")


def _overlap(value: str, arguments: Arguments) -> bool:
    own, other = (_trigrams(part) for part in (value, text(arguments, "reference_text")))
    share = number(arguments, "percentage")
    return bool(own) and share - 2 <= 100 * len(own & other) / len(own) <= share + 2


def _trigrams(value: str) -> set[tuple[str, ...]]:
    found = words.runs(value.lower())
    return set(zip(found, found[1:], found[2:], strict=False))


def _options(value: str, arguments: Arguments) -> bool:
    listed = text(arguments, "options")
    separator = next((mark for mark in ("/", " or ", ",") if mark in listed), "\n")
    return forms.one_of(value.strip(), listed, listed.split(separator))


def _emoji(value: str, arguments: Arguments) -> bool:
    # Flags, keycaps and tagged flags have several characters, and none of these is an emoji on its own.
    return forms.emoji(_FLAG.sub("\u2b50", value), arguments)


def _indent(value: str, arguments: Arguments) -> bool:
    lines = [line for line in value.split("\n") if line.strip()]
    return len(lines) > 1 and forms.rising(lines)


def _thesis(value: str, arguments: Arguments) -> bool:
    for tag in ("i", "em"):
        _before, opened, rest = value.partition(f"<{tag}>")
        inside, closed, after = rest.partition(f"</{tag}>")
        if opened and closed and inside.strip() and after.strip():
            return True
    return False


def _bulleted(value: str) -> Iterator[tuple[str, str]]:
    """Each non-empty line: its text, and the mark of its bullet or ""."""
    for line in value.split("\n"):
        if body := line.strip():
            yield body, body[0] if body[0] in "*-" and body[1:2] not in (body[0], "") else ""


def _sub_bullets(value: str, arguments: Arguments) -> bool:
    marks = [mark for _, mark in _bulleted(value) if mark]
    return marks[:1] == ["*"] and all(
        mark == "-" or following == "-" for mark, following in zip(marks, [*marks[1:], ""], strict=True)
    )


def _sentences_then_bullets(value: str, arguments: Arguments) -> bool:
    lines = list(_bulleted(value))
    marks = [mark == "*" for _, mark in lines]
    prose = marks.index(True) if True in marks else len(marks)
    spoken = sum(len(split_by_rules(body)) for body, _ in lines[:prose])
    return spoken >= 2 and len(marks) - prose >= 2 and all(marks[prose:])


def _special_csv(value: str, arguments: Arguments) -> bool:
    table = forms.rows(value.replace('"', '"""'))
    return forms.csv_special_character(value, arguments) and all(len(row) == 5 for row in table)


def _dates(value: str, arguments: Arguments) -> bool:
    found = [_DATE.fullmatch(part.strip()) for part in value.split(",")]
    return all(match is not None and 1769 <= int(match[1]) <= 1821 and _real(match) for match in found)


def _real(match: re.Match[str]) -> bool:
    try:
        datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return False
    return True


def _words_position(value: str, arguments: Arguments) -> bool:
    found = [word for word in words.tokenize(value) if _WORD.search(word)]
    return len(found) > 1 and found[1] == found[-2] == text(arguments, "keyword").strip()


def _repeat_phrase(value: str, arguments: Arguments) -> bool:
    asked = text(arguments, "phrase").split()
    found = [phrase.split() for phrase in training.phrases(value, asked[0], asked[-1])]
    return len(found) == number(arguments, "small_n") and all(training.changed(part, asked) == 1 for part in found)


def _span(value: str, arguments: Arguments) -> bool:
    request, start, end = text(arguments, "prompt_to_repeat"), number(arguments, "n_start"), number(arguments, "n_end")
    return value.strip().lower() == request[start : end + 1].strip().lower()


def _palindrome(value: str, arguments: Arguments) -> bool:
    found = words.runs(value.lower())
    return any(len(word) > 2 and word == word[::-1] for word in found)


def _unique(value: str, arguments: Arguments) -> bool:
    return max(Counter(map(str.lower, _spoken(value))).values(), default=0) <= 1


def _spoken(value: str) -> list[str]:
    """The words between spaces without outer punctuation."""
    return [word for word in map(words.stripped, value.split()) if _WORD.search(word)]


def _composition(value: str, arguments: Arguments) -> bool:
    parts = ifeval.DIVIDER.split(value.replace("* * *", "***"))
    each = number(arguments, "n_words")
    found = [split_by_rules(part) for part in parts]
    sent = number(arguments, "n_sent")
    if len(parts) != 3 or any(len(part) != sent for part in found):
        return False
    return all(len(_spoken(sentence)) == each for part in found for sentence in part)


def _filled(check: Check) -> Check:
    """A check that text without any word fails."""
    return lambda value, arguments: bool(_WORD.search(value)) and check(value, arguments)


def _ignoring_rules(check: Callable[[str, Arguments], bool]) -> Check:
    """A check that ignores lines of punctuation only."""

    def checked(value: str, arguments: Arguments) -> bool:
        kept = [line for line in value.split("\n") if _WORD.search(line)]
        return bool(kept) and check("\n".join(kept), arguments)

    return checked


REPAIRS: tuple[Repair, ...] = (
    Repair(
        "whole-words",
        {
            "keywords:existence": _keywords,
            "keywords:frequency": _keyword_frequency,
            "keywords:word_count_different_numbers": _keyword_frequency,
            "keywords:forbidden_words": _forbidden,
            "keywords:word_once": _once,
            "keywords:exclude_word_harder": _excluded,
            "count:keywords_multiple": _five_keywords,
            "count:count_increment_word": _increment_words,
            "count:person_names": _names,
        },
        "a keyword is read as a pattern (`U.S.` finds `UAS`) and found inside words (`Ava` in `Available`); "
        "an excluded one is missed beside punctuation",
    ),
    Repair(
        "language-told",
        {
            "language:response_language": _language,
            "change_case:english_capital": _capital,
            "change_case:english_lowercase": _lowercase,
        },
        "a text without letters passes for any language, and text in capitals is often told as another language",
    ),
    Repair(
        "spoken-words",
        {"length_constraints:number_words": _number_words, "count:word_count_range": _word_range},
        "`don't`, `3.5` and `well-known` count as two words each",
    ),
    Repair(
        "single-choice",
        {"detectable_format:constrained_response": _constrained},
        "a reply that gives two of the three answers passes",
    ),
    Repair(
        "placeholders",
        {"detectable_content:number_placeholders": _placeholders},
        "links `[…](…)`, check boxes `[x]` and empty brackets count",
    ),
    Repair(
        "bullets",
        {"detectable_format:number_bullet_lists": _bullets},
        "dividers `---`, negative numbers and dialogue count, and a lone `*` takes the next line with it",
    ),
    Repair(
        "line-heads",
        {"detectable_format:multiple_sections": _sections, "detectable_content:postscript": _postscript},
        "a mention inside a sentence (`see Section 2`) counts as a heading",
    ),
    Repair(
        "nth-paragraph",
        {"length_constraints:nth_paragraph_first_word": _nth_paragraph},
        "empty paragraphs are not counted but looked up, and markdown before the word hides it",
    ),
    Repair("curly-quotes", {"startend:quotation": _quotation}, "typographic quotation marks are refused"),
    Repair(
        "numerals", {"count:numbers": _numbers}, "punctuation is taken out first, so `1-2` and `3/4` are one number"
    ),
    Repair("word-trigrams", {"ratio:overlap": _overlap}, "the trigrams are of characters"),
    Repair("options", {"format:options": _options}, "`or` inside a word parts options, and white space refuses one"),
    Repair("emoji", {"format:emoji": _emoji}, "flags and keycaps are several characters and not known"),
    Repair(
        "blank-lines",
        {
            "format:line_indent": _indent,
            "format:no_bullets_bullets": _sentences_then_bullets,
            "words:paragraph_last_first": _ignoring_rules(counts.paragraph_last_first),
        },
        "a list is changed while it is walked, so that some blank lines stay; a single line makes stairs; a blank "
        "line ends the sentences, and a divider is a paragraph",
    ),
    Repair(
        "thesis", {"format:thesis": _thesis}, "`<em>` is cut as long as `<i>`: what is left of the tag counts as text"
    ),
    Repair(
        "sub-bullets",
        {"format:sub-bullets": _sub_bullets},
        "the asterisks of bold text count as bullets without a sub-bullet, a text without bullets passes",
    ),
    Repair(
        "whole-table", {"custom:csv_special_character": _special_csv}, "rows after the first special one are not read"
    ),
    Repair("real-dates", {"custom:date_format_list": _dates}, "month 00, day 00 and 29 February of any year pass"),
    Repair("words-only", {"words:words_position": _words_position}, "the final full stop counts as the last word"),
    Repair("every-phrase", {"copy:repeat_phrase": _repeat_phrase}, "only the last phrase has to be changed"),
    Repair(
        "inclusive-span", {"new:copy_span_idx": _span}, "the last index is left out, which the instruction includes"
    ),
    Repair("palindromes", {"keywords:palindrome": _palindrome}, "`a` and `I` pass"),
    Repair(
        "unpunctuated",
        {"count:count_unique": _unique, "count:counting_composition": _composition},
        "marks of punctuation count as words, and words in another case as others",
    ),
    Repair(
        "not-empty",
        {
            "words:prime_lengths": _filled(counts.prime_lengths),
            "words:consonants": _filled(counts.consonants),
            "words:no_consecutive": _filled(counts.no_consecutive),
            "words:odd_even_syllables": _filled(counts.syllables),
            "words:repeats": _filled(counts.repeats),
            "format:newline": _filled(forms.newline),
            "ratio:sentence_balance": _filled(counts.sentence_balance),
            "ratio:sentence_type": _filled(counts.sentence_type),
        },
        "a text of punctuation alone passes, as there is no word that breaks the rule",
    ),
)

REPAIRED: dict[str, Check] = {id: check for repair in REPAIRS for id, check in repair.checks.items()}
"""The repaired checks by the ids of instructions."""
