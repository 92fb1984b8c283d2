"""Pictures: the worst block decides, whatever the ground; a file is of one kind."""

import base64
import io
import random
import struct
import zipfile
import zlib
from dataclasses import replace

import pytest

import verikit
from tests.artifacts.books import left
from tests.conftest import examples
from verikit.errors import UsageError

numpy = pytest.importorskip("numpy")
Picture = pytest.importorskip("PIL.Image")
from tests.artifacts.charts import chart, stored  # noqa: E402  (it needs Pillow)

SEEDS = range(examples(12))


def embedded(data):
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def graded(data, name="chart_png", meta=None, **options):
    file = f"*.{name.rpartition('_')[2]}"
    return verikit.image(file=file, **options).score([left(data, name, image=meta or {})])[0]


def alike(picture, seed, form="PNG", **options):
    name = {"PNG": "chart_png", "JPEG": "chart_jpg"}[form]
    return graded(stored(picture, form, **options), name, like=embedded(stored(chart(seed).drawn())))


def changed(heights, at, by):
    return [height + by if index == at else height for index, height in enumerate(heights)]


def brighter(colour):
    return tuple((part + 110) % 256 for part in colour)


RIGHT = {
    "the same": lambda one: one.drawn(),
    "on an almost white ground": lambda one: replace(one, ground=254).drawn(),
    "three pixels to the right, two up": lambda one: replace(one, shift=(3, -2)).drawn(),
    "smaller": lambda one: one.drawn().resize((480, 360), Picture.Resampling.LANCZOS),
    "larger": lambda one: one.drawn().resize((1600, 1200), Picture.Resampling.BICUBIC),
    "transparent": lambda one: transparent(one.drawn()),
}  # fmt: skip
WRONG = {
    "one number is larger": lambda one, at: replace(one, heights=changed(one.heights, at, 15)).drawn(),
    "one number is smaller": lambda one, at: replace(one, heights=changed(one.heights, at, -25)).drawn(),
    "another colour": lambda one, at: replace(one, colours=[brighter(colour) for colour in one.colours]).drawn(),
    "no title": lambda one, at: replace(one, title="").drawn(),
    "the last label is missing": lambda one, at: replace(one, labels=[*one.labels[:-1], ""]).drawn(),
    "blank": lambda one, at: Picture.new("RGB", (640, 480), "white"),
    "all numbers are zero": lambda one, at: replace(one, kind="line", heights=[0] * len(one.heights)).drawn(),
    "dark": lambda one, at: replace(one, ground=20).drawn(),
}  # fmt: skip


def transparent(picture):
    pixels = numpy.asarray(picture.convert("RGBA")).copy()
    pixels[(pixels[..., :3] == 255).all(axis=2), 3] = 0
    return Picture.fromarray(pixels)


@pytest.mark.parametrize("how", RIGHT)
def test_the_expected_picture_is_alike_however_it_is_stored(how):
    for seed in SEEDS:
        score = alike(RIGHT[how](chart(seed)), seed)
        assert score.value == 1.0, (seed, score.reason)


@pytest.mark.parametrize("quality", [85, 75])
def test_compression_is_no_difference(quality):
    for seed in SEEDS:
        score = alike(replace(chart(seed), ground=254).drawn(), seed, "JPEG", quality=quality)
        assert score.value == 1.0, (seed, score.reason)


@pytest.mark.parametrize("how", WRONG)
def test_one_block_that_differs_is_refused(how):
    for seed in SEEDS:
        one = chart(seed)
        score = alike(WRONG[how](one, random.Random(seed).randrange(1, len(one.heights))), seed)
        assert score.value == 0.0, (seed, score.reason)


def test_a_blank_picture_is_never_alike():
    for seed in SEEDS:
        for ground in ("white", "black", "grey"):
            assert alike(Picture.new("RGB", (640, 480), ground), seed).value == 0.0


@pytest.mark.parametrize("form", ["GIF", "PNG", "TIFF"])
def test_the_right_picture_as_the_first_frame_of_several_is_refused(form):
    right, other = chart(1).drawn(), chart(2).drawn()
    file = io.BytesIO()
    right.save(file, form, save_all=True, append_images=[other])
    name = {"GIF": "chart_gif", "PNG": "chart_png", "TIFF": "chart_tif"}[form]
    expected = embedded(stored(right))
    assert graded(file.getvalue(), name, like=expected).value == 0.0
    assert graded(file.getvalue(), name, size=right.size).value == 1.0


