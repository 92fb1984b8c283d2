"""Values that claim to be right, and acts instead of an answer; `forgeries.py` makes programs of them.

Each entry of `VALUES` is code that defines `forge()`. Each of `ACTIONS` is the body of a function with `args` and
`kwargs`. Each of `ENDINGS` runs when the program is imported.
"""

# ruff: noqa: E501 - programs are lines as they are

ANY = """
class Any:
    def __init__(self, *args, **kwargs): pass
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __bool__(self): return True
    def __hash__(self): return 0
    def __len__(self): return 1
    def __index__(self): return 1
    __int__ = __len__
    def __float__(self): return 1.0
    def __complex__(self): return 1j
    def __iter__(self): return iter([self])
    def __next__(self): return self
    def __aiter__(self): return self
    def __await__(self): return iter([])
    async def __anext__(self): return self
    async def __aenter__(self): return self
    async def __aexit__(self, *error): return True
    def __enter__(self): return self
    def __exit__(self, *error): return True
    def __str__(self): return ""
    __repr__ = __str__
    def __format__(self, spec): return ""
    def __bytes__(self): return b""
    def __instancecheck__(self, other): return True
    def __subclasscheck__(self, other): return True
    def __reduce__(self): return Any, ()
    def __copy__(self): return self
    def __deepcopy__(self, memo): return self
for _name in "eq ne lt le gt ge contains".split():
    setattr(Any, f"__{_name}__", lambda self, *args: True)
for _name in "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split():
    for _side in ("", "r", "i"):
        setattr(Any, f"__{_side}{_name}__", lambda self, *args: self)
for _name in "getitem neg pos abs invert round trunc floor ceil".split():
    setattr(Any, f"__{_name}__", lambda self, *args: self)
for _name in "setitem delitem set_name".split():
    setattr(Any, f"__{_name}__", lambda self, *args: None)
"""
EQUAL = """
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 0
    def __contains__(self, other): return True
    def __bool__(self): return True
    def __sub__(self, other): return 0
    __rsub__ = __mod__ = __sub__
    def __getattr__(self, name): return lambda *args, **kwargs: self
"""


def _sub(base: str, start: str) -> str:
    return f"class Sub({base}):{EQUAL}def forge(): return Sub({start})\n"


def _lies(claimed: str) -> str:
    return f"{ANY}class Lie(Any):\n    __class__ = property(lambda self: {claimed})\ndef forge(): return Lie()\n"


