"""Reads a PDF in the sandbox: visible text by line, what hides the rest, form fields, scripts. Runs nothing.

A character is in sight if the rendered page changes at its position when its text is removed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import islice
from typing import Any

from verikit.artifacts.readers import container, letters, lines, scripts
from verikit.artifacts.readers.letters import Letter, PageBox

MOST_PAGES = 200
MOST_LETTERS = 400_000
"""Of a file."""
_PAGE_LETTERS = 30_000
_SCALE, _MOST_PIXELS = 2.0, 6_000_000
_CONTRAST = 40
"""Minimum difference from the background, of 255, for something to be visible."""
_SMALLEST = 3.0
"""Points."""
_MOST_PICTURES = 100
"""Pictures per page that are searched for invisible text under them."""
_MOST_FIELDS = 2000
_MOST_SINGLE = 12
"""Text objects per page that are checked one by one because others overlap them."""


def warm() -> None:
    """Render the reference letters, once for all children of a fork server."""
    letters.reference()


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The observation of one PDF.

    With `scan`, invisible text counts if a picture is under it. `page` and `at_most` request a single page by its
    number, with a picture of it whose longer side has `at_most` pixels.
    """
    import pypdfium2

    try:
        container.signed(blobs[0], "pdf")
        document = pypdfium2.PdfDocument(blobs[0])
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    except pypdfium2.PdfiumError as problem:
        return {"refused": f"the file can't be opened as a PDF: {problem}"}
    if len(document) > MOST_PAGES:
        return {"refused": f"{len(document)} pages, at most {MOST_PAGES} are read"}
    document.init_forms()
    if "page" in request:
        return _single(document, request["page"], request["at_most"])
    seen, fields, count = [], [], 0
    for index in range(len(document)):
        try:
            page = _Page(document, index, bool(request.get("scan")))
        except pypdfium2.PdfiumError as problem:
            return {"refused": f"page {index + 1} can't be read: {problem}"}
        seen.append(page.observation())
        fields += page.fields
        count += len(page.letters)
        if count > MOST_LETTERS or len(fields) > _MOST_FIELDS:
            return {"refused": f"more than {MOST_LETTERS} characters or {_MOST_FIELDS} fields"}
    return {"pages": seen, "fields": fields, "scripts": scripts.scripts(blobs[0])}


def _single(document: Any, number: int, at_most: int) -> dict[str, Any]:
    """One page with its picture; its number counts from 1."""
    import pypdfium2

    if not 1 <= number <= len(document):
        return {"refused": f"the file has {len(document)} pages"}
    try:
        page = _Page(document, number - 1, scan=False)
        return {"pages": len(document), "page": page.observation(), **page.picture(at_most)}
    except pypdfium2.PdfiumError as problem:
        return {"refused": str(problem)}


