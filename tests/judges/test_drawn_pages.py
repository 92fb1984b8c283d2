"""Judges that look at pages as pictures: what reaches the engine is pixels drawn in the sandbox, within limits."""

import os

import pytest

from tests.artifacts.offices import document, need_office
from tests.artifacts.pages import need_browser
from tests.artifacts.pdfs import pdf
from tests.artifacts.pdfs import shown as line
from tests.engines.server import Server, chat_reply
from tests.judges.scripted import Scripted
from tests.judges.test_pictures import RED, opened, stored
from tests.judges.test_workspace_evidence import JUDGES
from verikit import Sample
from verikit.artifacts import box
from verikit.artifacts.browser import box as browser_box
from verikit.artifacts.office import convert
from verikit.engines.replay import Recorder, Replay
from verikit.errors import ConfigError
from verikit.judges import Pointwise, Rubric
from verikit.judges.evidence import drawn
from verikit.judges.evidence.pictures import MOST_PICTURES
from verikit.judges.evidence.shown import fence
from verikit.workspaces import Workspace

pytest.importorskip("PIL")
pytest.importorskip("pypdfium2")

GREEN, BLUE = (0, 255, 0), (0, 0, 255)
FILL = "0 1 0 rg 0 0 595 842 re f 0 g "
REPORT = pdf(line("Cover"), FILL + line("Total 42") + line("hidden", size=1))
BROKEN = pdf(line("Cover"), media="0 0 0 0").replace(b"/Pages 2 0 R", b"/Pages 9 0 R")


