"""For each registered verifier a row that is sound, with a reply that earns the most there: the honest control."""

from __future__ import annotations

import io
import math
import re
import sqlite3
import tarfile
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import verikit
from tests.artifacts.decks import box, deck, slide
from tests.artifacts.pdfs import pdf, shown
from tests.conftest import ROOT
from tests.judges.scripted import Scripted, asked
from verikit.base import Verifier
from verikit.engines import Output, Request, TopLogprob
from verikit.types import Sample
from verikit.workspaces import Workspace

EXAMPLE = ROOT / "examples" / "workspace"
PASSAGE = "Babbage designed the engine. It was never finished."
CALL = {"name": "f", "arguments": {"a": 4}}
REPOSITORY = {
    "calc.py": "def f():\n    return 5\n",
    "test_calc.py": "from calc import f\ndef test_f(): assert f() == 4\n",
}


@dataclass(frozen=True)
class SoundRow:
    """A verifier and a row for it."""

    make: Callable[[], Verifier]
    right: Any
    answer: Any = "4"
    row: dict[str, Any] = field(default_factory=dict)
    prompt: str = "What is 2 + 2?"
    needs: tuple[str, ...] = ()
    """Packages of extras."""
    sandboxed: bool = False
    """Whether it needs Linux's sandbox."""
    browser: bool = False
    """Whether it opens Chromium for each sample."""

    def sample(self, text: Any) -> Sample:
        """The row with a reply."""
        return Sample(self.prompt, text, self.answer, "1", self.row)


def rated(reply: str) -> Scripted:
    """A judge that always gives the same reply, in the form that was asked for."""
    return Scripted(lambda request: reply)


def criteria_met(request: Request) -> str:
    """A verdict on each criterion, in the form that the judge is asked for."""
    mark = re.findall(r"<answer (\w+)>", asked(request))[-1]
    return f"<{mark} 1: met>"


def reviewed() -> Scripted:
    """A reviewer that says Yes to each step."""
    top = (TopLogprob("Yes", math.log(0.9)), TopLogprob("No", math.log(0.1)))
    parts, sure = ("{", "Yes", "}"), [(TopLogprob(part, 0.0),) for part in "{}"]
    made = Output("".join(parts), (0, 1, 2), parts, (0.0, math.log(0.9), 0.0), (sure[0], top, sure[1]))
    return Scripted(lambda request: made)


def head(kind: str) -> Any:
    """A reward model that was taught nothing."""
    import torch
    import transformers

    from tests.engines import tiny

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tiny.tokenizer()), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=256, num_labels=2 if kind == "Token" else 1,
        pad_token_id=tiny.tokenizer().pad_token_id,
    )  # fmt: skip
    return getattr(transformers, f"LlamaFor{kind}Classification")(config).eval(), tiny.tokenizer()


GRADER = {
    "type": "multi",
    "graders": {
        "run": {
            "type": "python", "name": "run", "image_tag": "x",
            "source": "import json\ndef grade(sample, item):\n    said = json.loads(sample['output_text'])\n"
            "    return float(said['a'] == item['answer'])\n",
        },
        "text": {"type": "string_check", "name": "text", "operation": "ilike", "input": "{{sample.output_json.a}}",
                 "reference": "{{item.answer}}"},
    },
    "calculate_output": "run / max(text, 0)",
}  # fmt: skip
CRITERIA = [{"criterion": "It is right.", "points": 1}]
LITERAL, TURN = {"tests": ["assert f(2) == 4"]}, [{"role": "assistant", "content": "It is 4."}]

SUITE = "import unittest\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(2), 4)\n"
PIPED = [{"input": "2", "output": "4"}]
CHECKER = "def check(given, expected, output):\n    return int(output.split()[0]) == int(expected)\n"
PAIRS = [{"input": "2", "output": "4"}, {"input": "3", "output": "9"}]
SQUARE = "def f(x): return x * x"
TAGGED = {
    "type": "python", "name": "tag", "image_tag": "x",
    "source": "import re\ndef grade(sample, item):\n    text = sample['output_text']\n    re.search('(a+)+b', text)\n"
    "    return float(re.search('<answer>(.*)</answer>', text).group(1) == item['answer'])\n",
}  # fmt: skip