class _Page:
    def __init__(self, document: Any, index: int, scan: bool) -> None:
        import pypdfium2.raw as pdfium

        page = document[index]
        widgets = []
        if pdfium.FPDFPage_GetAnnotCount(page):
            page.render(scale=0.1)  # generates missing appearances of fields
            widgets = _widgets(document, page)
            if pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS:
                page.close()
                page = document[index]
        self.page = page
        left, bottom, right, top = page.get_cropbox()
        self.box = PageBox(left, bottom, right - left, top - bottom)
        self.turned = page.get_rotation() // 90
        width, height = page.get_size()
        self.size = float(width), float(height)
        self.scale = min(_SCALE, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
        self.letters = letters.letters(page.get_textpage(), self.box, _PAGE_LETTERS)
        self.full = letters.rendered(page, self.scale)
        self.hidden = [""] * len(self.letters)
        self.doubtful: set[int] = set()
        self.misread: list[dict[str, str]] = []
        if self.letters:
            self._look(scan)
        rows = letters.boxes([one._replace(right=-1e9) if one.turns != self.turned else one for one in self.letters])
        self.middles = (rows[:, 0] + rows[:, 2]) / 2, (rows[:, 1] + rows[:, 3]) / 2
        self.fields = [self._field(*widget) for widget in widgets]

    def observation(self) -> dict[str, Any]:
        """Its size, its text in sight, and the text that is not, with the reason."""
        order = [index for index, why in enumerate(self.hidden) if not why]
        found = [self.letters[index] for index in order]
        doubtful = {place for place, index in enumerate(order) if index in self.doubtful}
        unseen: list[dict[str, str]] = []
        for letter, why in zip(self.letters, self.hidden, strict=True):
            if why and unseen and unseen[-1]["why"] == why:
                unseen[-1]["text"] += letter.text
            elif why:
                unseen.append({"text": letter.text, "why": why})
        return {
            "width": self.size[0], "height": self.size[1], "pieces": lines.pieces(found, doubtful),
            "hidden": [*unseen, *self.misread][:1000],
        }  # fmt: skip

    def picture(self, at_most: int) -> dict[str, Any]:
        """Width, height and pixels of the rendered page. The longer side has `at_most` pixels."""
        scale = at_most / max(*self.size, 1.0)
        rows = self.page.render(scale=scale, rev_byteorder=True).to_numpy()[:at_most, :at_most, :3]
        return {"wide": rows.shape[1], "high": rows.shape[0], "pixels": rows.tobytes()}

    def _look(self, scan: bool) -> None:
        """Finds why characters are out of sight, and characters whose shape shows another one."""
        objects = letters.text_objects(self.page)
        self.ink = {-2: letters.ink(self.page, objects, self.scale, self.full)}
        self.windows = self._windows()
        self._part_overlaps(objects)
        told = [""] * len(self.letters)
        for frame in {(one.turns, self._source(one)) for one in self.letters}:
            rows = [index for index, one in enumerate(self.letters) if (one.turns, self._source(one)) == frame]
            own = [self.letters[index] for index in rows]
            drawn = self._upright(self.ink[frame[1]], frame[0])
            fields = letters.patterns(drawn, letters.boxes(own), self.scale, drawn.shape[0] / self.scale)
            for index, verdict in zip(rows, letters.verdicts(own, fields), strict=True):
                told[index] = "?" if frame[0] == -1 else verdict
            for index, reason in zip(rows, self._unseen(rows, drawn), strict=True):
                self.hidden[index] = self.hidden[index] or reason
        pictures = _pictures(self.page) if scan else []
        for index, letter in enumerate(self.letters):
            if self.hidden[index] and letter.mode == 3 and self._in_any(letter, pictures):
                self.hidden[index] = ""
            elif told[index] and not self.hidden[index]:
                self._shape(index, told[index])

    def _source(self, letter: Letter) -> int:
        """Which ink shows a character: its own object's ink, or the ink of all text."""
        return letter.place if letter.place in self.ink else -2

    def _upright(self, drawn: Any, turns: int) -> Any:
        """An image of the page, rotated to make characters with these turns upright."""
        import numpy

        return numpy.rot90(drawn, -((max(turns, 0) - self.turned) % 4))

    def _part_overlaps(self, objects: list[Any]) -> None:
        """Check text objects one by one if characters of other objects overlap them."""
        import numpy

        contested: dict[int, None] = {}
        owners: dict[int, Any] = {}
        windows = self.windows.tolist()
        for index, letter in enumerate(self.letters):
            if letter.turns not in owners:
                shape = self._upright(self.ink[-2], letter.turns).shape
                owners[letter.turns] = numpy.full(shape, -1, dtype=numpy.int32)
            top, bottom, left, right = windows[index]
            area = owners[letter.turns][top:bottom, left:right]
            owned = area >= 0
            if numpy.count_nonzero(owned) * 2 > area.size:
                other = self.letters[int(numpy.bincount(area[owned]).argmax())]
                if other.place != letter.place and other.text != letter.text:
                    contested |= {other.place: None, letter.place: None}
            area[:] = index
        by_place = {ctypes.addressof(one.contents): one for one in objects}
        crowded = set(contested)
        for place in [place for place in contested if place in by_place][:_MOST_SINGLE]:
            self.ink[place] = letters.ink(self.page, [by_place[place]], self.scale, self.full)
            crowded.discard(place)
        for index, letter in enumerate(self.letters):
            if letter.place in crowded:
                self.hidden[index] = "other text lies on it"

    def _windows(self) -> Any:
        """The pixels of characters' boxes in an image that shows them upright: top, bottom, left and right of each."""
        import numpy

        sizes = {turns: self._upright(self.ink[-2], turns).shape for turns in {one.turns for one in self.letters}}
        high, wide = numpy.array([sizes[letter.turns] for letter in self.letters]).T
        left, bottom, right, top = letters.boxes(self.letters).T * self.scale
        edges = numpy.stack((high - top, high - bottom + 1, left, right + 1), axis=1)
        return numpy.clip(edges, 0, numpy.stack((high, high, wide, wide), axis=1)).astype(int)

    def _unseen(self, rows: list[int], drawn: Any) -> Iterator[str]:
        """For each character, why it can't be seen; empty if it can be."""
        sums = letters.summed(drawn >= _CONTRAST)
        top, bottom, left, right = self.windows[rows].T
        size = (bottom - top).clip(0) * (right - left).clip(0)
        strong = sums[bottom, right].astype(int) - sums[top, right] - sums[bottom, left] + sums[top, left]
        for row, pixels, inked in zip(rows, size.tolist(), strong.tolist(), strict=True):
            letter = self.letters[row]
            if letter.em < _SMALLEST:
                yield f"{letter.em:.2g} points"
            elif not pixels:
                yield "off the page"
            elif inked < 1 or inked < 0.02 * pixels:
                yield "invisible by its mode" if letter.mode == 3 else "nothing of it shows"
            else:
                yield ""

    def _in_any(self, letter: Letter, boxes: list[tuple[float, ...]]) -> bool:
        return any(_inside(letter, self.box.turned(box, max(letter.turns, 0))) for box in boxes)

    def _shape(self, index: int, told: str) -> None:
        """Replace a character by the one that its drawn shape shows."""
        letter = self.letters[index]
        if self._of_ligature(index):
            return
        if told == "?":
            self.doubtful.add(index)
        else:
            self.misread.append({"text": letter.text, "why": f"drawn as {told!r}"})
            self.letters[index] = letter._replace(text=told)

    def _of_ligature(self, index: int) -> bool:
        """Whether a character is a part of a usual ligature: its characters have one box."""
        own = self.letters[index]
        joined = [
            one.text for one in self.letters[max(index - 2, 0) : index + 3]
            if (one.left, one.bottom, one.top) == (own.left, own.bottom, own.top)
        ]  # fmt: skip
        return "".join(joined) in letters.LIGATURES or own.text in "\ufb00\ufb01\ufb02\ufb03\ufb04"

    def _field(self, name: str, kind: str, value: str, checked: bool, box: tuple[float, ...]) -> dict[str, Any]:
        """A field's value, and the text that the page shows at its position."""
        import numpy

        left, bottom, right, top = self.box.turned(box, self.turned)
        across, up = self.middles
        among = (left <= across) & (across <= right) & (bottom <= up) & (up <= top)
        inside = [int(index) for index in numpy.flatnonzero(among) if not self.hidden[index]]
        doubtful = {place for place, index in enumerate(inside) if index in self.doubtful}
        shown = lines.pieces([self.letters[index] for index in inside], doubtful)
        wide, high, rows = 0.2 * (right - left), 0.2 * (top - bottom), self.full.shape[0]
        area = self.full[
            max(int(rows - (top - high) * self.scale), 0) : max(int(rows - (bottom + high) * self.scale), 0) + 1,
            max(int((left + wide) * self.scale), 0) : max(int((right - wide) * self.scale), 0) + 1,
        ]
        ink = bool(area.size and int(numpy.ptp(area.astype(int), axis=(0, 1)).max()) >= _CONTRAST)
        return {
            "name": name, "kind": kind, "value": value, "checked": checked, "ink": ink,
            "drawn": " ".join(one["text"] for one in shown), "doubtful": bool(doubtful),
        }  # fmt: skip


def _pictures(page: Any) -> list[tuple[float, ...]]:
    import pypdfium2.raw as pdfium

    found = page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=20)
    return [one.get_bounds() for one in islice(found, _MOST_PICTURES)]


