"""The instructions by their ids: the check of each, and the keys of its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from verikit.verifiers.instructions import ifbench_forms as forms
from verikit.verifiers.instructions import ifbench_words as counts
from verikit.verifiers.instructions import ifeval, training
from verikit.verifiers.instructions.arguments import (
    READERS,
    Arguments,
    Check,
    check_pattern,
    position,
    text,
)

Benchmark = Literal["ifeval", "ifbench", "training"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One kind of instruction."""

    id: str
    benchmark: Benchmark
    check: Check
    """The official scorer's verdict."""
    keys: tuple[str, ...]
    """The arguments that a row gives."""

    def look(self, arguments: Arguments) -> None:
        """Read all arguments: whether a row can be judged must not depend on the reply.

        Raises:
            BadArgument: One is missing or of the wrong kind.
        """
        for key in self.keys:
            READERS.get(key, text)(arguments, key)
        if "nth_paragraph" in self.keys:
            ifeval.nth_of(arguments)
        for key in {"N", "n", "m"} & set(self.keys) if self.check in COUNTING else ():
            position(arguments, key)

    def look_at_patterns(self, arguments: Arguments) -> None:
        """Check the strings that the official check treats as patterns.

        Raises:
            BadArgument: One of them is not a pattern.
        """
        for key in self.keys if self.check in PATTERNED else ():
            value = arguments[key]
            for pattern in value if isinstance(value, list) else [value]:
                if isinstance(pattern, str):
                    check_pattern(pattern)


COUNTING = (counts.keyword, counts.keywords_specific_position, counts.words_japanese)
"""Checks whose numbers start at 1."""
PATTERNED = (
    ifeval.existence,
    ifeval.frequency,
    ifeval.forbidden_words,
    ifeval.multiple_sections,
    ifeval.postscript,
    training.word_once,
    training.count_increment_word,
    training.repeat_phrase,
)
"""Checks that treat their strings as patterns."""


def _rows(benchmark: Benchmark, *rows: tuple[str, Check, str]) -> dict[str, Instruction]:
    return {id: Instruction(id, benchmark, check, tuple(keys.split())) for id, check, keys in rows}


IFEVAL = _rows(
    "ifeval",
    ("keywords:existence", ifeval.existence, "keywords"),
    ("keywords:frequency", ifeval.frequency, "keyword frequency relation"),
    ("keywords:forbidden_words", ifeval.forbidden_words, "forbidden_words"),
    ("keywords:letter_frequency", ifeval.letter_frequency, "letter let_frequency let_relation"),
    ("language:response_language", ifeval.response_language, "language"),
    ("length_constraints:number_sentences", ifeval.number_sentences, "num_sentences relation"),
    ("length_constraints:number_paragraphs", ifeval.number_paragraphs, "num_paragraphs"),
    ("length_constraints:number_words", ifeval.number_words, "num_words relation"),
    (
        "length_constraints:nth_paragraph_first_word",
        ifeval.nth_paragraph_first_word,
        "num_paragraphs nth_paragraph first_word",
    ),
    ("detectable_content:number_placeholders", ifeval.number_placeholders, "num_placeholders"),
    ("detectable_content:postscript", ifeval.postscript, "postscript_marker"),
    ("detectable_format:number_bullet_lists", ifeval.number_bullet_lists, "num_bullets"),
    ("detectable_format:constrained_response", ifeval.constrained_response, ""),
    ("detectable_format:number_highlighted_sections", ifeval.number_highlighted_sections, "num_highlights"),
    ("detectable_format:multiple_sections", ifeval.multiple_sections, "section_spliter num_sections"),
    ("detectable_format:json_format", ifeval.json_format, ""),
    ("detectable_format:title", ifeval.title, ""),
    ("combination:two_responses", ifeval.two_responses, ""),
    ("combination:repeat_prompt", ifeval.repeat_prompt, "prompt_to_repeat"),
    ("startend:end_checker", ifeval.end_checker, "end_phrase"),
    ("change_case:capital_word_frequency", ifeval.capital_word_frequency, "capital_frequency capital_relation"),
    ("change_case:english_capital", ifeval.english_capital, ""),
    ("change_case:english_lowercase", ifeval.english_lowercase, ""),
    ("punctuation:no_comma", ifeval.no_comma, ""),
    ("startend:quotation", ifeval.quotation, ""),
)