def code(row: dict[str, Any], right: str = SQUARE, **options: Any) -> SoundRow:
    """A row of `code`, with three seconds for each test."""
    return SoundRow(lambda: verikit.code(wall_s=3, **options), right, None, row, sandboxed=True)


def packed(parts: dict[str, str]) -> bytes:
    """A file of an office."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def tar(name: str, content: bytes) -> str:
    """A tar of one file in base64, as it may stand in a row."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return b64encode(out.getvalue()).decode()


def stored(*values: int) -> bytes:
    """A database with one table of rows 1, 2, …"""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
        database.executemany("INSERT INTO t (a) VALUES (?)", [(value,) for value in values])
        database.commit()
        return database.serialize()


WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
DOCUMENT = packed({
    "[Content_Types].xml": "<Types/>",
    "word/document.xml": f"<w:document {WORD}><w:body><w:p><w:r><w:t>It is 4.</w:t></w:r></w:p></w:body></w:document>",
})  # fmt: skip
BOOK = packed({
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{SHEETS}.sheet.main+xml"/>'
    f'<Override PartName="/xl/sheet.xml" ContentType="{SHEETS}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{RELATIONS}"><sheets><sheet name="A" sheetId="1" r:id="r1"/>'
    "</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{RELATIONS}/worksheet" Target="sheet.xml"/></Relationships>',
    "xl/sheet.xml": f'<worksheet {MAIN}><sheetData><row r="1"><c r="A1"><v>2</v></c><c r="B1"><f>A1+2</f></c></row>'
    "</sheetData></worksheet>",
})  # fmt: skip
TWO_PIXELS = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR4nGP4z8DAwMAAAAYBAQCwl0YTAAAAAElFTkSuQmCC"
)
SERVER = "from http.server import test, SimpleHTTPRequestHandler as H; test(H, port=8000, bind='127.0.0.1')"
CONTAINS = {"kind": "contains", "file": "a.csv", "expected": ["4"]}
LEFT = {"workspace": {"after": {"a.csv": "a\n4\n"}}}

