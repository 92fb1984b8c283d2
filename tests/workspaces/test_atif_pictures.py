"""Pictures that an ATIF trajectory names: read from its folder, and from nowhere else."""

import base64
import json
import os

import pytest

from verikit.judges.evidence.entries import entries
from verikit.judges.evidence.media import is_embedded
from verikit.workspaces import atif
from verikit.workspaces.atif import MAX_PICTURES, read_trajectory


def picture(path):
    return {"type": "image", "source": {"media_type": "image/png", "path": path}}


def trajectory(folder, *parts):
    """A stored run in which each part is the result of one call."""
    steps = [{"source": "user", "message": "Draw it"}]
    for number, part in enumerate(parts):
        steps.append(
            {
                "source": "agent",
                "message": "",
                "tool_calls": [{"tool_call_id": f"c{number}", "function_name": "look", "arguments": {}}],
                "observation": {"results": [{"source_call_id": f"c{number}", "content": part}]},
            }
        )
    (folder / "trajectory.json").write_text(json.dumps({"schema_version": "ATIF-v1.7", "steps": steps}))
    found = entries(read_trajectory(str(folder), ("trajectory.json",)))
    return [entry for entry in found if entry.kind == "result"]


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "agent"
    (inner / "images").mkdir(parents=True)
    return inner


def test_a_picture_is_read_from_the_folder_of_the_trajectory(folder):
    (folder / "images" / "a.png").write_bytes(b"pixels")
    [entry] = trajectory(folder, [{"type": "text", "text": "now"}, picture("images/a.png")])
    [media] = entry.pictures
    assert entry.text == "now"
    assert base64.b64decode(media.part["source"]["data"]) == b"pixels"


@pytest.mark.parametrize(
    "path",
    ["../secret", "images/../../secret", "/etc/hostname", "images/link", "images/none.png", "images", "images//a.png",
     "a\0b", "https://example.com/a.png", "images/fifo", "\ud800", "x" * 100_000, "a/" * 20_000 + "b"],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_told_and_not_read(folder, path):
    (folder.parent / "secret").write_text("secret")
    (folder / "images" / "link").symlink_to(folder.parent / "secret")
    (folder / "images" / "a.png").write_bytes(b"pixels")
    os.mkfifo(folder / "images" / "fifo")
    [entry] = trajectory(folder, [picture(path)])
    [media] = entry.pictures
    assert not is_embedded(media)
    assert "data" not in json.dumps(media.part)


def test_the_first_and_the_last_pictures_of_a_long_run_are_read(folder):
    count = MAX_PICTURES + 5
    for number in range(count):
        (folder / "images" / f"{number}.png").write_bytes(b"%d" % number)
    found = trajectory(folder, *([picture(f"images/{number}.png")] for number in range(count)))
    read = [number for number, entry in enumerate(found) if is_embedded(entry.pictures[0])]
    assert read == [0, *range(count - MAX_PICTURES + 1, count)]


def test_a_huge_picture_is_not_read(folder, monkeypatch):
    monkeypatch.setattr(atif, "MAX_PICTURE_BYTES", 10)
    (folder / "images" / "a.png").write_bytes(b"x" * 11)
    [entry] = trajectory(folder, [picture("images/a.png")])
    assert not is_embedded(entry.pictures[0])


@pytest.mark.parametrize(
    "part", [{"type": "image"}, {"type": "image", "source": 5}, {"type": "image", "source": {"path": 5}}]
)
def test_malformed_parts_are_left_out(folder, part):
    [entry] = trajectory(folder, [{"type": "text", "text": "now"}, part])
    assert (entry.text, entry.pictures) == ("now", ())


def test_a_picture_that_is_named_often_is_kept_once(folder):
    (folder / "images" / "a.png").write_bytes(b"pixels")
    found = trajectory(folder, *([picture("images/a.png")] for _ in range(20)))
    assert len({id(entry.pictures[0].part["source"]["data"]) for entry in found}) == 1
