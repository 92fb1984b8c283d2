"""No text, value or record is right for two golds that differ: a standing search over every verifier that has golds.

The number of texts is fixed, so is their choice. `VERIKIT_FORGERIES=50 pytest tests/test_forgery.py` tries 50 times as
many, from another seed.
"""

from __future__ import annotations

import json
import os
import random
import re
import runpy
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.golds import FORGERIES, JOINTS, LETTERS, MATHS, NUMBERS, TEXTS, VALUES
from verikit.base import Verifier
from verikit.names.registry import registered
from verikit.names.spec import load
from verikit.sandbox import records, values
from verikit.sandbox.guest import reading
from verikit.types import Sample
from verikit.verifiers.code.cases import Called
from verikit.verifiers.code.compare import holds
from verikit.verifiers.code.verifier import Code
from verikit.verifiers.documents.json_schema import JsonSchema
from verikit.verifiers.proposals.program import Program

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))
WRAPPERS = ["{}", r"\boxed{{{}}}", "The final answer is {}.", "<answer>{}</answer>", "#### {}", "So it is ${}$."]

SEARCHED: dict[str, list[tuple[str, list[str]]]] = {
    "answer": [
        ("tail_seconds=0", MATHS + TEXTS),
        ("tail_seconds=0", LETTERS),
        ("tail_seconds=0, several='reject'", MATHS),
    ],
    "math": [("tail_seconds=0", MATHS)],
    "numeric": [("", NUMBERS), ("rel_tol=1e-6", NUMBERS)],
    "choice": [("", LETTERS)],
    "exact": [("", TEXTS), ("normalizer='none', extract='answer_tag'", MATHS + TEXTS)],
    "f1": [("", TEXTS)],
    "regex": [("r'answer is (.+)\\.', match_answer=True", MATHS + TEXTS)],
}
"""Those that compare texts: with these options, against these golds."""

OF_THEIR_OWN = {
    "code",
    "patch",
    "program",
    "json_match",
    "json_schema",
    "cover_em",
    "instructions",
    "reasoning_gym",
    "sql",
}
"""Searched below, or in their own tests, in ways of their own."""

WITHOUT_GOLDS = {
    "boxed", "column", "length", "tags", "searched", "search_format",  # a form, a length or a number of the row's
    "all_of", "by", "cached", "cascade", "clip", "first_of", "gate", "length_guard", "majority", "maximum", "mean",
    "minimum", "echo_guard", "rescue", "turns", "with_timeout",  # made of others
    "tool_calls", "trajectory", "bfcl_multi_turn",  # calls, whose near misses their own tests draw
    "genprm", "judge", "jury", "openai_grader", "pairwise", "prm", "reference_judge", "rm", "rubric",
    "step_column",  # a model decides, or a grader's own rules
    "bleu", "cer", "chrf", "fuzzy", "rouge", "ter", "wer",  # likeness, of which two golds may both have some
    "docx", "files", "harbor_tests", "html", "image", "osworld", "pdf", "pptx", "service", "state", "table",
    "xlsx",  # own tests
    "citations", "cosine_length", "csv", "language", "refusal", "repetition", "soft_overlong", "toml", "xml", "yaml",
}  # fmt: skip


def test_every_verifier_is_searched_or_has_no_golds() -> None:
    ours = {name for name, entry in registered("verifiers").items() if entry.value.startswith("verikit.")}
    assert ours == {*SEARCHED, *OF_THEIR_OWN, *WITHOUT_GOLDS}


