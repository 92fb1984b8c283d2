"""A folder that the Hugging Face Hub takes as a dataset: JSON lines by split, and a card that names them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from verikit.errors import VerikitError
from verikit.platform.secrets import strike
from verikit.platform.terminal import printable, quantity

CARD = "README.md"
SHOWN = 500
"""Most characters of the sources' names in a card."""


def split_files(folder: Path, split: str) -> tuple[Path, Path]:
    """Return the files of the rows and of the held-out rows. `split` names the rows, `train` if it is empty."""
    usual = re.fullmatch(r"[A-Za-z]\w{0,60}", split, re.ASCII) and split != "held_out"
    name = split if usual else "train"
    return folder / f"{name}.jsonl", folder / "held_out.jsonl"


def write_card(folder: Path, told: str, source: str, use: str, rows: Mapping[Path, int]) -> bool:
    """Write the card. One that exists is kept, because people edit it.

    Args:
        folder: The dataset's folder.
        told: Description of the format that was converted.
        source: The files or the dataset that were converted.
        use: The verifier or the command that reads the rows.
        rows: The number of rows of each file, which is named by its split.

    Returns:
        Whether it was written.

    Raises:
        VerikitError: It can't be written.
    """
    # The names are quoted: without quotes `no` and `on` are no strings.
    splits = [f'  - split: "{path.stem}"\n    path: {path.name}\n' for path in rows]
    counts = [f"- `{path.name}`: {quantity(count, 'row')}\n" for path, count in rows.items()]
    # Names from outside are one indented line, which is a code block.
    text = (
        f"---\nlicense: unknown\nconfigs:\n- config_name: default\n  data_files:\n{''.join(splits)}---\n\n"
        f"# {_plain(folder.absolute().name)}\n\n{told}.\nRows for verikit, converted from:\n\n"
        f"    {strike(printable(source))[:SHOWN]}\n\n{''.join(counts)}\n"
        f"They are graded or read by:\n\n    {use}\n\n"
        "Replace `license` above by the license of the source.\n"
    )
    try:
        with open(folder / CARD, "x", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise VerikitError(f"can't write {folder / CARD}: {os.strerror(error.errno or 0)}") from None
    return True


def _plain(text: str) -> str:
    """Text without marks of Markdown or HTML."""
    return re.sub(r"[<>`\[\]!*#]", " ", printable(text))