def left(folder, **files):
    """A folder with these files, by their names with `__` for the dot."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name.replace("__", ".")).write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def talk(folder, *replies, pictures=True, name="judge", says="Done.", **options):
    """The score, and the contents of the messages that answered the looks."""
    said = iter([*replies, "[[10]]"])
    engine = Scripted(lambda _: next(said))
    engine.pictures = pictures
    judge = JUDGES[name][0](engine, shows="workspace", **{"looks": 8, "scope": ["notes.txt"], **options})
    (folder / "notes.txt").write_text("notes")
    (score,) = judge.score([Sample("q", says, workspace=Workspace(folder))])
    return score, [message["content"] for message in engine.requests[-1].prompt if message["role"] == "user"][1:]


def kinds(content):
    return [part["type"] for part in content]


def test_a_page_of_a_pdf_is_sent_as_pixels_between_the_marks_of_its_look(tmp_path):
    score, (look,) = talk(left(tmp_path / "w", r__pdf=REPORT), "LOOK page r.pdf 2")
    assert score.value == 1.0, score
    mark = fence(["q"])
    assert kinds(look) == ["text", "image_url", "text"]
    assert look[0]["text"] == f"<look {mark}>\nanswer, r.pdf, page 2 of 2: picture 1 below"
    assert look[2]["text"].startswith(f"</look {mark}>\nYou may look 7 more times")
    picture, file = opened(look[1])
    assert (picture.size, picture.format) == ((724, 1024), "PNG")
    assert picture.getpixel((3, 3)) == GREEN
    assert b"tEXt" not in file


def test_a_picture_file_is_drawn_without_its_metadata_and_no_larger_than_asked_for(tmp_path):
    folder = left(tmp_path / "w", c__png=stored(RED, (400, 200)))
    _, (look,) = talk(folder, "LOOK page c.png", look_pixels=100)
    picture, file = opened(look[1])
    assert picture.size == (100, 50)
    assert picture.getpixel((1, 1)) == RED
    assert b"Comment" not in file
    assert "png, 400 by 200 pixels" in look[0]["text"]


@pytest.mark.slow(seconds=4)
def test_a_screen_of_a_page_is_drawn_in_the_browser_and_is_the_same_again(tmp_path):
    need_browser()
    page = (
        "<!doctype html><style>body{margin:0;background:#0f0}i{animation:x 1s infinite}@keyframes x{to{opacity:0}}"
        "</style><p>Top</p><i>moves</i><div style='height:900px'></div><div style='height:600px;background:#00f'>"
        "</div><script>fetch('http://evil.example/').catch(() => document.body.append('offline'))</script>"
    )
    folder = left(tmp_path / "w", i__html=page)
    asked = ["LOOK page i.html 1", "LOOK page i.html 2", "LOOK page i.html 9"]
    score, looks = talk(folder, *asked)
    assert score.value == 1.0, score
    assert [opened(look[1])[0].getpixel((1, 400)) for look in looks[:2]] == [GREEN, BLUE]
    assert opened(looks[0][1])[0].size == (1024, 640)
    assert "screen 2 of 2" in looks[1][0]["text"]
    assert "page 9 cannot be rendered: the page has 2 screens" in looks[2]
    assert looks[0] == talk(folder, asked[0])[1][0]


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_may_look_at_a_page(name, tmp_path):
    folder = left(tmp_path / "w", r__pdf=REPORT, a__py="x = 2\n")
    engine = Scripted(lambda request: JUDGES[name][1](request) if len(request.prompt) > 2 else "LOOK page r.pdf 2")
    engine.pictures = True
    theirs = {"after": {"r.pdf": pdf(line("1"), "1 0 0 rg 0 0 595 842 re f").decode()}}
    row = Sample(
        "q", "Done.", "42", meta={"opponent": "Done.", "opponent_workspace": theirs}, workspace=Workspace(folder)
    )
    judge = JUDGES[name][0](engine, shows="workspace", looks=1, scope=["*"])
    (score,) = judge.score([row])
    assert engine.requests, score
    look = engine.requests[-1].prompt[-1]["content"]
    colours = {opened(part)[0].getpixel((3, 3)) for part in look if part["type"] == "image_url"}
    assert colours == ({GREEN, (255, 0, 0)} if name == "pairwise" else {GREEN})


def test_a_server_gets_the_bytes_of_a_page(tmp_path):
    left(tmp_path / "w", r__pdf=REPORT)
    with Server(lambda body, k: chat_reply("[[9]]" if len(body["messages"]) > 2 else "LOOK page r.pdf 2")) as server:
        options = {"pictures": True}
        judge = Pointwise(f"openai:{server.url}#m", options=options, cache=False, shows="workspace", looks=2)
        (score,) = judge.score([Sample("q", "Done.", workspace=Workspace(tmp_path / "w"))])
    assert score.scored, score
    sent = server.bodies[-1]["messages"][-1]
    assert sent["role"] == "user"
    assert opened(sent["content"][1])[0].getpixel((3, 3)) == GREEN


def test_without_pictures_a_judge_reads_the_text_in_sight_of_the_page(tmp_path):
    folder = left(tmp_path / "w", r__pdf=REPORT, c__png=stored())
    _, looks = talk(folder, "LOOK page r.pdf 2", "LOOK page c.png", pictures=False)
    assert "page 2 of 2; no picture of it can be shown. The text in sight:\nTotal 42\n" in looks[0]
    assert "c.png, png, 40 by 30 pixels; no picture of it can be shown\n" in looks[1]


def test_pictures_are_limited_in_number_with_those_of_the_prompt(tmp_path):
    folder = left(tmp_path / "w", r__pdf=REPORT)
    _, looks = talk(folder, *["LOOK page r.pdf 1", "LOOK page r.pdf 2"] * 2, look_pictures=2)
    assert [isinstance(look, str) for look in looks] == [False, False, True, True]
    assert "no picture of it can be shown" in looks[2]
    embedded = [{"type": "image_url", "image_url": opened_url()}] * (MOST_PICTURES - 1)
    said = iter(["LOOK page r.pdf 1", "LOOK page r.pdf 2", "[[10]]"])
    engine = Scripted(lambda _: next(said))
    engine.pictures = True
    row = Sample([{"role": "user", "content": embedded}], "Done.", workspace=Workspace(folder))
    (score,) = Pointwise(engine, shows="workspace", looks=4, scope=["notes.txt"]).score([row])
    assert score.value == 1.0, score
    contents = [message["content"] for message in engine.requests[-1].prompt]
    sent = [part for content in contents if not isinstance(content, str) for part in content]
    assert kinds(sent).count("image_url") == MOST_PICTURES


def opened_url():
    from tests.judges.test_pictures import embedded

    return embedded(stored())


def test_a_page_that_cannot_be_rendered_is_evidence_and_the_row_keeps_its_value(tmp_path):
    folder = left(
        tmp_path / "w", r__pdf=REPORT, broken__pdf=BROKEN, no__pdf="no PDF", cut__png=stored()[:60], d__docx="PK",
        t__txt="x",
    )  # fmt: skip
    score, looks = talk(
        folder, "LOOK page r.pdf 3", "LOOK page broken.pdf 1", "LOOK page no.pdf", "LOOK page cut.png",
        "LOOK page d.docx 1", "LOOK page t.txt", "LOOK page gone.pdf 1", "LOOK page r.pdf 0",
    )  # fmt: skip
    assert score.value == 1.0, score
    for look, told in zip(
        looks,
        (
            "page 3 cannot be rendered: the file has 2 pages", "page 1 cannot be rendered",
            "page 1 cannot be rendered", "page 1 cannot be rendered", "page 1 cannot be rendered: the file",
            "is not a PDF, HTML page, office file or picture", "there is no file 'gone.pdf'", "page 1 of 2",
        ),
        strict=True,
    ):  # fmt: skip
        assert told in (look if isinstance(look, str) else look[0]["text"])


def test_what_this_machine_lacks_leaves_the_row_without_a_value_by_its_name(tmp_path, monkeypatch):
    folder = left(tmp_path / "w", i__html="<p>x", r__pdf=REPORT)
    monkeypatch.setattr(browser_box, "program", lambda: "")
    score, _ = talk(folder, "LOOK page i.html 1")
    assert score.status == "error"
    assert "Chromium is not installed" in score.reason
    monkeypatch.setattr(box, "find_spec", lambda name: None)
    score, _ = talk(folder, "LOOK page r.pdf 1")
    assert score.status == "error"
    assert "verikit[image]" in score.reason


def test_without_an_office_the_judge_is_told_to_read_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "program", lambda: "")
    folder = left(tmp_path / "w", d__docx=document("x"))
    score, (look,) = talk(folder, "LOOK page d.docx 1")
    assert score.value == 1.0, score
    assert "open shows their text" in (look if isinstance(look, str) else look[0]["text"])


def test_a_document_that_takes_the_office_over_its_limits_is_evidence(tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "missing", lambda kind: "")
    monkeypatch.setattr(convert, "ApplicationBox", Greedy)
    monkeypatch.setattr(convert, "_LOOK_S", 0.0)
    for number, (cpu_s, resident_mb, told) in enumerate([(61, 1, "CPU time"), (1, 1537, "of memory")]):
        monkeypatch.setattr(Greedy, "cpu_s", lambda self, used=cpu_s: used)
        monkeypatch.setattr(Greedy, "resident_mb", lambda self, used=resident_mb: used)
        folder = left(tmp_path / str(number), d__docx=document(f"x {number}"))
        score, (look,) = talk(folder, "LOOK page d.docx 1")
        assert score.value == 1.0, score
        assert "page 1 cannot be rendered: LibreOffice used more than" in look
        assert told in look


class Greedy:
    """A box whose application never answers."""

    def __init__(self, *given):
        self._ends = [*os.pipe(), *os.pipe()]
        _, self.commands, self.answers, _ = self._ends
        os.set_blocking(self.commands, False)

    def cpu_s(self):
        return 0.0

    def resident_mb(self):
        return 0

    def largest_mb(self):
        return 0

    def close(self):
        for end in self._ends:
            os.close(end)


def test_a_reader_that_a_file_has_taken_over_can_send_no_other_pixels(tmp_path, monkeypatch):
    folder = left(tmp_path / "w", r__pdf=REPORT)
    lying = "{'pages': 1, 'page': {'pieces': [], 'hidden': [], 'width': 1.0, 'height': 1.0}, 'pixels': %s}"
    for pixels in ("b'x' * 30, 'wide': 2, 'high': 2", "b'', 'wide': 0, 'high': 0", "'x', 'wide': 1, 'high': 1"):
        program = f"def read(blobs, request): return {lying % pixels}"
        monkeypatch.setattr(drawn, "observe", lambda *given, p=program: box.observe(*given, program=p))
        score, _ = talk(folder, "LOOK page r.pdf 1")
        assert score.status == "error"
        assert "reader of the file" in score.reason


def test_words_in_sight_on_a_page_may_be_quoted_and_hidden_ones_not(tmp_path):
    folder = left(tmp_path / "w", r__pdf=REPORT)
    assert talk(folder, "LOOK page r.pdf 2", '[@r.pdf "Total 42"]\n[[10]]')[0].value == 1.0
    hidden, unseen = '[@r.pdf "hidden"]\n[[10]]', '[@r.pdf "Total 42"]\n[[10]]'
    assert talk(folder, "LOOK page r.pdf 2", hidden, hidden)[0].status == "error"
    assert talk(folder, "LOOK page r.pdf 1", unseen, unseen)[0].status == "error"


def test_recorded_talks_with_pages_give_the_same_scores_again(tmp_path):
    folder = left(tmp_path / "w", r__pdf=REPORT)
    path = tmp_path / "talks.jsonl"

    def rule(request):
        return JUDGES["rubric"][1](request) if len(request.prompt) > 4 else f"LOOK page r.pdf {len(request.prompt)}"

    def scores(engine):
        engine.pictures = True
        judge = Rubric(engine, rubric=[{"criterion": "x", "points": 1}], shows="workspace", looks=3)
        return judge.score([Sample("q", "Done.", workspace=Workspace(folder))])

    first = scores(Recorder(Scripted(rule), path))
    assert first[0].value == 1.0, first
    assert scores(Replay(path)) == first
    (folder / "r.pdf").write_bytes(pdf(line("Cover"), line("Total 43")))
    assert scores(Replay(path))[0].status == "error"


def test_the_evidence_of_a_pdf_is_its_text_in_sight_by_pages_and_never_its_source(tmp_path):
    folder = left(tmp_path / "w", r__pdf=REPORT.replace(b"%PDF-1.7\n", b"%PDF-1.7\n% forged comment\n"))
    _, (look,) = talk(folder, "LOOK open r.pdf")
    assert "page 1 of 2:\nCover\npage 2 of 2:\nTotal 42\n⟨out of sight (1 points): hidden⟩" in look
    assert "forged comment" not in look


@pytest.mark.slow(seconds=3)
def test_a_page_of_a_document_is_sent_as_pixels_and_its_words_in_sight_may_be_quoted(tmp_path):
    need_office()
    hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r></w:p>"
    folder = left(tmp_path / "w", d__docx=document("Total 42", body=hidden))
    score, (look,) = talk(folder, "LOOK page d.docx 1", '[@d.docx "Total 42"]\n[[10]]')
    assert score.value == 1.0, score
    assert kinds(look) == ["text", "image_url", "text"]
    assert "d.docx, page 1 of 1: picture 1 below" in look[0]["text"]
    unseen = '[@d.docx "unseen"]\n[[10]]'
    assert talk(folder, "LOOK page d.docx 1", unseen, unseen)[0].status == "error"


def test_pixels_are_limited():
    with pytest.raises(ConfigError, match="look_pixels must be at most"):
        Pointwise("replay:/dev/null", shows="workspace", looks=1, look_pixels=5000)
