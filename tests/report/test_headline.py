"""The first screen of compared runs: its sentences, picture, flips and replies, and its layout in Chromium."""

import base64
import io
import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.artifacts.pages import need_browser
from tests.report.conftest import HOSTILE, chart, shown, table, write
from verikit.report import Options, report
from verikit.report.differences import RunDifference
from verikit.report.drawing import draw
from verikit.report.export import csv_chart
from verikit.report.headline import pictures, sentences, worst
from verikit.report.model import Chart, Run, SampleItem, Series
from verikit.report.model import Text as PageText
from verikit.report.pictures import svg
from verikit.stats.paired import Outcomes, paired_difference

KINDS = ("billing", "shipping", "refund and returns")


def outcomes(task, right, n=100):
    """A run's values: the first `right` of n questions are right."""
    ids = [f"q{i}" for i in range(n)]
    return Outcomes(task, "score", {id: float(i < right) for i, id in enumerate(ids)}, {id: id for id in ids})


def pair(first, second, task="mean"):
    return RunDifference("A", "B", paired_difference(outcomes(task, first), outcomes(task, second)))


def test_a_sentence_names_the_difference_in_points_with_its_interval():
    (told,) = sentences([pair(90, 82)])
    assert told == "B is 8.0 points below A, 95 % interval 2 to 15."
    (told,) = sentences([pair(82, 90)])
    assert told == "B is 8.0 points above A, 95 % interval 2 to 15."


def test_the_deciding_end_of_an_interval_is_not_rounded_to_0():
    found = replace(pair(90, 82).difference, low=-0.16, high=-0.0032)
    (told,) = sentences([RunDifference("A", "B", found)])
    assert told == "B is 8.0 points below A, 95 % interval 0.3 to 16."


def test_a_sentence_reports_a_difference_that_is_not_significant():
    (told,) = sentences([pair(90, 88)])
    assert told.startswith("B is 2.0 points below A, 95 % interval ")
    assert told.endswith(": not significant.")
    assert sentences([pair(90, 90)]) == ["B and A have equal values on all 100 questions."]


def test_a_difference_that_only_the_correction_hides_is_reported_as_such():
    found = replace(pair(90, 84).difference, p=0.04)
    pairs = [RunDifference("A", "B", found), RunDifference("A", "C", found)]
    assert all("not significant after correction for 2 comparisons" in told for told in sentences(pairs))


def test_values_without_bounds_have_no_points_and_no_invented_interval():
    found = replace(pair(90, 82).difference, low=-math.inf, high=math.inf, before=300.0, after=312.5)
    (told,) = sentences([RunDifference("A", "B", found)])
    assert told == "B is 12.5 above A. The interval is unknown, because the values have no bounds."


def test_rewards_that_are_no_fractions_have_no_points():
    found = replace(pair(90, 82).difference, before=3.5, after=3.729, low=0.207, high=0.234)
    (told,) = sentences([RunDifference("w1", "w2", found)])
    assert told == "w2 is 0.229 above w1, 95 % interval 0.207 to 0.234."


def test_a_sentence_says_on_how_many_questions_both_runs_have_a_value():
    found = replace(pair(90, 82).difference, docs=8, left_out=92)
    (told,) = sentences([RunDifference("A", "B", found)])
    assert "below A on the 8 of 100 questions that both have a value for, " in told
    found = replace(found, changed=())
    (told,) = sentences([RunDifference("A", "B", found)])
    assert told == "B and A have equal values on the 8 of 100 questions that both have a value for."


def test_equal_means_of_other_questions_are_neither_above_nor_below():
    found = replace(pair(90, 82).difference, before=0.5, after=0.5, low=-0.1, high=0.1, p=1.0)
    (told,) = sentences([RunDifference("A", "B", found)])
    assert told.startswith("B has the same mean as A, 95 % interval ")


def test_sentences_beyond_the_first_are_counted():
    assert sentences([pair(90, 82)] * 8)[-1] == "The table of differences has 2 more."


