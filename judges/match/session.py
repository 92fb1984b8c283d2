"""Models' answers through a judge, from the files to the summary. The command and the Python call share this."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.judges.asking.judge import Judge
from verikit.judges.evidence import as_text
from verikit.judges.match.canaries import canary_win_rates
from verikit.judges.match.entrants import Bout, Entrants, read_entrants
from verikit.judges.match.labels import labelled, read_labels
from verikit.judges.match.run import BATCH, CONFIG, SUMMARY, VERDICTS, judge_bouts
from verikit.judges.match.sliced import check_keys, slices
from verikit.judges.match.summary import LengthControl, summarize
from verikit.judges.rates.length_control import Gamed
from verikit.judges.tournament import comparer
from verikit.scoring.folder import Folder
from verikit.scoring.rows import read_rows

Progress = Callable[[int, int, Mapping[str, float]], None]
"""Called with the number of finished comparisons, their total, and the usage so far."""


@dataclass(frozen=True)
class MatchSettings:
    """Settings for reading and comparing answers, and for the report."""

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    labels: str | None = None
    """A file that lists which answer is better, for some prompts."""
    limit: int | None = None
    """Only the first `limit` comparisons."""
    batch: int = BATCH
    """Comparisons per call of the judge."""
    length_control: bool = False
    """Also compute win rates at equal lengths."""
    gamed: str | None = None
    """alpaca_eval's df_gamed.csv, for its version of length control."""
    instructions: str | None = None
    """AlpacaEval's instructions as a JSON list, required by `gamed`."""
    canaries: int = 0
    """Number of prompts for ten attacks on the judge."""
    gold: str | None = None
    """A file of gold answers that are stored apart from the answers."""
    names: Sequence[str] | None = None
    """The models' names, if they differ from the files' names."""
    keys: Sequence[str] = ()
    """Keys of the rows to slice the win rates by."""


class MatchSession:
    """Loaded answers and the judge that compares them.

    Raises:
        UsageError: Files can't be read or joined, or no label matches a comparison.
    """

    def __init__(self, files: Sequence[str], judge: Verifier, spec: str, settings: MatchSettings) -> None:
        self.files: Sequence[str] = files
        self.judge: Verifier = judge
        self.spec: str = spec
        self.settings: MatchSettings = settings
        self.entrants: Entrants = read_entrants(
            files, format=settings.format, mapping=settings.mapping, gold=settings.gold, names=settings.names
        )
        self._control = self._length_control() if settings.length_control or settings.gamed else None
        bouts = self.entrants.bouts
        if settings.labels is not None:
            bouts = labelled(bouts, read_labels(settings.labels, pairs=True))
        self.bouts: list[Bout] = bouts[: settings.limit]
        check_keys(self.bouts, settings.keys)

    def run(self, folder: Path, *, restart: bool = False, progress: Progress = lambda done, of, usage: None) -> Any:
        """Judge the remaining comparisons, write the summary and return it.

        Raises:
            UsageError: The folder is in use, or was created under other settings or from other answers.
            EngineError: The judge's engine is unreachable. Committed verdicts stay.
        """
        config = {
            "judge": self.spec,
            "fingerprint": self.judge.fingerprint,
            "format": self.settings.format,
            "mapping": dict(self.settings.mapping),
        }
        judge_bouts(
            self.bouts,
            comparer(self.judge),
            folder,
            config | _given(self.settings),
            files=self.files,
            batch=self.settings.batch,
            restart=restart,
            progress=lambda done, usage: progress(done, len(self.bouts), usage),
        )
        return self._summary(folder)

    def _summary(self, folder: Path) -> dict[str, Any]:
        """Summarise the folder's verdicts, try the canaries, and write summary.json."""
        summary = summarize(
            read_rows(folder / VERDICTS),
            self.entrants.answers,
            control=self._control,
            looks_like_verdict=_own_form(self.judge),
        )
        if self.settings.keys:
            summary["slices"] = slices(read_rows(folder / VERDICTS), self.bouts, self.settings.keys)
        if attacked := self.bouts[: self.settings.canaries]:
            rates = canary_win_rates(comparer(self.judge), attacked)
            summary["canaries"] = {name: rate and rate.as_row() for name, rate in rates.items()}
        with Folder(folder, ()) as held:
            held.write_json(SUMMARY, summary)
            held.seal(CONFIG, SUMMARY, inputs=self.files, specs={"judge": self.judge.fingerprint})
        return summary

    def _length_control(self) -> LengthControl:
        """Read the files of AlpacaEval's length control, and number each prompt by its text."""
        gamed, instructions = self.settings.gamed, self.settings.instructions
        if gamed is None:
            return LengthControl()
        if instructions is None:
            raise UsageError("--gamed requires --instructions, to match prompts with instructions")
        numbers = _numbers(instructions)
        by_id: Mapping[str, str] = {bout.id: as_text(bout.pair.prompt) for bout in self.entrants.bouts}
        if other := [text for text in by_id.values() if text not in numbers]:
            raise UsageError(f"AlpacaEval has no such instruction: {other[0][:80]!r}", hint="use --length-control only")
        return LengthControl(Gamed.read(gamed), {id: numbers[text] for id, text in by_id.items()})


def _numbers(instructions: str) -> dict[str, int]:
    """The instructions of a file by their text, numbered in file order."""
    try:
        texts: Any = json.loads(Path(instructions).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{instructions}: {error}") from None
    return {text: i for i, text in enumerate(texts)} if isinstance(texts, list) else {}


def _given(settings: MatchSettings) -> dict[str, Any]:
    """Settings that are recorded only if they are set."""
    named = {} if settings.names is None else {"names": list(settings.names)}
    return named if settings.gold is None else named | {"gold": settings.gold}


def _own_form(judge: Verifier) -> Any:
    """A function that detects texts with a verdict in the judge's own format."""
    if not isinstance(judge, Judge) or judge.file.reply.where in ("whole", "first_line"):
        return lambda text: False
    return lambda text: judge.file.reply.mentioned(text)
