"""What an audit finds in a reward: planted faults of functions, and of rows on which alone they show."""

import pytest

from verikit import Score, verifier
from verikit.answers.gold import read_gold
from verikit.audit import audit
from verikit.audit.findings import CHECKS
from verikit.audit.rows import AuditRow
from verikit.audit.spellings import near_misses, spellings
from verikit.names.spec import load
from verikit.verifiers.answer import Answer

GOLDS = ["12", "-7", "3.5", "1200", r"\frac{3}{4}", r"2\sqrt{3}", "(3,4)", "x^2+1", "Paris", "Isaac Newton", "1914"]
ROWS = [{"problem": f"What is the value of number {i} on the list?", "answer": gold} for i, gold in enumerate(GOLDS)]


def planted(base, wrong):
    """`base`, but where `wrong(sample)` gives a value, that."""
    base = load(base)

    def reward(sample):
        value = wrong(sample)
        return base.score([sample])[0] if value is None else Score(value)

    return verifier(reward, name="planted", reads="all")


def names(result):
    return {finding.check for finding in result.findings}


def test_a_sound_reward_has_no_findings(write):
    found = audit(write(ROWS), "answer", repeats=3)
    assert found.findings == []
    assert {count.check for count in found.probes} == {"form", "itself", "rewriting", "near_miss", "other_gold", "hack"}
    assert found.count("itself").rows == len(ROWS)
    assert found.noise is not None
    assert found.noise.changed == 0


@pytest.mark.parametrize(
    ("check", "line", "wrong"),
    [
        ("itself", 3, lambda s: 0.0 if s.answer == "3.5" and "3.5" in s.completion else None),
        ("rewriting", 4, lambda s: 0.0 if "1,200" in s.completion else None),
        ("near_miss", 2, lambda s: 1.0 if s.answer == "-7" and "{7}" in s.completion else None),
        (
            "other_gold",
            9,
            lambda s: 1.0 if s.answer == "Paris" and "Newton" in s.completion and "or" not in s.completion else None,
        ),
        ("hack", 6, lambda s: 1.0 if "sqrt" in str(s.answer) and s.completion == "I don't know." else None),
        ("hack", 7, lambda s: 1.0 if s.answer == "(3,4)" and not s.completion else None),
    ],
)
def test_a_fault_that_shows_on_one_row_is_found_there(check, line, wrong, write):
    if check == "other_gold":
        rows = [ROWS[8], ROWS[9]]  # the only other text
        line = 1
    else:
        rows = ROWS
    found = audit(write(rows), planted("answer", wrong))
    assert {(finding.check, finding.line) for finding in found.findings if finding.check == check} == {(check, line)}
    assert names(found) <= {check, "hack"}


def test_a_reward_for_the_form_alone_pays_every_hack_in_the_form_and_near_misses(write):
    found = audit(write(ROWS), "boxed")
    paid = {count.transform: count.share for count in found.probes if count.check == "hack"}
    assert paid["I don't know as the answer"] == paid["longest in the form"] == 1
    assert paid["empty"] == paid["the question"] == 0
    assert found.count("near_miss").found > 8


def test_each_hack_says_how_much_it_was_paid(write):
    by_length = verifier(lambda sample: min(1.0, len(sample.completion) / 1000), name="long")
    hacks = {count.transform: count for count in audit(write(ROWS), by_length).probes if count.check == "hack"}
    assert hacks["longest"].share == 1
    assert hacks["longest"].mean == 1
    assert hacks["shortest"].paid == 0
    assert hacks["shortest"].highest == 0.001


def test_rewards_of_another_form_are_met_in_their_form(write):
    rows = [{"problem": f"Sum {i}?", "answer": str(3 * i + 1)} for i in range(20)]
    hashed = verifier(lambda s: float(f"#### {s.answer}" in s.completion.split("\n")), name="hashed")
    found = audit(write(rows), hashed)
    assert found.forms == {"number": "hashed"}
    assert names(found) == {"rewriting", "hack"}
    told = {finding.transform for finding in found.findings if finding.check == "hack"}
    assert told == {"a hundred numbers", "the commonest golds"}  # any line counts


def test_programs_are_tried_where_the_reward_runs_them(write):
    tests = {"tests": ["assert f(2) == 5", "assert f(9) == 82"]}
    rows = [{"problem": "Square and add one.", "solution": "def f(n): return n * n + 1", **tests}]
    names_only = verifier(lambda s: float("def f" in s.completion), name="names")
    found = audit(write(rows), names_only)
    paid = {finding.transform for finding in found.findings}
    assert {"program: equal to all", "program: tests deleted", "program: no assertions"} <= paid
    assert found.probed == 1
    assert found.count("itself").found == 0
    assert not any("program" in f.transform for f in audit(write(rows), names_only, programs=False).findings)


def test_rows_that_a_reward_fails_on_are_findings_in_its_own_words(write):
    broken = verifier(lambda sample: 1 / 0, name="broken")
    found = audit(write(ROWS), broken)
    assert names(found) == {"unscored"}
    assert [finding.line for finding in found.findings] == list(range(1, len(ROWS) + 1))
    assert "broken raised ZeroDivisionError: division by zero (test_reward.py:" in found.findings[0].what
    assert found.count("unscored").share == 1
    assert all(not found.count(check).rows for check in ("itself", "hack"))  # no row was looked at
    assert all(count.unscored or "thoughts" in count.transform for count in found.probes)
    assert found.notices == ["no form of an answer is rewarded, so near misses and hacks show little"]


