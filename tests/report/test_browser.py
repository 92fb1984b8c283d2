"""The page in headless Chromium: it reads, filters, is worked by keys, fits a phone, loads nothing and stays quick."""

import random
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from tests.report.conftest import EXAMPLES, HOSTILE, training_run, write
from verikit.report import report

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-headless-shell"))), "/usr/bin/chromium")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


class Seen:
    """What a page did that it must not: errors, complaints, requests beyond its own file."""

    def __init__(self, page):
        self.all = []
        page.on("console", lambda message: self.all.append(("console", message.text)))
        page.on("pageerror", lambda error: self.all.append(("error", str(error))))
        page.on("dialog", lambda dialog: (self.all.append(("dialog", dialog.message)), dialog.dismiss()))
        page.on(
            "request",
            lambda request: request.url.startswith(("file:", "data:")) or self.all.append(("request", request.url)),
        )


@pytest.fixture
def opened(chromium, tmp_path):
    """Open a page of runs; the test fails where the page complains or asks for anything."""
    pages = []

    def open_page(*runs, width=1280, height=900, scheme="light"):
        file = tmp_path / f"page{len(pages)}.html"
        file.write_bytes(report(runs))
        page = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
        pages.append((page, Seen(page)))
        page.goto(f"file://{file}")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_timeout(50)
        return page

    yield open_page
    for page, seen in pages:
        page.wait_for_timeout(50)
        page.context.close()
        assert seen.all == []


@pytest.fixture
def run(verikit, tmp_path):
    spec = ("-v", "0.9*answer + 0.1*boxed", "--by", "column('rm')", "--select", "best")
    verikit("score", EXAMPLES / "candidates.jsonl", *spec, "-o", "run", "-q")
    return tmp_path / "run"


def count(page):
    return page.text_content(".count")


def test_filters_search_and_order_choose_the_samples(opened, run):
    page = opened(run)
    assert count(page) == "96 samples"
    page.click(".chip.wrong")
    assert count(page) == "32 of 96 samples"
    page.click(".chip.selected")
    assert count(page) == "0 of 96 samples"
    assert page.text_content(".detail") == "Nothing to show."
    page.click(".chip.selected")
    page.click(".chip.right")
    assert count(page) == "64 of 96 samples", "right takes the place of wrong"
    page.click(".chip.right")
    page.fill("input[type=search]", "3 H 25")
    expect(page.locator(".count")).to_have_text("1 of 96 samples")
    assert page.text_content(".detail pre mark") == "3 h 25"
    page.fill("input[type=search]", "")
    expect(page.locator(".count")).to_have_text("96 samples")
    page.select_option(".controls select", "longest first")
    lengths = page.evaluate("JSON.parse(document.getElementById('data').textContent).runs[0].items.map(i => i.length)")
    assert f"{max(lengths)} characters" in page.text_content(".detail .facts")


def test_the_samples_are_worked_by_keys_alone(opened, run):
    page = opened(run)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.get_attribute(".list", "aria-activedescendant") == "row-2"
    assert page.text_content(".detail h3") == "ex01#2"
    page.keyboard.press("k")
    page.focus(".list")
    page.keyboard.press("End")
    assert page.text_content("[aria-selected=true] .who") == "ex12#7"
    page.keyboard.press("/")
    page.keyboard.type("ex03j")
    assert page.input_value("input[type=search]") == "ex03j", "keys are letters while one writes"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "list"
    page.focus(".chip.wrong")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.dataset.tag") == "wrong", "the focus stays on the filter"
    page.focus(".plot svg")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "k 2" in page.text_content(".tip:not([hidden])")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_address_leads_back_to_the_sample(opened, run):
    page = opened(run)
    page.click(".row >> nth=5")
    assert page.url.endswith("#sample-5")
    page.click(".chip.wrong")
    page.evaluate("location.hash = '#sample-95'")
    expect(page.locator(".detail h3")).to_have_text("ex12#7")
    page.reload()
    expect(page.locator(".detail h3")).to_have_text("ex12#7")
    assert page.evaluate("scrollY") > 0
    page.evaluate("location.hash = '#sample-1e9'")
    expect(page.locator(".detail h3")).to_have_text("ex12#7")


def test_other_candidates_of_a_prompt_are_one_press_away_also_past_a_filter(opened, run):
    page = opened(run)
    page.click(".chip.wrong")
    page.click(".sibling.right >> nth=0")
    assert page.text_content(".detail .verdict").startswith("right")
    assert count(page) == "96 samples"


def test_charts_have_named_axes_numbers_and_series_to_switch_off(opened, run):
    page = opened(run)
    figure = page.locator("figure", has_text="Over k candidates")
    assert figure.locator("text.name").all_text_contents() == ["k", "score (%)"]
    assert figure.locator("path.line").count() == 5
    figure.locator(".legend button").first.click()
    assert figure.locator("path.line").count() == 4
    figure.locator("summary").click()
    expect(figure.locator("tbody tr")).to_have_count(4)