IFBENCH = _rows(
    "ifbench",
    ("count:word_count_range", counts.word_count_range, "min_words max_words"),
    ("count:unique_word_count", counts.unique_word_count, "N"),
    ("ratio:stop_words", counts.stop_words, "percentage"),
    ("ratio:sentence_type", counts.sentence_type, ""),
    ("ratio:sentence_balance", counts.sentence_balance, ""),
    ("count:conjunctions", counts.conjunctions, "small_n"),
    ("count:person_names", counts.person_names, "N"),
    ("ratio:overlap", counts.overlap, "reference_text percentage"),
    ("count:numbers", counts.numbers, "N"),
    ("words:alphabet", counts.alphabet, ""),
    ("words:vowel", counts.vowel, ""),
    ("words:consonants", counts.consonants, ""),
    ("sentence:alliteration_increment", counts.alliteration_increment, ""),
    ("words:palindrome", counts.palindrome, ""),
    ("count:punctuation", counts.punctuation, ""),
    ("format:parentheses", forms.parentheses, ""),
    ("format:quotes", forms.quotes, ""),
    ("words:prime_lengths", counts.prime_lengths, ""),
    ("format:options", forms.options, "options"),
    ("format:newline", forms.newline, ""),
    ("format:emoji", forms.emoji, ""),
    ("ratio:sentence_words", counts.sentence_words, ""),
    ("count:words_japanese", counts.words_japanese, "N"),
    ("words:start_verb", counts.start_verb, ""),
    ("words:repeats", counts.repeats, "small_n"),
    ("sentence:keyword", counts.keyword, "word N"),
    ("count:pronouns", counts.pronouns, "N"),
    ("words:odd_even_syllables", counts.syllables, ""),
    ("words:last_first", counts.last_first, ""),
    ("words:paragraph_last_first", counts.paragraph_last_first, ""),
    ("sentence:increment", counts.increment, "small_n"),
    ("words:no_consecutive", counts.no_consecutive, ""),
    ("format:line_indent", forms.line_indent, ""),
    ("format:quote_unquote", forms.quote_unquote, ""),
    ("format:list", forms.list_marks, "sep"),
    ("format:thesis", forms.thesis, ""),
    ("format:sub-bullets", forms.sub_bullets, ""),
    ("format:no_bullets_bullets", forms.no_bullets_bullets, ""),
    ("custom:multiples", forms.multiples, ""),
    ("custom:mcq_count_length", forms.mcq_count_length, ""),
    ("custom:reverse_newline", forms.reverse_newline, ""),
    ("custom:word_reverse", forms.word_reverse, ""),
    ("custom:character_reverse", forms.character_reverse, ""),
    ("custom:sentence_alphabet", forms.sentence_alphabet, ""),
    ("custom:european_capitals_sort", forms.european_capitals_sort, ""),
    ("custom:csv_city", forms.csv_city, ""),
    ("custom:csv_special_character", forms.csv_special_character, ""),
    ("custom:csv_quotes", forms.csv_quotes, ""),
    ("custom:date_format_list", forms.date_format_list, ""),
    ("count:keywords_multiple", counts.keywords_multiple, "keyword1 keyword2 keyword3 keyword4 keyword5"),
    ("words:keywords_specific_position", counts.keywords_specific_position, "keyword n m"),
    ("words:words_position", counts.words_position, "keyword"),
    ("repeat:repeat_change", forms.repeat_change, "prompt_to_repeat"),
    ("repeat:repeat_simple", forms.repeat_simple, ""),
    ("repeat:repeat_span", forms.repeat_span, "prompt_to_repeat n_start n_end"),
    ("format:title_case", forms.title_case, ""),
    ("format:output_template", forms.output_template, ""),
    ("format:no_whitespace", forms.no_whitespace, ""),
)

TRAINING = _rows(
    "training",
    ("copy:repeat_phrase", training.repeat_phrase, "phrase small_n"),
    ("copy:copy", training.copy, "prompt_to_repeat"),
    ("new:copy_span_idx", training.copy_span_idx, "prompt_to_repeat n_start n_end"),
    ("detectable_format:sentence_hyphens", training.sentence_hyphens, ""),
    ("keywords:no_adjacent_consecutive", training.no_adjacent_consecutive, ""),
    ("detectable_format:square_brackets", training.square_brackets, ""),
    ("keywords:word_once", training.word_once, "keyword"),
    ("keywords:word_count_different_numbers", ifeval.frequency, "keyword frequency relation"),
    ("keywords:exclude_word_harder", training.exclude_word_harder, "keyword"),
    ("paragraphs:paragraphs", training.paragraphs, ""),
    ("paragraphs:paragraphs2", training.paragraphs2, ""),
    ("first_word:first_word_sent", training.first_word_sent, "first_word"),
    ("first_word:first_word_answer", training.first_word_answer, "first_word"),
    ("last_word:last_word_sent", training.last_word_sent, "last_word"),
    ("last_word:last_word_answer", training.last_word_answer, "last_word"),
    ("detectable_format:bigram_wrapping", training.bigram_wrapping, ""),
    ("copy:copying_simple", training.copy, "prompt_to_repeat"),
    ("copy:copying_multiple", training.copying_multiple, "prompt_to_repeat N"),
    ("punctuation:punctuation_dot", training.punctuation_dot, ""),
    ("punctuation:punctuation_exclamation", training.punctuation_exclamation, ""),
    ("count:lowercase_counting", training.lowercase_counting, "N"),
    ("letters:letter_counting", training.letter_counting, "N relation"),
    ("letters:letter_counting2", ifeval.letter_frequency, "letter let_frequency let_relation"),
    ("count:counting_composition", training.counting_composition, "n_sent n_words"),
    ("count:count_unique", training.count_unique, ""),
    ("count:count_increment_word", training.count_increment_word, "keyword1 keyword2"),
    ("keywords:palindrome", training.palindrome, ""),
    ("keywords:keyword_specific_position", counts.keywords_specific_position, "keyword n m"),
    ("keywords:start_end", training.start_end, ""),
)

INSTRUCTIONS: dict[str, Instruction] = IFEVAL | IFBENCH | TRAINING
"""All instructions by their ids, which are unique across benchmarks."""