def test_a_task_that_is_no_fraction_takes_only_its_own_row_from_the_picture():
    points = replace(outcomes("points", 50), values={f"q{i}": 7.0 + i for i in range(100)}, bounds=(0.0, 200.0))
    (found,) = pictures({"A": [outcomes("mean", 90), points], "B": [outcomes("mean", 82), points]}, [])
    assert found.rows == ["mean"]
    assert found.note.endswith("1 of 2 rows")


def test_with_several_metrics_a_sentence_names_its_own_and_the_clearest_come_first():
    told = sentences([pair(90, 89, "gsm8k"), pair(90, 60, "math")])
    assert [" on math" in text for text in told] == [True, False]
    assert " on gsm8k" in told[1]


def test_a_picture_of_values_that_are_no_fractions_is_left_out():
    other = replace(outcomes("reward", 50), values={f"q{i}": 7.0 + i for i in range(100)}, bounds=(-math.inf, math.inf))
    assert list(pictures({"A": [other], "B": [other]}, [])) == []
    (found,) = pictures({"A": [outcomes("mean", 90)], "B": [outcomes("mean", 82)]}, [])
    assert [series.name for series in found.series] == ["A", "B"]
    assert found.rows == ["all questions"]


def test_a_forest_of_two_series_has_a_dot_for_each_in_every_row_and_in_its_numbers():
    points = [(0.5, 0.4, 0.6), (0.7, 0.6, 0.8), (None, None, None)]
    made = Chart("k", "t", "value", "", [Series("A", points), Series("B", points)], "forest", rows=("x", "y", "z"))
    drawn = svg(draw(made))
    assert drawn.count("<circle") == 4
    assert len({part.split('"')[1] for part in drawn.split("<circle ")[1:]}) == 2
    assert csv_chart(made).splitlines()[:3] == ["series,row,value,low,high", "A,x,0.5,0.4,0.6", "A,y,0.7,0.6,0.8"]


def item(id, value, text):
    return SampleItem(id, "", ["wrong"], value, "wrong", 1, [PageText("Prompt", "Why?"), PageText("Candidate", text)])


def test_questions_that_the_second_run_loses_come_first_with_the_replies_that_explain_it():
    records = [
        {"id": "won", "question": "", "metric": "mean", "values": {"A": 0.0, "B": 1.0}},
        {"id": "same", "question": "", "metric": "mean", "values": {"A": 1.0, "B": 1.0}},
        {"id": "unscored", "question": "", "metric": "mean", "values": {"A": 1.0, "B": None}},
        {"id": "lost", "question": "", "metric": "mean", "values": {"A": 1.0, "B": 0.5}},
    ]
    first = Run("A", "score", "", items=[item("lost", 1.0, "fine")])
    second = Run("B", "score", "", items=[item("lost", 1.0, "good"), item("lost", 0.0, "bad"), item("lost", None, "-")])
    found = worst(iter(records), [first, second])
    assert [question.id for question in found] == ["lost", "won"]
    assert found[0].question.head == "Why?"
    assert [(reply.run, reply.value, reply.text.head) for reply in found[0].replies] == [
        ("A", 1.0, "fine"),
        ("B", 0.5, "bad"),
    ]
    assert [reply.text for reply in found[1].replies] == [None, None]


def record(id, *values, question="", metric="mean"):
    return {"id": id, "question": question, "metric": metric, "values": dict(zip("ABC", values, strict=False))}


RUNS = [Run(name, "score", "") for name in "ABC"]


def test_the_largest_losses_come_before_the_largest_gains():
    gains = [record(f"gain {i}", 0.0, i / 100) for i in range(1, 40)]
    found = worst(iter([*gains, record("small loss", 0.6, 0.5), record("loss", 1.0, 0.0)]), RUNS[:2])
    assert [question.id for question in found][:4] == ["loss", "small loss", "gain 39", "gain 38"]


def test_gains_are_shown_although_there_are_more_losses_than_places():
    losses = [record(f"loss {i}", 1.0, i / 100) for i in range(20)]
    gains = [record(f"gain {i}", i / 100, 0.9) for i in range(20)]
    ids = [question.id for question in worst(iter([*losses, *gains]), RUNS[:2])]
    assert ids == ["loss 0", "loss 1", "loss 2", "gain 0", "gain 1", "gain 2"]
    ids = [question.id for question in worst(iter([*losses, *gains[:2]]), RUNS[:2])]
    assert ids == ["loss 0", "loss 1", "loss 2", "loss 3", "gain 0", "gain 1"]


