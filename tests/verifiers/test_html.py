"""Pages in a browser: forged twins are 0.0, the honest ones beside them 1.0. Each opens Chromium, most of a second."""

import base64
import socket
from dataclasses import replace

import pytest

import verikit
from tests.artifacts.pages import left, need_browser
from verikit.artifacts.browser import box as boxes
from verikit.artifacts.browser import session
from verikit.artifacts.browser.pipe import BrowserPipe
from verikit.errors import UsageError
from verikit.verifiers.html.visits import photographed

WORKER = "new Worker(URL.createObjectURL(new Blob(['{}'])))"
SUM = "<p>Total <b id=n>0</b></p><script>{}</script>"
FORGED = {
    "shown to a driver only": (SUM.format("if (navigator.webdriver) n.textContent = 42"), {}),
    "shown to a headless browser only": (SUM.format("if (/Headless/.test(navigator.userAgent)) n.textContent=42"), {}),
    "patched": (
        SUM.format("Object.defineProperty(Node.prototype, 'textContent', {get: () => 'Total 42'});"
                   "Object.defineProperty(CharacterData.prototype, 'data', {get: () => '42'}); setTimeout = f => f();"
                   "document.createRange = () => null; Array.from = () => [...'Total 42']; Date.now = () => 0"), {}),
    "by opacity, canvas, colour and cover": (
        "<p style='opacity:.01'>Total 42</p><p style='color:#fff'>Total 42</p><canvas id=c></canvas>"
        "<script>c.getContext('2d').fillText('Total 42', 10, 20)</script>"
        "<p style='position:relative'>Total 42<i style='position:absolute;inset:0;background:#fff'></i></p>"
        "<p style='position:absolute;left:-999px'>Total 42</p>", {}),
    "under another text": (
        "<style>p{position:absolute;top:9px;left:9px}</style><p>Total 42</p>"
        "<p style='background:#fff;pointer-events:none'>Total 17</p>", {}),
    "by clobbered names": ("<form><input name=childNodes><input name=firstChild>Total 41</form><img name=body>", {}),
    "goes away": (SUM.format("setTimeout(() => location = 'http://evil.example/', 20)"), {}),
    "replaces its document": (SUM.format("setTimeout(() => document.write('Total 42'), 200)"), {}),
    "blocks": (SUM.format("alert('Total 42')"), {}),
    "a worker without end": ("<p>Total 42</p><script>" + WORKER.format("for(;;);") + "</script>", {}),
    "a shared worker without end": ("<p>Total 42</p><script>new SharedWorker('data:,for(;;);')</script>", {}),
    "goes to a document of its own": (
        SUM.format("location = URL.createObjectURL(new Blob(['<p>Total 42'], {type: 'text/html'}))"), {}),
    "hangs": (SUM.format("n.textContent = 42; setTimeout(() => { for(;;); }, 30)"), {"absent": ["x"]}),
    "opens a window": ("<button onclick='open()'>Total 42</button>", {"steps": [{"click": "button"}]}),
}  # fmt: skip
HONEST = {
    "follows, in a custom element, beside a worker": (
        "<x-a></x-a><script>customElements.define('x-a', class extends HTMLElement { constructor() { super();"
        "const s = this.attachShadow({mode: 'open'}); s.innerHTML = '<p>Total 0</p>';"
        "setTimeout(() => s.firstChild.textContent = 'Total 42', 50) } });"
        + WORKER.format("onmessage=1") + "</script>", {}),
    "sent to itself by a click": (
        "<form><button>Go</button></form><p>Total 42</p>", {"steps": [{"click": "button"}]}),
    "shared workers that have ended": (
        "<p>Total 42</p><script>for (const name of 'abc') new SharedWorker('data:,close()', name)</script>", {}),
    "a dialog opened by a click, hash routes, white on dark": (
        "<style>#d{position:absolute;top:0;left:0;padding:9px 9px 50px;background:#000;color:#fff}</style>"
        "<p>Total 41</p>"
        "<a href='#/two' style='position:absolute;top:90px'>Open</a><div id=d hidden>Total 42</div>"
        "<script>onhashchange = () => { d.hidden = location.hash !== '#/two' }</script>",
        {"steps": [{"click": {"role": "link", "name": "Open"}}], "absent": ["Total 41"]}),
    "typed, with a heading painted by a gradient": (
        "<h1 style='background:linear-gradient(red,blue);-webkit-background-clip:text;"
        "-webkit-text-fill-color:transparent'>Total 42</h1><input id=a oninput='n.textContent = 2 * this.value'>"
        "<p id=n></p><p style='margin-top:1500px' class=x>Far down</p>",
        {"steps": [{"type": "21", "into": "#a"}],
         "dom": {"#n": "42", "#a": "21", "p": ["42", "Far down"], "i": False}}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    """What a page does not show within a second it never shows here; a loop ends after two of a processor."""
    monkeypatch.setattr(session, "PATIENCE_S", 1.0)
    monkeypatch.setattr(session, "_WORKER_S", 1.0)
    monkeypatch.setattr(boxes, "CPU_S", 2)


def graded(page, files=None, **options):
    return verikit.html(**options).score([left(page, **(files or {}))])[0]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_page_is_worth_nothing(name):
    need_browser()
    page, options = FORGED[name]
    score = graded(page, visible=["Total 42"], **options)
    assert score.value == 0.0, score
    assert score.reason


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_page_is_accepted(name, monkeypatch):
    need_browser()
    monkeypatch.setattr(session, "PATIENCE_S", 20.0)
    page, options = HONEST[name]
    score = graded(page, visible=["Total 42"], **options)
    assert score.value == 1.0, score
    assert "Chromium 1" in score.text


@pytest.mark.slow(seconds=3)
def test_text_under_a_cover_that_goes_away_is_in_sight(monkeypatch):
    need_browser()
    monkeypatch.setattr(session, "PATIENCE_S", 3.0)
    cover = "<div id=o style='position:fixed;inset:0;background:#fff'>Loading</div>"
    page = f"<p>Total 42</p>{cover}<script>setTimeout(() => o.remove(), 400)</script>"
    assert graded(page, visible=["Total 42"]).value == 1.0


@pytest.mark.slow(seconds=2)
def test_expected_values_never_enter_the_browser_and_a_spec_gets_the_text_in_sight(monkeypatch):
    need_browser()
    sent = []
    write = BrowserPipe._write
    monkeypatch.setattr(BrowserPipe, "_write", lambda pipe, data: sent.append(data) or write(pipe, data))
    monkeypatch.setattr(session, "PATIENCE_S", 20.0)
    page = SUM.format("n.textContent = 6006 * 7")
    sample = replace(left(page), answer="Total 42042")
    score = verikit.html(visible=["42042"], absent=["90210"], dom={"#n": "42042"}, text="exact").score([sample])[0]
    assert score.value == 1.0, score
    assert sent
    assert not any(b"42042" in data or b"90210" in data for data in sent)


@pytest.mark.slow(seconds=2)
def test_a_page_reaches_no_server_and_what_it_asked_for_is_told(monkeypatch):
    need_browser()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        there = f"http://127.0.0.1:{server.getsockname()[1]}"
        page = (
            f"<img src='{there}/a.png'><link rel=stylesheet href='style.css'><p>Total 42</p><script>"
            f"fetch('{there}/b'); new WebSocket('{there.replace('http', 'ws')}/c'); "
            + WORKER.format(f"fetch(\\'{there}/d\\')") + "</script>"
        )  # fmt: skip
        score = graded(page, {"style__css": "p { color: #003 }"}, visible=["Total 42"], requests=False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert score.value == 0.0
    assert there in score.reason


@pytest.mark.slow(seconds=2)
def test_the_console_is_heard(monkeypatch):
    need_browser()
    monkeypatch.setattr(session, "PATIENCE_S", 20.0)
    assert graded("<script>console.log('ready', 1)</script>", console=["ready 1"]).value == 1.0
    monkeypatch.setattr(session, "PATIENCE_S", 1.0)
    thrown = graded("<script>nowhere()</script>", console="clean")
    assert thrown.value == 0.0
    assert "nowhere is not defined" in thrown.reason


NAMED = """<h2>Sums</h2><button aria-label='Save  all'>+</button><button aria-hidden=true>Delete</button><i>Print</i>
<div id=a></div><canvas id=c></canvas><script>
c.getContext('2d').fillText('Print', 9, 20);
setTimeout(() => { a.attachShadow({mode: 'closed'}).innerHTML = '<div role=tab>Year</div>' }, 50);
if (navigator.webdriver) a.insertAdjacentHTML('afterend', '<button>Driver</button>');
</script>"""


@pytest.mark.slow(seconds=3)
def test_roles_and_names_are_those_of_the_accessibility_tree(monkeypatch):
    need_browser()
    monkeypatch.setattr(session, "PATIENCE_S", 20.0)
    pages, see = [], session.Visit.see
    monkeypatch.setattr(session.Visit, "see", lambda *given: pages.append(see(*given)) or pages[-1])
    wanted = [{"role": "button", "name": "Save all"}, {"role": "heading"}, {"role": "tab", "name": "Year"}]
    assert graded(NAMED, a11y=wanted).value == 1.0
    named = [{name for role, name in page.roles if role == "button"} for page in pages]
    assert named == [{"Save all"}, {"Save all", "Driver"}]
    monkeypatch.setattr(session, "PATIENCE_S", 0.2)
    score = graded(NAMED, a11y=[{"role": "button", "name": "Driver"}])
    assert score.value == 0.0
    assert "no button 'Driver' in the accessibility tree" in score.reason


BARS = """<title>Sales</title><h1>Sales</h1><div id=c></div><script>setTimeout(() => {
c.innerHTML = [80, {}, 120].map(h => `<i style='display:inline-block;width:90px;background:navy;height:${h}px'>`
+ '</i>').join('') }, {})</script>"""


def shown_as(page):
    """An expected picture: how a page looks."""
    return (
        "data:image/png;base64,"
        + base64.b64encode(photographed(left(page).workspace, "index.html", 1).picture).decode()
    )


def bars(height, delay):
    return BARS.replace("{}", str(height), 1).replace("{}", str(delay), 1)


@pytest.mark.slow(seconds=4)
def test_a_screenshot_is_compared_outside_of_the_browser(monkeypatch):
    need_browser()
    monkeypatch.setattr(session, "PATIENCE_S", 20.0)
    like, sent = shown_as(bars(160, 0)), []
    write = BrowserPipe._write
    monkeypatch.setattr(BrowserPipe, "_write", lambda pipe, data: sent.append(data) or write(pipe, data))
    drawn_late = bars(160, 400) + "<p style='margin-top:2000px'>below the first screen</p>"
    score = graded(drawn_late, shot=like, visible=["Sales"])
    assert score.value == 1.0, score.reason
    assert not any(like[40:90].encode() in data for data in sent)
    monkeypatch.setattr(session, "PATIENCE_S", 0.5)
    score = graded(bars(130, 0), shot=like)
    assert score.value == 0.0
    assert "the least alike block" in score.reason


def test_an_expected_screenshot_that_cannot_be_used_leaves_no_value():
    pytest.importorskip("numpy")
    pytest.importorskip("PIL")
    assert "expected picture" in graded("x", shot="/no/such/file.png").reason
    of_row = replace(left("x"), meta={"html": {"shot": "gold.png"}})
    assert "not embedded" in verikit.html().score([of_row])[0].reason


@pytest.mark.parametrize(
    "options",
    [
        {"a11y": {"role": "button"}},
        {"a11y": [{"name": "Save"}]},
        {"a11y": [{"role": "button", "level": 1}]},
        {"visible": "Total"},
        {"text": ["Total"]},
        {"steps": [{"hover": "#a"}]},
        {"console": "quiet"},
        {"requests": "none"},
        {"dom": ["#a"]},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        verikit.html(**options)


def test_a_row_without_a_check_or_a_page_is_settled_without_a_browser():
    assert graded("x").value is None
    nothing = replace(left("x"), meta={"html": {"file": "other.html", "visible": ["x"]}})
    assert verikit.html().score([nothing])[0].value == 0.0
    unknown = replace(left("x"), meta={"html": {"visibel": ["x"]}})
    assert verikit.html().score([unknown])[0].value is None


def test_without_a_browser_a_row_is_unscored_with_the_line_that_installs_it(monkeypatch):
    pytest.importorskip("numpy")
    pytest.importorskip("PIL")
    monkeypatch.setattr(boxes, "program", lambda: "")
    score = graded("<p>Total 42</p>", visible=["Total 42"])
    assert score.value is None
    assert "apt-get install chromium" in score.reason


@pytest.mark.slow(seconds=2)
def test_a_text_that_both_visits_show_is_graded_once():
    need_browser()
    texts = []

    @verikit.verifier
    def counted(sample):
        texts.append(sample.completion)
        return 1.0

    assert verikit.html(text=counted).score([left("<p>Total 42</p>")])[0].value == 1.0
    assert texts == ["Total 42"]


@pytest.mark.slow(seconds=2)
def test_the_default_page_is_the_index_if_it_is_a_file():
    need_browser()
    shown, other = "<!doctype html><p>Total 42</p>", "<!doctype html><p>Draft</p>"
    html = verikit.html(visible=["Total 42"])
    assert html("", workspace={"after": {"index.html": shown, "b.html": other}}).value == 1.0
    wrong = html("", workspace={"after": {"index.html": other, "b.html": shown}})
    assert (wrong.value, wrong.reason.partition(":")[0]) == (0.0, "index.html")
    assert html("", workspace={"after": {"index.html/x.html": other, "report.html": shown}}).value == 1.0