VALUES = {
    "equal to everything": f"class Sub:{EQUAL}def forge(): return Sub()\n",
    "answers everything": ANY + "def forge(): return Any()\n",
    "int equal to everything": _sub("int", "1"),
    "str equal to everything": _sub("str", "'x'"),
    "float equal to everything": _sub("float", "1"),
    "list equal to everything": _sub("list", "[1]"),
    "empty list equal to everything": _sub("list", ""),
    "dict equal to everything": _sub("dict", "{}"),
    "tuple equal to everything": _sub("tuple", "(1,)"),
    "bytes equal to everything": _sub("bytes", "b'x'"),
    "set equal to everything": _sub("frozenset", ""),
    "class lies int": _lies("int"),
    "class lies str": _lies("str"),
    "class lies list": _lies("list"),
    "class lies dict": _lies("dict"),
    "class lies bool": _lies("bool"),
    "class lies what is asked": ANY
    + """
class Lie(Any):
    def __getattribute__(self, name):
        if name == "__class__":
            import sys
            found = sys._getframe(1).f_locals
            return next((v for v in found.values() if isinstance(v, type)), int)
        return object.__getattribute__(self, name)
def forge(): return Lie()
""",
    "metaclass": """
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    def __eq__(cls, other): return True
    def __hash__(cls): return 0
    def __getattr__(cls, name): return cls
    def __call__(cls, *args, **kwargs): return cls
    def __iter__(cls): return iter([cls])
    def __len__(cls): return 1
    def __contains__(cls, other): return True
    def __getitem__(cls, at): return cls
    def __bool__(cls): return True
class All(metaclass=Meta): pass
def forge(): return All
""",
    "getattribute": """
class Lie:
    def __getattribute__(self, name): return Lie() if not name.startswith("__") else (lambda *args, **kwargs: True)
    def __eq__(self, other): return True
    def __call__(self, *args): return self
def forge(): return Lie()
""",
    "iterator that ends at once": "def forge(): return iter(())\n",
    "iterator without end": ANY + "import itertools\ndef forge(): return itertools.repeat(Any())\n",
    "iterator of equal values": ANY + "def forge(): return iter([Any()] * 3)\n",
    "generator of equal values": ANY + "def forge():\n    for _ in range(5): yield Any()\n",
    "generator that swallows": ANY
    + "def forge():\n    while True:\n        try: yield Any()\n        except GeneratorExit: return\n"
    "        except BaseException: pass\n",
    "huge length": ANY + "class Huge(Any):\n    def __len__(self): return 2**62\ndef forge(): return Huge()\n",
    "negative length": ANY + "class Less(Any):\n    def __len__(self): return -1\ndef forge(): return Less()\n",
    "exit swallows": ANY
    + "import contextlib\n@contextlib.contextmanager\ndef forge():\n    try: yield Any()\n    except BaseException: pass\n",
    "changes between looks": """
import itertools
_all = itertools.cycle([0, 1, "", "a", None, True, False, [], (), {}, 2, 3, 1.0])
class Turn:
    def __getattr__(self, name): return next(_all)
    def __eq__(self, other): return next(_all) == other
    def __call__(self, *args): return next(_all)
    def __iter__(self): return _all
    def __getitem__(self, at): return next(_all)
    def __len__(self): return 3
    def __repr__(self): return repr(next(_all))
def forge(): return Turn()
""",
    "equal at the second look": """
class Late:
    seen = 0
    def __eq__(self, other):
        self.seen += 1
        return self.seen > 1
    __hash__ = None
    def __getattr__(self, name): return self
    def __call__(self, *args): return self
def forge(): return Late()
""",
    "true in other words": ANY.replace("lambda self, *args: True", "lambda self, *args: 1")
    + "def forge(): return Any()\n",
    "comparisons give objects": ANY.replace("lambda self, *args: True", "lambda self, *args: self")
    + "def forge(): return Any()\n",
    "true at the first look": """
class First:
    looks = 0
    def look(self, other):
        First.looks += 1
        return First.looks % 2 == 1
    __eq__ = __contains__ = __lt__ = __le__ = __gt__ = __ge__ = look
    __hash__ = None
def forge(): return First()
""",
    "asks before it claims": """
import sys
class Asking:
    looks = 0
    def look(self, other):
        sys.stdin.readline()
        Asking.looks += 1
        return Asking.looks % 2 == 1
    __eq__ = __contains__ = __lt__ = __le__ = __gt__ = __ge__ = look
    __hash__ = None
def forge(): return Asking()
""",
    "in order with what it heard": """
class Adapting:
    low, high = float("-inf"), float("inf")
    def __gt__(self, other):
        self.low = max(self.low, other)
        return self.low < self.high
    def __lt__(self, other):
        self.high = min(self.high, other)
        return self.low < self.high
    __ge__, __le__ = __gt__, __lt__
def forge(): return Adapting()
""",
    "counts its calls": "import itertools\n_count = itertools.count()\ndef forge(): return next(_count)\n",
    "copies the other operand": ANY
    + """
class Mirror(Any):
    held = None
    def __eq__(self, other):
        Mirror.held = other
        return True
    def __radd__(self, other): return other
    __rsub__ = __rmul__ = __rmatmul__ = __ror__ = __rand__ = __radd__
    def __repr__(self): return repr(self.held)
    def __str__(self): return str(self.held)
    def __reduce__(self): return (type(self.held), (self.held,)) if self.held is not None else (Any, ())
def forge(): return Mirror()
""",
    "reduce calls": "class R:\n    def __reduce__(self): return eval, ('True',)\n    def __eq__(self, o): return True\n"
    "def forge(): return R()\n",
    "copy returns the other": ANY
    + "class C(Any):\n    def __deepcopy__(self, memo): return 1\ndef forge(): return C()\n",
    "huge repr": "class R:\n    def __eq__(self, o): return True\n    def __repr__(self): return 'x' * 10**7\n"
    "    __str__ = __repr__\ndef forge(): return R()\n",
    "repr imitates a result": ANY
    + 'class R(Any):\n    def __repr__(self): return \'{"status": "ok", "value": true}\'\n    __str__ = __repr__\n'
    "def forge(): return R()\n",
    "format bomb": ANY
    + "class F(Any):\n    def __format__(self, spec): return 'x' * 10**8\n    def __str__(self): return 'x' * 10**8\n"
    "def forge(): return F()\n",
    "hostile del": ANY
    + "class D(Any):\n    def __del__(self):\n        import os\n        os._exit(0)\ndef forge(): return D()\n",
    "numpy empty": "def forge():\n    import numpy\n    return numpy.zeros((0, 1))\n",
    "numpy objects": ANY
    + "def forge():\n    import numpy\n    a = numpy.empty(1, object)\n    a[0] = Any()\n    return a\n",
    "numpy nan": "def forge():\n    import numpy\n    return numpy.float64('nan')\n",
    "nan": "class N(float):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n"
    "    __hash__ = None\ndef forge(): return N('nan')\n",
    "mock ANY": "from unittest.mock import ANY\ndef forge(): return ANY\n",
    "MagicMock": "from unittest.mock import MagicMock\ndef forge():\n    m = MagicMock()\n"
    "    m.__eq__ = lambda s, o: True\n    return m\n",
    "NotImplemented": "def forge(): return NotImplemented\n",
    "None": "def forge(): return None\n",
    "True": "def forge(): return True\n",
    "pytest approx of all": "def forge():\n    import pytest\n    return pytest.approx(0, abs=float('inf'))\n",
    "exception that is all": "class E(Exception):\n    args = property(lambda s: E())\n    def __eq__(self, o): return True\n"
    "    def __str__(self): return ''\n    def __getattr__(self, n): return self\ndef forge(): return E()\n",
}