def test_a_question_of_several_metrics_is_shown_once_for_the_one_that_differs_most():
    records = [record("q", 1.0, 0.0, metric="mean", question="?"), record("q", 0.0, 0.5, metric="other", question="?")]
    assert [question.about for question in worst(iter(records), RUNS[:2])] == ["mean"]


def test_of_three_runs_the_widest_spreads_of_all_tasks_are_shown():
    narrow = [record(f"a{i}", 0.0, 0.01, 0.0, metric="first") for i in range(9)]
    wide = [record(f"a{i}", 0.0, 1.0, 0.5, metric="second") for i in range(9)]
    assert {question.about for question in worst(iter([*narrow, *wide]), RUNS)} == {"second"}


def test_an_empty_reply_is_not_a_missing_one_and_a_selection_shows_the_selected_reply():
    (empty,) = worst(iter([record("q", 1.0, 0.0)]), [Run(n, "score", "", items=[item("q", 1.0, "")]) for n in "AB"])
    assert [reply.text.head for reply in empty.replies] == ["", ""]
    chosen = [item("q", 0.4, "chosen"), item("q", 1.0, "best"), item("q", 0.0, "worst")]
    chosen[0].tags.append("selected")
    runs = [Run(name, "score", "", items=chosen) for name in "AB"]
    (found,) = worst(iter([record("q", 0.6, 0.4, metric="selected")]), runs)
    assert [reply.text.head for reply in found.replies] == ["chosen", "chosen"]


def test_replies_of_a_group_of_tasks_are_found_by_their_task():
    runs = [Run(name, "eval", "", items=[item("mmlu_biology 7", 1.0, "cells")]) for name in "AB"]
    (found,) = worst(iter([record("7", 1.0, 0.0, metric="mmlu")]), runs)
    assert [reply.text.head for reply in found.replies] == ["cells", "cells"]


def test_a_long_reply_is_cut_and_its_omitted_characters_are_counted():
    record = {"id": "q", "question": "", "metric": "mean", "values": {"A": 1.0, "B": 0.0}}
    runs = [Run(name, "score", "", items=[item("q", 1.0, "x" * 50_000)]) for name in "AB"]
    (found,) = worst(iter([record]), runs)
    for reply in found.replies:
        assert len(reply.text.head) + len(reply.text.tail) + reply.text.omitted == 50_000
        assert len(reply.text.head) < 2000


@pytest.fixture
def two(verikit, tmp_path):
    """Two runs, on questions of three kinds: the second loses six, two of each kind."""
    for name, lost in (("model-a", range(0)), ("model-b-with-a-name-of-an-ordinary-length", range(30, 36))):
        rows = [
            {
                "id": f"q{i}",
                "prompt": f"{HOSTILE[i % len(HOSTILE)]} What is {i} + 1?",
                "answer": str(i + 1),
                "category": KINDS[i % 3],
                "completions": ["no" if i in lost or i % 9 == 0 else str(i + 1)],
            }
            for i in range(60)
        ]
        write(tmp_path / f"{name}.jsonl", rows)
        verikit("score", f"{name}.jsonl", "-v", "exact", "-q")
    return sorted((tmp_path / "runs").iterdir())


def test_the_page_opens_with_the_sentence_the_picture_and_the_flips(two):
    (same,) = shown(*two, keys=["category"])["together"]
    assert same["sentences"][0].startswith(f"{two[1].name} is 10.0 points below model-a, 95 % interval ")
    assert chart(same, "side-by-side")["rows"] == ["all questions", *sorted(KINDS)]
    flips = table(same, "Paired flips")
    assert flips["columns"][2:4] == ["only model-a right", f"only {two[1].name} right"]
    assert flips["rows"] == [["model-a, " + two[1].name, 47, 6, 0, 7]]
    assert [[reply["text"]["head"] for reply in question["replies"]][1] for question in same["worst"]] == ["no"] * 6


