"""Mutants of `trainers/recipes`: small changes of its code, each of which the recipes' own tests have to notice.

    python -m tests.mutants                       # every mutant; hours
    python -m tests.mutants --sample 30 --seed 1  # some, drawn by the seed, and all that are named in NAMED
    python -m tests.mutants spice --sample 20

What is slow to import is imported once; each mutant is a fork that imports the changed recipe and its tests. Left out
are the worlds that recipes are measured in, commands, and readers of files (`SKIPPED`); so are texts, annotations and
the defaults of options, which `test_paper_configs` and `test_behaviour` hold.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "trainers" / "recipes"
TESTS = {
    "spice": ["test_behaviour", "test_spice", "test_spice_latex", "test_spice_challengers"],
    "r1_searcher": ["test_r1_rewards", "test_r1_steps", "test_r1_searcher"],
    "elo_evolve": ["test_elo_games", "test_elo_steps", "test_elo_evolve"],
    "absolute_zero": ["test_az_steps", "test_behaviour", "test_absolute_zero"],
    "tools": ["test_tools_steps", "test_tools"],
}
SKIPPED = {
    "__init__.py", "tiny.py", "world.py", "synth.py", "cli.py", "hops.py", "options.py", "corpus.py", "grading.py",
    "problems.py", "measures.py", "prompts.py",
}  # fmt: skip
NOT_THESE = " and ".join(
    f"not {word}" for word in "resumed unbroken stays_down million frozen hostile shipped served merges".split()
)
"""Tests that take seconds or ask a server: another mutant could be looked at in their time."""
NAMED = {
    "documents are drawn uniformly": ("spice/recipe.py", "draw.randrange(len(self.corpus))", "0"),
    "no quote reaches the Reasoner": (
        "spice/recipe.py",
        "self.prompts.reason(question)), *key",
        "self.prompts.reason(question) + ' '.join(question.quotes)), *key",
    ),
    "the last box counts": ("spice/checks.py", "said = _plain(found[-1])", "said = _plain(found[0])"),
    "so many passages as options say": (
        "r1_searcher/recipe.py", "options.k,\n            options.retr", "1,\n            options.retr",
    ),
    "evaluation has its own k": ("r1_searcher/recipe.py", "options.evaluate_k,", "options.k,"),
    "half a point for searching, not for each search": (
        "r1_searcher/rewards.py", "0.5 * (len(rollout.searches) >= 1)", "0.5 * len(rollout.searches)",
    ),
    "the population's variance": ("spice/rewards.py", "rate * (1 - rate) - 0.25", "rate * (1 - rate) * 8 / 7 - 0.25"),
    "roles are apart": ("spice/recipe.py", '"role": "reasoner"', '"role": "challenger"'),
    "references by the option": (
        "absolute_zero/recipe.py", "problems, options.references", "problems, min(2, options.references)",
    ),
    "a solver sees half of an induction's pairs": ("absolute_zero/problem.py", "[: len(self.pairs) // 2]", "[:]"),
    "opponents are drawn by the rating": ("elo_evolve/pool.py", "draw_opponent(self.rating,", "draw_opponent(1350.0,"),
    "a game's score is the mean of the outputs": ("elo_evolve/games.py", "(name, fmean(out", "(name, max(out"),
    "results have no force": ("tools/forms.py", "self.disarmed(result.text)", "result.text"),
}  # fmt: skip
"""Changes that a review made and the tests of the day did not notice, and their like: (file, text, what it becomes)."""
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
EQUIVALENT = ("strict", "stacklevel")
"""Arguments whose change nobody should notice: an assertion that holds, and where a warning points."""
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
LIBRARIES = (
    "verikit",
    "torch",
    "transformers",
    "tokenizers",
    "scipy",
    "numpy",
    "hypothesis",
    "anyio",
    "xdist",
    "execnet",
)
DEAD = 9
"""A mutant whose tests can't be collected is noticed too."""


@dataclass(frozen=True)
class Mutant:
    """A changed file."""

    package: str
    path: Path
    told: str
    make: Callable[[], str]

    @property
    def code(self) -> str:
        """The file's text with the change."""
        return self.make()


def mutants(package: str) -> Iterator[Mutant]:
    """Yield all mutants of a recipe's files, in their order."""
    for path in sorted((RECIPES / package).glob("*.py")):
        if path.name in SKIPPED:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        for number, (where, told) in enumerate(changes(tree)):
            yield Mutant(package, path, f"{path.relative_to(ROOT)}:{where} {told}", partial(_changed, path, number))


def _changed(path: Path, number: int) -> str:
    tree = ast.parse(path.read_text("utf-8"))
    list(changes(tree, number))
    return ast.unparse(tree)


def named() -> Iterator[Mutant]:
    """Yield the mutants of NAMED.

    Raises:
        ValueError: the code has none of such a text any more.
    """
    for told, (name, before, after) in NAMED.items():
        path = RECIPES / name
        text = path.read_text("utf-8")
        if before not in text:
            raise ValueError(f"{name} has no {before!r} to change")
        told = f"{path.relative_to(ROOT)} {told}"
        yield Mutant(name.partition("/")[0], path, told, partial(text.replace, before, after))