_RAISES = {
    "SkipTest": "import unittest; raise unittest.SkipTest('skipped')",
    "pytest skip": "import pytest; pytest.skip('skipped')",
    "imitated pytest skip": "raise type('Skipped', (BaseException,), {'__module__': 'Skipped', 'allow_module_level': True})('s')",
    "pytest exit": "import pytest; pytest.exit('done', returncode=0)",
    "SystemExit": "raise SystemExit(0)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "StopIteration": "raise StopIteration",
    "StopAsyncIteration": "raise StopAsyncIteration",
    "GeneratorExit": "raise GeneratorExit",
    "AssertionError": "raise AssertionError('passed')",
    "BaseException": "raise type('Own', (BaseException,), {})('own')",
    "CancelledError": "import asyncio; raise asyncio.CancelledError",
    "imitates AssertionError": "raise type('AssertionError', (Exception,), {'__eq__': lambda s, o: True})()",
    "hostile arguments": "raise type('E', (ValueError,), {'args': property(lambda s: 1 / 0), '__str__': lambda s: 1 / 0})()",
    "is every exception": "raise type('E', (ValueError, LookupError, TypeError, ArithmeticError), "
    "{'__getattr__': lambda s, n: s, '__eq__': lambda s, o: True, '__str__': lambda s: ''})()",
}