MEASURE = """(() => {
  const box = (selector) => { const r = document.querySelector(selector).getBoundingClientRect();
    return [r.left, r.top + scrollY, r.right, r.bottom + scrollY]; };
  const cut = [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1);
  return JSON.stringify({
    ready: document.documentElement.dataset.ready, pwned: String(window.pwned),
    wide: document.documentElement.scrollWidth, cut: cut.map((one) => one.getAttribute("aria-label")),
    sentence: box(".sentence"), picture: box("#together-0 figure svg"), beside: box("#together-0 .table:not(.wide)"),
    stacked: [...document.querySelectorAll("#together-0 .stacked")].map((one) => one.getAttribute("aria-label")),
    run: box("#run-0"), dots: document.querySelectorAll("#together-0 figure circle").length,
    replies: [...document.querySelector(".replies").children].map((one) => one.getBoundingClientRect().top),
  });
})()"""


SHOTS = Path(__file__).parent / "shots"
BLOCK = 12
"""Pixels of a side of the blocks that are compared. Fonts move letters within a block."""
WORST, MEAN = 28, 1.3
"""Largest differences in brightness, of 255, of a block and of all. A missing picture changes a block by 35."""


def check_screenshot(data, name):
    """Compare the first screen with the stored one, by the brightness of blocks. UPDATE=1 stores it."""
    from PIL import Image, ImageChops, ImageStat

    found = Image.open(io.BytesIO(base64.b64decode(data))).convert("L")
    found = found.resize((found.width // 3, found.height // 3), Image.Resampling.BOX)
    if os.environ.get("UPDATE"):
        found.quantize(16).save(SHOTS / name, optimize=True)
    stored = Image.open(SHOTS / name).convert("L")
    assert found.size == stored.size
    blocks = [one.resize((one.width // BLOCK, one.height // BLOCK), Image.Resampling.BOX) for one in (found, stored)]
    difference = ImageChops.difference(*blocks)
    assert difference.getextrema()[1] <= WORST, f"UPDATE=1 stores {name} anew, if the change is wanted"
    assert ImageStat.Stat(difference).mean[0] <= MEAN


def measured(page, width):
    """Open a page in the project's own isolated browser, measure it and take its first screen."""
    from verikit.artifacts.browser.box import BrowserBox
    from verikit.artifacts.browser.pipe import BrowserPipe

    box = BrowserBox()
    try:
        pipe = BrowserPipe(box)
        target = pipe.call("Target.createTarget", url="about:blank")["targetId"]
        session = pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        pipe.call("Emulation.setDeviceMetricsOverride", session, **size)
        pipe.call("Page.navigate", session, url="data:text/html;base64," + base64.b64encode(page).decode())
        while True:  # the pipe has a deadline
            told = pipe.call("Runtime.evaluate", session, expression=MEASURE, returnByValue=True)["result"]
            if told.get("type") == "string" and json.loads(told["value"])["dots"]:
                picture = pipe.call("Page.captureScreenshot", session, format="png")["data"]
                return json.loads(told["value"]) | {"picture_of_screen": picture}
            pipe.listen(0.05)
    finally:
        box.close()


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("width", [1440, 390])
def test_the_first_screen_is_filled_and_nothing_is_cut(two, width):
    need_browser()
    found = measured(report(two, Options(keys=["category"])), width)
    check_screenshot(found["picture_of_screen"], f"first-screen-{width}.png")
    assert found["wide"] <= width
    assert found["cut"] == []
    assert found["pwned"] == "undefined"
    assert found["dots"] == 8, "two runs, in four rows"
    assert found["sentence"][3] <= found["picture"][1] < found["run"][1]
    assert found["picture"][1] < 500
    if width == 1440:
        assert found["stacked"] == [], "each table has the width that its columns take"
        assert found["beside"][0] > found["picture"][2], "a table fills the place beside the picture"
        assert found["beside"][1] < found["picture"][3]
        assert found["beside"][2] > 0.85 * width
        assert len(set(found["replies"])) == 1, "replies are beside each other"
    else:
        assert found["beside"][1] > found["picture"][3]
        assert len(set(found["replies"])) == 2
