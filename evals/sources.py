"""Where a task's rows are published, and the data folder that is searched for a local copy first.

Imports neither lm-eval nor datasets, so that a missing file is reported before anything is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import yaml

from verikit.errors import UsageError, nearest
from verikit.evals import TASKS
from verikit.platform.network import endpoint

PREFIX = "verikit_"
HUB = "hf://datasets/"


class PinnedFile(NamedTuple):
    """A published file of known content."""

    url: str
    sha256: str
    licence: str


_GSM8K = "https://raw.githubusercontent.com/openai/grade-school-math/3101c7d5072418e28b9008a6636bde82a006892c"
_MEDIA = "https://media.githubusercontent.com/media/openai/prm800k/7ecc794703b2877f63226f2477a49b34f9b25163"
_HUMANEVAL = "https://raw.githubusercontent.com/openai/human-eval/6d43fb980f9fee3c892a914eda09951f772ad10d"
_IFBENCH = "https://raw.githubusercontent.com/allenai/IFBench/db69a6f05689830b0068b8f1529ebcfd2f3b164c"
_IMO = "https://raw.githubusercontent.com/google-deepmind/superhuman"
PINNED = {
    ("openai/gsm8k", "test"): PinnedFile(
        f"{_GSM8K}/grade_school_math/data/test.jsonl",
        "3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
        "MIT",
    ),
    ("openai/gsm8k", "train"): PinnedFile(
        f"{_GSM8K}/grade_school_math/data/train.jsonl",
        "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465",
        "MIT",
    ),
    ("HuggingFaceH4/MATH-500", "test"): PinnedFile(
        f"{_MEDIA}/prm800k/math_splits/test.jsonl",
        "35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132",
        "MIT",
    ),
    ("openai/openai_humaneval", "test"): PinnedFile(
        f"{_HUMANEVAL}/data/HumanEval.jsonl.gz",
        "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef",
        "MIT",
    ),
    ("allenai/IFBench_test", "train"): PinnedFile(
        f"{_IFBENCH}/data/IFBench_test.jsonl",
        "a2bf7b8e7ed11d39c65b4ec781da8b99663ed0121f97033d70fcecb61f8a9d85",
        "ODC-BY-1.0",
    ),
    (f"{_IMO}/main/imobench/answerbench_v2.csv", "train"): PinnedFile(
        f"{_IMO}/a02069ef66dbae4c5b0713ba0dc144a35375558f/imobench/answerbench_v2.csv",
        "275877a9d988d85278fad3a5f8a41d7f83393a60bf259531ec0a5161e6b21cf9",
        "CC-BY-4.0",
    ),
}
"""(dataset, split) -> its file at a fixed commit of the repository that first published it."""


@dataclass(frozen=True, slots=True)
class RowSplit:
    """A split of a published dataset."""

    dataset: str
    """ORG/NAME of the Hugging Face Hub, or the address of a file."""
    config: str | None
    split: str
    files: str = ""
    """Files of the dataset's repository, if it has no loader of its own."""

    @property
    def folder(self) -> Path:
        """Where a local copy belongs. Its files may have any name, and any type that verikit reads."""
        name = self.dataset.rpartition("/")[2] if "://" in self.dataset else self.dataset.replace("/", "--")
        return data_folder() / name / (self.config or "default") / self.split

    @property
    def pinned(self) -> PinnedFile | None:
        """The file of known content, or None if none is recorded."""
        return PINNED.get((self.dataset, self.split))

    @property
    def url(self) -> str:
        """The address of the file, or of the first of several."""
        if self.pinned:
            return self.pinned.url
        if "://" in self.dataset:
            return self.dataset
        if self.files:
            return f"{endpoint()}/datasets/{self.dataset}/resolve/main/{self.files}"
        converted = f"{self.config or 'default'}/{self.split}/0000.parquet"
        return f"{endpoint()}/datasets/{self.dataset}/resolve/{quote('refs/convert/parquet', safe='')}/{converted}"

    @property
    def host(self) -> str:
        """The address from which `verikit eval` loads it."""
        return self.dataset if "://" in self.dataset else endpoint()

    def local(self) -> Path | None:
        """Return the folder of the local copy, or None if it has no files."""
        folder = self.folder
        return folder if folder.is_dir() and any(folder.iterdir()) else None

    def told(self) -> str:
        """Return the instructions for a machine without a network: what to get, and where to put it."""
        pinned, page = self.pinned, f"{endpoint()}/datasets/{self.dataset}"
        if pinned:
            commit = next(part for part in urlsplit(pinned.url).path.split("/") if len(part) == 40)
            known = f"revision {commit}, licence {pinned.licence}\n    sha256   {pinned.sha256}"
        elif "://" in self.dataset:
            known = "revision and checksum are not recorded. Its publisher states the licence"
        else:
            revision = "main" if self.files else "refs/convert/parquet, with 0001.parquet and so on if there are more"
            known = f"revision {revision}\n    checksum and licence are on {page}"
        name = " ".join(filter(None, (self.dataset, self.config, self.split)))
        return f"  {name}\n    get      {self.url}\n    {known}\n    put into {self.folder}{os.sep}"


def data_folder() -> Path:
    """Return the folder of local copies: VERIKIT_DATA, or by default verikit/data in the user's cache folder."""
    if own := os.environ.get("VERIKIT_DATA"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verikit" / "data"


def splits_of(hub: Mapping[str, Any]) -> list[RowSplit]:
    """Return the splits that a task's `hub` names: one per configuration, and those of its few-shot examples."""
    dataset, files = str(hub["path"]), str(hub.get("files") or "")
    if files.startswith(HUB):
        org, name, files = files.removeprefix(HUB).split("/", 2)
        dataset = f"{org}/{name}"
    elif files:
        dataset, files = files, ""
    names = hub.get("names") or [hub.get("name")]
    splits = [hub["split"], *([hub["shots"]] if "shots" in hub else [])]
    return [RowSplit(dataset, name, split, files) for split in splits for name in names]


def task_splits(name: str) -> list[RowSplit]:
    """Return the published splits of a task, or of all tasks of a group, without repeats.

    Raises:
        UsageError: There is no such task.
    """
    known = {file.stem: file for file in TASKS.glob("[!_]*.yaml")}
    stem = name.removeprefix(PREFIX)
    if stem not in known:
        hint = nearest(f"{PREFIX}{stem}", [f"{PREFIX}{one}" for one in known], "`verikit list tasks` shows all")
        raise UsageError(f"task {name!r} not found", hint=hint)
    return list(dict.fromkeys(_splits_in(known[stem])))


def _splits_in(file: Path) -> Iterator[RowSplit]:
    config = yaml.load(file.read_text("utf-8"), _Loader)
    for member in config["task"] if "group" in config else ():
        yield from _splits_in(TASKS / f"{member.removeprefix(PREFIX)}.yaml")
    if hub := (config.get("dataset_kwargs") or {}).get("hub"):
        yield from splits_of(hub)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Reads a task's file without importing the functions that it names."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def instructions(splits: Iterable[RowSplit], most: int = 3) -> str:
    """Return where to get the files of splits, and where to put them. More than `most` are counted."""
    told = [split.told() for split in splits]
    more = [f"  and {len(told) - most} more splits"] if len(told) > most else []
    return "\n".join(("get these files on another machine, and put them there:", *told[:most], *more))