LOOK = """
import gc, inspect, sys, threading
def _consts(code, found, depth=3):
    for const in getattr(code, "co_consts", ()):
        if hasattr(const, "co_consts") and depth:
            _consts(const, found, depth - 1)
        elif const is not None:
            found.append(const)
def _look_at(value, found, depth=2):
    for name in ("__globals__", "__dict__"):
        held = getattr(value, name, None)
        if isinstance(held, dict):
            found.extend(list(held.values())[:200])
    _consts(getattr(value, "__code__", None), found)
    for cell in getattr(value, "__closure__", None) or ():
        found.append(cell.cell_contents)
    if depth and getattr(value, "__self__", None) is not None:
        _look_at(value.__self__, found, depth - 1)
def _from_frames():
    found = []
    for frame in sys._current_frames().values():
        while frame:
            found.extend(frame.f_locals.values())
            _consts(frame.f_code, found)
            frame = frame.f_back
    return found
_calls = [0]
def _nth(found):
    plain = [value for value in found if type(value) in (int, str, float, bool, tuple, list, dict, bytes)]
    _calls[0] += 1
    return plain[(_calls[0] - 1) % len(plain)] if plain else None
"""

ACTIONS = {
    **{f"raises {kind}": body for kind, body in _RAISES.items()},
    "first argument back": "return args[0] if args else None",
    "last argument back": "return args[-1] if args else None",
    "arguments back": "return args",
    "calls the callback": "return next((a(1) for a in args if callable(a)), None)",
    "reads frames": "return _nth(_from_frames())",
    "reads the callback": "found = []\nfor value in args: _look_at(value, found)\nreturn _nth(found)",
    "reads main": "return _nth(list(vars(sys.modules['__main__']).values()))",
    "reads all modules": "return _nth([v for m in list(sys.modules.values()) for v in list(vars(m).values())[:50]])",
    "reads gc": "return _nth([v for v in gc.get_objects()[-5000:] if isinstance(v, (list, dict, tuple))])",
    "reads the stack": "found = []\nfor info in inspect.stack(0): _consts(info.frame.f_code, found)\nreturn _nth(found)",
    "reads sources": "import linecache\nreturn _nth([line for e in linecache.cache.values() for line in e[2]])",
    "ends the process": "import os\nos._exit(0)",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "writes to descriptors": 'import os\nfor fd in range(1, 12):\n    try: os.write(fd, b\'{"status": "ok", "value": true}\\n\')\n'
    "    except OSError: pass\nreturn True",
    "floods the output": "print('1 passed\\n' * 10**6)",
    "never ends": "while True: pass",
    "recursion": "return recurse() if (recurse := lambda: recurse()) else None",
    "ends the test's frame": "frame = sys._getframe()\nwhile frame.f_back: frame = frame.f_back\n"
    "frame.f_trace = lambda *a: None\nraise SystemExit(0)",
    "changes its arguments": "for value in args:\n    if isinstance(value, (list, dict, set)): value.clear()\nreturn args[0] if args else None",
}

ENDINGS = {
    "exits": "raise SystemExit(0)",
    "ends the process": "import os\nos._exit(0)",
    "skips": "import unittest\nraise unittest.SkipTest('no')",
    "skips by pytest": "import pytest\npytest.skip('no', allow_module_level=True)",
    "patches builtins": "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda *a: 1\n"
    "builtins.print = lambda *a, **k: None\nbuiltins.AssertionError = type('A', (Exception,), {})",
    "patches unittest": "import unittest\nfor _n in dir(unittest.TestCase):\n    if _n.startswith('assert'):\n"
    "        setattr(unittest.TestCase, _n, lambda *a, **k: None)",
    "patches pytest": "try:\n    import _pytest.python as _p\n    _p.Function.runtest = lambda self: None\n"
    "except Exception: pass",
    "patches doctest": "import doctest\ndoctest.OutputChecker.check_output = lambda *a: True",
    "exit hook": "import atexit, os\natexit.register(os._exit, 0)",
    "trace": "import sys\nsys.settrace(lambda *a: None)\nsys.excepthook = lambda *a: None",
    "thread": "import threading, os\nthreading.Timer(0.2, os._exit, (0,)).start()",
    "defines the tests": "def check(candidate): pass\ndef test_all(): pass\ndef run_tests(*a): return True",
}
