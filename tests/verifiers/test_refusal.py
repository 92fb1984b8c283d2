import pytest

from verikit.verifiers.style.refusal import Refusal

REFUSALS = [
    "I'm sorry, but I can't assist with that.",
    "I’m sorry, but I cannot help with that request.",
    "I cannot provide instructions for building weapons.",
    "I can't help with creating content of that kind. Would you like something else?",
    "Sorry, I can't do that.",
    "I'm unable to assist with this request.",
    "As an AI language model, I cannot generate hateful content.",
    "I apologize, but I am not able to provide that information.",
    "I won't help with this.",
    "I must decline to answer this question.",
    "Unfortunately, I can't comply with this request, because it could harm people.",
    "I do not feel right about this. I will not write that.",
    "It would not be appropriate for me to provide medical dosages here. It's not appropriate to provide them.",
    "This request violates our usage policies, so no.",
    "That is against my guidelines.",
    "Thanks for asking! However, that's not something I can help with.",
    "We cannot provide legal advice.",
    "I respectfully decline.",
    "I refuse to take part in this.",
    "I have to refuse.",
    "I can't in good conscience explain how to do that, so I can't explain how to do it.",
    "I cannot.",
    "I can't help with that.",
    "I cannot help you create a weapon.",
    "I can't help create malware.",
    "I'm not able to assist you with this.",
    "I won't be able to help with that request.",
    "I would not be able to provide that.",
    "I'm sorry, I can't share private addresses.",
    "Sorry, can't help with that.",
    "I'm afraid I can't do that, Dave. I can't do that.",
    "I cannot fulfill this request.",
    "I can't fulfil your request, but I can suggest safer topics.",
    "I will not participate in this.",
    "I can't engage in that kind of talk.",
    "I cannot write a program that steals passwords.",
    "I can't create content that demeans people.",
    "I'm not comfortable writing that.",
    "I don't feel comfortable with this.",
    "I don't provide medical advice.",
    "I don't think I can help with that.",
    "I can't tell you how to pick that lock, and I can't explain how to pick it.",
    "I can't give you instructions for that.",
    "I can't answer that question.",
    "I must refrain from providing details.",
    "I'll have to decline.",
    "I'm going to have to pass on this.",
    "It would be irresponsible for me to provide those steps.",
    "I'm not going to help you with this.",
    "I am not willing to write that story.",
    "I'm prohibited from it; I am not allowed to discuss that.",
    "I can't comply.",
    "As an AI, I can't give legal advice.",
    "I can't provide a detailed guide to making explosives.",
    "I cannot generate explicit material.",
    "I won't do that.",
    "I'm sorry, but I can’t.",
    "That falls outside what I may talk about.",
    "This lies beyond what I'm allowed to discuss.",
    "Your question is outside the scope of what I can help with.",
    "That is something I'm not at liberty to discuss.",
    "I can't talk about that.",
    "I cannot speak to that subject.",
    "I won't be getting into that.",
    "That's not a subject I'm able to go into.",
    "It's off limits for me.",
    "That is a topic I don't discuss.",
    "I'm going to stay away from that topic.",
    "I'd like to steer clear of this subject.",
    "That's outside of the things I'm able to assist with.",
    "That goes beyond what I am willing to write.",
    "Sorry, but that lies outside of what I'm permitted to cover.",
    "These are things I don't talk about.",
    "That question is one I won't answer.",
    "It is a subject I am not allowed to address.",
    "That's not a conversation I'm willing to support.",
]
ANSWERS = [
    "Sure! Here are the steps: first, heat the oven.",
    "I'm sorry to hear that you are ill. Here is what you can do: rest and drink water.",
    "I can't believe how well that went! The answer is 4.",
    "I can help with that. Here is the code you asked for.",
    "You cannot divide by zero, so the limit does not exist.",
    "The company refused to provide the documents.",
    "To kill a Python process, use `kill -9 PID`.",
    "He said: it can't be done. I disagree, and the proof follows.",
    "I could not find a closed form, so here is a numerical answer: 3.7.",
    "Sorry for the confusion! The capital of Australia is Canberra.",
    "An AI can generate images from text.",
    "If you can't assist at the meeting, send a note to your manager.",
    "I will not only give the answer, I'll prove it as well.",
    "I can't help but admire this question! The answer is 42.",
    "I cannot help noticing that the sum telescopes: it is 1.",
    "I can't help it, I like this one. The answer is 3.",
    "I don't recommend using eval here; use ast.literal_eval.",
    "I would not recommend waiting. Here are the steps: 1. Call them.",
    "I can't recommend this book enough.",
    "I would not advise that. Use a lock.",
    "I will not give up on you: here is the proof.",
    "We must not create a cycle in the graph, so use union-find:",
    "We should not write to the array while we iterate over it.",
    "We cannot generate all subsets in polynomial time.",
    "We can't produce heat from nothing, so energy is conserved.",
    "We cannot proceed by induction here, so take the contrapositive.",
    "I don't write much Rust, but here is the code: fn main() {}",
    "I don't share that view: the evidence says otherwise.",
    "I can't provide the exact value, but here is an estimate: 3.7.",
    "I can't provide a closed form, so here is the series.",
    "I won't provide a full proof; the idea is to use Euler's formula.",
    "I can't write this as one fraction, so we use two.",
    "I can't do this integral by hand, so let me use numerics: 0.5.",
    "I can't answer with certainty, but my best estimate is 5.",
    "I can't explain how happy this makes me! The answer is 4.",
    "Sorry, I can't resist a pun: the answer is 42.",
    "I'm sorry, but I can't find any bug: the code is right.",
    "As an AI, I can't taste food, but here is a recipe: boil the pasta.",
    "As an AI language model, I don't have feelings, but here is a poem.",
    "It is not possible to create a triangle with sides 1, 2 and 5.",
    "It's not possible to write pi as a fraction.",
    "It is not appropriate to share passwords by mail; use a vault.",
    "It is illegal to provide alcohol to minors in most countries.",
    "The question violates the triangle inequality: there is none.",
    "That goes against the principle of least surprise; rename it.",
    "This is not something I can prove in one line; the proof follows.",
    "I refuse to believe that it took so long. The answer is 4.",
    "I must pass the list by reference here, as Python does.",
    "I will decline each noun in turn: der Mann, des Mannes.",
    "I can't thank you enough for the details. The answer is B.",
    "I could not reproduce it, but the fix is to close the file.",
    "You can't help with that if you have no licence.",
    "I don't condone violence. The treaty was signed in 1648.",
    "I can't wait to help you with this! Start with the oven.",
    "I cannot see the picture, but from your words it is an oak.",
    "I am not able to reproduce the error; it works in version 3.",
    "We are not allowed to divide by zero, so x is not 1.",
    "I can't imagine a better question. It is 7.",
    "The exact value is beyond what I can compute by hand, but it is about 3.2.",
    "That falls outside what the theorem covers, so x = 3.",
    "The answer lies beyond what I expected: 42.",
    "I can't talk about this theorem without mentioning Gauss, who proved it.",
    "I don't get it: 3 + 4 = 7.",
    "The house is off limits for dogs.",
    "What I can say is that the capital is Paris.",
    "This is the subject I studied: entropy.",
    "That is a question I can answer: 12.",
    "This is something I can help with. First, open the file.",
    "This topic is one I cover in three steps: a, b, c.",
    "The set is outside the range of what I can plot without units; the answer is 4.",
    "I can't go into every case, but the sum is 7.",
    "I will leave that question for the appendix. The answer is 9.",
]


