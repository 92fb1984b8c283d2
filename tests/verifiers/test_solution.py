"""Which text of a reply is the program."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verikit.verifiers.reading.fences import fenced
from verikit.verifiers.reading.solution import solution

F = "def f(x):\n    return x * x"
DRAFT = "def f(x):\n    return x"


@pytest.mark.parametrize(
    "reply",
    [
        F,
        f"```python\n{F}\n```",
        f"```\n{F}\n```",
        f"```py\n{F}",
        f"```Python3\n{F}\n```",
        f'```python title="x.py"\n{F}\n```',
        f"```{{.python .numberLines}}\n{F}\n```",
        f"```python:main.py\n{F}\n```",
        f"```solution.py\n{F}\n```",
        f"``` python\n{F}\n```",
        f"~~~python\n{F}\n~~~",
        f"````python\n{F}\n````",
        f"`````\n{F}\n`````",
        f"```tool_code\n{F}\n```",
        "1. So:\n\n   ```python\n   def f(x):\n       return x * x\n   ```\n",
        "- ```python\n  def f(x):\n      return x * x\n  ```",
        "> ```python\n> def f(x):\n>     return x * x\n> ```",
        f"```python\n{DRAFT}\n```\nThat is wrong.\n```python\n{F}\n```",
        f"```python\n{F}\n```\nOutput:\n```\n9\n```",
        f"```python\n{F}\n```\n```output\n9\n```\n```bash\npython x.py\n```\n```json\n[9]\n```",
        f"```python\n{F}\n```\n```python\nprint(f(3))\n```",
        f"```python\n{F}\n```\n```python\nassert f(3) == 9\nassert f(4) == 16\n```",
        f"```\n{F}\n```\n```\n>>> f(3)\n9\n```",
        f"```\n{F}\n```\nOutput\n```\n9\n```",
        f"```cpp\nint f(int x);\n```\n```python\n{F}\n```",
        f"```markdown\n# So\n```python\n{F}\n```\n```",
        f"```python\n{F}\n```\n```",
    ],
)
def test_the_program_is_found_in_every_form(reply: str) -> None:
    assert solution(reply, {"f"}) == (F, "")


def test_a_docstring_may_hold_a_fence() -> None:
    program = 'def f(x):\n    """\n    ```python\n    f(1)\n    ```\n    """\n    return x'
    assert solution(f"```python\n{program}\n```", {"f"}).program == program


def test_blocks_that_need_each_other_are_joined_in_order() -> None:
    helper, other = "import math\n\ndef root(x):\n    return math.isqrt(x)", "def unused():\n    pass"
    main = "def f(x):\n    return root(x)"
    reply = "\n".join(f"```python\n{part}\n```" for part in (helper, DRAFT, other, main, "print(f(9))"))
    assert solution(reply, {"f"}).program == f"{helper}\n\n{main}"
    solve, call = "def solve():\n    print(int(input()) ** 2)", "solve()"
    assert solution(f"```python\n{solve}\n```\n```python\n{call}\n```").program == f"{solve}\n\n{call}"
    whole = "n = int(input())\nprint(n * n)"
    assert solution(f"```python\n{whole}\n```\n```python\nprint(9)\n```").program == whole


@pytest.mark.parametrize("label", ["cpp", "c++", "C", "java", "js", "rust", "sql"])
def test_another_language_is_named(label: str) -> None:
    assert solution(f"```{label}\nmain\n```\nOutput:\n```\n9\n```", {"f"}) == ("", label.lower())


@pytest.mark.parametrize("label", ["output", "json", "bash"])
def test_blocks_of_no_program_leave_the_text_itself(label: str) -> None:
    reply = f"```{label}\n9\n```"
    assert solution(reply, {"f"}).program == reply


@pytest.mark.parametrize(
    "unit",
    ["```", "\n```python\n", "\n```\n", "~~~\n", "> ", "- ", " ", "\n    ```x\n", "```python\ndef f(x): 1\n```\n"],
)
def test_extraction_is_linear(linear: Callable[..., None], unit: str) -> None:
    linear(lambda text: solution(text + "!", {"f"}), unit)
    linear(lambda text: fenced("```python\n" + text + "!"), unit)
