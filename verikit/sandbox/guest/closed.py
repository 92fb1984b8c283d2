"""Whether calls of a program can affect each other, judged by its source. Such calls may not share a process."""

import ast
import builtins
import re

_NODES = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.keyword, ast.Return, ast.Assign, ast.AugAssign,
    ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.Raise, ast.Assert,
    ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp,
    ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Call, ast.FormattedValue,
    ast.JoinedStr, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice,
    ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.Import, ast.ImportFrom, ast.alias,
)  # fmt: skip
"""All node types of a closed program: no classes, `global`, `try`, `with`, `yield`, `del`, `match`, nor `:=`.

In an annotation, `:=` binds a name of the module.
"""
_BUILTINS = frozenset(
    "abs all any ascii bin bool bytes chr complex dict divmod enumerate filter float frozenset hex int isinstance iter"
    " len list map max min next oct ord pow print range repr reversed round set slice sorted str sum tuple zip"
    " ArithmeticError AssertionError Exception IndexError KeyError LookupError OverflowError RuntimeError TypeError"
    " ValueError ZeroDivisionError".split()
)
_OTHERS = frozenset(dir(builtins)) - _BUILTINS
_METHODS = frozenset(
    "add append capitalize casefold center clear copy count difference discard endswith extend find get index insert"
    " intersection isalnum isalpha isdecimal isdigit islower isnumeric isspace issubset issuperset istitle isupper"
    " items join keys ljust lower lstrip partition pop remove removeprefix removesuffix replace reverse rfind rindex"
    " rjust rpartition rsplit rstrip setdefault sort split splitlines startswith strip swapcase title union update"
    " upper values zfill bit_length is_integer appendleft elements extendleft most_common popitem popleft"
    " rotate".split()
)
"""Methods of plain data. `format` is not included, because its string may name attributes."""
_MODULES = {
    "bisect": frozenset("bisect bisect_left bisect_right insort insort_left insort_right".split()),
    "collections": frozenset("Counter OrderedDict defaultdict deque".split()),
    "functools": frozenset(["reduce"]),
    "heapq": frozenset("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest".split()),
    "itertools": frozenset(
        "accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse groupby"
        " islice pairwise permutations product repeat starmap takewhile zip_longest".split()
    ),
    "math": frozenset(
        "acos asin atan atan2 ceil comb cos degrees dist e exp fabs factorial floor fmod fsum gcd hypot inf isclose"
        " isfinite isinf isnan isqrt lcm log log10 log1p log2 modf nan perm pi pow prod radians remainder sin sqrt tan"
        " tau trunc".split()
    ),
    "string": frozenset("ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation".split()),
    "typing": frozenset("Any Callable Dict FrozenSet Iterable Iterator List Optional Sequence Set Tuple Union".split()),
}
"""The names of each module that store nothing. Its other names, and other modules, make a program open."""
_ATTRIBUTES = _METHODS.union(*_MODULES.values())
_OPEN = re.compile(
    r"^[ \t]*(?:class|global|nonlocal|with|async|del|match)[ \t]|^[ \t]*(?:try:|@[\w.]+(?:\(.*\))?[ \t]*$)|__|\byield\b"
    rf"|^[ \t]*(?:import[ \t]+(?!{'|'.join(_MODULES)})|from[ \t]+(?!{'|'.join(_MODULES)})\w+[ \t]+import\b)"
    rf"|\b(?:{'|'.join(sorted(_OTHERS))})\(",
    re.MULTILINE,
)


def may_be_closed(code: str) -> bool:
    """Whether it is worth a child to find out if a program is closed. The text alone decides, and it may be wrong."""
    return not _OPEN.search(code)


def closed(code: str) -> bool:
    """Whether a program's functions keep nothing from one call to the next, and depend only on their arguments.

    This is the case if the program consists only of imports of pure functions, of constants, and of functions without
    defaults except constants, and these only of statements and expressions over plain data. Then no lasting state can
    be changed, and no clock, file or random source can be read. So a call returns the same in a process with earlier
    calls as in a separate one. Only hash seeds and addresses, which differ between servers, may distinguish processes.
    False if that can't be determined.
    """
    tree = ast.parse(code)
    nodes = list(ast.walk(tree))
    body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom) and not _is_constant(node)]
    names = set(map(_name, nodes))
    return (
        all(isinstance(node, ast.FunctionDef) for node in body)
        and all(isinstance(node, _NODES) and _keeps_nothing(node) for node in nodes)
        # Nor may it define such names: other places in it may mean Python's.
        and not any(name.startswith("__") or name in _OTHERS for name in names)
        and not (_has_sets(nodes, names) and _inner_functions(nodes, body))
    )


def _name(node: ast.AST) -> str:
    """The name that a node uses or defines; empty for other nodes."""
    match node:
        case ast.Name(name) | ast.arg(name) | ast.FunctionDef(name):
            return name
        case ast.alias():
            return node.asname or node.name
    return ""


def _is_constant(node: ast.stmt) -> bool:
    """A docstring, or a number or string with a name. Functions can't give such a name another value."""
    match node:
        case ast.Expr(ast.Constant()):
            return True
        case ast.Assign([ast.Name()], value) | ast.AnnAssign(ast.Name(), _, value):
            kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
            return value is not None and all(isinstance(part, kinds) for part in ast.walk(value))
    return False


def _keeps_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return not node.decorator_list
    if isinstance(node, ast.arguments):
        return all(isinstance(value, ast.Constant) for value in (*node.defaults, *filter(None, node.kw_defaults)))
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and node.attr in _ATTRIBUTES
    if isinstance(node, ast.Import):
        return all(alias.name in _MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        known = _MODULES.get(node.module or "", frozenset()) if not node.level else frozenset()
        return all(alias.name in known for alias in node.names)
    if isinstance(node, ast.Compare):  # the identity of objects that are created each time is random
        same = any(isinstance(way, ast.Is | ast.IsNot) for way in node.ops)
        return not same or (len(node.ops) == 1 and (_is_none(node.left) or _is_none(node.comparators[0])))
    return True


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _has_sets(nodes: list[ast.AST], names: set[str]) -> bool:
    return any(isinstance(node, ast.Set | ast.SetComp) for node in nodes) or bool(names & {"set", "frozenset"})


def _inner_functions(nodes: list[ast.AST], body: list[ast.stmt]) -> bool:
    """Whether functions are created while others run. They hash by their address, which orders a set of them."""
    return sum(isinstance(node, ast.FunctionDef | ast.Lambda) for node in nodes) > len(body)
