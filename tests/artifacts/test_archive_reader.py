"""Archives that cost much to read are refused, so that no agent can leave its work unscored by one."""

import io
import tarfile

from verikit.artifacts.readers import archive


def packed(members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as tar:
        for member in members:
            tar.addfile(member)
    return file.getvalue()


def folder(number):
    member = tarfile.TarInfo(str(number))
    member.type = tarfile.DIRTYPE
    return member


def test_many_folders_are_refused(monkeypatch):
    monkeypatch.setattr(archive, "_MOST_ENTRIES", 50)
    assert archive.read([packed(map(folder, range(50)))], {}) == {"members": [], "whole": True}
    assert "50 members and folders" in archive.read([packed(map(folder, range(51)))], {})["refused"]


def test_a_member_that_needs_more_memory_than_there_is_refused(monkeypatch):
    def without_memory(blob):
        raise MemoryError
        yield

    monkeypatch.setattr(archive, "_tarred", without_memory)
    assert "can't be read" in archive.read([packed([])], {})["refused"]