COLOUR = "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()"


def test_a_chart_is_saved_as_the_picture_that_the_command_writes(opened, run, verikit, tmp_path):
    page = opened(run)
    link = page.get_by_role("link", name="Save Over k candidates as SVG")
    with page.expect_download() as saved:
        link.click()
    assert saved.value.suggested_filename == "over-k-candidates.svg"
    assert verikit("report", run, "--svg", "-o", "out") == 0
    assert saved.value.path().read_bytes() == (tmp_path / f"out/{run.name}-over-k.svg").read_bytes()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(opened, run, scheme):
    page = opened(run, scheme=scheme)
    names = [("--ink", 7), ("--soft", 4.5), ("--accent", 4.5), ("--right", 4.5), ("--wrong", 4.5), ("--unscored", 4.5)]
    for ground in ("--ground", "--panel"):
        for name, least in names:
            assert contrast(page.evaluate(COLOUR, name), page.evaluate(COLOUR, ground)) >= least, (name, ground, scheme)


def contrast(first, second):
    """WCAG's contrast ratio of two colours."""

    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((light(first), light(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_screen_needs_no_sideways_scrolling(opened, run, width):
    page = opened(run, width=width, height=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click(".row >> nth=3")
    expect(page.locator(".detail h3")).to_be_in_viewport()


def test_runs_of_every_kind_share_a_page_without_a_complaint(opened, run, verikit, tmp_path):
    spec = f"pairwise('replay:{EXAMPLES}/judge/judge.jsonl')"
    files = (EXAMPLES / "judge/ours.jsonl", EXAMPLES / "judge/theirs.jsonl")
    verikit("judge", *files, "-j", spec, "-o", "judged", "-q", "--fail-over", "50%")
    verikit("score", EXAMPLES / "candidates.jsonl", "-v", "exact", "-o", "exact", "-q")
    page = opened(run, tmp_path / "exact", tmp_path / "judged", training_run(tmp_path / "trained"))
    for _ in range(2):  # folded charts have folded tables
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        page.wait_for_timeout(100)
    assert page.locator("section.run").count() == 5
    assert page.locator("figure.chart").count() == page.locator("figure.chart .plot > svg").count() > 15
    page.select_option(".controls select >> nth=0", label="judged")
    assert count(page) == "8 of 203 samples"
    assert [chip.split()[0] for chip in page.locator(".chip").all_text_contents()][:3] == ["First", "Tie", "Second"]
    page.select_option(".controls select >> nth=0", label="all runs")
    page.click(".chip.differs")
    assert page.locator(".siblings .line").count() == 2, "a line of candidates for each run"


def test_step_scores_of_two_verifiers_stand_beside_the_paragraphs(opened, verikit, tmp_path):
    (tmp_path / "prm.py").write_text(
        "from verikit import Sample, Score, verifier\n"
        "def steps(values):\n    return Score(min(values), steps=tuple(Score(one) for one in values))\n"
        "@verifier\ndef kind(sample: Sample):\n    return steps(sample.meta['kind'])\n"
        "@verifier\ndef harsh(sample: Sample):\n    return steps(sample.meta['harsh'])\n"
    )
    (tmp_path / "v.toml").write_text('[verifiers]\nboth = "mean(a, b)"\na = "prm.py:kind"\nb = "prm.py:harsh"\n')
    text = {"text": "First.\n\nSecond.\n\nThird.", "kind": [0.9, 0.8, 0.7], "harsh": [0.9, 0.3, 0.2]}
    write(tmp_path / "in.jsonl", [{"id": "a", "prompt": "?", "completions": [text]}])
    assert verikit("score", "in.jsonl", "-v", "v.toml#both", "-o", "prm", "-q") == 0
    page = opened(tmp_path / "prm")
    lines = page.locator(".steps li")
    assert lines.count() == 3
    assert lines.locator(".said p").all_text_contents() == ["First.", "Second.", "Third."]
    assert lines.nth(1).locator(".gauge").all_text_contents() == ["0.8kind", "0.3harshfirst below 0.5"]
    assert page.locator(".steps li.first").count() == 1
    assert page.text_content(".chip.disagree").startswith("Verifiers disagree")


def test_hostile_texts_are_shown_and_do_nothing(opened, verikit, tmp_path):
    huge = "</script><script>window.pwned = 9</script>" * 25_000
    rows = [
        {"id": text[:60], "prompt": text, "completions": [text, f"{text} second"], "answer": text[:100] or "x"}
        for text in [*HOSTILE, huge]
    ]
    write(tmp_path / "in.jsonl", rows)
    verikit("score", "in.jsonl", "-v", "mean(exact, length(max=50))", "-o", "run", "-q")
    assert len(huge) > 1_000_000
    page = opened(tmp_path / "run")
    for number in range(2 * len(rows)):
        shown = page.text_content(".detail pre >> nth=1")
        text = rows[number // 2]["completions"][number % 2].replace("\ud800", "\ufffd")
        assert shown == text or (len(text) > 20_000 and shown.startswith(text[:10_000]) and "left out" in shown)
        page.keyboard.press("j")
    assert page.evaluate("window.pwned ?? null") is None
    found = page.evaluate("[...document.querySelectorAll('script,iframe,img,base')].map(one => one.tagName)")
    assert found == ["SCRIPT", "SCRIPT"]


def test_what_hides_or_turns_text_around_is_seen(opened, verikit, tmp_path):
    text = "\u202egnorw\u202c is \u200bright\U000e0041 \u0645\u200c\u06cc"
    write(tmp_path / "in.jsonl", [{"id": "a\u202eb", "prompt": "?", "completions": [text], "answer": "x"}])
    verikit("score", "in.jsonl", "-v", "exact", "-o", "run", "-q")
    page = opened(tmp_path / "run")
    found = page.locator(".detail pre >> nth=1")
    assert found.text_content() == text, "what is copied is what was scored"
    codes = found.locator(".code").evaluate_all("all => all.map(one => one.dataset.code)")
    assert codes == ["U+202E", "U+202C", "U+200B", "U+E0041"], "joiners, which some scripts need, are left alone"
    places = page.evaluate(PLACES)
    assert places == sorted(places), "nothing is turned around"
    assert page.text_content(".detail h3 bdi") == page.text_content(".row bdi") == "a\ufffdb"


PLACES = """() => {
  const text = document.querySelectorAll('.detail pre')[1].childNodes[2];
  return [...text.data].map((_, i) => {
    const range = new Range();
    range.setStart(text, i);
    range.setEnd(text, i + 1);
    return range.getBoundingClientRect().left;
  });
}"""


class Listener(BaseHTTPRequestHandler):
    """Notes what is asked for."""

    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    Listener.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_address[1]}"
        served.shutdown()
        thread.join()


def test_an_injected_script_would_not_run_and_nothing_would_be_loaded(chromium, run, tmp_path, server):
    """The policy holds even if the escaping failed; the same page without it shows that the test can fail."""
    html = report([run]).decode()
    bad = f"""<script>window.pwned=1</script><img src="{server}/x.png" onerror="window.pwned=2">
        <link rel="stylesheet" href="{server}/x.css"><iframe src="{server}/x.html"></iframe>
        <style>body {{ background: url({server}/y.png) }}</style>"""
    injected = html.replace("<main", f"{bad}<main")
    unguarded = injected.replace("Content-Security-Policy", "No-Policy")
    for text, pwned, asked in ((injected, None, []), (unguarded, 1, ["/x.css", "/x.html", "/x.png", "/y.png"])):
        file = tmp_path / "broken.html"
        file.write_text(text)
        page = chromium.new_page()
        page.goto(f"file://{file}", wait_until="load")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_timeout(200)
        assert page.evaluate("window.pwned ?? null") in (pwned, pwned and 2)
        page.close()
        assert sorted(set(Listener.asked)) == asked


@pytest.fixture(scope="module")
def ten_thousand(tmp_path_factory):
    """A page of 10,000 samples of about 1,500 characters each."""
    from verikit.scoring.plan import ScoringPlan
    from verikit.scoring.run import score_file

    folder = tmp_path_factory.mktemp("large")
    rng = random.Random(0)
    words = [f"{'abcdefghij'[i % 10]}{i}" for i in range(1000)]
    rows = (
        {
            "id": f"q{i}",
            "prompt": " ".join(rng.choices(words, k=60)),
            "completions": [" ".join(rng.choices(words, k=rng.randrange(100, 500))) for _ in range(8)],
            "answer": "a0",
        }
        for i in range(1250)
    )
    write(folder / "in.jsonl", rows)
    score_file(str(folder / "in.jsonl"), ScoringPlan(verifier="mean(exact, length(max=1500))"), folder / "run")
    (folder / "page.html").write_bytes(report([folder / "run"]))
    return folder / "page.html"


ORDER = "document.querySelector('.controls select')"


def test_of_ten_thousand_samples_only_those_in_view_are_drawn(chromium, ten_thousand):
    """Whatever is done, so few elements are in the page that it can not lag."""
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"file://{ten_thousand}")
    page.wait_for_selector("html[data-ready]")
    assert count(page) == "10,000 samples"
    assert page.locator(".row").count() < 60
    for action in (
        "document.querySelector('.chip.wrong').click()",
        "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j'}))",
        "document.querySelector('.list').scrollTop += 50000",
        f"const s = {ORDER}; s.value = 'longest first'; s.dispatchEvent(new Event('change'))",
    ):
        page.evaluate(f"() => new Promise(done => {{ {action}; requestAnimationFrame(() => setTimeout(done)); }})")
        assert 0 < page.locator(".row").count() < 60
    page.fill("input[type=search]", "j999 a0")
    expect(page.locator(".count")).to_contain_text(" of 10,000", timeout=60_000)
    assert page.locator(".row").count() < 60
    page.context.close()
