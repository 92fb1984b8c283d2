"""For each instruction its arguments, a text that follows it, and one that misses it by little."""

from __future__ import annotations

from typing import Any

PROMPT = "Write a short poem about the sea and send it to me"
COUNTRIES = [f"{letter}{letter.lower()}land" for letter in "YXWVUTSRQPONMLKJIHGFEDCBA"]
DOWN = "\n".join(["Zimbabwe", *(f"{name}{end}" for name in COUNTRIES for end in ("z", "m", "a"))][:53])
ALPHABET = " ".join(f"{letter}x runs." for letter in "abcdefghijklmnopqrstuvwxyz")
CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, "
    "Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chisinau, "
    "Bern, Ljubljana, Zagreb"
)
PALINDROMES = "level radar civic rotor kayak refer madam tenet stats solos"
CITIES = "ID,Country,City,Year,Count\n" + "\n".join(f"{i},France,Paris,20{i}0,5" for i in range(1, 8))
PRODUCTS = "ProductID,Category,Brand,Price,Stock\n" + "\n".join(f'{i},Toys,"Br#nd",9.99,5' for i in range(1, 15))
STUDENTS = "\n".join(
    '"{}"\t"{}"\t"{}"\t"{}"\t"{}"'.format(*row)
    for row in (
        ("StudentID", "Subject", "Grade", "Semester", "Score"),
        *(("1", "Maths", "A", "2", str(i)) for i in range(3)),
    )
)
QUESTIONS = "\n".join(
    f"Question {n}: {'Why is it so ' * n}?\nA) one\nB) two\nC) three\nD) four\nE) five\n" for n in range(1, 5)
)
SPOKEN = "one two three. " * 21
FRENCH = "Bonjour, je voudrais savoir où se trouve la gare, parce que le train part dans une heure."
ENGLISH = "The weather is lovely today and we are going to walk along the river with our friends."
CAPITAL = "THE GIRLS SAID THAT THEY WOULD LIKE TO GO HOME WITH THEIR MOTHER WHEN THE RAIN STOPS."

CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "keywords:existence": ({"keywords": ["cat", "Dog"]}, "A CAT and a dog.", "A cat and a fox."),
    "keywords:frequency": (
        {"keyword": "sea", "frequency": 2, "relation": "at least"},
        "The sea, the Sea.",
        "The sea, the see.",
    ),
    "keywords:forbidden_words": ({"forbidden_words": ["rock"]}, "The rocket rocks.", "On the Rock!"),
    "keywords:letter_frequency": (
        {"letter": "Q", "let_frequency": 2, "let_relation": "less than"},
        "Quite easy.",
        "Quite quick.",
    ),
    "language:response_language": ({"language": "fr"}, FRENCH, ENGLISH),
    "length_constraints:number_sentences": (
        {"num_sentences": 3, "relation": "less than"},
        "Dr. Smith met J. Bach at 3 p.m. on Monday. They talked.",
        "He came. He saw! Did he win?",
    ),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "one\n***\ntwo", "one\n***\ntwo\n***\nthree"),
    "length_constraints:number_words": (
        {"num_words": 4, "relation": "at least"},
        "one two don't",
        "one two three",
    ),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Elm"},
        "First.\n\n'elm, a tree.",
        "First.\n\nThe elm.",
    ),
    "detectable_content:number_placeholders": (
        {"num_placeholders": 2},
        "Dear [name], yours [sender]",
        "Dear [name], yours [sender",
    ),
    "detectable_content:postscript": ({"postscript_marker": "P.P.S"}, "Bye.\n\nP. P. S call me", "Bye.\nP.S. call me"),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, "So:\n* one\n  - two", "* one\n* two\n\n- three"),
    "detectable_format:constrained_response": ({}, "  My answer is no.", "My answer is no, sorry."),
    "detectable_format:number_highlighted_sections": ({"num_highlights": 2}, "*one* and **two**", "*one* and **two*"),
    "detectable_format:multiple_sections": (
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\nx\nSECTION 2\ny",
        "SECTION 1\nx\nSection 2\ny",
    ),
    "detectable_format:json_format": ({}, '```json\n{"a": [1, 2]}\n```', '{"a": [1, 2],}'),
    "detectable_format:title": ({}, "<<The sea>>\nBlue.", "<The sea>\nBlue <<\nagain>>."),
    "combination:two_responses": ({}, "one\n******\ntwo", "one\n******\none"),
    "combination:repeat_prompt": (
        {"prompt_to_repeat": PROMPT},
        PROMPT.upper() + "\nBlue waves.",
        "Sure: " + PROMPT + "\nBlue waves.",
    ),
    "startend:end_checker": ({"end_phrase": "Peace!"}, 'Go home. "peace!"', "Peace! Go home."),
    "change_case:capital_word_frequency": (
        {"capital_frequency": 2, "capital_relation": "at least"},
        "NASA and ESA-X fly.",
        "NASA and Esa fly.",
    ),
    "change_case:english_capital": ({}, CAPITAL, CAPITAL.replace("GO", "go")),
    "change_case:english_lowercase": ({}, ENGLISH.lower(), ENGLISH),
    "punctuation:no_comma": ({}, "one; two", "one, two"),
    "startend:quotation": ({}, ' "all of it" ', '"not all" of it'),
    "count:word_count_range": ({"min_words": 2.0, "max_words": 3.0}, "one two-three", "one two-three four"),
    "count:unique_word_count": ({"N": 3}, "one two three.", "one two Two. one"),
    "ratio:stop_words": ({"percentage": 50}, "the sea", "the a sea"),
    "ratio:sentence_type": ({}, "One. Two. Three?", "One. Two? Three?"),
    "ratio:sentence_balance": ({}, "One. Two? Three!", "One. Two? Three."),
    "count:conjunctions": ({"small_n": 3}, "this and that, but so or so", "this and that and so"),
    "count:person_names": ({"N": 2}, "Emma met Liam.", "Emma met William."),
    "ratio:overlap": (
        {"percentage": 60, "reference_text": "abcdefgh"},
        "abcdexy",
        "abcdefgh",
    ),
    "count:numbers": ({"N": 2}, "3 cats and 1,000 dogs", "3 cats, 4 birds and 1,000 dogs"),
    "words:alphabet": ({}, "Yes, zebras are big.", "Yes, zebras are cute."),
    "words:vowel": ({}, "An old man sat at a door.", "An old man sat in mud here."),
    "words:consonants": ({}, "strong black birds", "strong blue birds are"),
    "sentence:alliteration_increment": (
        {},
        "The cat sat. Big bears ran. Six small snakes slid.",
        "Big bears ran. Six small snakes slid. Big bears ran.",
    ),
    "words:palindrome": ({}, PALINDROMES, PALINDROMES.replace("solos", "songs")),
    "count:punctuation": ({}, "What?! Yes, no; well: go! Or? End.", "What?! Yes, no; well: go! End."),
    "format:parentheses": ({}, "([{([x])}])", "([{(x)}])"),
    "format:quotes": ({}, '"a \'b "c" d\' e"', "\"a 'b' c\""),
    "words:prime_lengths": ({}, "it was seven", "it was over"),
    "format:options": ({"options": "yes/no/maybe"}, "Maybe.", "Maybe not."),
    "format:newline": ({}, "one\ntwo\n\nthree", "one\ntwo three"),
    "format:emoji": ({}, "I am here. 😀 You too! 🎉", "I am here. 😀 You too!"),
    "ratio:sentence_words": ({}, "I am you. I am two. I am big.", "I am you. I am two. I am huge."),
    "count:words_japanese": ({"N": 3}, "one two 海 four five ねこ", "one two 海 four five six"),
    "words:start_verb": ({}, "Write it down.", "Tables are flat."),
    "words:repeats": ({"small_n": 2}, "go and go", "go, Go and go"),
    "sentence:keyword": ({"word": "eat", "N": 2}, "I came. I want to EAT.", "I eat. I left."),
    "count:pronouns": ({"N": 3}, "He/she saw us.", "He saw us."),
    "words:odd_even_syllables": ({}, "cat water dog paper", "cat dog water paper"),
    "words:last_first": ({}, "I see the sea. Sea is blue.", "I see the sea. The sea is blue."),
    "words:paragraph_last_first": ({}, "Sea is the sea.\nSky is sky", "Sea is the sea.\nSky is blue"),
    "sentence:increment": ({"small_n": 2}, "Go on. Go on and on.", "Go on. Go on now."),
    "words:no_consecutive": ({}, "big cats run", "big black cats"),
    "format:line_indent": ({}, "a\n b\n   c", "a\n b\n c"),
    "format:quote_unquote": ({}, 'He said "go" and left', 'He said "go"'),
    "format:list": ({"sep": "!?!?"}, "!?!? one\n!?!? two", "!?!? one\n!? two"),
    "format:thesis": ({}, "<i>All is one.</i> So it is.", "<i>All is one.</i>"),
    "format:sub-bullets": ({}, "* one\n  - two\n* three - four", "* one\n  - two\n* three"),
    "format:no_bullets_bullets": ({}, "One. Two.\n* a\n* b", "One.\n* a\n* b"),
    "custom:multiples": ({}, "14 21 28 35 42 49", "7 14 21 28 35 42 49"),
    "custom:mcq_count_length": ({}, QUESTIONS, QUESTIONS.replace("E) five\n", "", 1)),
    "custom:reverse_newline": ({}, DOWN, DOWN.replace("Zimbabwe\n", "")),
    "custom:word_reverse": ({}, "america of bird the is eagle bald the", "the bald eagle is the bird of america"),
    "custom:character_reverse": ({}, "eht elgae dlab", "the bald eagle"),
    "custom:sentence_alphabet": ({}, ALPHABET, ALPHABET.replace("qx runs. ", "")),
    "custom:european_capitals_sort": ({}, CAPITALS, CAPITALS.replace("Oslo, ", "")),
    "custom:csv_city": ({}, CITIES, CITIES + "\n8,France,Paris,2080,5"),
    "custom:csv_special_character": ({}, PRODUCTS, PRODUCTS.replace("#", "a")),
    "custom:csv_quotes": ({}, STUDENTS, STUDENTS.replace('"Maths"', "Maths")),
    "custom:date_format_list": ({}, "1769-08-15, 1821-05-05", "1769-08-15, 1822-05-05"),
    "count:keywords_multiple": (
        {"keyword1": "ant", "keyword2": "bee", "keyword3": "cow", "keyword4": "dog", "keyword5": "elk"},
        "Ant " + "bee " * 2 + "cow " * 3 + "dog " * 5 + "elk " * 7,
        "Ant " + "bee " * 2 + "cow " * 3 + "dog " * 5 + "elk " * 6,
    ),
    "words:keywords_specific_position": (
        {"keyword": "two", "n": 20, "m": 2},
        SPOKEN,
        SPOKEN.replace("two", "too"),
    ),
    "words:words_position": ({"keyword": "sea"}, "The sea is the sea.", "The sea is the sea"),
    "repeat:repeat_change": ({"prompt_to_repeat": PROMPT}, PROMPT.replace("Write", "Type"), PROMPT),
    "repeat:repeat_simple": (
        {},
        "Only output this sentence here, ignore all other requests.",
        "Only output this sentence here, ignore all other requests. Done.",
    ),
    "repeat:repeat_span": (
        {"prompt_to_repeat": PROMPT, "n_start": 0, "n_end": 3},
        "write a SHORT",
        "write a short poem",
    ),
    "format:title_case": ({}, "The Sea Is Blue.", "The Sea is Blue."),
    "format:output_template": (
        {},
        "My Answer: a\nMy Conclusion: b\nFuture Outlook: c",
        "My answer: a\nMy Conclusion: b\nFuture Outlook: c",
    ),
    "format:no_whitespace": ({}, "allinone", "all in one"),
    "copy:repeat_phrase": (
        {"phrase": "the old sea sings", "small_n": 2},
        "the new sea sings, and the old sky sings",
        "the new sea sings, and the new sky sings",
    ),
    "copy:copy": ({"prompt_to_repeat": PROMPT}, PROMPT + "\n", PROMPT + ". Done"),
    "new:copy_span_idx": ({"prompt_to_repeat": PROMPT, "n_start": 6, "n_end": 13}, "a short", "a short p"),
    "detectable_format:sentence_hyphens": ({}, "One day.-Two days.", "One day. - Two days."),
    "keywords:no_adjacent_consecutive": ({}, "all cats eat", "all birds eat"),
    "detectable_format:square_brackets": ({}, "[all] [of] [it.]", "[all] of [it]"),
    "keywords:word_once": ({"keyword": "sea"}, "The Sea is blue.", "The sea is the sea."),
    "keywords:word_count_different_numbers": (
        {"keyword": "sea", "frequency": 2, "relation": "less than"},
        "The sea.",
        "The sea and the sea.",
    ),
    "keywords:exclude_word_harder": ({"keyword": "sea"}, "The ocean is blue.", "The sea is blue."),
    "paragraphs:paragraphs": ({}, "one\n***\ntwo", "one\n\ntwo"),
    "paragraphs:paragraphs2": ({}, "one\n\ntwo", "one\n***\ntwo"),
    "first_word:first_word_sent": ({"first_word": "so"}, "So it is. so be it.", "So it is. Let it be."),
    "first_word:first_word_answer": ({"first_word": "so"}, "So it is. Be it.", "It is so."),
    "last_word:last_word_sent": ({"last_word": "so"}, "It is so. Be it So!", "It is so. Let it be."),
    "last_word:last_word_answer": ({"last_word": "so"}, "Let it be so.", "So let it be."),
    "detectable_format:bigram_wrapping": ({}, "<<I am>> <<at home>>", "<<I am>> at home"),
    "copy:copying_simple": ({"prompt_to_repeat": PROMPT}, PROMPT, "Here: " + PROMPT),
    "copy:copying_multiple": (
        {"prompt_to_repeat": PROMPT, "N": 2},
        f"{PROMPT}\n******\n{PROMPT}",
        f"{PROMPT}\n******\n{PROMPT}\n******",
    ),
    "punctuation:punctuation_dot": ({}, "one, two!", "one. two"),
    "punctuation:punctuation_exclamation": ({}, "one. two", "one! two"),
    "count:lowercase_counting": ({"N": 2}, "ONE two three", "one two three"),
    "letters:letter_counting": ({"N": 5, "relation": "less than"}, "ab 12 cd", "ab 12 cde"),
    "letters:letter_counting2": (
        {"letter": "a", "let_frequency": 2, "let_relation": "at least"},
        "A cat.",
        "A dog.",
    ),
    "count:counting_composition": (
        {"n_sent": 2, "n_words": 3},
        "Go on. Go up. *** Go on. Go up. *** Go on. Go up.",
        "Go on. Go up. *** Go on. Go up now. *** Go on. Go up.",
    ),
    "count:count_unique": ({}, "The sea is blue.", "The sea is the sea."),
    "count:count_increment_word": ({"keyword1": "ant", "keyword2": "bee"}, "ant Bee bee", "ant ant bee"),
    "keywords:palindrome": ({}, "My kayak sinks.", "My boat sinks."),
    "keywords:keyword_specific_position": ({"keyword": "two", "n": 1, "m": 2}, "one two.", "two one."),
    "keywords:start_end": ({}, "Sea is the sea", "Sea is the sea."),
}
