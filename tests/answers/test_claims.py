"""Who says what of which value: asserted values are answers; denied, supposed, quoted and withdrawn ones never are."""

import itertools

import pytest

from verikit import Sample, load
from verikit.answers import verify
from verikit.answers.claims.listing import claims
from verikit.answers.claims.predicates import is_negation, predicate
from verikit.answers.claims.roles import role
from verikit.answers.families.words import _ADJECTIVES, _VERBS

FORMS = [
    "{}", "{}.", "**{}**", "The answer is {}.", "**Answer:** {}", "Answer: {}", "Final answer: {}",
    "**Final Answer:** {}",
    "So the answer is **{}**.", "The final answer is {}", "The correct answer is {}.", r"\boxed{{{}}}",
    r"$\boxed{{\text{{{}}}}}$", "<answer>{}</answer>", "#### {}", "{}, because it fails at 0.",
    "{}. The ratio test gives 2.",
    "Therefore: {}", "Therefore, the answer is {}.", "The answer is: {}", "So, {}.", "Hence {}.", "Answer: **{}**",
    "The answer is {} because the limit is 2.", "The answer is {}, since the limit is 2.",
    "I conclude that the answer is {}.",
    "<response>{}</response>", "<|START_RESPONSE|>{}<|END_RESPONSE|>", "<|begin_of_box|>{}<|end_of_box|>",
    '{{"answer": "{}"}}',
]  # fmt: skip
OPPOSITES = [
    ("Yes", "No"), ("yes", "no"), ("True", "False"), ("infinitely many solutions", "no solution"), ("all", "none"),
    ("exists", "does not exist"), ("independent", "not independent"), ("positive", "non-negative"), ("always", "never"),
    ("converges", "does not converge"), ("defined", "undefined"), ("even", "neither"), ("rational", "not rational"),
    ("consistent", "inconsistent"), ("correct", "incorrect"), ("right", "wrong"), ("everyone", "nobody"),
    ("guilty", "not guilty"), ("possible", "impossible"), ("likely", "unlikely"), ("with a remainder",
    "without a remainder"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), OPPOSITES + [(b, a) for a, b in OPPOSITES])
def test_no_is_as_easy_to_say_as_yes(one, other):
    assert [form for form in FORMS if not verify(form.format(one), one).equal] == []
    assert [form for form in FORMS if verify(form.format(other), one).equal] == []


@pytest.mark.parametrize("word", [*_VERBS, *_ADJECTIVES])
def test_every_word_that_is_a_value_is_read_in_every_form(word):
    assert [form for form in FORMS if not verify(form.format(word), word).equal] == []


LANGUAGES = [
    ("Ja", "Nein", ["Die Antwort ist {}.", "Antwort: {}", "Die Antwort lautet {}.", "{}."]),
    ("Oui", "Non", ["La réponse est {}.", "Réponse : {}", "{}."]), ("vrai", "faux", ["La réponse est {}.",
    "Réponse : {}"]),
    ("Sí", "No", ["La respuesta es {}.", "Respuesta: {}", "{}."]), ("verdadero", "falso", ["La respuesta es {}."]),
    ("Sì", "No", ["La risposta è {}.", "{}"]), ("Sim", "Não", ["A resposta é {}.", "Resposta: {}"]),
    ("Да", "Нет", ["Ответ: {}", "{}."]),
    ("是", "否", ["答案是{}。", "答案：{}"]), ("对", "不对", ["答案是{}。", "答案：{}"]),
    ("wahr", "falsch", ["Die Antwort ist {}.", "Antwort: {}"]), ("हाँ", "नहीं", ["उत्तर: {}"]),
    ("möglich", "nicht möglich", ["Die Antwort ist {}.", "Antwort: {}"]),
    ("possible", "pas possible", ["La réponse est {}.", "Réponse : {}"]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "forms"), LANGUAGES)
def test_no_is_as_easy_to_say_as_yes_in_other_languages(one, other, forms):
    for form in forms:
        for gold, wrong in ((one, other), (other, one)):
            assert verify(form.format(gold), gold).equal, form.format(gold)
            assert not verify(form.format(wrong), gold).equal, form.format(wrong)


