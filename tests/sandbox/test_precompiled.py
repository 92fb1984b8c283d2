"""The precompiled C++ header: used if it fits, out of reach of candidates, a separate one for other flags."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from verikit.errors import SandboxUnavailable
from verikit.sandbox import RunLimits, precompiled
from verikit.sandbox.pool import Pool
from verikit.sandbox.programs import BuiltProgram, Programs
from verikit.sandbox.toolchains import Missing, Toolchain, toolchain

MARKED = "#include <bits/stdc++.h>\nint main() { return mark - 7; }\n"
"""A program that compiles only with the header that these tests make, which is quick to make."""


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Toolchain]:
    found = toolchain("cpp")
    if isinstance(found, Missing):
        pytest.skip("no C++ compiler")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(precompiled, "_LINE", "constexpr int mark = 7;\n")
    monkeypatch.setattr(precompiled, "_seen", 0)
    monkeypatch.setattr(precompiled, "PAYS", 1)
    forget()
    yield found
    forget()


def forget() -> None:
    precompiled._place.cache_clear()
    precompiled._make.cache_clear()


@pytest.fixture
def programs(chain: Toolchain) -> Iterator[Programs]:
    pool = Pool(1, paranoid=False, namespaces=True)
    found = Programs(pool)
    try:
        try:
            found.build("c", "int main(void){return 0;}")
        except SandboxUnavailable as problem:
            pytest.skip(str(problem))
        yield found
    finally:
        pool.close()


def folder_of(chain: Toolchain) -> Path:
    return Path(precompiled.faster(chain, MARKED).tools[-1])


@pytest.mark.slow(seconds=4)
def test_a_program_compiles_with_the_header_and_without_it_if_it_does_not_fit(programs: Programs) -> None:
    assert isinstance(programs.build("cpp", MARKED), BuiltProgram)
    # After a token a precompiled header does not fit, and the compiler reads the real one.
    late = "int first;\n#include <bits/stdc++.h>\nint main() { std::vector<int> mark; return first + mark.size(); }\n"
    assert isinstance(programs.build("cpp", late), BuiltProgram)


def test_nothing_in_the_sandbox_can_write_or_replace_the_header(programs: Programs, chain: Toolchain) -> None:
    folder = folder_of(chain)
    header = folder / "bits" / "stdc++.h.gch"
    before = header.read_bytes(), header.stat().st_mtime_ns, header.stat().st_ino
    script = (
        f"test -r {header} || exit 9\n"
        f"echo x > {header}; echo x >> {header}; rm -f {header}; mv {header} {folder}/other; touch {header}\n"
        f"chmod 777 {folder} {folder}/bits {header}; ln -sf /tmp/x {header}; echo x > {folder}/bits/stdc++.h\n"
        f"mv {folder} {folder}.old; rm -rf {folder}; true\n"
    )
    run = programs.execute(
        ["/bin/bash", "-c", script], {}, b"", RunLimits(wall_s=20), tools=(*chain.tools, str(folder)), env={}
    )
    assert run.status == "ok", run
    assert (header.read_bytes(), header.stat().st_mtime_ns, header.stat().st_ino) == before
    assert sorted(path.name for path in folder.rglob("*")) == ["bits", "stdc++.h.gch"]
    assert os.listdir(folder.parent) == [folder.name]


@pytest.mark.slow(seconds=2)
def test_a_program_that_runs_does_not_see_the_header(programs: Programs, chain: Toolchain) -> None:
    text = f'#include <fstream>\nint main() {{ return !std::ifstream("{folder_of(chain)}/bits/stdc++.h.gch"); }}\n'
    built = programs.build("cpp", text)
    assert isinstance(built, BuiltProgram)
    assert programs.run(built, [""], RunLimits())[0].exit_code == 1


def test_other_flags_another_compiler_and_other_headers_have_a_header_of_their_own(
    chain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, *flags = chain.build
    newer = tmp_path / "newer"
    newer.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 99 && exit\nexec {compiler} "$@"\n')
    newer.chmod(0o755)
    found = [folder_of(chain), folder_of(replace(chain, build=(compiler, "-DX", *flags)))]
    found.append(folder_of(replace(chain, build=(str(newer), *flags))))
    own = tmp_path / "own.h"
    monkeypatch.setattr(precompiled, "_LINE", f'#include "{own}"\nconstexpr int mark = 7;\n')
    for text in ("int a;\n", "int ab;\n"):
        own.write_text(text)
        forget()
        found.append(folder_of(chain))
    assert len(set(found)) == 5
    assert folder_of(chain) == found[-1]


def test_a_header_that_cannot_be_made_is_not_needed_and_tried_once(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real, tries = precompiled._told, list[str]()

    def fails(*command: str) -> str | None:
        if "c++-header" not in command:
            return real(*command)
        tries.append(command[-1])
        Path(command[-1]).write_bytes(b"half a header")
        return None

    monkeypatch.setattr(precompiled, "_told", fails)
    for name in "ab":
        text = f"#if 0\n#include <bits/stdc++.h>\n#endif\nint main() {{ int {name} = 0; return {name}; }}\n"
        built = programs.build("cpp", text)
        assert isinstance(built, BuiltProgram)
    assert len(tries) == 1
    assert os.listdir(tmp_path / "verikit") == []


def test_a_header_that_others_could_have_written_is_not_used(chain: Toolchain) -> None:
    folder = folder_of(chain)
    (folder / "bits").chmod(0o777)
    assert precompiled.faster(chain, MARKED) is chain
    (folder / "bits").chmod(0o755)
    assert folder_of(chain) == folder
    header = folder / "bits" / "stdc++.h.gch"
    header.rename(folder.parent / "moved")
    header.symlink_to(folder.parent / "moved")
    assert precompiled.faster(chain, MARKED) is chain


def test_few_programs_do_not_make_the_header(chain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "PAYS", 3)
    assert precompiled.faster(chain, "#include <vector>\nint main() {}\n") is chain
    assert [precompiled.faster(chain, MARKED) is chain for _ in range(3)] == [True, True, False]
