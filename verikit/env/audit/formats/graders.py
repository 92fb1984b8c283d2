"""The check `mode` for Python graders: text of the model that is evaluated, and rewards that the model claims."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verikit.env.audit.formats.code import PythonCode, dotted, keyword
from verikit.env.audit.formats.flow import CLAIMS, Function, ModelValues, model_values, own_nodes
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.workspaces.names import shown

_EVALUATORS = frozenset("eval exec builtins.eval builtins.exec __builtins__.eval pickle.loads dill.loads".split())
_SHELLS = frozenset(
    """os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell
    create_subprocess_shell getoutput""".split()
)
_PROGRAMS = frozenset(
    """subprocess.run subprocess.Popen subprocess.call subprocess.check_call subprocess.check_output
    asyncio.create_subprocess_exec create_subprocess_exec""".split()
)
_BESIDE = "a program with the model's code runs beside the grader, which it can read"


def check_graders(code: PythonCode) -> CheckRecord:
    """Look for text of the model that a grader evaluates, and for rewards that it takes from the model."""
    values, bare = model_values(code), model_values(code, bare=True)
    findings: list[EnvFinding] = []
    notes: list[str] = []
    for path, function in values.functions:
        checked = _checks_form(function, values)
        for node in own_nodes(function):
            where = f"{shown(path)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call):
                told = _evaluates(node, function, values)
                if told and checked:
                    notes.append(f"{told} after its form is checked ({where})")
                elif told:
                    findings.append(EnvFinding("evaluates", told, where))
                elif dotted(node.func) in _PROGRAMS and any(values.has(one, function) for one in node.args):
                    notes.append(_BESIDE)
            for claim in _claims(node, function, bare):
                findings.append(EnvFinding("claimed", claim, where))
    undecided = [f"Python that can be parsed in {shown(path)} ({why})" for path, why in code.broken.items()]
    undecided += [f"the code of {shown(path)}, beyond the limits" for path in code.left_out[:3]]
    return judged(findings, undecided, tuple(dict.fromkeys(notes)))


def _evaluates(call: ast.Call, function: Function, values: ModelValues) -> str:
    """How a call evaluates text of the model; empty if it does not."""
    name = dotted(call.func)
    first = call.args[0] if call.args else None
    if first is None or not values.has(first, function):
        return ""
    if name in _EVALUATORS:
        return f"{name.rpartition('.')[2]}() evaluates text of the model in the grader's process"
    if name in _SHELLS:
        return f"{name} gives text of the model to a shell"
    shell = keyword(call, "shell")
    if name.rpartition(".")[2] in ("run", "Popen", "call", "check_call", "check_output", *_PROGRAMS):
        if isinstance(shell, ast.Constant) and shell.value is True:
            return f"{name} gives text of the model to a shell (shell=True)"
        if _is_shell_line(first):
            return f"{name} gives text of the model to a shell (-c)"
    return ""


def _is_shell_line(node: ast.AST) -> bool:
    """Whether a list of words is a shell with `-c`."""
    words = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    texts = [one.value for one in words if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    program = texts[0].rpartition("/")[2] if texts else ""
    return program in ("sh", "bash", "zsh") and any(one.startswith("-") and "c" in one for one in texts[1:3])


def _checks_form(function: Function, values: ModelValues) -> bool:
    """Whether a function matches a whole value of the model's with a pattern."""
    calls = [node for node in own_nodes(function) if isinstance(node, ast.Call)]
    matched = [call for call in calls if dotted(call.func).rpartition(".")[2] == "fullmatch"]
    return any(values.has(one, function) for call in matched for one in call.args)


def _claims(node: ast.AST, function: Function, bare: ModelValues) -> Iterator[str]:
    """Rewards that are a field of the model's own output."""
    for value in _rewards(node):
        claim = next((one for one in _parts(value) if bare.has(one, function)), None)
        if claim is not None:
            yield f"the reward is {ast.unparse(claim)[:80]}, which the model writes"


def _rewards(node: ast.AST) -> list[ast.expr]:
    """The values that a node returns, or gives the name `reward`."""
    if isinstance(node, ast.Call):
        return [one.value for one in node.keywords if one.arg == "reward"]
    if isinstance(node, ast.Return):
        return [node.value] if node.value is not None else []
    return [node.value] if isinstance(node, ast.Assign) and any(map(_is_reward, node.targets)) else []


def _is_reward(target: ast.AST) -> bool:
    return isinstance(target, ast.Name) and target.id == "reward"


def _parts(value: ast.AST) -> Iterator[ast.AST]:
    """Attributes and items that are called as a reward is."""
    for one in ast.walk(value):
        if isinstance(one, ast.Compare):
            return
        if isinstance(one, ast.Attribute) and CLAIMS.fullmatch(one.attr):
            yield one
        elif isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant):
            if isinstance(one.slice.value, str) and CLAIMS.fullmatch(one.slice.value):
                yield one
        elif isinstance(one, ast.Call) and dotted(one.func).endswith(".get") and one.args:
            named = one.args[0]
            if isinstance(named, ast.Constant) and isinstance(named.value, str) and CLAIMS.fullmatch(named.value):
                yield one