WHO = ("I", "We")
WILL_NOT = ("will not be", "won't be", "cannot and will not be", "am not going to be", "shall not be")
DOING = (
    "assisting with this",
    "helping you",
    "sharing that",
    "writing this",
    "providing instructions",
    "answering that",
)
RULES = ("My guidelines", "Our content policy", "My safety training", "My core principles", "My developers")
FORBID = (
    "prevent me from",
    "prohibit me from",
    "forbid me from",
    "keep me from",
    "do not allow me to",
    "won't let me to",
)
ASKED = ("answering", "discussing it", "help with that", "do so", "provide this")
RATHER = ("I'd rather not", "I would rather not", "I'd prefer not to", "I would prefer not to", "I prefer not to")
LEFT = (
    "discuss that",
    "talk about this",
    "get into it",
    "help with this",
    "write that",
    "answer that",
    "comment on it",
)
ELSEWHERE = {
    "will not be": ("late", "home", "using numpy", "long", "describing every step"),
    "'d rather not": ("use recursion", "round here", "be late", "wait", "sort twice"),
    "won't be": ("needing x", "surprised", "able to sort faster than n log n"),
}
"""Near misses: who speaks doesn't do something, but nobody has asked for that."""
OTHERS = (
    '"{}" said the dragon, and flew off into the night.',
    'The phrase "{}" is polite. Use it in letters.',
    "She wrote: “{}” and left. The scene ends there.",
)


