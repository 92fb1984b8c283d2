"""Runs LibreOffice in its box. A source text for `python -c`: the standard library only, and no imports of verikit.

Descriptor 3 gives a line of JSON (the order) and the files. Descriptor 4 gets a line of JSON with the size of each
result, and the results.
"""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from typing import Any
from xml.etree import ElementTree

_COMMANDS, _ANSWERS = 3, 4
_IN, _OUT, _PROFILE = "/tmp/in", "/tmp/out", "/tmp/profile"
_RESTART = 81
"""The exit code of a start that only set the profile up."""
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SETTINGS = (
    ("Office.Calc/Formula/Load", "OOXMLRecalcMode", "0"),  # always: stored values may be forged
    ("Office.Calc/Formula/Load", "ODFRecalcMode", "0"),
    ("Office.Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Office.Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
)
_ITEM = '<item oor:path="/org.openoffice.{}"><prop oor:name="{}" oor:op="fuse"><value>{}</value></prop></item>'
_REGISTRY = '<oor:items xmlns:oor="http://openoffice.org/2001/registry">{}</oor:items>'


def main() -> None:
    """Convert the files of one order."""
    with open(_COMMANDS, "rb", closefd=False) as source:
        order: dict[str, Any] = json.loads(source.readline())
        for folder in (_IN, _OUT, f"{_PROFILE}/user/extensions"):
            os.makedirs(folder)
        for number, size in enumerate(order["sizes"]):
            _write(f"{_IN}/{number}.{order['kind']}", source.read(size))
    _write(f"{_PROFILE}/user/registrymodifications.xcu", _registry().encode())
    _write(f"{_PROFILE}/user/extensions/buildid", order["build"].encode())
    code = _start(order)
    if code == _RESTART:
        code = _start(order)
    made = [_result(f"{_OUT}/{number}.{order['form']}", order["cells"]) for number in range(len(order["sizes"]))]
    sizes = [None if content is None else len(content) for content in made]
    _send(json.dumps({"exit": code, "sizes": sizes}).encode() + b"\n")
    for content in made:
        _send(content or b"")


def _registry() -> str:
    return _REGISTRY.format("".join(_ITEM.format(*setting) for setting in _SETTINGS))


def _start(order: dict[str, Any]) -> int:
    names = [f"{_IN}/{number}.{order['kind']}" for number in range(len(order["sizes"]))]
    command = [order["program"], f"-env:UserInstallation=file://{_PROFILE}", "--headless", "--norestore",
               "--convert-to", order["form"], "--outdir", _OUT, *names]  # fmt: skip
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


def _result(path: str, cells: dict[str, int]) -> bytes | None:
    """A converted file, or the cells that are wanted of it as JSON. None if it was not made."""
    if not os.path.isfile(path):
        return None
    if cells:
        return json.dumps(_cells(path, cells)).encode()
    with open(path, "rb") as file:
        return file.read()


def _cells(path: str, wanted: dict[str, int]) -> dict[str, list[str]]:
    """Type and text of the wanted cells of a workbook, each given with the number of its sheet."""
    places = {(number, key.partition("!")[2]): key for key, number in wanted.items()}
    found: dict[str, list[str]] = {}
    with zipfile.ZipFile(path) as archive:
        for number in sorted(set(wanted.values())):
            with archive.open(f"xl/worksheets/sheet{number}.xml") as file:
                for _, cell in ElementTree.iterparse(file):
                    if cell.tag != _MAIN + "c":
                        continue
                    key = places.get((number, cell.get("r", "")))
                    if key is not None:
                        found[key] = [cell.get("t", "n"), cell.findtext(_MAIN + "v") or ""]
                    cell.clear()
    return found


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _send(content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(_ANSWERS, view) :]


if __name__ == "__main__":
    main()
