"""What a workspace gives for all that an agent, a collector or a row may have done; each form gives one manifest."""

import base64
import io
import os
import pickle
import socket
import tarfile
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import AgentFault, WorkspaceError
from verikit.types import Sample, Score
from verikit.workspaces import Limits, TaskWorkspace, Workspace
from verikit.workspaces.beneath import open_beneath, open_by_steps, open_root
from verikit.workspaces.folder import FolderSource
from verikit.workspaces.grading import graded, workspace_of
from verikit.workspaces.names import matches, shown

TEXTS = {"sales.csv": "a,b\n1,2\n", "src/main.py": "print(1)\n", "src/deep/er/x.txt": "é\n"}


def write(folder, texts):
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def tar_of(members, mode="w"):
    """A tar of (name, content or None for a folder, how its header is changed)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, content, *change in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            else:
                info.size = len(content)
            for key, value in (change[0] if change else {}).items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content or b""))
    return out.getvalue()


def tar_texts(texts, mode="w"):
    return tar_of([(name, text.encode()) for name, text in texts.items()], mode)


def value(workspace, pattern="sales.csv"):
    """1.0 where the file can be read, 0.0 where the agent is at fault, None where nobody is."""
    return graded(Sample(workspace=workspace), lambda w, _: Score(float(bool(w.one(pattern).data())))).value


def test_a_folder_a_tar_and_a_mapping_give_one_manifest(tmp_path):
    write(tmp_path, TEXTS)
    os.chmod(tmp_path / "sales.csv", 0o664)
    forms = [tmp_path, TEXTS, *(tar_texts(TEXTS, mode) for mode in ("w", "w:gz", "w:bz2", "w:xz"))]
    (tmp_path / "x").mkdir()
    (tmp_path / "x/all.tar").write_bytes(tar_texts(TEXTS))
    in_row = TaskWorkspace({"after_tar": base64.b64encode(tar_texts(TEXTS)).decode()}, None).make()
    found = {Workspace(form).digest for form in forms[1:]} | {in_row.digest, Workspace(tmp_path / "x/all.tar").digest}
    (tmp_path / "x/all.tar").unlink()
    (tmp_path / "x").rmdir()
    assert found == {Workspace(tmp_path).digest}
    assert Workspace(tmp_path).one("src/**/x.txt").data() == "é\n".encode()


def test_the_digest_changes_with_content_name_kind_and_the_right_to_run_and_not_with_times(tmp_path):
    write(tmp_path, TEXTS)
    first = Workspace(tmp_path).digest
    os.utime(tmp_path / "sales.csv", (1, 1))
    assert Workspace(tmp_path).digest == first
    os.chmod(tmp_path / "sales.csv", 0o755)
    assert Workspace(tmp_path).digest != first
    os.chmod(tmp_path / "sales.csv", 0o644)
    (tmp_path / "empty").mkdir()
    assert Workspace(tmp_path).digest != first
    assert Workspace({**TEXTS, "sales.csv": "a,b\n1,3\n"}).digest != first
    assert Workspace({**TEXTS, "Sales.csv": ""}).digest != first


def test_missing_is_the_agents_where_declared_and_nobodys_where_nothing_declares_it():
    assert value(Workspace(TEXTS, outputs=["sales.csv"])) == 1.0
    assert value(Workspace({"x": "1"}, outputs=["sales.csv"])) == 0.0
    assert value(Workspace({"x": "1"}, outputs=["*.csv"])) == 0.0
    assert value(Workspace({"x": "1"}, outputs=["out/**"])) is None
    assert value(Workspace({"x": "1"}, outputs=["sales.csv"]), "*.csv") == 0.0
    assert value(Workspace({"x": "1"})) == 0.0
    # collected although nothing declares it
    assert value(Workspace(TEXTS, outputs=["out/**"])) == 1.0


def test_what_could_not_be_collected_is_unscored_by_path():
    workspace = Workspace({"x": "1"}, uncollected={"out/**": "no answer"})
    assert value(workspace, "out/sales.csv") is None
    assert value(workspace, "sales.csv") == 0.0
    score = graded(Sample(workspace=workspace), lambda w, _: Score(float(bool(w.one("out/a")))))
    assert "out/a was not collected: no answer" in score.reason


def test_a_folder_that_is_not_there_is_no_fault_of_the_agents(tmp_path):
    assert value(Workspace(FolderSource(str(tmp_path / "nowhere")))) is None
    assert value(Workspace(tmp_path / "nowhere.tar")) is None
    assert value(Workspace(before=TEXTS)) is None


def test_over_a_limit_of_the_task_is_the_agents_over_ours_nobodys(tmp_path):
    big = {"sales.csv": b"x" * (2**20 + 1), "small": "1"}
    for form in (
        big,
        write(tmp_path, big),
        tar_of([(name, b if isinstance(b, bytes) else b.encode()) for name, b in big.items()]),
    ):
        assert value(Workspace(form, limits={"mb": 1})) == 0.0
        assert value(Workspace(form, limits={"mb": 1}), "small") == 1.0
        assert value(Workspace(form, limits=Limits(mb=1))) is None
        assert value(Workspace(form, limits={"total_mb": 1}), "small") == 0.0
        assert value(Workspace(form, limits=Limits(total_mb=1)), "small") is None
        assert value(Workspace(form, limits={"entries": 1}), "small") == 0.0
        assert value(Workspace(form, limits=Limits(entries=1)), "small") is None
        assert value(Workspace(form)) == 1.0
    told = graded(
        Sample(workspace=Workspace(big, limits=Limits(mb=1))), lambda w, _: Score(len(w.one("sales.csv").data()))
    )
    assert "raise it" in told.reason


def test_what_the_agent_began_with_is_never_its_fault():
    workspace = Workspace(TEXTS, {"big": "x" * 2**20 * 2}, limits={"mb": 1})
    with pytest.raises(WorkspaceError, match="MB"):
        workspace.changes()


def test_a_link_as_output_is_refused_and_one_inside_followed_where_the_task_lets_it(tmp_path):
    root = write(tmp_path / "after", {"real.csv": "1", "sub/real.csv": "2"})
    write(tmp_path, {"gold.csv": "secret"})
    for name, target in (
        ("sales.csv", "real.csv"),
        ("up.csv", "../gold.csv"),
        ("abs.csv", str(tmp_path / "gold.csv")),
        ("sub/own.csv", "../real.csv"),
        ("twice.csv", "sales.csv"),
        ("dir", "sub"),
    ):
        (root / name).symlink_to(target)
    (tmp_path / "after.tar").write_bytes(_packed(root))
    for form in (root, tmp_path / "after.tar"):
        refused, inside = Workspace(form), Workspace(form, links="inside")
        for name in ("sales.csv", "up.csv", "abs.csv", "sub/own.csv", "twice.csv", "dir", "dir/real.csv"):
            assert value(refused, name) == 0.0, name
        assert value(inside) == value(inside, "sub/own.csv") == 1.0
        for name in ("up.csv", "abs.csv", "twice.csv", "dir", "dir/real.csv"):
            assert value(inside, name) == 0.0, name
    assert (
        "dir is a link"
        in graded(Sample(workspace=Workspace(root)), lambda w, _: Score(bool(w.one("dir/real.csv")))).reason
    )


def _packed(folder):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(folder, arcname=".")
    return out.getvalue()


def test_a_fifo_a_socket_and_a_folder_are_recorded_and_not_opened(tmp_path):
    write(tmp_path, TEXTS)
    os.mkfifo(tmp_path / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock.csv"))
        workspace = Workspace(tmp_path)
        kinds = {path: entry.kind for path, entry in workspace.after.manifest.items()}
    assert kinds["pipe.csv"] == "fifo"
    assert kinds["sock.csv"] == "socket"
    assert value(workspace) == 1.0
    assert value(workspace, "pipe.csv") == value(workspace, "sock.csv") == value(workspace, "src") == 0.0
    in_tar = tar_of([("pipe.csv", b"", {"type": tarfile.FIFOTYPE}), ("dev", b"", {"type": tarfile.CHRTYPE})])
    assert value(Workspace(in_tar), "pipe.csv") == value(Workspace(in_tar), "dev") == 0.0


def test_of_a_sparse_file_the_apparent_size_counts(tmp_path):
    with open(tmp_path / "sales.csv", "wb") as file:
        file.truncate(2**40)
    assert value(Workspace(tmp_path, limits={"mb": 64})) == 0.0
    assert value(Workspace(tmp_path)) is None
    os.truncate(tmp_path / "sales.csv", 2**20)
    entry = Workspace(tmp_path).after.manifest["sales.csv"]
    assert entry.size == 2**20
    assert entry.allocated < entry.size
    assert value(Workspace(tmp_path)) == 1.0


def test_a_hard_link_is_its_content_once(tmp_path):
    write(tmp_path, {"sales.csv": b"x" * 2**19 * 3})
    os.link(tmp_path / "sales.csv", tmp_path / "again.csv")
    workspace = Workspace(tmp_path, limits=Limits(total_mb=2))
    assert workspace.one("again.csv").sha256 == workspace.one("sales.csv").sha256
    packed = Workspace(_packed(tmp_path), limits=Limits(total_mb=2))
    assert packed.digest == workspace.digest
    assert value(packed, "again.csv") == value(packed) == 1.0


HOSTILE_TARS = {
    "above": [("sales.csv", b"1"), ("../x", b"1")],
    "within": [("sales.csv", b"1"), ("a/../../x", b"1")],
    "absolute": [("sales.csv", b"1"), ("/etc/x", b"1")],
    "twice": [("sales.csv", b"0"), ("sales.csv", b"1")],
    "twice by another name": [("sales.csv", b"0"), ("./sales.csv", b"1")],
    "below a link": [("sales.csv", b"1"), ("a", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc"}), ("a/x", b"1")],
    "hard link out": [("sales.csv", b"1"), ("b", b"", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"})],
    "file over folder": [("sales.csv", b"1"), ("d/x", b"1"), ("d/x/y", b"1")],
}


@pytest.mark.parametrize("members", HOSTILE_TARS.values(), ids=HOSTILE_TARS)
def test_a_tar_with_names_that_no_tree_has_is_refused_whole(members):
    assert value(Workspace(tar_of(members))) == 0.0
    assert value(Workspace(tar_of(members), packed_by="agent")) == 0.0
    assert value(Workspace(tar_of(members), packed_by="collector")) is None


def test_folders_named_twice_and_the_same_name_in_two_folders_are_no_duplicates():
    assert (
        value(Workspace(tar_of([("d", None), ("d", None), ("d/sales.csv", b"1"), ("e/sales.csv", b"2")])), "e/*") == 1.0
    )
    deep = "/".join(["d"] * 60) + "/sales.csv"
    assert value(Workspace(tar_of([(deep, b"1")])), deep) == 1.0


@pytest.mark.parametrize("damage", ["cut", "no end", "garbage", "behind", "header", "gzip cut", "empty"])
def test_a_damaged_tar_is_the_collectors_unless_the_agent_packed_it(damage):
    good = tar_of([("sales.csv", b"1" * 2000), ("b", b"2" * 2000)])
    header = bytearray(good)
    header[512 + 2048 + 20] ^= 1
    bad = {
        "cut": good[:1500],
        "no end": good[: 2 * (512 + 2048)],
        "garbage": b"\x00\x01garbage" * 100,
        "behind": good + tar_of([("c", b"3")]),
        "header": bytes(header),
        "gzip cut": tar_of([("sales.csv", os.urandom(2000))], "w:gz")[:-20],
        "empty": b"",
    }[damage]
    assert value(Workspace(good)) == 1.0
    assert value(Workspace(bad)) is None
    assert value(Workspace(bad, packed_by="agent")) == 0.0


def test_a_tar_that_unpacks_to_too_much_is_stopped():
    bomb = tar_of([("sales.csv", b"\0" * 2**24)], "w:gz")
    assert len(bomb) < 2**16
    assert value(Workspace(bomb, limits={"total_mb": 1, "entries": 10})) == 0.0
    assert value(Workspace(bomb, limits=Limits(total_mb=1, entries=10))) is None
    many = tar_of([(f"f{i}", b"") for i in range(3000)])
    assert value(Workspace(many, limits={"entries": 2000})) == 0.0


def test_names_are_kept_as_bytes_and_told_where_a_person_would_be_misled(tmp_path):
    for name in (
        b"caf\xe9.csv",
        b"Sales.csv",
        b"sales.csv",
        b"a\nb",
        "\u202egnp.csv".encode(),
        "e\u0301".encode(),
        "\u00e9".encode(),
    ):
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"1")
    workspace = Workspace(tmp_path)
    notes = " | ".join(workspace.after.manifest.notes)
    assert r"caf\udce9.csv is not UTF-8" in notes
    assert "Sales.csv and sales.csv look alike" in notes
    assert "look alike" in notes.replace("Sales.csv and sales.csv look alike", "", 1)
    assert value(workspace) == 1.0
    with pytest.raises(AgentFault, match=r"7 files are '\*'") as told:
        workspace.one("*")
    assert "\n" not in str(told.value)
    assert Workspace(_packed(tmp_path)).digest == workspace.digest


def test_a_reason_shows_no_sign_that_turns_the_line_or_doesnt_print():
    assert shown("a\nb\u202ec\udce9\\") == r"a\nb\u202ec\udce9" + "\\\\"
    assert shown("Straße/東京.txt") == "Straße/東京.txt"
    assert len(shown("x" * 5000)) == 200


def test_several_files_for_one_pattern_are_the_agents_unless_the_row_names_several():
    after = {"a.csv": "1", "b.csv": "2"}
    assert value(Workspace(after), "*.csv") == 0.0
    assert value(Workspace(after, after), "*.csv") is None
    assert value(Workspace(after, {"a.csv": "0"}), "*.csv") == 0.0
    assert value(Workspace(after, outputs=["a.csv", "b.csv"]), "*.csv") is None
    assert value(Workspace({"a.csv": "1"}, outputs=["a.csv", "b.csv"]), "*.csv") == 1.0
    with pytest.raises(WorkspaceError, match="names no file"):
        Workspace(after).one("../a.csv")


def test_what_changes_while_it_is_collected_or_after_is_unscored(tmp_path, monkeypatch):
    write(tmp_path, TEXTS)
    workspace = Workspace(tmp_path)
    blob = workspace.one("sales.csv")
    assert blob.data() == b"a,b\n1,2\n"
    (tmp_path / "sales.csv").write_text("a,b\n1,9\n")
    with pytest.raises(WorkspaceError, match="changed after"):
        blob.data()
    (tmp_path / "sales.csv").unlink()
    (tmp_path / "sales.csv").symlink_to("/etc/passwd")
    with pytest.raises(WorkspaceError, match="can't be read again"):
        blob.data()
    collected, seen = FolderSource._collected, []

    def between(self, limits):
        manifest = collected(self, limits)
        if not seen:
            seen.append(1)
            (tmp_path / "src/main.py").write_text("print(2)\n")
        return manifest

    monkeypatch.setattr(FolderSource, "_collected", between)
    assert value(Workspace(tmp_path), "src/main.py") is None


def test_a_fifo_that_takes_a_files_place_is_not_waited_for(tmp_path):
    write(tmp_path, TEXTS)
    blob = Workspace(tmp_path).one("sales.csv")
    (tmp_path / "sales.csv").unlink()
    os.mkfifo(tmp_path / "sales.csv")
    failed = []

    def read():
        try:
            blob.data()
        except WorkspaceError as error:
            failed.append(str(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(20)
    assert failed


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_the_agent_lets_nobody_read_is_its_fault(tmp_path):
    write(tmp_path, TEXTS)
    os.chmod(tmp_path / "sales.csv", 0)
    assert value(Workspace(tmp_path)) == 0.0
    assert value(Workspace(tmp_path), "src/main.py") == 1.0


@pytest.mark.parametrize("open_it", [open_beneath, open_by_steps])
def test_nothing_above_and_no_link_is_opened(tmp_path, open_it):
    write(tmp_path, {"in/a/b": "1", "out": "2"})
    (tmp_path / "in/link").symlink_to("a")
    (tmp_path / "in/a/last").symlink_to("b")
    root = open_root(tmp_path / "in")
    try:
        os.close(open_it(root, ["a", "b"]))
        for names in (["link", "b"], ["a", "last"], ["none"], ["a", "b", "c"]):
            with pytest.raises(OSError):
                os.close(open_it(root, names))
    finally:
        os.close(root)


def test_paths_of_a_row_start_at_its_file_and_never_leave_its_folder(tmp_path):
    write(tmp_path, {"rows/t1/sales.csv": "1", "outside/sales.csv": "2"})
    (tmp_path / "rows/t2").symlink_to(tmp_path / "outside")
    folder = str(tmp_path / "rows")
    assert value(TaskWorkspace({"after": "t1"}, folder)) == 1.0
    for path in ("../outside", str(tmp_path / "outside"), "t2", "t1/../../outside", "none"):
        assert value(TaskWorkspace({"after": path}, folder)) is None, path
    assert value(TaskWorkspace({"after": "t1"}, None)) is None
    assert value(TaskWorkspace({"after": {"sales.csv": "1"}}, None)) == 1.0


@pytest.mark.parametrize(
    "told",
    [
        [], "t1", {"after": 1}, {"after": {"a": 1}}, {"after": {"../a": "1"}}, {"after": {"a": "1", "a/b": "1"}},
        {"aftr": {}}, {"after": {"a": "1"}, "outputs": "a"}, {"after": {"a": "1"}, "limits": {"mb": -1}},
        {"after": {"a": "1"}, "links": "all"}, {"after_tar": "?"}, {"after": {"a": "\ud800"}},
        {"trial": "t", "after": {}},
        {"after": {"a": "1"}, "limits": {"gb": 1}}, {"after": {"a": "1"}, "packed_by": "me"},
    ],
)  # fmt: skip
def test_a_row_that_is_wrong_is_unscored_and_says_why(told):
    score = graded(Sample(workspace=TaskWorkspace(told, ".")), lambda w, _: Score(float(bool(w.one("a")))))
    assert score.status == "error"
    assert score.reason


def test_a_sample_without_a_workspace_is_unscored_and_one_in_its_keys_counts():
    assert graded(Sample(), lambda w, _: Score(1.0)).status == "error"
    assert workspace_of(Sample(meta={"workspace": {"after": TEXTS}})).one("sales.csv").size == 8
    assert workspace_of(Sample(meta={"workspace": Workspace(TEXTS)})).one("sales.csv").size == 8


def test_the_score_carries_the_digest_and_workspaces_travel_to_other_processes(tmp_path):
    workspace = Workspace(write(tmp_path, TEXTS), outputs=["*.csv"])
    score = graded(Sample(workspace=workspace), lambda w, _: Score(1.0, text="more"))
    assert score.text == f"workspace {workspace.digest[:16]}\nmore"
    again = pickle.loads(pickle.dumps(Sample(workspace=workspace))).workspace
    assert again.digest == workspace.digest
    assert pickle.loads(pickle.dumps(TaskWorkspace({"after": TEXTS}, None))).make().digest == Workspace(TEXTS).digest


NAMES = st.text("ab*?", max_size=4).filter(lambda name: name != "**") | st.just("**")


@given(
    st.lists(NAMES.filter(bool), min_size=1, max_size=5),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=5),
)
def test_patterns_match_as_a_plain_search_would_find(pattern, path):
    def fits(pattern, name):
        if not pattern:
            return not name
        if pattern[0] == "*":
            return fits(pattern[1:], name) or (bool(name) and fits(pattern, name[1:]))
        return bool(name) and pattern[0] in ("?", name[0]) and fits(pattern[1:], name[1:])

    def search(wanted, names):
        if not wanted:
            return not names
        if wanted[0] == "**":
            if len(wanted) == 1:
                return bool(names)
            return search(wanted[1:], names) or (bool(names) and search(wanted, names[1:]))
        return bool(names) and fits(wanted[0], names[0]) and search(wanted[1:], names[1:])

    assert matches("/".join(pattern), "/".join(path)) == search(pattern, path)


def test_a_pattern_that_goes_back_and_forth_is_linear_in_the_name():
    assert not matches("*a" * 50 + "b", "a" * 5000)
    assert not matches("**/" * 50 + "b", "a/" * 2000 + "a")
