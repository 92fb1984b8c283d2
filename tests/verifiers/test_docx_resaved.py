"""Text documents that LibreOffice saved again: what people see still counts, and what they do not see does not."""

import pytest

import verikit
from tests.artifacts.books import left
from tests.artifacts.offices import document, need_office
from tests.verifiers.test_docx import IN_SIGHT, OUT_OF_SIGHT, SENTENCE

SEEN = (
    "four runs", "a trailing blank", "a tracked insertion", "a field's result", "a link", "white on a dark ground",
    "a hidden style undone", "an entity", "exact lines",
)  # fmt: skip
UNSEEN = (
    "a tracked deletion", "moved away", "hidden text", "white", "nearly white", "the colour of its ground", "one point",
    "lines of a point", "lines of a twentieth", "a denial",
)  # fmt: skip
"""LibreOffice drops the styles that are not in the file and what hides old text boxes, so these are not among them."""


@pytest.mark.slow(seconds=6)
def test_documents_that_libreoffice_saved_again_count_by_what_is_seen():
    need_office()
    from verikit.artifacts.office import convert

    bodies = [*(IN_SIGHT[name] for name in SEEN), *(OUT_OF_SIGHT[name] for name in UNSEEN)]
    saved = convert.converted([document("Total 42", body=body) for body in bodies], "docx", "docx")
    wanted = verikit.docx(file="*", text=[SENTENCE])
    values = [wanted.score([left(data)])[0].value for data in saved]
    assert dict(zip((*SEEN, *UNSEEN), values, strict=True)) == {
        **dict.fromkeys(SEEN, 1.0),
        **dict.fromkeys(UNSEEN, 0.0),
    }