def changes(tree: ast.Module, make: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield (line, what) for each change of a tree that is possible, and make the one of a number."""
    number = -1
    for node in walk(tree):
        for told, change in operators(node):
            number += 1
            yield getattr(node, "lineno", 0), told
            if number == make:
                change()
                ast.fix_missing_locations(tree)
                return


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of functions' bodies: no annotations, decorators, docstrings, messages of errors, or defaults."""
    if isinstance(node, ast.keyword) and node.arg in EQUIVALENT:
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "defaults", "kw_defaults", "exc", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not (isinstance(node, ast.ClassDef) and isinstance(child, ast.AnnAssign)):
                yield child
                yield from walk(child)


def operators(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield (what, a function that does it) for each change of one node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and (other := COMPARISONS.get(type(node.ops[0]))):
        yield f"{type(node.ops[0]).__name__} -> {other.__name__}", lambda: node.ops.__setitem__(0, other())
    if isinstance(node, ast.BinOp) and (kind := ARITHMETIC.get(type(node.op))) and not _is_text(node):
        yield f"{type(node.op).__name__} -> {kind.__name__}", lambda: setattr(node, "op", kind())
    if isinstance(node, ast.BoolOp):
        word = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {word.__name__}", lambda: setattr(node, "op", word())
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value} -> {value}", lambda: setattr(node, "value", value)
    if isinstance(node, ast.If | ast.IfExp):
        test = ast.UnaryOp(ast.Not(), node.test)
        yield "the condition turned round", lambda: setattr(node, "test", test)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (name := CALLS.get(node.func.id)):
        func = node.func
        yield f"{func.id} -> {name}", lambda: setattr(func, "id", name)
    if isinstance(node, ast.Return) and node.value is not None and not _is_plain(node.value):
        yield "returns None", lambda: setattr(node, "value", ast.Constant(None))


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.Constant | ast.JoinedStr) and not _is_number(side) for side in (node.left, node.right)
    )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_plain(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def drawn(packages: Sequence[str], count: int | None, seed: int, only: Sequence[str] = ()) -> list[Mutant]:
    """Return the mutants to look at: all, or so many drawn and the named ones; of these `only` what has such a text."""
    known = [mutant for mutant in named() if mutant.package in packages]
    every = [mutant for package in packages for mutant in mutants(package)]
    found = known + (every if count is None else random.Random(seed).sample(every, min(count, len(every))))
    return [mutant for mutant in found if not only or any(text in mutant.told for text in only)]


def prepare() -> None:
    """Import what takes long and is never changed."""
    import hypothesis
    import pytest
    import torch
    import transformers

    import verikit.engines.load
    import verikit.search
    import verikit.trainers.grpo  # noqa: F401

    torch.set_num_threads(1)
    del hypothesis, pytest, transformers


def warm(names: Sequence[str]) -> None:
    """Import what tests have imported and no mutant changes, once for all forks."""
    for name in names:
        if name.partition(".")[0] in LIBRARIES and not name.startswith("verikit.trainers"):
            with suppress(ImportError):
                import_module(name)
    changed = tuple(f"verikit.trainers.recipes.{package}." for package in TESTS)
    assert not [name for name in sys.modules if name.startswith(changed)], "a mutant of these would be none"
    gc.freeze()


def run(package: str, mutant: Mutant | None, limit: float, imported: Path | None = None) -> tuple[int, float]:
    """Run a recipe's tests in a fork, with a file changed; return pytest's exit code (`DEAD`: too slow) and seconds.

    The names of all modules that the tests imported go to `imported`.
    """
    began, child = time.monotonic(), os.fork()
    if child == 0:
        code = _child(package, mutant)
        if imported is not None:
            imported.write_text("\n".join(sys.modules), "utf-8")
        os._exit(code)
    while time.monotonic() - began < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), time.monotonic() - began
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return DEAD, time.monotonic() - began


def _child(package: str, mutant: Mutant | None) -> int:
    import pytest

    os.setsid()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if mutant is not None:
        code, changed = mutant.code.encode(), mutant.path.resolve()
        whole = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, name: str) -> Any:
            if Path(loader.path).resolve() == changed:
                return compile(code, loader.path, "exec", dont_inherit=True)
            return whole(loader, name)

        SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    names = [str(ROOT / "tests" / "trainers" / "recipes" / f"{name}.py") for name in TESTS[package]]
    options = ["-x", "-q", "-n", "0", "--assert=plain", "-p", "no:cacheprovider", "-m", "not slow", "-k", NOT_THESE]
    try:
        return int(pytest.main([*options, *names]))
    except BaseException:
        return DEAD


def main(words: Sequence[str] | None = None) -> int:
    """Run, tell who survived, and return 1 where less than the share wanted was killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", choices=[*TESTS, []], help="default: all")
    parser.add_argument("--sample", type=int, help="so many, and the named ones; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], help="those with this in their line, as it is printed")
    parser.add_argument("--seconds", type=float, help="stop beginning mutants after so long")
    parser.add_argument("--killed", type=float, default=0.9, help="the share that must be")
    given = parser.parse_args(words)
    packages = given.packages or list(TESTS)
    prepare()
    limits, began, survived, looked = {}, time.monotonic(), [], 0
    for mutant in drawn(packages, given.sample, given.seed, given.only):
        if mutant.package not in limits:
            with TemporaryDirectory() as folder:
                code, seconds = run(mutant.package, None, 600, modules := Path(folder) / "modules")
                if code:
                    print(f"{mutant.package}: the tests fail without any change ({code})")
                    return 2
                warm(modules.read_text("utf-8").splitlines())
            limits[mutant.package] = 3 * seconds + 5
        if given.seconds and time.monotonic() - began > given.seconds:
            break
        code, seconds = run(mutant.package, mutant, limits[mutant.package])
        looked += 1
        if not code:
            survived.append(mutant.told)
        said = "SURVIVED" if not code else "too slow" if seconds >= limits[mutant.package] else "killed  "
        print(f"{said} {seconds:5.1f} s  {mutant.told}", flush=True)
    share = 1 - len(survived) / max(1, looked)
    print(f"{looked - len(survived)} of {looked} killed ({share:.0%}) in {time.monotonic() - began:.0f} s")
    return int(share < given.killed)


if __name__ == "__main__":
    sys.exit(main())
