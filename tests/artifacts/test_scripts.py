"""What names the scripts of a PDF: each byte is looked at once, and what can't be looked through is told."""

import zlib

from verikit.artifacts.readers.scripts import scripts


def test_a_file_of_beginnings_of_streams_is_linear_work(linear):
    linear(lambda text: scripts(text.encode("latin-1")), "/ObjStm stream\n", 1 << 20)


def test_a_beginning_of_a_stream_within_a_dictionary_hides_nothing():
    packed = zlib.compress(b"/S /JavaScript")[:-6]  # can't be unpacked
    plain = b"1 0 obj << /Type /ObjStm /Note (%s) >> stream\n%s"
    for note in (b"none", b"stream\n", b"stream\nstream\n"):
        assert scripts(plain % (note, b"\0\0" + packed)) == ["packed objects that can't be looked through"]


def test_names_in_streams_that_follow_each_other_are_found():
    one, other = zlib.compress(b"/S /JavaScript"), zlib.compress(b"x" * 5000 + b" /S /Launch ")
    file = b"1 0 obj << >> stream\n%s endstream endobj 2 0 obj << >> stream\r\n%s endstream endobj" % (one, other)
    assert scripts(file) == ["JavaScript", "a launch action"]