def _inside(letter: Letter, box: tuple[float, ...]) -> bool:
    across, up = (letter.left + letter.right) / 2, (letter.bottom + letter.top) / 2
    return box[0] <= across <= box[2] and box[1] <= up <= box[3]


_KINDS = {2: "checkbox", 3: "radio", 4: "choice", 5: "choice", 6: "text"}


def _widgets(document: Any, page: Any) -> list[tuple[str, str, str, bool, tuple[float, ...]]]:
    """The fields of a page: name, kind, value, whether they are ticked, and their box."""
    import pypdfium2.raw as pdfium

    form = document.formenv
    found: list[tuple[str, str, str, bool, tuple[float, ...]]] = []
    for index in range(pdfium.FPDFPage_GetAnnotCount(page) if form else 0):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_WIDGET:
            kind = _KINDS.get(pdfium.FPDFAnnot_GetFormFieldType(form, annotation), "other")
            box = pdfium.FS_RECTF()
            pdfium.FPDFAnnot_GetRect(annotation, box)
            found.append((
                _told(pdfium.FPDFAnnot_GetFormFieldName, form, annotation), kind,
                _told(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation),
                bool(pdfium.FPDFAnnot_IsChecked(form, annotation)), (box.left, box.bottom, box.right, box.top),
            ))  # fmt: skip
        pdfium.FPDFPage_CloseAnnot(annotation)
    return found


def _told(function: Any, form: Any, annotation: Any) -> str:
    """A UTF-16 string, read with the two calls that PDFium requires."""
    size = min(function(form, annotation, None, 0), 1 << 20)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    function(form, annotation, buffer, size)
    return bytes(buffer)[: max(size - 2, 0)].decode("utf-16-le", "replace")
