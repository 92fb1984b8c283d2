"""The formats that can be converted, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from verikit.readers.parse import JsonRow


@dataclass(frozen=True, slots=True)
class Form:
    """One published form."""

    name: str
    told: str
    """A one-line description."""
    maker: str
    """Module and name of the function `make`. A family of converters is imported only when it is used."""
    use: str = ""
    """The verifier's spec that grades the rows, or the command that reads them."""
    distinct: bool = False
    """Whether rows with the same title and text are written once: passages repeat from question to question."""
    golds_beside: bool = False
    """Whether expected calls are in a folder `possible_answer` next to the file."""
    files_beside: bool = False
    """Whether rows refer to files next to their file. `make` gets its folder under the key `source_folder`."""
    prompts: bool = True
    """Whether its rows have prompts. Passages and documents do not."""

    @property
    def make(self) -> Callable[[JsonRow], Iterable[JsonRow]]:
        """Converts a source row to verikit rows. Raises `SchemaError` for a bad row, `LeftOut` for an unusable one."""
        module, _, name = self.maker.partition(".")
        return cast(Callable[[JsonRow], Iterable[JsonRow]], getattr(import_module(f"verikit.convert.{module}"), name))


ELO = "verikit train elo-evolve-paper"
INDEX = "verikit index build"
_ALL = (
    Form("gsm8k", "GSM8K: a question, an answer that ends in #### 18", "mathematics.gsm8k", "numeric"),
    Form(
        "math", "MATH, MATH-500, DeepScaleR: the answer given, or boxed in the solution", "mathematics.math", "answer"
    ),
    Form(
        "numinamath", "NuminaMath-CoT and -1.5, without proofs and multiple choice", "mathematics.numinamath", "answer"
    ),
    Form("verl", "verl's form: Skywork-OR1, DAPO; golds may be lists as JSON", "mathematics.verl", "answer, or code"),
    Form("ultrafeedback", "UltraFeedback's prompts, plain or binarized", "preferences.prompts", ELO),
    Form("ultrafeedback-pairs", "UltraFeedback's better and worse answers", "preferences.pairs", "column('labels')"),
    Form("hotpotqa", "HotpotQA's questions with golds and gold titles", "questions.hotpotqa", "cover_em"),
    Form("2wiki", "2WikiMultihopQA's questions", "questions.two_wiki", "cover_em"),
    Form("musique", "MuSiQue's questions that have an answer, with its aliases", "questions.musique", "cover_em"),
    Form(
        "qa-passages",
        "The passages beside such questions, each once",
        "questions.beside",
        INDEX,
        distinct=True,
        prompts=False,
    ),
    Form("dpr", "DPR's passages (tsv: id, text, title), FlashRAG's", "passages.dpr", INDEX, prompts=False),
    Form("kilt", "Pages of KILT's knowledge source", "passages.kilt", f"{INDEX} --words 100", prompts=False),
    Form(
        "documents",
        "Documents of DCLM, Nemotron-CC and the like",
        "passages.document",
        "verikit train spice-paper",
        prompts=False,
    ),
    Form(
        "livecodebench",
        "LiveCodeBench's code generation, private tests unpacked",
        "programs.livecodebench",
        "code(preset='livecodebench')",
    ),
    Form("apps", "APPS: tests as parallel lists in input_output", "programs.apps", "code"),
    Form("taco", "TACO, in the form of APPS", "programs.apps", "code"),
    Form("code-contests", "CodeContests: public, private and generated tests", "programs.contests", "code"),
    Form("ifeval", "IFEval, IFBench, IF-RLVR: instructions by id", "suites.ifeval", "instructions"),
    Form(
        "bfcl",
        "BFCL's single-turn and multi-turn items, with the golds of possible_answer/",
        "suites.bfcl",
        "tool_calls, or bfcl_multi_turn",
        golds_beside=True,
    ),
    Form(
        "healthbench", "HealthBench: conversations with rubrics", "suites.healthbench", "rubric('ENGINE', clip=False)"
    ),
    Form(
        "spreadsheetbench",
        "SpreadsheetBench: instructions, with the answer workbooks next to the file",
        "deliverables.spreadsheetbench",
        "xlsx",
        files_beside=True,
    ),
    Form(
        "osworld",
        "OSWorld: tasks of a desktop, with the expected files in cache/ID/ next to the file",
        "osworld.osworld",
        "osworld",
        files_beside=True,
    ),
    Form("gdpval", "GDPval: tasks with rubrics", "deliverables.gdpval", "rubric('ENGINE', shows='workspace')"),
)
FORMS = {form.name: form for form in _ALL}
"""Formats by name, in the order of `verikit data list`."""
