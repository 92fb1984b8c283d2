"""docs/train.md tells one training step as the code does it: every name is there, in the order of the code.

Read as text: none of it needs torch.
"""

import ast
import re

from tests.conftest import ROOT

SECTION = (
    (ROOT / "docs" / "train.md").read_text("utf-8").partition("## One step, file by file\n")[2].partition("\n## ")[0]
)
NAMED = re.findall(r"`([\w.]+)`(?:\s+\(|,\s+)`(\w+\.py)`", SECTION)
"""(name, file) pairs: "`Learner.learn` (`learner.py`)"."""


def definitions(file):
    """Names that a module of trainers/ defines: functions, classes, and methods as `Class.method`."""
    found = set()
    for node in ast.parse((ROOT / "trainers" / file).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


def calls(file, method):
    """Names of what a method calls, in the order of its text."""
    tree = ast.parse((ROOT / "trainers" / file).read_text("utf-8"))
    [found] = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == method]
    made = [node.func for node in ast.walk(found) if isinstance(node, ast.Call)]
    made.sort(key=lambda func: (func.lineno, func.end_col_offset))
    return [func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in made]


def test_every_function_and_class_stands_in_the_file_that_is_named():
    assert len(NAMED) >= 20
    for name, file in NAMED:
        assert name in definitions(file), f"{name} is not in trainers/{file}"


def test_every_file_of_the_section_is_there_and_is_named_with_something_of_it():
    files = set(re.findall(r"`(?:trainers/)?(\w+\.py)`", SECTION))
    assert files == {file for _, file in NAMED}
    for file in files:
        assert (ROOT / "trainers" / file).is_file()


def test_the_steps_stand_in_the_order_in_which_the_trainer_takes_them():
    told = [name.rpartition(".")[2] for name, _ in NAMED]
    taken = list(dict.fromkeys(name for name in calls("grpo.py", "_train_step") if name in told))
    assert taken == [name for name in told if name in taken]
    assert {"batch", "rest", "experience", "_watch_mismatch", "refresh", "_evaluate"} <= set(taken)
