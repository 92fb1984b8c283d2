"""55 attacks on graders of files: `python benchmarks/workspace_attacks.py [PEERS]` prints a table of them.

Each attack has a forged workspace and an honest one. verikit scores both, and so do the peers if they have a function
for this kind of file (`workspace_peers.py` describes PEERS). The workspaces are those of the tests in
`tests/workspaces/attacks`. A cell has the results for the forged and the honest workspace.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from workspace_peers import PEERS, accepts, values_of  # noqa: E402
from workspace_twins import by_libreoffice  # noqa: E402

from tests.workspaces.attacks import ATTACKS, Attack, Left  # noqa: E402
from tests.workspaces.attacks.case import FILE, REFERENCE, SAVED  # noqa: E402

NAMES = {1.0: "1", 0.0: "0", None: "none"}


def by_verikit(left: Left) -> str:
    """The value of a workspace."""
    with tempfile.TemporaryDirectory() as place:
        value = left.score(Path(place)).value
    return NAMES.get(value, str(value))


def by_peers(root: Path, left: Left, honest: Left) -> dict[str, str]:
    """The verdict of each peer that has a function for a workspace. Without another reference it is the honest file."""
    if not left.peers:
        return {}
    with tempfile.TemporaryDirectory() as place:
        workspace = left.written(Path(place))
        if left.later is not None:
            left.later(workspace)  # they read the files of a machine that still runs
        reference = left.reference or _only_file(honest)
        (workspace / "reference.png").write_bytes(reference)
        orders = {peer: [_placed(call, workspace, reference) for call in calls] for peer, calls in left.peers.items()}
        return {peer: str(int(accepts(values))) for peer, values in values_of(root, workspace, orders).items()}


def _only_file(left: Left) -> bytes:
    contents = [*left.files.values()] if isinstance(left.files, dict) else []
    return contents[0] if len(contents) == 1 and isinstance(contents[0], bytes) else b""


def _placed(call: list[Any], workspace: Path, reference: bytes) -> list[Any]:
    """A call with paths for what was left, for a copy that LibreOffice saved, and for the expected file."""
    function, arguments, options = call
    names = [one.partition(":")[2] for one in arguments if str(one).startswith((FILE, SAVED))]
    ending = Path(names[0]).suffix if names else ""
    expected, saved = (workspace.parent / f"{name}{ending}" for name in ("expected", "saved"))
    expected.write_bytes(reference)
    if any(str(one).startswith(SAVED) for one in arguments):
        saved.write_bytes(_saved(workspace / names[0]))
    paths = {REFERENCE: expected, **{f"{FILE}:{name}": workspace / name for name in names}}
    paths |= {f"{SAVED}:{name}": saved for name in names}
    return [function, [str(paths[one]) if isinstance(one, str) and one in paths else one for one in arguments], options]


def _saved(path: Path) -> bytes:
    """The workbook, saved by LibreOffice; as it is if LibreOffice does not open it."""
    try:
        return by_libreoffice(path.read_bytes())
    except (OSError, ValueError):
        return path.read_bytes()


def rows(root: Path | None, attacks: Sequence[Attack]) -> Iterator[list[str]]:
    """A row for each attack: its number, what the agent does, and the cells of verikit and of each peer."""
    for attack in attacks:
        forged, control = attack.forged(), attack.control()
        cells = [f"{by_verikit(forged)} / {by_verikit(control)}"]
        told = ({}, {}) if root is None else (by_peers(root, forged, control), by_peers(root, control, control))
        for peer in PEERS if root is not None else ():
            pair = [found.get(peer, "–") for found in told]
            cells.append("–" if pair[0] == "–" else " / ".join(pair))
        yield [str(attack.number), attack.agent, *cells]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", type=Path, nargs="?")
    parser.add_argument("--number", type=int, action="append", help="only this attack")
    given = parser.parse_args()
    chosen = [attack for attack in ATTACKS if not given.number or attack.number in given.number]
    graders = ["verikit", *(PEERS if given.peers else ())]
    print(f"| # | the agent | {' | '.join(graders)} |")
    print("|---" * (2 + len(graders)) + "|")
    for row in rows(given.peers, chosen):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
