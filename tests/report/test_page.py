"""What a model wrote can't leave the data island, and a page stays within its budget."""

import base64
import hashlib
import math
import re
from html.parser import HTMLParser

import pytest

from tests.hostile_texts import HOSTILE as UNITS
from tests.report.conftest import HOSTILE, island
from verikit.report import items
from verikit.report.items import cut, fit, shortened
from verikit.report.model import Run, SampleItem, Text
from verikit.report.page import render


class Parser(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def page(*texts, name="run"):
    found = [
        SampleItem(
            text[:50], text[:50], ["wrong"], 0.0, text[:50], len(text), [Text("Prompt", text), Text("Candidate", text)]
        )
        for text in texts
    ]
    for item in found:
        item.facts = [(item.label, item.label)]
        item.scores = {item.label: {"value": 0.0, "status": "ok", "reason": item.label, "answer": item.label}}
    run = Run(name, "score", name, [(name, name)], {name: name}, [name], items=found)
    return render(name, [run], [])


@pytest.mark.parametrize("text", [*HOSTILE, *(unit * 50 for unit in UNITS)])
def test_no_text_makes_an_element_or_changes_the_data(text):
    plain, hostile = Parser(), Parser()
    plain.feed(page("x").decode())
    made = page(text, name=text[:200])
    hostile.feed(made.decode())
    assert hostile.tags == plain.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert island(made)["strings"] == [text]


def test_the_policy_lets_only_our_own_script_and_style_run_and_nothing_load():
    html = page("x").decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
    assert html.index("Content-Security-Policy") < html.index("<style>") < html.index("<script")


def test_the_script_never_makes_markup_from_text():
    (script,) = re.findall(r"<script>(.*?)</script>", page("x").decode(), re.DOTALL)
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"):
        assert way not in script
    assert script.isascii()
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)", script)


def test_a_long_text_keeps_its_beginning_and_its_end_and_says_what_is_missing():
    text = cut(Text("Candidate", "a" * 1000 + "z" * 1000), 400)
    assert (text.head, text.tail, text.omitted) == ("a" * 300, "z" * 100, 1600)
    assert cut(Text("Candidate", "a" * 400), 400) == Text("Candidate", "a" * 400)
    again = cut(text, 40)
    assert (again.head, again.tail, again.omitted) == ("a" * 30, "z" * 10, 1960)


def test_a_number_that_is_none_becomes_null():
    settings = {"limit": math.inf, "other": [math.nan, 1.5]}
    made = render("x", [Run("run", "score", "", settings=settings)], [])
    assert island(made)["runs"][0]["settings"] == {"limit": None, "other": [None, 1.5]}


def test_an_extracted_answer_that_is_a_whole_text_is_cut():
    score = {"value": 1.0, "status": "ok", "answer": "x" * 9000, "parts": {"a": {"value": 1.0, "answer": "y" * 9000}}}
    score["steps"] = [{"value": 1.0, "answer": "z" * 9000}, {"value": 0.0, "answer": None}]
    held = shortened(score)
    assert held["answer"] == "x" * 300 + "…"
    assert held["parts"]["a"]["answer"] == "y" * 300 + "…"
    assert [len(step["answer"] or "") for step in held["steps"]] == [2001, 0]
    assert len(score["answer"]) == 9000


def test_many_long_texts_are_cut_to_the_budget_and_equal_ones_count_once(monkeypatch):
    monkeypatch.setattr(items, "BUDGET", 100_000)
    same = [SampleItem("a", f"#{i}", ["wrong"], 0.0, "wrong", 9, [Text("Prompt", "p" * 15_000)]) for i in range(50)]
    run = Run("run", "score", "", items=same)
    fit([run])
    assert all(not item.texts[0].omitted for item in run.items)
    run.items = [
        SampleItem("a", f"#{i}", ["wrong"], 0.0, "wrong", 9, [Text("Prompt", f"{i}" * 15_000)]) for i in range(50)
    ]
    fit([run])
    assert sum(len(item.texts[0].head) + len(item.texts[0].tail) for item in run.items) <= 100_000
    assert all(item.texts[0].omitted for item in run.items)