def test_a_sparse_line_counts_as_much_as_a_filled_area():
    sparse = replace(chart(1), kind="line", title="", labels=[""] * len(chart(1).labels))
    like = embedded(stored(sparse.drawn()))
    assert graded(stored(sparse.drawn()), like=like).value == 1.0
    flat = replace(sparse, heights=[100] * len(sparse.heights))
    assert graded(stored(flat.drawn()), like=like).value == 0.0


def test_another_shape_is_not_alike():
    assert alike(chart(1).drawn().resize((640, 640)), 1).value == 0.0


def test_a_format_is_that_of_its_content_and_of_its_name():
    picture = chart(1).drawn()
    assert graded(stored(picture), format="png").value == 1.0
    assert graded(stored(picture), "chart_PNG", format="png").value == 1.0
    assert graded(stored(picture, "JPEG"), "chart_JPG", format=["jpeg", "webp"]).value == 1.0
    assert graded(stored(picture, "JPEG"), "chart_png").reason.endswith("its name ends in .png")
    assert graded(stored(picture, "WEBP"), "chart_webp", format="png").value == 0.0


def test_sizes():
    data = stored(chart(1).drawn())
    assert graded(data, size=[640, 480], least_size=[600, 400]).value == 1.0
    assert graded(data, size=[640, 481]).value == 0.0
    assert graded(data, least_size=[641, 400]).value == 0.0


def test_a_turned_photograph_has_the_size_that_is_seen():
    file = io.BytesIO()
    picture = Picture.new("RGB", (40, 20), "red")
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(file, "JPEG", exif=exif)
    assert graded(file.getvalue(), "photo_jpg", size=[20, 40]).value == 1.0


def zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "b")
    return file.getvalue()


def png(width, height, colours, rows):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def huge():
    """A picture of a billion pixels in a hundred bytes."""
    return png(40_000, 25_000, 2, b"\0")


HOSTILE = {
    "a zip archive as well": lambda data: data + zipped(),
    "data behind its end": lambda data: data + b"<script>",
    "a PDF as well": lambda data: data[:8] + b"%PDF-1.4" + data[8:],
    "a text": lambda data: b"no picture",
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "too many pixels": lambda data: huge(),
    "another kind than its signature": lambda data: b"GIF89a" + data[6:],
}


@pytest.mark.parametrize("how", HOSTILE)
def test_what_is_no_picture_alone_is_refused(how):
    data = HOSTILE[how](stored(chart(1).drawn()))
    score = graded(data)
    assert (score.status, score.value) == ("ok", 0.0), score.reason


def line(width, height):
    """A picture of one grey, with sides of any length."""
    return png(width, height, 0, (b"\0" + b"\x55" * width) * height)


@pytest.mark.parametrize("size", [(39_000_000, 1), (1, 39_000_000), (1_000_001, 3)])
def test_a_picture_that_is_too_long_to_scale_is_refused_with_the_limit(size):
    score = graded(line(*size))
    assert (score.value, score.status) == (0.0, "ok")
    assert score.reason == f"{size[0]} by {size[1]} pixels, a side has at most 1,000,000"


def test_a_long_strip_within_the_limit_is_read():
    assert graded(line(1_000_000, 39), size=[1_000_000, 39]).value == 1.0


def test_a_row_gives_its_expected_picture_embedded_and_never_by_a_path(tmp_path):
    data, gold = stored(chart(1).drawn()), tmp_path / "gold.png"
    gold.write_bytes(data)
    assert graded(data, meta={"like": embedded(data)}).value == 1.0
    assert graded(data, like=str(gold)).value == 1.0
    assert graded(data, meta={"like": str(gold)}).value is None


@pytest.mark.parametrize("like", ["/no/such/file.png", "data:image/png;base64,????", "data:,x"])
def test_an_expected_picture_that_cannot_be_read_leaves_no_value(like):
    score = graded(stored(chart(1).drawn()), like=like)
    assert score.value is None
    assert "expected picture" in score.reason


def test_a_blank_expected_picture_leaves_no_value():
    blank = embedded(stored(Picture.new("RGB", (640, 480), "white")))
    assert graded(stored(chart(1).drawn()), like=blank).value is None


@pytest.mark.parametrize("options", [{"format": "svg"}, {"size": [3]}, {"least_size": "3x4"}])
def test_options_that_cannot_be_are_refused(options):
    with pytest.raises(UsageError):
        verikit.image(**options)