ROWS: dict[str, SoundRow] = {
    "docx": SoundRow(
        lambda: verikit.docx(text=["It is 4."]), "done", None,
        {"workspace": {"after_tar": tar("a.docx", DOCUMENT)}}, sandboxed=True,
    ),
    "files": SoundRow(lambda: verikit.files(exist=["a.csv"]), "done", None, LEFT),
    "harbor_tests": SoundRow(
        verikit.harbor_tests, "done", None,
        {"workspace": Workspace({"app/total.txt": "12\n"}, task=(str(EXAMPLE), ("files", "harbor")))}, sandboxed=True,
    ),
    "html": SoundRow(
        lambda: verikit.html(visible=["It is 4."]), "done", None,
        {"workspace": {"after": {"a.html": "<p>It is 4."}}}, needs=("numpy", "PIL"), sandboxed=True, browser=True,
    ),
    "image": SoundRow(
        lambda: verikit.image(size=[2, 1]), "done", None,
        {"workspace": {"after_tar": tar("a.png", TWO_PIXELS)}}, needs=("numpy", "PIL"), sandboxed=True,
    ),
    "osworld": SoundRow(
        verikit.osworld, "done", None,
        {**LEFT, "osworld": {"functions": [{"func": "file_contains", "checks": [CONTAINS]}]}},
    ),
    "pdf": SoundRow(
        lambda: verikit.pdf(text=["It is 4."]), "done", None,
        {"workspace": {"after_tar": tar("a.pdf", pdf(shown("It is 4.")))}},
        needs=("numpy", "pypdfium2"), sandboxed=True,
    ),
    "pptx": SoundRow(
        lambda: verikit.pptx(text=["It is 4."]), "done", None,
        {"workspace": {"after_tar": tar("a.pptx", deck(slide(box("It is 4."))))}}, sandboxed=True,
    ),
    "service": SoundRow(
        lambda: verikit.service(start="python s.py", ask=[{"get": "/a.txt", "expect": {"text": "It is 4."}}]),
        "done", None,
        {"workspace": {"after": {"a.txt": "It is 4.", "s.py": SERVER}}}, sandboxed=True,
    ),
    "state": SoundRow(
        lambda: verikit.state("a.db", changed=[{"table": "t", "key": 2, "set": {"a": 4}}]), "done", None,
        {"workspace": {"before_tar": tar("a.db", stored(1, 2)), "after_tar": tar("a.db", stored(1, 4))}},
        sandboxed=True,
    ),
    "table": SoundRow(lambda: verikit.table("a.csv"), "done", '[{"a": 4}]', LEFT),
    "xlsx": SoundRow(
        lambda: verikit.xlsx(values={"B1": 4}), "done", None, {"workspace": {"after_tar": tar("a.xlsx", BOOK)}},
        needs=("openpyxl", "formulas", "formualizer"), sandboxed=True,
    ),
    "all_of": SoundRow(lambda: verikit.all_of(verikit.exact(), verikit.boxed()), r"\boxed{4}"),
    "answer": SoundRow(verikit.answer, r"\boxed{4}"),
    "answer, a formula": SoundRow(verikit.answer, r"\boxed{x^2 + \sin x}", r"x^2+\sin(x)"),
    "answer, a matrix": SoundRow(
        verikit.answer, r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"
    ),
    "answer, an interval": SoundRow(verikit.answer, r"\boxed{(2, \infty)}", r"(2,\infty)"),
    "answer, options": SoundRow(verikit.answer, "The answer is (B).", "B", {"options": ["3", "4", "5"]}),
    "answer, a quantity": SoundRow(verikit.answer, "25 m/s", "90 km/h"),
    "bfcl_multi_turn": SoundRow(
        lambda: verikit.bfcl_multi_turn(), '[["[ls()]"]]', None,
        {"initial_config": {"GorillaFileSystem": {"root": {"workspace": {"type": "directory", "contents": {}}}}},
         "involved_classes": ["GorillaFileSystem"], "ground_truth": [["ls()"]]},
        needs=("bfcl_eval", "mpmath"),
    ),
    "bleu": SoundRow(verikit.bleu, "the cat sat on the mat", "the cat sat on the mat", needs=("sacrebleu",)),
    "boxed": SoundRow(verikit.boxed, r"\boxed{4}"),
    "by": SoundRow(lambda: verikit.by("kind", {"a": verikit.exact()}), "4", row={"kind": "a"}),
    "cached": SoundRow(lambda: verikit.cached(verikit.answer(), 100), "4"),
    "cascade": SoundRow(
        lambda: verikit.cascade(
            verikit.judge(rated("So so. [[6]]"), too_long="zero"),
            verikit.reference_judge(rated("True"), too_long="zero"),
            until=0.9,
        ),
        "It is 4.",
    ),
    "cer": SoundRow(verikit.cer, "the cat", "the cat", needs=("jiwer",)),
    "choice": SoundRow(verikit.choice, "The answer is (B).", "B"),
    "chrf": SoundRow(verikit.chrf, "the cat", "the cat", needs=("sacrebleu",)),
    "citations": SoundRow(verikit.citations, '"It was never finished" [1]', row={"passages": [PASSAGE]}),
    "clip": SoundRow(lambda: verikit.clip(verikit.answer(), 0, 0.5), "4"),
    "code": code(LITERAL),
    "code, a checker": code({"tests": PIPED, "checker": CHECKER}, "print(int(input()) ** 2)"),
    "code, a test file": code({"tests": SUITE}),
    "code, a test file in process": code({"tests": SUITE}, in_process=True),
    "code, a test program": code({"tests": ["y = 2\nassert f(y) == 4"]}),
    "code, one child": code(LITERAL, children="row"),
    "code, standard input": code({"tests": PIPED}, "print(int(input()) ** 2)"),
    "column": SoundRow(lambda: verikit.column("rm"), "4", row={"rm": 0.5}),
    "cosine_length": SoundRow(lambda: verikit.cosine_length(verikit.answer(), 1000), "4"),
    "cover_em": SoundRow(verikit.cover_em, "It is Paris.", "Paris"),
    "csv": SoundRow(verikit.csv, "a,b\n1,2"),
    "echo_guard": SoundRow(lambda: verikit.echo_guard(verikit.answer()), "4"),
    "exact": SoundRow(verikit.exact, "4"),
    "f1": SoundRow(verikit.f1, "4"),
    "first_of": SoundRow(lambda: verikit.first_of(verikit.math(), verikit.exact()), "4"),
    "fuzzy": SoundRow(verikit.fuzzy, "New York", "New York", needs=("rapidfuzz",)),
    "gate": SoundRow(lambda: verikit.gate(verikit.boxed(), verikit.answer(), 0.0), r"\boxed{4}"),
    "genprm": SoundRow(lambda: verikit.genprm(reviewed(), paths=1, mode="direct"), "Step 1: 2 + 2 = 4."),
    "instructions": SoundRow(
        verikit.instructions, "* the sea\n* the sky", None,
        {
            "instruction_id_list": ["punctuation:no_comma", "detectable_format:number_bullet_lists"],
            "kwargs": [{}, {"num_bullets": 2}],
        },
    ),
    "json_match": SoundRow(verikit.json_match, '{"a": 4.0}', '{"a": 4}'),
    "json_schema": SoundRow(
        lambda: verikit.json_schema({"properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]}),
        '{"a": 4}',
    ),
    "judge": SoundRow(lambda: verikit.judge(rated("Right. [[10]]"), too_long="zero"), "It is 4."),
    "jury": SoundRow(
        lambda: verikit.jury(*[verikit.reference_judge(rated("True"), too_long="zero")] * 3), "It is 4.",
    ),
    "language": SoundRow(lambda: verikit.language("en"), "This is an English sentence.", needs=("langdetect",)),
    "length": SoundRow(lambda: verikit.length(max=100), "4"),
    "length_guard": SoundRow(lambda: verikit.length_guard(verikit.answer(), 50_000), "4"),
    "majority": SoundRow(lambda: verikit.majority(verikit.answer(), verikit.exact(), verikit.f1()), "4"),
    "math": SoundRow(verikit.math, r"\boxed{\frac{1}{2}}", r"\frac12"),
    "maximum": SoundRow(lambda: verikit.maximum(verikit.answer(), verikit.boxed()), "4"),
    "mean": SoundRow(lambda: verikit.mean(verikit.answer(), verikit.exact()), "4"),
    "minimum": SoundRow(lambda: verikit.minimum(verikit.answer(), verikit.exact()), "4"),
    "numeric": SoundRow(verikit.numeric, "4"),
    "openai_grader": SoundRow(lambda: verikit.openai_grader(GRADER), '{"a": "4"}', sandboxed=True),
    "openai_grader, a tag": SoundRow(
        lambda: verikit.openai_grader(TAGGED, wall_s=2), "<answer>4</answer>", sandboxed=True
    ),
    "pairwise": SoundRow(
        lambda: verikit.pairwise(Scripted(lambda request: "[[A]]"), too_long="zero"),
        "It is 4.",
        row={"opponent": "It is 5."},
    ),
    "patch": SoundRow(
        lambda: verikit.patch(wall_s=30), '{"calc.py": "def f():\\n    return 4\\n"}', None,
        {"repository": REPOSITORY, "FAIL_TO_PASS": ["test_calc.py::test_f"]}, sandboxed=True,
    ),
    "prm": SoundRow(lambda: verikit.prm("tiny", loaded=head("Token")), "Step 1: 4", needs=("torch", "transformers")),
    "program": SoundRow(
        lambda: verikit.program("deduction"), "```output\n4\n```", None,
        {"program": "def f(x): return x * x", "input": "2", "output": "4"}, sandboxed=True,
    ),
    "program, abduction": SoundRow(
        lambda: verikit.program("abduction", wall_s=3), "```input\n2\n```", None, {"program": SQUARE, "output": "4"},
        sandboxed=True,
    ),
    "program, induction": SoundRow(
        lambda: verikit.program("induction", wall_s=3), f"```python\n{SQUARE}\n```", None, {"pairs": PAIRS},
        sandboxed=True,
    ),
    "program, propose": SoundRow(
        lambda: verikit.program("propose", wall_s=3), f"```python\n{SQUARE}\n```\n```input\n2\n```", None,
        sandboxed=True,
    ),
    "reasoning_gym": SoundRow(
        verikit.reasoning_gym, "<answer>tac</answer>", "tac",
        {"dataset": "spell_backward", "metadata": {"source_dataset": "spell_backward", "word": "cat", "word_len": 3}},
        "Spell this word backward (example: sun -> nus): cat", ("reasoning_gym",), sandboxed=True,
    ),
    "reference_judge": SoundRow(lambda: verikit.reference_judge(rated("True"), too_long="zero"), "It is 4."),
    "refusal": SoundRow(verikit.refusal, "I can't help with that.", row={"refuse": True}),
    "regex": SoundRow(lambda: verikit.regex(r"(a+)+b|\d", timeout_s=1.0), "aab"),
    "repetition": SoundRow(verikit.repetition, "It is four, as two and two are.", None),
    "rescue": SoundRow(lambda: verikit.rescue(verikit.answer(), verikit.reference_judge(rated("False"))), "4"),
    "rm": SoundRow(
        lambda: verikit.rm("hf:tiny", activation="sigmoid", loaded=head("Sequence")), "It is 4.",
        needs=("torch", "transformers"),
    ),
    "rouge": SoundRow(verikit.rouge, "the cat sat", "the cat sat", needs=("rouge_score",)),
    "rubric": SoundRow(
        lambda: verikit.rubric(Scripted(criteria_met), too_long="zero"), "It is 4.", row={"rubrics": CRITERIA}
    ),
    "search_format": SoundRow(verikit.search_format, "so</think><answer>4</answer>"),
    "searched": SoundRow(lambda: verikit.searched(0), "4"),
    "soft_overlong": SoundRow(lambda: verikit.soft_overlong(1000, 100, unit="chars"), "4"),
    "sql": SoundRow(
        verikit.sql, "SELECT a FROM t", "SELECT a FROM t", {"schema": "CREATE TABLE t(a); INSERT INTO t VALUES (4);"},
        sandboxed=True,
    ),
    "step_column": SoundRow(verikit.step_column, "Step 1: 4", None, {"step_scores": [0.5]}),
    "tags": SoundRow(lambda: verikit.tags("answer"), "<answer>4</answer>"),
    "ter": SoundRow(verikit.ter, "the cat", "the cat", needs=("sacrebleu",)),
    "toml": SoundRow(lambda: verikit.toml({"properties": {"a": {"minimum": 0}}, "required": ["a"]}), "a = 4"),
    "tool_calls, any": SoundRow(verikit.tool_calls, "f(a=4)", None, {"calls": "any"}),
    "tool_calls": SoundRow(verikit.tool_calls, 'f(a=4)', None, {"calls": [CALL]}),
    "trajectory": SoundRow(
        verikit.trajectory, [{"role": "assistant", "content": "", "tool_calls": [{"function": CALL}]}], None,
        {"trajectory": [{"role": "assistant", "content": "", "tool_calls": [{"function": CALL}]}]},
    ),
    "turns": SoundRow(lambda: verikit.turns(verikit.answer()), TURN),
    "wer": SoundRow(verikit.wer, "the cat", "the cat", needs=("jiwer",)),
    "with_timeout": SoundRow(lambda: verikit.with_timeout(verikit.answer(), 60), "4"),
    "xml": SoundRow(verikit.xml, "<a>4</a>", needs=("lxml",)),
    "yaml": SoundRow(lambda: verikit.yaml({"properties": {"a": {"minimum": 0}}, "required": ["a"]}), "a: 4",
                     needs=("yaml",)),
}  # fmt: skip