NEAR_A_WORD = [
    ("The answer is no 5.", "5"), ("The answer is none of 5, 6 or 7.", "5"), ("Answer: not 5", "5"), ("not 5", "5"),
    (r"\boxed{\text{not } 5}", "5"), ("The answer is none of Paris and Rome.", "Paris"), ("No, not Paris.", "Paris"),
    ("No, yes is wrong.", "Yes"), ("The answer is not yes.", "Yes"), ("The answer is yes or no.", "Yes"),
    ("I don't think the answer is yes.", "Yes"), ("The answer is not no.", "No"),
    ("It is false that the answer is no.", "No"),
    ("I don't think the answer is no.", "No"), ("The answer is not true.", "True"), ("The answer is true is wrong.",
    "True"),
    ("They are not independent.", "independent"), ("The answer is: not independent", "independent"),
    ("I doubt that the answer is not independent.", "not independent"), ("Is the answer no?", "No"),
    ("The answer is independent.", "not independent"), ("independent", "not independent"),
    (r"\boxed{\text{not independent}}", "independent"), ("Paris. Or maybe Rome.", "Paris"), ("Paris. That is wrong.",
    "Paris"),
    ("Yes. But I'm not sure.", "Yes"), ("Paris. Rome.", "Paris"), ("The answer isn't no.", "No"), ("Not yes.", "Yes"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gold"), NEAR_A_WORD)
def test_a_denied_word_is_no_answer(text, gold):
    assert not verify(text, gold).equal


UNASSERTED = [
    "{} isn't what comes out.", "{} is not what comes out.", "{} can be ruled out.",
    "It is not the case that the answer is {}.",
    "Es ist falsch, dass das Ergebnis {} ist.", "Il est faux que le résultat soit {}.",
    "Es falso que el resultado sea {}.",
    "{} ist falsch.", "{} ist nicht das Ergebnis.", "The result can't possibly be {}.", "{} doesn't work.",
    "{} does not satisfy it.", "We reject {}.", "The answer would be {} only if x were even.",
    "It would be {} if x were even.",
    "{}? No.", "One might think the answer is {}.", "You say {}.", "Someone claims that the answer is {}.",
    "Some people say it is {}.", "You claim the answer is {}, but I get 28.", "You say {}. I get 28.",
    "It's hardly {}.",
    "The answer is {}. Wait, no, it's 28.", "The answer is {}. Correction: the answer is 28.",
    "The answer is {}. Scratch that.",
    "The answer is {}... actually 28.", "~~{}~~ 28", "The answer is ~~{}~~ 28.",
    "答案不可能是{}。", "答案并不是{}。", "{}不是答案。",
    "Не верно, что ответ {}.", "{} — неверный ответ.", "La réponse n'est certainement pas {}.",
    "Nein, {} stimmt nicht.",
    "I thought it was {}, but it is 28.", "At first I got {}, but the answer is 28.", "The answer is 28, not {}.",
    "The answer is 28 rather than {}.", "28 instead of {}", "The answer is 28 because {} is wrong.",
    '{{"answer": 28, "other": {}}}', '{{"answer": {}, "answer": 28}}', '{{"answer": {}', "The answer is 28 [{}].",
    "<|begin_of_box|>28<|end_of_box|> {}", "The answer is 28.[{}]", "Neither {} nor 28.", "It is at least {}.",
    "The answer is {} or 28.", "{}, or maybe 28", "Either 28 or {}.", "It could also be {}.", "The answer might be {}.",
    "I do not believe, however, that it is {}.", "Anything but {}.", "The answer is {}, which is incorrect.",
    "The answer is {}, I think, but that is wrong.", "If the answer were {}", "{}, but I'm not sure.",
    "No way it is {}.",
]  # fmt: skip
ASSERTED = [
    "The answer is {}, not 28.", "The answer is **{}** (not 28).", "**Answer: {}** (not 28)", "You say 28. I get {}.",
    "The answer is 28. Wait, no, it's {}.", "The answer is 28. Correction: the answer is {}.", "~~28~~ {}",
    "The answer is ~~28~~ {}.", "The answer is {} because 28 is wrong.", "28 is wrong, so it is {}.",
    "The answer is {}, which is not 28.", "The answer is {}, no doubt about it.", "The answer is {}.\nConfidence: 90%",
    "Answer: {}\n\nConfidence: 0.9", "The answer is {} [1].", "The answer is {}.[2]",
    '{{"answer": {}}}', '{{"answer": "{}"}}',
    '```json\n{{"answer": {}}}\n```', '{{"reasoning": "3 + 14", "answer": {}}}', "<response>{}</response>",
    "<|START_RESPONSE|>{}<|END_RESPONSE|>", "First 3.\n<|begin_of_box|>{}<|end_of_box|>", "We are left with {}.",
    "That gives {}.",
    "Das Ergebnis ist {}.", "Le résultat est {}.", "El resultado es {}.", "结果是{}。",
    "I was wrong about 28; the answer is {}.",
    "The answer is {}.\n\nLet me know if you have any questions!", "The answer is {}. Hope this helps!",
    "It isn't 28; it's {}.", "The answer, which was not obvious, is {}.", "Not 28 but {}.",
    "I first thought 28, but it's {}.",
    "Although it does not look like it, the answer is {}.",
    "The answer is {}. Wait, let me verify: yes, that is right.",
    "There is no doubt that it is {}.", "It is not only even: it is {}.", "The answer is definitely {}.",
    "TL;DR: the answer is {}",
    "You may be surprised that the answer is {}.", "The answer is {}, I'm sure.", "As you said, the answer is {}.",
    "My friend says 28, but the answer is {}.", "The answer is {}, as 28 is wrong.",
    "It is tempting to say 28, but it's {}.",
    "Unlike 28, {} works, so the answer is {}.", "Without further ado, the answer is {}.",
    "La respuesta no es 28 sino {}.",
    "Result: {}", "It is {}, since 28 fails.", "All others fail, so it must be {}.",
    "Everything but 28 fails; the answer is {}.",
]  # fmt: skip


@pytest.mark.parametrize("form", UNASSERTED)
def test_a_value_that_nobody_asserts_is_no_answer(form):
    for value in ("17", "-4", "2.5", "1/3"):
        text = form.format(value)
        assert not verify(text, value).equal, text
        assert not verify("We add the numbers.\n" + text, value).equal, text


@pytest.mark.parametrize("form", ASSERTED)
def test_an_asserted_value_is_the_answer(form):
    for value in ("17", "-4", "2.5"):
        text = form.replace("{{", "\0").replace("{}", value).replace("\0", "{").replace("}}", "}")
        assert verify(text, value).equal, text
        assert not verify(text, "28").equal, text


STORIES = [
    "He says he needs {} more.", "They think they need {}.", "So they would need {} trips if each carries 3.",
    "You answered {} questions.", "Students chose {} books.", "The false alarm rate is {}",
    "Without discount it costs {}.",
    "The price excluding tax is {}.", "The number that is not prime is {}", "The others say goodbye at {}.",
    "Her friend says that the bill is 9 dollars, so she pays {}.", "People who cannot swim: {}", "She has {} left.",
    "The total cost would be {} dollars if she buys 2.", "This is impossible, so {} ways", "The least value is {}.",
    "There were no more than 3 left, so {} were eaten", "He is close to home after {} km", "There are {} ways to fail.",
    "{} students failed the test.", "{} of them do not work.", "You can choose {} of them.", "We expect {} heads.",
    "There are {} ways, not counting rotations.", "He can't buy more because he only has {} dollars",
    "The answer is {}.\nNo, we cannot use 28.", "The final answer is {}. No other value works.",
    "None are left, so {}.",
    "The answer is {}. Wait, let me double-check: 3 + 1 = 4, then {}. OK.",
    "The answer is {}. Sorry for the long text.",
]  # fmt: skip


@pytest.mark.parametrize("form", STORIES)
def test_words_of_denial_that_speak_of_something_else_deny_nothing(form):
    for value in ("8", "120"):
        text = form.replace("{}", value)
        assert verify(text, value).equal, text


UNREAL = [
    "{} is out.", "So {} is out.", "{} is out of the question.", "{} is off the table.",
    "Had it been even, the answer would have been {}.", "Had it been even, we would get {}.",
    "If it were even, we would get {}.", "If it were even, the answer would be {}.",
    "Were it even, the answer would be {}.", "If x were 3, it would be {}.",
    "Wenn es gerade wäre, wäre die Antwort {}.", "Wäre es gerade, so wäre das Ergebnis {}.",
    "Si c'était pair, la réponse serait {}.", "Si fuera par, la respuesta sería {}.",
    "Se fosse pari, la risposta sarebbe {}.", "Se fosse par, a resposta seria {}.",
    "{}, according to the student, but that is false.",
    "The answer is {}, according to the student, but that is false.", "The answer is {}, which is false.",
    "The answer is {}, which the book says is wrong.", "The answer is {}, but that is wrong.",
    "It's {}; or is it @?", "It's {}. Or is it @?", "The answer is {}; or maybe @.", "The answer is {}. Or @.",
    "Es ist {}; oder @?", "C'est {} ; ou @ ?", "答案是{}；或者@。", "It is {}, or @, or both.",
]  # fmt: skip
REAL = [
    "It turns out the answer is {}.", "It turns out to be {}.", "The answer turns out to be {}.",
    "After working it out, the answer is {}.", "@ is out, so the answer is {}.", "@ is off, so it is {}.",
    "If you check, the answer is {}.", "If it were even, we would get @. The answer is {}.",
    "Had it been even, it would have been @, but it is {}.", "That would be {}.", "The answer would be {}.",
    "If we had to choose, the answer is {}.", "The answer is {}, according to the table.",
    "The answer is {}, which is not @.", "The answer is {}, and not @.", "The answer is {}; it can't be @.",
    "The answer is {}. It can't be @.", "Is it @? No, it is {}.", "Is it @ or {}? It is {}.", "La réponse est {}.",
    "La risposta è {}.", "Die Antwort ist {}, nicht @.", "答案不是@，答案是{}。",
    "The answer is {}, as we know that @ is wrong.", "We had thought @; it is {}.",
    "The answer is {}, even if it looks odd.", "The answer is {}. Or you can call us.",
]  # fmt: skip
NAMED = [("Lisbon", "the Danube"), ("Marie Curie", "Lisbon"), ("New Delhi", "Marie Curie"), ("the Danube", "New Delhi")]
NUMBERED = [("42", "7"), ("-7", "120"), ("3.5", "-2"), ("1/4", "42")]


@pytest.mark.parametrize("form", UNREAL)
def test_a_name_or_number_that_only_would_be_or_is_offered_beside_another_is_no_answer(form):
    for (value, other), name in [*itertools.product(NAMED, ("answer", "cover_em")),
                                 *itertools.product(NUMBERED, ("answer", "numeric"))]:  # fmt: skip
        for lead in ("", "We look at each case.\n"):
            text = lead + form.replace("{}", value).replace("@", other)
            assert load(name).score([Sample("", text, value)])[0].value == 0, (name, text)


@pytest.mark.parametrize("form", REAL)
def test_a_name_or_number_beside_what_is_set_aside_is_the_answer(form):
    for (value, other), name in [*itertools.product(NAMED, ("answer", "cover_em")),
                                 *itertools.product(NUMBERED, ("answer", "numeric"))]:  # fmt: skip
        for lead in ("", "We look at each case.\n"):
            text = lead + form.replace("{}", value).replace("@", other)
            assert load(name).score([Sample("", text, value)])[0].value == 1, (name, text)


CHOSEN = [
    "We are left with {}.", "This leaves {}.", "This leaves only option {}.", "Only {} remains.", "~~A~~ {}",
    "**Answer: {}** (not C)", '{{"answer": "{}"}}', "<response>{}</response>", "<|begin_of_box|>{}<|end_of_box|>",
    "It isn't A; it's {}.", "I was leaning towards A, but {} is right.", "The answer is {}.\nConfidence: 80%",
    "A and C are ruled out, so {}.", "The answer is {} because A would be right only if x were even.",
    "A is wrong because it fails at 0; the answer is {}.",
]  # fmt: skip
UNCHOSEN = [
    "It would be {} only if x were even.", "{}, or maybe C", "A\n{}\nC\nE", "{} would be the answer if x were even.",
    "If x is even, {}.", "{} can be ruled out.", "We can rule out {}.", "You say {}.", "You say the answer is {}.",
    "You say {}. I say A.", "The answer is {}. Wait, it's C.", "~~{}~~ A", "Some people choose {}.",
    "{} isn't what the text says.",
    "{} is tempting, but wrong.", "Option {} looks right, but it isn't.", "We are left with {} and C.",
    "One might choose {}.",
    "The answer is A; {} would be right only if x were even.", "Es ist falsch, dass {} richtig ist.", "{} fails.",
    "{} is not supported by the text.", "{} may be right.", "{}, I think, is wrong.",
]  # fmt: skip


@pytest.mark.parametrize("form", CHOSEN)
def test_a_chosen_letter_is_the_answer(form):
    for name, letter in itertools.product(("answer", "choice"), "BD"):
        if name == "choice" and form.startswith(("{{", "<", "~~")):
            continue
        assert load(name)(form.format(letter), letter).value == 1, form


@pytest.mark.parametrize("form", UNCHOSEN)
def test_a_letter_that_nobody_chooses_is_no_answer(form):
    for name, letter in itertools.product(("answer", "choice"), "BD"):
        assert load(name)(form.format(letter), letter).value == 0, form


SENTENCES = [
    ("Ottawa", "What is the capital of Canada?", [
        "The capital is Ottawa.", "It is Ottawa.", "That would be Ottawa.", "The capital of Canada is Ottawa.",
        "It was Ottawa.",
        "Sure! That would be **Ottawa**. Let me know if you need anything else.", "It's Ottawa.",
        "Ottawa is the capital.",
        "Die Hauptstadt ist Ottawa.", "La capitale est Ottawa.", "La capital es Ottawa.", "La capitale è Ottawa.",
        "The city you are looking for is Ottawa.", "I believe it is Ottawa.", "Canada's capital is Ottawa.",
        "Ottawa, I believe.",
        "The capital is Ottawa, which is in Ontario.", "The capital is Ottawa, not Toronto.",
        "It isn't Toronto but Ottawa.",
    ], [
        "The capital is Toronto.", "The capital is not Ottawa.", "It isn't Ottawa.",
        "The capital is Toronto, not Ottawa.",
        "The capital is north of Ottawa.", "The capital is near Ottawa.", "Ottawa is not the capital.",
        "Is the capital Ottawa?",
        "The capital was Ottawa or Toronto.", "Ottawa is a city in Canada, but the capital is Toronto.",
        "If the capital is Ottawa, we are done.", "Sure! That would be **Toronto**. Ottawa is another city.",
        "The capital might be Ottawa.", "You say the capital is Ottawa.", "The capital is Ottawa Hills.",
        "I don't think that the capital is Ottawa.", "Ottawa is wrong.", "The capital is Toronto. Ottawa is a city.",
        "The capital would be Ottawa if Toronto were smaller.", "Es ist falsch, dass die Hauptstadt Ottawa ist.",
        "The capital is **Ottawa** or **Toronto**.", "The mayor of Ottawa is the capital.",
    ]),
    ("[2, 4]", "What does it print?", [
        "It prints [2, 4].", "The output is [2, 4].", "It returns `[2, 4]`.", "The program prints [2, 4]",
        "The result is [2, 4].",
    ], ["It prints [2, 5].", "It does not print [2, 4].", "It prints [2, 4] or [2, 5].", "It prints [[2, 4]].",
    "It prints [2, 4, 6]."]),
    ("(3, 4)", "Where do they meet?", [
        "The point is (3, 4).", "They meet at (3, 4).", "They intersect at the point (3, 4).", "It is (3, 4).",
    ], ["They meet at (4, 3).", "They do not meet at (3, 4).", "It isn't (3, 4).", "They meet at (3, 4) or (4, 3)."]),
    ("red, green, blue", "Which colours?", [
        "The colours are red, green, blue.", "The colours are red, green and blue.", "They are red, green and blue.",
    ], ["The colours are red and green.", "They are red, green and yellow.", "They are not red, green and blue."]),
    ("the Netherlands", "Which country?", [
        "Sure! That would be **the Netherlands**. Let me know if you have questions.", "That's the Netherlands!",
        "Great question! The answer is the Netherlands. 😊",
    ], ["Sure! That would be **Belgium**. Let me know if the Netherlands interests you.",
    "That would not be the Netherlands.",
        "Sure! That would be **Belgium**, not **the Netherlands**."]),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "question", "right", "wrong"), SENTENCES)
def test_a_plain_sentence_states_its_claim(gold, question, right, wrong):
    assert [text for text in right if not verify(text, gold, question=question).equal] == []
    assert [text for text in wrong if verify(text, gold, question=question).equal] == []


OPTIONS = ["not applicable here", "a wrong view, but held", "the sum is not a square", "right", "denied, if x / y"]


@pytest.mark.parametrize(
    "form", ["({}) {}", "The answer is ({}) {}.", "{}. {}", "The correct answer is ({}): {}.", "**({}) {}**"]
)
def test_the_text_of_an_option_beside_its_letter_is_part_of_the_letter(form):
    for letter, option in zip("ABCDE", OPTIONS, strict=True):
        samples = [
            Sample(completion=form.format(letter, option), answer=gold, meta={"options": OPTIONS}) for gold in "ABCDE"
        ]
        assert [s.value for s in load("choice").score(samples)] == [float(gold == letter) for gold in "ABCDE"]
    denied = Sample(completion="The answer is not (C) the sum is not a square.", answer="C", meta={"options": OPTIONS})
    assert load("choice").score([denied])[0].value == 0


def test_several_letters_are_chosen_where_the_gold_has_several():
    choice = load("choice")
    for text in ("A, C", "The answers are A and C.", "Answer: A and C", r"\boxed{A, C}", "C, A"):
        assert choice(text, "A, C").value == 1, text
        assert choice(text, "AC").value == 1, text
        assert choice(text, "A").value == 0, text
    for text in ("A", "The answer is A.", "A, B, C", "A or C", "The answers are not A and C."):
        assert choice(text, "A, C").value == 0, text


def test_roles_are_told_of_any_span():
    for text, value, expected in [
        ("It is 5.", "5", "asserted"), ("It is not 5 but 6.", "5", "denied"), ("It is not 5 but 6.", "6", "asserted"),
        ("5, or 6", "5", "alternative"), ("Is it 5?", "5", "hypothetical"), ("You say 5.", "5", "quoted"),
        ("Ne4 is 5", "5", "asserted"), ("On May 5", "5", "asserted"), ("It is May 5, or so it seems.", "5",
        "alternative"),
    ]:  # fmt: skip
        start = text.index(value)
        assert role(text, start, start + len(value)) == expected, text


def test_a_negation_needs_something_that_it_negates():
    for text in (
        "No",
        "no.",
        "None",
        "never",
        "False",
        "Non-violence",
        "Ne4MoB12",
        r"\text{Ne}_4",
        "no, because",
        "Nein.",
    ):
        assert not is_negation(text), text
    for text in ("not independent", "no solution", "isn't 5", "anything but 5", "不是5", "nicht 5", r"\text{not } 5"):
        assert is_negation(text), text
    assert predicate("not 5 but 6").role == "asserted"


def test_hostile_sentences_cost_linear_work(linear):
    for hostile in (
        "not ",
        "no, ",
        "5 is wrong ",
        "it is ",
        "wait ",
        "~~a~~",
        "[1] ",
        "**a** ",
        ", that ",
        '{"a":',
        "or ",
        "but ",
    ):
        linear(lambda text: verify(text, "Ottawa"), hostile)
        linear(lambda text: verify("the answer is " + text, "5"), hostile)
        linear(lambda text: verify("(A) " + text, "A", options=["not ", "5 is wrong", "x"]), hostile)


SET_RIGHT = [
    "The answer is not @. It's {}.", "You say the answer is @. I get {}.", "You say the answer is @. It is {}.",
    "Your answer is @. That is wrong; it is {}.", "The answer is @. That is wrong; it is {}.",
    "The answer isn't @. We get {}.", "My first answer was @. The right one is {}.",
    "They claim that the answer is @. In fact it is {}.", "If the answer were @, x would be even. So it is {}.",
    "Your answer is @. This isn't right. The answer is {}.",
]  # fmt: skip


@pytest.mark.parametrize("form", SET_RIGHT)
def test_after_an_answer_that_is_not_the_replys_own_the_one_that_follows_counts(form):
    for value, other in (*NAMED, *NUMBERED):
        text = form.replace("{}", value).replace("@", other)
        assert verify(text, value).equal, text
        assert not verify(text, other).equal, text


@pytest.mark.parametrize("form", [
    "The answer is {}. It is not possible to do better.", "The answer is {}. That is wrong only if x is odd.",
    "The answer is {}. Is that right? It is.", "Your answer is {}, and it is right.",
    "The answer is {}. It is 1 more than we thought.",
])  # fmt: skip
def test_a_remark_about_an_answer_does_not_replace_it(form):
    if "Your" in form:
        assert verify(form.format("17"), "28").equal is False
        return
    assert verify(form.format("17"), "17").equal
    assert verify(form.format("Lisbon"), "Lisbon").equal


@pytest.mark.parametrize("value", ["not independent", "no solution", "not possible", "never"])
@pytest.mark.parametrize("remark", ["It is clear from the ratio.", "This is what we expect.", "It is easy to see."])
def test_a_remark_about_an_answer_that_is_a_denial_does_not_replace_it(value, remark):
    assert verify(f"The answer is {value}. {remark}", value).equal


ECHOES = [
    ("Who discovered radium?", "Marie Curie",
     ["Marie Curie discovered radium.", "Marie Curie discovered it.", "Marie Curie did.",
      "Radium was discovered by Marie Curie."],
     ["Marie Curie was discovered by radium.", "Radium discovered Marie Curie.", "Pierre discovered radium.",
      "Marie Curie did not.", "Marie Curie may have discovered it.", "Marie Curie discovered polonium.",
      "Did Marie Curie discover it?", "Someone said Marie Curie discovered it.", "It was rejected by Marie Curie.",
      "Marie Curie's husband discovered radium.", "Not Marie Curie discovered it."]),
    ("Who defeated Napoleon at Waterloo?", "Wellington",
     ["Wellington defeated Napoleon at Waterloo.", "Wellington did.", "Wellington defeated him.",
      "Napoleon was defeated by Wellington."],
     ["Napoleon defeated Wellington at Waterloo.", "Wellington was defeated by Napoleon.",
      "Blücher defeated Wellington at Waterloo.", "Wellington met Napoleon at Waterloo.",
      "Napoleon was admired by Wellington."]),
    ("Whom did Napoleon defeat at Jena?", "Hohenlohe", ["Napoleon defeated Hohenlohe."],
     ["Hohenlohe defeated Napoleon.", "Napoleon was defeated by Hohenlohe."]),
    ("What does the program print?", "hello", ["It prints hello.", "The program prints hello."],
     ["It prints hello world.", "Hello prints the program twice.", "It never prints hello."]),
    ("Which city hosted the games?", "Turin", ["Turin hosted the games.", "Turin hosted them."],
     ["The games hosted Turin.", "Milan hosted Turin."]),
    ("What is the capital of Canada?", "Ottawa",
     ["The capital is called Ottawa.", "Canada's capital is named Ottawa.", "The capital remains Ottawa."],
     ["The capital isn't called Ottawa.", "The capital is called Toronto.", "Ottawa was replaced by Toronto."]),
    ("加拿大的首都是哪里？", "渥太华", ["加拿大的首都是渥太华。", "首都是渥太华。", "渥太华是加拿大的首都。"],
     ["首都不是渥太华。", "渥太华不是首都。", "首都是渥太华吗？", "可能是渥太华。", "首都是渥太华或多伦多。"]),
    ("カナダの首都はどこですか？", "オタワ", ["カナダの首都はオタワです。", "首都はオタワです。", "オタワです。"],
     ["首都はトロントです。", "首都はオタワではありません。", "オタワではない。", "首都はオタワですか？"]),
    ("캐나다의 수도는?", "오타와", ["캐나다의 수도는 오타와입니다.", "오타와입니다."],
     ["수도는 토론토입니다.", "수도는 오타와가 아닙니다."]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "gold", "right", "wrong"), ECHOES)
def test_a_sentence_that_repeats_its_question_states_what_it_puts_in_its_place(question, gold, right, wrong):
    assert [text for text in right if not verify(text, gold, question=question).equal] == []
    assert [text for text in wrong if verify(text, gold, question=question).equal] == []


def test_explain_lists_the_claims_of_a_reply_with_their_roles():
    told = load("answer").explain(Sample("", "The answer is 17. Wait, no, it's 28.", "28"))
    assert "claim: 17 (withdrawn; statement, character 4)" in told
    assert "claim: 28 (asserted, final; whole text" in told
    listed = claims("You say the answer is 31.\nIt is false that the answer is 5.\nThe answer is 28. Let me know!")
    assert [(claim.value, claim.role, claim.final) for claim in listed] == [
        ("31", "quoted", False), ("5", "denied", False), ("28", "asserted", True),
    ]  # fmt: skip
    assert claims("") == []