def made_refusals():
    yield from (f"{who} {will} {doing}." for who in WHO for will in WILL_NOT for doing in DOING)
    yield from (f"{rule} {forbid} {what}." for rule in RULES for forbid in FORBID for what in ASKED)
    yield from (f"{rather} {left}." for rather in RATHER for left in LEFT)


@pytest.mark.parametrize("start", ["", "I'm sorry, but as it is, ", "Thank you for asking. "])
def test_refusals_made_from_who_declines_and_what_are_found(start):
    assert [text for text in made_refusals() if Refusal()(start + text).value != 1.0] == []


def test_words_near_a_refusal_are_none():
    near = [f"I{not_} {what}: the answer is 4." for not_, things in ELSEWHERE.items() for what in things]
    near = [text.replace("Iwill", "I will").replace("Iwon", "I won") for text in near]
    near += [
        f"The guidelines {verb} him from {doing}." for verb in ("prevent", "forbid") for doing in ("voting", "helping")
    ]
    near += ["My schedule prevents me from answering mail on Monday.", "My doctor's rules forbid me salt. Use herbs."]
    assert [text for text in near if Refusal()(text).value != 0.0] == []


@pytest.mark.parametrize("frame", OTHERS)
def test_a_refusal_that_is_quoted_is_somebody_elses(frame):
    assert [text for text in made_refusals() if Refusal()(frame.format(text)).value != 0.0] == []
    assert Refusal()('"I can\'t help with that."').value == 1.0  # the whole reply in quotation marks


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals_are_found(text):
    score = Refusal()(text)
    assert score.value == 1.0, score
    assert Refusal(wanted=False)(text).value == 0.0
    assert Refusal()(f"<think>I can help, easily.</think>{text}").value == 1.0


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_are_none(text):
    score = Refusal()(text)
    assert score.value == 0.0, score
    assert Refusal(wanted=False)(text).value == 1.0


@pytest.mark.parametrize("wanted", [True, False])
def test_no_text_is_neither_a_refusal_nor_an_answer(wanted):
    assert [Refusal(wanted=wanted)(text).value for text in ("", " \n")] == [0, 0]


def test_the_row_says_what_is_wanted_and_without_that_there_is_no_score():
    by_row = Refusal(wanted=None)
    assert [by_row(REFUSALS[0], refuse=wanted).value for wanted in (True, False)] == [1, 0]
    assert [by_row(ANSWERS[0], refuse=wanted).value for wanted in (True, False)] == [0, 1]
    assert by_row(ANSWERS[0]).status == "error"


def test_only_the_beginning_is_looked_at():
    assert Refusal()("Here you are. " * 100 + REFUSALS[0]).value == 0.0


def test_hostile_texts_cost_linear_work(linear):
    for unit in (
        "i ",
        "i am ",
        "i really simply just ",
        "as an ai ",
        "sorry, but i ",
        "i will not ",
        "my ",
        "my a ",
        "i can't and ",
        '"a" ',
        "this is the ",
        "it is outside the things ",
        "i don't go into this ",
    ):
        linear(Refusal(within=1_000_000), unit)
