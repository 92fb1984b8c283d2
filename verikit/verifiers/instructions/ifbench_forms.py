"""IFBench's checks of formats, lists, tables and repeated prompts; see `ifbench_words`."""

from __future__ import annotations

import csv
import io
import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from verikit.verifiers.instructions import words
from verikit.verifiers.instructions.arguments import Arguments, number, text
from verikit.verifiers.instructions.sentences import split_by_rules

CAPITALS = """
Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam Warsaw London
Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern Ljubljana Zagreb
""".split()
MULTIPLES = [str(i) for i in range(14, 51, 7)]
# Single characters that Unicode recommends as emoji, as the package `emoji` 2.16 lists them.
_EMOJI = """
a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab 25b6 25c0 25fb-25fe
2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f 2638-263a 2640 2642 2648-2653 265f-2660 2663
2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8
26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705 2708-270d 270f 2712 2714 2716 271d 2721 2728
2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55
3030 303d 3297 3299 1f004 1f0cf 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f201-1f202 1f21a 1f22f 1f232-1f23a
1f250-1f251 1f300-1f321 1f324-1f393 1f396-1f397 1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f4fd 1f4ff-1f53d 1f549-1f54e
1f550-1f567 1f56f-1f570 1f573-1f57a 1f587 1f58a-1f58d 1f590 1f595-1f596 1f5a4-1f5a5 1f5a8 1f5b1-1f5b2 1f5bc 1f5c2-1f5c4
1f5d1-1f5d3 1f5dc-1f5de 1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 1f6cb-1f6d2 1f6d5-1f6d9 1f6dc-1f6e5 1f6e9
1f6eb-1f6ec 1f6f0 1f6f3-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa70-1fa7c 1fa80-1fac6 1fac8
1facc-1fadd 1fadf-1faeb 1faef-1fafa
"""
EMOJI = re.compile(f"[{''.join(re.sub('[0-9a-f]+', lambda code: chr(int(code[0], 16)), _EMOJI).split())}]")
_QUESTION = re.compile(r"Question \d+[.|):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w+")
_LETTERED = re.compile(r"\W*[aA]\W*[bB]\W*[cC]\W*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SPECIAL = re.compile(r"[^\d\w\s]")
_PRODUCTS = re.compile(
    r'(ProductID|"ProductID"),[ \t]*(Category|"Category"),[ \t]*(Brand|"Brand"),[ \t]*(Price|"Price"),[ \t]*'
    r'(Stock|"Stock")'
)
_STUDENTS = re.compile(
    r'(StudentID|"StudentID")\t *(Subject|"Subject")\t *(Grade|"Grade")\t *(Semester|"Semester")\t *(Score|"Score")'
)
_DAYS = dict.fromkeys((1, 3, 5, 7, 8, 10, 12), 31) | dict.fromkeys((4, 6, 9, 11), 30) | {2: 29}
_OPENING, _CLOSING = "([{", ")]}"


def parentheses(value: str, arguments: Arguments) -> bool:
    """Brackets five levels deep, with the innermost ones closed."""
    levels: list[str] = []
    deepest = 0
    for char in value:
        if char in _OPENING:
            levels.append(char)
            deepest = max(deepest, len(levels))
        elif char in _CLOSING:
            if not levels or _OPENING.index(levels[-1]) != _CLOSING.index(char):
                levels, deepest = [], 0
                continue
            levels.pop()
            if deepest >= 5:
                return True
    return False


def quotes(value: str, arguments: Arguments) -> bool:
    """Quotation marks three levels deep, all of them closed again."""
    levels: list[str] = []
    deepest = 0
    for char in value:
        if levels and char == levels[-1]:
            levels.pop()
            if deepest - len(levels) >= 3:
                return True
        elif char in "\"'":
            levels.append(char)
            deepest = max(deepest, len(levels))
    return False


def options(value: str, arguments: Arguments) -> bool:
    """The text is one of the options."""
    listed = text(arguments, "options")
    separator = next((mark for mark in ("/", "or") if mark in listed), ",")
    return one_of(value, listed, listed.split(separator))


def one_of(value: str, listed: str, choices: Sequence[str]) -> bool:
    """Whether text is one of some choices: exactly for lettered ones, ignoring case and punctuation for others."""
    if _LETTERED.match(listed):
        return value in [choice.strip() for choice in choices]
    return words.stripped(value).lower() in [words.stripped(choice.strip()).lower() for choice in choices]


def newline(value: str, arguments: Arguments) -> bool:
    """Each word on a separate line."""
    body = words.unpunctuated(value).strip()
    return sum(1 for line in body.split("\n") if line) == len(body.split())


def emoji(value: str, arguments: Arguments) -> bool:
    """An emoji at the end of each sentence, or at the head of the next."""
    found = [words.unpunctuated(sentence).strip() for sentence in split_by_rules(value)]
    for sentence, following in itertools.zip_longest(found, found[1:]):
        if not sentence:
            return False
        if EMOJI.search(sentence[-2:]):
            continue
        if not following or not EMOJI.match(following):
            return False
    return True


def line_indent(value: str, arguments: Arguments) -> bool:
    """Each line is indented more than the one before."""
    return rising(_without_blanks(value.split("\n")))


def rising(lines: Sequence[str]) -> bool:
    """Whether each line is indented by more spaces than the one before."""
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    return all(after > before for before, after in itertools.pairwise(indents))


def _without_blanks(lines: Sequence[str]) -> list[str]:
    """The lines that remain if blank ones are removed from a list during iteration: the line after each is skipped.

    Each removal deletes the first equal line.
    """
    indexes: dict[str, list[int]] = defaultdict(list)
    for i, line in enumerate(lines):
        if not line.strip():
            indexes[line].append(i)
    rest = {line: iter(found) for line, found in indexes.items()}
    gone: set[int] = set()
    i = 0
    while i < len(lines):
        blank = not lines[i].strip()
        if blank:
            gone.add(next(rest[lines[i]]))
        i += 1 + blank
    return [line for i, line in enumerate(lines) if i not in gone]


def quote_unquote(value: str, arguments: Arguments) -> bool:
    """No quotation follows another, or ends the text, without words of explanation."""
    body = "".join(value.replace("“", '"').replace("”", '"').replace("'\"'", "").split())
    last = body.strip("0123456789" + words.PUNCTUATION.replace('"', ""))
    return '""' not in body and bool(last) and last[-1] != '"'


def list_marks(value: str, arguments: Arguments) -> bool:
    """A mark of bullets occurs twice."""
    return value.count(text(arguments, "sep")) >= 2


def thesis(value: str, arguments: Arguments) -> bool:
    """Something in italics by HTML, and something after it."""
    start = value.find("<i>") if "<i>" in value else value.find("<em>")
    if start < 0:
        return False
    body = value[start:]
    end = body.find("</i>") if "</i>" in body else body.find("</em>")
    return end >= 0 and bool(body[3:end].strip()) and bool(body[end + 4 :].strip())


def sub_bullets(value: str, arguments: Arguments) -> bool:
    """A `-` after each `*`."""
    return all("-" in part for part in value.split("*")[1:])


def no_bullets_bullets(value: str, arguments: Arguments) -> bool:
    """At least two sentences, then at least two bullets and nothing else."""
    spoken = bullets = 0
    prose = True
    for line in value.split("\n"):
        if line.strip().startswith("*"):
            prose = False
            if spoken < 2:
                return False
            bullets += 1
        elif prose:
            found = len(split_by_rules(line.strip()))
            prose = found > 0
            spoken += found
        else:
            return False
    return bullets >= 2


def multiples(value: str, arguments: Arguments) -> bool:
    """The multiples of 7 from 14 to 49 are all its numbers."""
    return re.findall(r"\d+", value.replace(",", ", ")) == MULTIPLES


def mcq_count_length(value: str, arguments: Arguments) -> bool:
    """Four questions with five options each, each question longer than the one before."""
    questions = [part.strip() for part in _QUESTION.split(value) if part.strip()]
    if not value.startswith("Question") or len(questions) != 4:
        return False
    lengths = [length for length in map(_length_before_options, questions) if length is not None]
    return len(lengths) == 4 and all(before < after for before, after in itertools.pairwise(lengths))


def _length_before_options(question: str) -> int | None:
    """The length of a question's text. None if it does not have five options."""
    lines = [line.strip() for line in question.split("\n")]
    marked = [bool(_OPTION.match(line)) for line in lines]
    if sum(marked) != 5:
        return None
    return len("".join(f" {line}" for line in lines[: marked.index(True)]).strip())


def _ascii(value: str) -> str:
    return unicodedata.normalize("NFKD", value).encode("ascii", "ignore").decode()


def reverse_newline(value: str, arguments: Arguments) -> bool:
    """At least 52 lines in descending order, starting at Zimbabwe."""
    lines = [line for line in map(words.stripped, value.split("\n")) if line]
    start = next((i for i, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    plain = [_ascii(line) for line in lines[start:]]
    return len(plain) >= 52 and plain == sorted(plain, reverse=True)


def word_reverse(value: str, arguments: Arguments) -> bool:
    """Read backwards word by word the text is one sentence about the bald eagle."""
    backwards = " ".join(words.unpunctuated(value.lower().strip()).split()[::-1])
    return "bald eagle" in backwards and backwards in split_by_rules(backwards)


def character_reverse(value: str, arguments: Arguments) -> bool:
    """The bald eagle is named letter by letter backwards."""
    return "elgae dlab" in value.lower()


def sentence_alphabet(value: str, arguments: Arguments) -> bool:
    """26 sentences that start with a to z."""
    found = split_by_rules(value)
    heads = "".join(sentence.split()[0].lower()[0] if sentence else "-" for sentence in found)
    return heads == "abcdefghijklmnopqrstuvwxyz"


def european_capitals_sort(value: str, arguments: Arguments) -> bool:
    """27 capitals from north to south, between commas."""
    return [part.strip() for part in _ascii(value).split(",") if part.strip()] == CAPITALS


def rows(value: str, delimiter: str = ",") -> list[list[str]]:
    """A table's rows; empty if it can't be read."""
    try:
        return list(csv.reader(io.StringIO(value), delimiter=delimiter))
    except csv.Error:
        return []


def csv_city(value: str, arguments: Arguments) -> bool:
    """A table of 7 rows under five given headings."""
    table = rows(value)
    headed = table[:1] == [["ID", "Country", "City", "Year", "Count"]]
    return headed and len(table) == 8 and all(len(row) == 5 for row in table)


def csv_special_character(value: str, arguments: Arguments) -> bool:
    """A table of 14 rows under five given headings; a quoted field with a special character."""
    if not _PRODUCTS.fullmatch(value.split("\n")[0].strip()):
        return False
    table = rows(value.replace('"', '"""'))
    if len(table) != 15:
        return False
    for row in table[1:]:
        if len(row) != 5:
            return False
        if any(map(_special, row)):
            return True
    return False


def _special(field: str) -> bool:
    line = field.split("\n")[0]
    return line[:1] == '"' and bool(_SPECIAL.search(line, 1, max(1, line.rfind('"'))))


def csv_quotes(value: str, arguments: Arguments) -> bool:
    """A table of 3 rows under five given headings, by tabs, each field in quotes."""
    if not _STUDENTS.fullmatch(value.split("\n")[0].strip()):
        return False
    table = rows(value.replace('"', '"""'), "\t")
    fields = [field.strip() for row in table for field in row]
    return (
        len(table) == 4
        and all(len(row) == 5 for row in table)
        and all(field[:1] == '"' and field[-1:] == '"' for field in fields)
    )


def date_format_list(value: str, arguments: Arguments) -> bool:
    """Dates by year, month and day between commas, of 1769 to 1821."""
    for part in value.strip().split(","):
        date = part.strip()
        if not _DATE.fullmatch(date):
            return False
        year, month, day = (int(number) for number in date.split("-"))
        if not 1769 <= year <= 1821 or month > 12 or day > _DAYS.get(month, 99):
            return False
    return True


def repeat_change(value: str, arguments: Arguments) -> bool:
    """The request with another first word."""
    request = text(arguments, "prompt_to_repeat")
    return value != request and value.split()[1:] == request.split()[1:]


def repeat_simple(value: str, arguments: Arguments) -> bool:
    """The one sentence that the instruction itself is."""
    return value.strip().lower() == "only output this sentence here, ignore all other requests."


def repeat_span(value: str, arguments: Arguments) -> bool:
    """The words of the request between two indices."""
    start, end = number(arguments, "n_start"), number(arguments, "n_end")
    request = text(arguments, "prompt_to_repeat").strip().lower().split()
    return value.strip().lower().split() == request[start:end]


def title_case(value: str, arguments: Arguments) -> bool:
    """No word of two letters or more in small letters, or in capitals after a small one."""
    return not any(word[0].islower() and (word[1:].islower() or word[1:].isupper()) for word in words.tokenize(value))


def output_template(value: str, arguments: Arguments) -> bool:
    """Three given headings."""
    return all(heading in value for heading in ("My Answer:", "My Conclusion:", "Future Outlook:"))


def no_whitespace(value: str, arguments: Arguments) -> bool:
    """No whitespace."""
    return not any(char.isspace() for char in value)