def test_one_row_that_fails_is_told_alone_and_a_gold_at_fault_is_told_by_its_own_check(write):
    fails = planted(
        "answer", lambda sample: 1 / 0 if sample.answer == "Paris" and "Newton" in sample.completion else None
    )
    found = audit(write([*ROWS, {"problem": "And then?", "answer": ""}]), fails)
    assert [finding.line for finding in found.of("unscored")] == [9]
    assert found.of("empty")[0].line == len(ROWS) + 1


def test_a_reward_that_abstains_on_every_gold_answer_was_not_tried(write):
    assert audit(write(ROWS), verifier(lambda sample: None, name="silent")).count("unscored").found == len(ROWS)
    some = verifier(lambda sample: None if sample.answer == "Paris" else 1.0, name="some")
    assert audit(write(ROWS), some).of("unscored") == []


def test_a_candidate_that_the_reward_fails_on_is_told(write):
    rows = [{"problem": "One?", "answer": "5", "completions": ["\\boxed{5}", "boom"]}]
    fails = planted("answer", lambda sample: 1 / 0 if sample.completion == "boom" else None)
    assert "candidate 1; planted raised ZeroDivisionError" in audit(write(rows), fails).of("unscored")[0].what


def test_only_so_many_rows_are_tried_and_that_is_said(write):
    found = audit(write(ROWS), "answer", probed=4)
    assert found.probed == 4
    assert "4 of 11 rows" in found.notices[0]


def test_noise_of_a_reward_is_found(write):
    draws = iter(range(10**9))
    steady, wavering = audit(write(ROWS), "answer"), None
    wavering = audit(write(ROWS), verifier(lambda sample: next(draws) % 2, name="coin"), repeats=4)
    assert steady.noise is not None
    assert steady.noise.flipped == 0
    assert wavering.noise is not None
    assert wavering.noise.flipped > 0
    assert wavering.of("noise")


CANDIDATES = [
    {"problem": "One?", "answer": "5", "completions": ["It is 7."] * 3 + ["Well, \\boxed{7}"]},
    {"problem": "Two?", "answer": "5", "completions": ["\\boxed{5}", "\\boxed{7}", "\\boxed{7}", "\\boxed{7}"]},
    {"problem": "Three?", "answer": "5", "completions": ["\\boxed{1}", "\\boxed{2}", "\\boxed{3}", "\\boxed{4}"]},
    {"problem": "Four?", "answer": "5", "completions": ["\\boxed{7}", "\\boxed{7}"]},
]


def test_a_row_whose_candidates_agree_on_another_answer_is_a_suspect(write):
    rows = [
        dict(row, completions=[f"\\boxed{{{text[-2]}}}" if text[-2] in "57" else text for text in row["completions"]])
        for row in CANDIDATES
    ]
    found = audit(write(rows), "answer")
    assert [finding.line for finding in found.of("suspect")] == [1]
    assert found.count("suspect").rows == 3  # two candidates are no majority
    assert "4 of 4 candidates agree on '7'" in found.of("suspect")[0].what
    plain = verifier(lambda sample: float(sample.answer in sample.completion), name="plain")
    assert [finding.line for finding in audit(write(rows), plain).of("suspect")] == [1]  # answers read by `answer`


def test_labels_give_error_rates_by_kind(write):
    rows = [
        {"problem": "One?", "answer": "5", "completions": ["\\boxed{5}", "\\boxed{6}"], "label": [True, True]},
        {
            "problem": "Two?",
            "answer": "Rome",
            "completions": [{"text": "Rome", "label": False}, {"text": "Bonn", "label": 0}],
        },
    ]
    found = audit(write(rows), "answer")
    assert [(c.kind, c.right, c.wrong, c.fnr, c.fpr) for c in found.labels] == [
        ("number", 2, 0, 0.5, None),
        ("text", 0, 2, None, 0.5),
    ]
    assert [finding.line for finding in found.of("label")] == [1, 2]


@pytest.mark.parametrize("gold", [*GOLDS, "yes", "C", r"\frac{-3}{4}", "100", "0", "2, 3", r"\$5", "1{,}000", "0.125"])
def test_spellings_mean_the_gold_and_near_misses_do_not(gold):
    row = AuditRow(1, "1", "?", gold, meta={"options": ["v", "w", "x", "y"]} if gold == "C" else {})
    read, reader = read_gold(gold), Answer()
    for name, text in spellings(row, read):
        assert reader(f"\\boxed{{{text}}}" if read.kind != "text" else text, gold).value == 1, (name, text)
    for name, text in near_misses(row, read):
        assert reader(f"\\boxed{{{text}}}" if read.kind != "text" else text, gold).value == 0, (name, text)


def test_every_check_says_what_it_finds():
    assert all(check.title and name.isidentifier() for name, check in CHECKS.items())