def forgeries(verifier: Verifier, golds: Sequence[str], count: int, seed: int) -> list[tuple[str, list[str]]]:
    """Texts made of two golds (or what might pass for any) that are right for more than one, with those golds."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        parts = [draw.choice(golds), draw.choice([*golds, *FORGERIES])]
        text = draw.choice(JOINTS).format(*parts)
        if draw.random() < 0.2:
            text = draw.choice(JOINTS).format(text, draw.choice([*golds, *FORGERIES]))
        text = draw.choice(WRAPPERS).format(text)
        held = [gold for gold in golds if gold in parts]
        held += [gold for gold in draw.sample(golds, min(5, len(golds))) if gold not in held]
        scores = verifier.score([Sample(completion=text, answer=gold) for gold in held])
        assert all(score.status == "ok" for score in scores)
        right = [gold for gold, score in zip(held, scores, strict=True) if score.value == 1]
        if len(right) > 1:
            found.append((text, right))
    return found


@pytest.mark.parametrize(("name", "options", "golds"), [(n, *case) for n, cases in SEARCHED.items() for case in cases])
def test_no_text_is_right_for_two_golds(name: str, options: str, golds: list[str]) -> None:
    verifier = load(f"{name}({options})")
    for gold in golds:
        own = [form.format(gold) for form in ("{}", "The answer is {}.", "<answer>{}</answer>")]
        assert any(score.value == 1 for score in verifier.score([Sample(completion=text, answer=gold) for text in own]))
    assert forgeries(verifier, golds, 800 * EFFORT, seed=EFFORT) == []


def test_the_search_finds_what_is_right_for_two_golds() -> None:
    assert forgeries(load("answer(policy='lenient', tail_seconds=0)"), TEXTS, 800, seed=1)  # a documented option
    assert forgeries(load("numeric(rel_tol=0.9)"), NUMBERS, 800, seed=1)


def test_cover_em_covers_what_it_says_and_no_more() -> None:
    verifier, draw = load("cover_em(variant='contiguous')"), random.Random(EFFORT)
    for _ in range(300 * EFFORT):
        text = draw.choice(JOINTS[:10]).format(draw.choice(TEXTS), draw.choice(TEXTS))
        for gold in TEXTS:
            score = verifier.score([Sample(completion=text, answer=gold)])[0]
            if score.value:
                assert gold.lower() in text.lower()  # a long answer covers several: documented


# ---- values and records ----------------------------------------------------------------------------------------------

SYMBOLS = [
    "Integer(2)", "Integer(-3)", "Integer(02)", "Integer(2, evaluate=False)", "Rational(1, 2)", "Rational(4, 2)",
    "true",
    "false", "nan", "oo", "zoo", "pi", "Float('0.5', precision=53)", "Float('0.5')", "Float('2.0', precision=1)",
    "Float('2.0', precision=2)", "Float('2.0', prec=1)", "Float('nan', precision=53)", "Float('inf', precision=53)",
    *(f"Poly(Integer(0), Symbol('x'), modulus={n})" for n in (1, 2, 5, 7)), "GF(1)(0)", "Symbol('x', zero=True)",
    "Symbol('2')", "Dummy('x')", "Add(Integer(1), Integer(1))", "Mul()", "Integer(2)\n", " Integer(2)", "Integer(２)",
    "Mod(Integer(2), Integer(1))", "Interval(2, 3)", "AccumBounds(-oo, oo)", "Wild('w')", "Integer(2)Integer(-3)",
]  # fmt: skip


def node(draw: random.Random, depth: int = 3) -> Any:
    """Typed JSON as a program might write it: honest values, values of other libraries, and lies about both."""
    kind = draw.randrange(12)
    if depth and kind < 4:
        inner = [node(draw, depth - 1) for _ in range(draw.randrange(4))]
        tag = draw.choice(["list", "tuple", "set", "frozenset", "dict"])
        return [tag, inner if tag != "dict" else [[item, node(draw, depth - 1)] for item in inner]]
    if kind < 7:
        return ["sympy", draw.choice(SYMBOLS)]
    if kind < 9:
        item = values.encode(draw.choice([2, -3, 0.5, True, "a", float("nan"), float("inf"), 10**30]))
        shape = draw.choice([None, [], ["0x1"], ["0x2"], ["0x0"], ["0x1", "0x1"]])
        count = 0 if shape == ["0x0"] else 2 if shape == ["0x2"] else 1
        return ["array", draw.choice(["<i8", "<f8", "|b1", "<U9", "<c16"]), shape, [item] * count]
    if kind == 9:
        odd = [
            float("nan"),
            float("inf"),
            -float("inf"),
            1e308,
            10**400,
            -0.0,
            1,
            False,
            values.OpaqueValue("builtins.int", "2"),
        ]
        return values.encode(draw.choice(odd))
    return values.encode(draw.choice(VALUES))


def record_right_for(record: Any, equality: Any, tolerance: float) -> list[Any]:
    """The expected values that a record passes for."""
    status, value, _ = records.read(json.dumps({"status": "ok", "value": record}).encode() + b"\n")
    right = []
    for expected in VALUES if status == "ok" else ():
        try:
            if holds(Called(("f", [], {}), expected, equality), value, None, tolerance):
                right.append(expected)
        except ValueError:
            pass
    return right


@pytest.mark.parametrize("equality", ["python", "exact", "json"])
@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_no_record_is_right_for_two_values(equality: str, tolerance: float) -> None:
    draw = random.Random(EFFORT)
    for value in VALUES:
        assert record_right_for(values.encode(value), equality, tolerance) == [value]
    for _ in range(1500 * EFFORT):
        record = node(draw)
        assert len(record_right_for(record, equality, tolerance)) <= 1, record


@pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
def test_no_program_passes_two_tests_that_exclude_each_other() -> None:
    cases = [f"assert f() == {expected}" for expected in ("2", "3", "[2]")]
    draw = random.Random(EFFORT)
    forged: list[Any] = [["sympy", symbol] for symbol in SYMBOLS if "Poly" in symbol or "Float" in symbol]
    forged += [["list", [forged[0]]], ["float", "inf"], *(node(draw) for _ in range(4 * EFFORT))]
    for record in forged:
        line = json.dumps({"status": "ok", "value": ["list", [record]]})
        program = f"import os\ndef f():\n    os.write(3, {line.encode()!r} + b'\\n')\n    os._exit(0)"
        score = Code(reward="fraction", tolerance=draw.choice([0.0, 1e-3]))(program, tests=cases)
        assert score.status == "ok"
        assert (score.value or 0) <= 1 / len(cases) + 1e-9, (record, score)


@pytest.mark.parametrize("numeric", [False, True])
def test_no_output_block_is_right_for_two_golds_of_program(numeric: bool) -> None:
    verifier, draw = Program(numeric=numeric), random.Random(EFFORT)
    golds = [value for value in VALUES if not isinstance(value, frozenset) and value != set()]
    odd = [
        "nan",
        "1e999",
        "-1e999",
        "1 + 1j",
        "2.0",
        "02",
        "f(2)",
        "[2] + [3]",
        "__import__('os')",
        "{}",
        "{2: 'a', 2: 'b'}",
    ]
    said = [*map(repr, golds), *odd]
    said += [draw.choice(JOINTS).format(draw.choice(said), draw.choice(said)) for _ in range(500 * EFFORT)]
    for text in said:
        try:
            value = reading.literal(text)
        except (ValueError, SyntaxError, TypeError):
            continue
        assert sum(verifier._equal(value, gold) for gold in golds) <= 1, text


DISJOINT: list[tuple[Any, Any]] = [
    ({"type": "integer"}, {"type": "string"}),
    ({"type": "number", "maximum": 1}, {"type": "number", "exclusiveMinimum": 1}),
    ({"type": "array", "maxItems": 1}, {"type": "array", "minItems": 2}),
    ({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}),
    ({"required": ["a"], "type": "object"}, {"not": {"required": ["a"]}}),
    ({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"a": {"const": 2}}}),
    ({"enum": [1, [1], {"a": 1}]}, {"enum": [True, [True], {"a": True}]}),
    ({"type": "array", "uniqueItems": True}, {"contains": {"const": 5}, "minContains": 2, "type": "array"}),
]


def test_no_text_fits_two_schemas_that_exclude_each_other() -> None:
    golds: list[Any] = [
        None,
        True,
        False,
        0,
        1,
        -2,
        3.5,
        "",
        "1",
        "true",
        "a",
        "b",
        [],
        [1],
        [True],
        [1, 2],
        {},
        {"a": 1},
    ]
    golds += [{"a": 2}, {"a": True}, {"b": 1}, [[]], "null", 10**400, [5, 5], {"a": {"a": 1}}]
    consts = [JsonSchema({"const": gold}) for gold in golds]
    pairs = [(JsonSchema(first), JsonSchema(second)) for first, second in DISJOINT]
    draw = random.Random(EFFORT)
    texts = [json.dumps(gold) for gold in golds]
    texts += [
        "NaN",
        "Infinity",
        "1e400",
        "1.0",
        "-0",
        "0.0",
        '{"a": 1, "a": 2}',
        '{"a": 2, "a": 1}',
        "[1.0]",
        "5",
        "1 2",
        "01",
    ]
    joints = [
        "{}",
        "```json\n{}\n```",
        " {}\n",
        "[{}]",
        '{{"a": {}}}',
        "{}{}",
        "[{},{}]",
        '{{"a": {}, "a": {}}}',
        "{}\n{}",
    ]
    for _ in range(400 * EFFORT):
        text = draw.choice(joints).format(draw.choice(texts), draw.choice(texts))
        assert sum(_right(schema, text) for schema in draw.sample(consts, 5)) <= 1, text
        first, second = draw.choice(pairs)
        assert not (_right(first, text) and _right(second, text)), text


def _right(verifier: Verifier, text: str) -> bool:
    return verifier.score([Sample(completion=text)])[0].value == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
@pytest.mark.parametrize("driven", [False, True])
def test_no_program_of_the_public_table_is_paid_here(driven: bool) -> None:
    programs = runpy.run_path(str(ROOT / "benchmarks/forge_programs.py"))
    verifier = Code()

    def passes(program: str, problem: Any) -> bool:
        lines = [problem.loop] if driven else problem.lines
        (score,) = verifier.score([Sample(completion=program, meta={"tests": lines})])
        assert score.status == "ok", score
        return score.value == 1

    for problem in programs["PROBLEMS"]:
        assert passes(problem.right, problem)
        for kind, forged in programs["FORGERIES"].items():
            assert [trick for trick, program in forged.items() if passes(program, problem)] == [], kind
        assert not any(passes(program, problem) for program in programs["WRONG"])


def test_the_tests_that_the_security_page_names_are_there() -> None:
    named = re.findall(r"`(tests/[a-z_/]+(?:\.py)?)`", (ROOT / "docs/security.md").read_text("utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
