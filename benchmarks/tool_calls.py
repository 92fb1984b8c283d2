"""`tool_calls` beside bfcl-eval: the same verdicts on the leaderboard's AST items and their mutants, and the speed.

    python benchmarks/tool_calls.py --peer DIR      # DIR: the site-packages that hold bfcl_eval and its data

bfcl-eval is installed apart, with the parsers of its decoders, and only its table of models is replaced:

    pip install --no-deps --target DIR bfcl-eval
    pip install --no-deps --target DIR tree-sitter==0.21.3 tree-sitter-java==0.21.0 tree-sitter-javascript==0.21.4

From each gold come right outputs (one for each round of alternatives; Java's and JavaScript's as source and quoted)
and mutants: a renamed, missing or additional argument, a wrong type, a wrong value, a dropped and an extra call,
another tool. Both decide on the same text. Disagreements are printed by their cause.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import re
import sys
import time
import types
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from verikit.types import Sample
from verikit.verifiers.tools.tool_calls import ToolCalls

CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
RELEVANCE = ("irrelevance", "live_irrelevance", "live_relevance")
ALTERNATIVES = 3
ESCAPED = "its parser keeps the backslashes of escaped quotes"
ITEMS = "an item of a list of `any` keeps its quotes, and a number in it becomes text"
QUOTES = "the checker keeps the quotes of a String[]'s items, so that correct Java differs from the gold"
LISTED = {
    **dict.fromkeys([f"simple_java_{number}" for number in (35, 78, 83, 85, 86, 89, 90, 91)], QUOTES),
    **dict.fromkeys(("simple_java_36", "simple_java_65"), ITEMS),
    "simple_java_64": "the gold's map holds a text where a list of alternatives belongs, so that nothing is accepted",
    "simple_javascript_5": ESCAPED,
}
"""Items whose gold or whose check refuses the right output, with the reason."""
BODY = "its parser drops the body of an anonymous class, `{{ put(…); }}`"
LANGUAGES = {"simple_java": "JAVA", "simple_javascript": "JAVASCRIPT"}
TEXTS = ("String", "char")
NAME = re.compile(r"[A-Za-z_$][\w$.]*|.*\)", re.DOTALL)
MODEL = "plain"
Calls = list[tuple[str, dict[str, Any]]]


class Output(NamedTuple):
    """A made output."""

    item: str
    kind: str
    """`right`, or the mutation."""
    text: str
    expected: Any
    tools: list[dict[str, Any]]
    category: str
    form: str
    """`source`, or `quoted`: arguments of Java and JavaScript as Python strings."""


class Peer:
    """bfcl-eval's own decoders and checker."""

    def __init__(self, site: str | None) -> None:
        if site:
            sys.path.append(site)
        config: Any = types.ModuleType("bfcl_eval.constants.model_config")
        config.MODEL_CONFIG_MAPPING = {MODEL: types.SimpleNamespace(underscore_to_dot=False)}
        sys.modules[config.__name__] = config
        self.folder = Path(importlib.import_module("bfcl_eval").__file__ or "").parent / "data"
        self._checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker").ast_checker
        enums = importlib.import_module("bfcl_eval.constants.enums")
        self._languages, self._formats = enums.Language, enums.ReturnFormat
        utils = importlib.import_module("bfcl_eval.model_handler.utils")
        self._decode = utils.default_decode_ast_prompting
        shared = importlib.import_module("bfcl_eval.utils")
        self._called, self._empty = shared.is_function_calling_format_output, shared.is_empty_output

    def __call__(self, output: Output, messages: Sequence[dict[str, Any]] | None = None) -> bool:
        """Whether the leaderboard counts an output, as text or as messages, as right; a crash is a no."""
        language = LANGUAGES.get(output.category, "PYTHON")
        try:
            text = output.text
            decoded = self._decode(text, self._formats[language]) if messages is None else _decoded(messages)
        except Exception:  # noqa: BLE001 - its runner's own rule: what can't be decoded is no call
            return output.category in ("irrelevance", "live_irrelevance")
        if output.category in RELEVANCE:
            return bool(self._empty(decoded)) == ("irrelevance" in output.category)
        if not self._called(decoded):
            return False
        try:
            found = self._checker(
                output.tools, decoded, output.expected, self._languages[language], output.category, MODEL
            )
        except Exception:  # noqa: BLE001 - its runner stops here; a text that can't be checked is not right
            return False
        return bool(found["valid"])

    def messages(self, output: Output) -> list[dict[str, Any]] | None:
        """An output as a message with tool calls; None where it has none or they are no JSON."""
        try:
            decoded = self._decode(output.text, self._formats[LANGUAGES.get(output.category, "PYTHON")])
            calls = [{"name": name, "arguments": json.dumps(value)} for call in decoded for name, value in call.items()]
        except Exception:  # noqa: BLE001 - as above
            return None
        return [{"role": "assistant", "content": None, "tool_calls": [{"function": call} for call in calls]}]


def _decoded(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As its handlers of function-calling models decode."""
    called = [call["function"] for call in messages[0]["tool_calls"]]
    return [{call["name"]: json.loads(call["arguments"])} for call in called]


def cause(output: Output) -> str:
    """Why bfcl-eval is wrong about an output; "" where no reason is known."""
    if output.category == "simple_java" and output.form == "source" and "{{" in output.text:
        return BODY
    return LISTED.get(output.item, "")


def items(folder: Path, category: str) -> Iterator[tuple[str, list[dict[str, Any]], Any]]:
    """Id, tools and expected calls of a category's items."""
    asked = [json.loads(line) for line in (folder / f"BFCL_v4_{category}.json").read_text().splitlines()]
    if category in RELEVANCE:
        yield from ((row["id"], row["function"], "any" if category == "live_relevance" else []) for row in asked)
        return
    golds = [
        json.loads(line) for line in (folder / f"possible_answer/BFCL_v4_{category}.json").read_text().splitlines()
    ]
    for row, gold in zip(asked, golds, strict=True):
        yield row["id"], row["function"], gold["ground_truth"]


def chosen(options: Any, turn: int) -> Any:
    """One of a parameter's alternatives; `...` where it may be left out and is."""
    options = options if isinstance(options, list) else [options]
    given = [option for option in options if option != ""]
    if not given or (turn == ALTERNATIVES - 1 and "" in options):
        return ...
    value = given[turn % len(given)]
    if isinstance(value, dict):
        return _dict(value, turn)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [_dict(item, turn) for item in value]
    return value


def _dict(options: dict[str, Any], turn: int) -> dict[str, Any]:
    found = {key: chosen(value, turn) for key, value in options.items()}
    return {key: value for key, value in found.items() if value is not ...}


def right(expected: Any, turn: int, tools: Sequence[dict[str, Any]]) -> Calls:
    """Expected calls as a model would make them; what the tool requires is given where the gold has a value for it."""
    calls = []
    for call in expected:
        [(name, options)] = call.items()
        required = next((tool["parameters"].get("required", ()) for tool in tools if tool["name"] == name), ())
        arguments = {key: chosen(value, turn) for key, value in options.items()}
        for key in required:
            if arguments.get(key) is ...:
                arguments[key] = chosen(options[key], 0)
        calls.append((name, {key: value for key, value in arguments.items() if value is not ...}))
    return calls


def source(value: Any, kind: str, nested: str | None, language: str, style: int = 0) -> str:
    """A value as Java or JavaScript source, in one of the ways of writing it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        inner = [literal(item, language, nested) for item in value]
        return (_js_list if language == "javascript" else _java_list)(inner, kind, nested, style)
    if isinstance(value, dict):
        entries = [(key, literal(item, language)) for key, item in value.items()]
        if language == "javascript":
            quote = '"' * (style % 2)
            return "{" + ", ".join(f"{quote}{key}{quote}: {item}" for key, item in entries) + "}"
        puts = " ".join(f'put("{key}", {item});' for key, item in entries)
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}" if puts else "new HashMap<String, Object>()"
    return f"{value}{'L' if kind == 'long' else ''}"


def _java_list(inner: Sequence[str], kind: str, nested: str | None, style: int) -> str:
    name = "Object" if nested in (None, "any") else {"integer": "int"}.get(nested, nested)
    if kind != "ArrayList":
        return f"new {name}[]{{{', '.join(inner)}}}"
    if style == 1:
        added = " ".join(f"add({item});" for item in inner)
        return f"new ArrayList<{'' if name in ('int', 'long') else name}>() {{{{ {added} }}}}"
    return f"new ArrayList<>(Arrays.asList({', '.join(inner)}))"


def _js_list(inner: Sequence[str], kind: str, nested: str | None, style: int) -> str:
    return f"new Array({', '.join(inner)})" if style == 1 and len(inner) > 1 else f"[{', '.join(inner)}]"


def literal(value: Any, language: str, nested: str | None = None) -> str:
    """A value within a collection."""
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, str) else source(value, nested or "", None, language)
    )


def written(calls: Calls, tools: Sequence[dict[str, Any]], category: str, form: str, style: int = 0) -> str:
    """Calls as a reply's text: `source` as the language writes them, `quoted` with each argument as a Python string."""
    language = category.removeprefix("simple_")
    texts = []
    for name, arguments in calls:
        known: dict[str, Any] = next((tool["parameters"]["properties"] for tool in tools if tool["name"] == name), {})
        given = []
        for key, value in arguments.items():
            text = repr(value)
            if language in ("java", "javascript"):
                kind = known.get(key, {}).get("type", "")
                plain = isinstance(value, str)
                text = value if plain else source(value, kind, _inner(known.get(key, {})), language, style)
                if form == "quoted":
                    text = repr(text)
                elif plain and (kind in TEXTS or not NAME.fullmatch(value)):
                    text = json.dumps(value, ensure_ascii=False)
            given.append(f"{key}={text}")
        texts.append(f"{name}({', '.join(given)})")
    return f"[{', '.join(texts)}]"


def _inner(described: dict[str, Any]) -> str | None:
    return (described.get("items") or {}).get("type")


def mutants(calls: Calls, expected: Any) -> Iterator[tuple[str, Calls]]:
    """Outputs that are wrong, each in one respect."""
    [options] = expected[0].values()
    rest = calls[1:]
    name, arguments = calls[0]
    yield "dropped call", rest
    yield "extra call", [*calls, calls[0]]
    yield "other tool", [(f"{name}_x", arguments), *rest]
    yield "additional argument", [(name, arguments | {"zz_none": 1}), *rest]
    for key, value in arguments.items():
        others = {other: value for other, value in arguments.items() if other != key}
        if "" not in options[key]:
            yield "missing argument", [(name, others), *rest]
        yield "renamed argument", [(name, others | {f"{key}_x": value}), *rest]
        yield "wrong type", [(name, others | {key: {"zz": 1} if not isinstance(value, dict) else 7.25}), *rest]
        if not (isinstance(value, bool) and near(value) in options[key]):
            yield "wrong value", [(name, others | {key: near(value)}), *rest]


def near(value: Any) -> Any:
    """A value of the same type that is not the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 987654321
    if isinstance(value, str):
        return f"{value} zzq"
    if isinstance(value, list):
        return [*value, near(value[0]) if value else "zzq"]
    return {**value, "zzq": 1} if isinstance(value, dict) else "zzq"


def outputs(folder: Path) -> Iterator[Output]:
    """Right outputs and mutants of every item, Java's and JavaScript's both as source and quoted."""
    for category in CATEGORIES:
        for form in ("source", "quoted") if category in LANGUAGES else ("source",):
            for item, tools, expected in items(folder, category):
                seen = set()
                for turn in range(ALTERNATIVES):
                    calls = right(expected, turn, tools)
                    text = written(calls, tools, category, form, turn)
                    if text not in seen:
                        yield Output(item, "right", text, expected, tools, category, form)
                    seen.add(text)
                for kind, mutant in mutants(right(expected, 0, tools), expected):
                    text = written(mutant, tools, category, form)
                    yield Output(item, kind, text, expected, tools, category, form)
    for category in RELEVANCE:
        for item, tools, expected in items(folder, category):
            name = tools[0]["name"] if tools else "f"
            for kind, text in (
                ("prose", "None of these tools can do that; which (if any) did you mean?"),
                ("call", f"[{name}(a=1)]"),
                ("empty", "[]"),
                ("broken", f"[{name}(a=1]"),
            ):
                yield Output(item, kind, text, expected, tools, category, "source")


def main() -> None:
    """Compare verdicts, then speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="the folder that holds bfcl_eval")
    parser.add_argument("--shown", type=int, default=3, help="disagreements shown of each cause")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    peer = Peer(args.peer)
    made = list(outputs(peer.folder))
    samples = [Sample("", output.text, id=output.item, meta=_meta(output)) for output in made]
    compare(made, [peer(output) for output in made], ToolCalls(calls="expected").score(samples), args.shown)
    by_language: dict[str, list[Output]] = defaultdict(list)
    for output in made:
        if output.category not in RELEVANCE and output.form == "source":
            by_language[LANGUAGES.get(output.category, "PYTHON").lower()].append(output)
    for language, found in by_language.items():
        speed(peer, f"{language}, all outputs", found, args.rounds)
        speed(peer, f"{language}, right outputs", [output for output in found if output.kind == "right"], args.rounds)


def speed(peer: Peer, name: str, made: Sequence[Output], rounds: int) -> None:
    """Print both rates on rows that neither has seen: each round has copies of its own."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        rows = [output._replace(**json.loads(json.dumps(_meta(output)))) for output in made]
        samples = [Sample("", output.text, id=output.item, meta=_meta(output)) for output in rows]
        gc.collect()
        gc.freeze()
        start = time.process_time()
        for output in rows:
            peer(output)
        middle = time.process_time()
        ToolCalls(calls="expected").score(samples)
        best = [min(best[0], middle - start), min(best[1], time.process_time() - middle)]
        gc.unfreeze()
    theirs, ours = (seconds / len(made) * 1e6 for seconds in best)
    print(f"{name}, fresh rows: bfcl-eval {theirs:.0f} us, tool_calls {ours:.0f} us: {theirs / ours:.2f}x")


def _meta(output: Output) -> dict[str, Any]:
    return {"expected": output.expected, "tools": output.tools}


def disagreements(peer: Peer) -> list[tuple[Output, bool, str]]:
    """Outputs on which the two differ, but for the listed items: with the peer's verdict and our reason."""
    made = list(outputs(peer.folder))
    scores = ToolCalls(calls="expected").score(
        [Sample("", output.text, id=output.item, meta=_meta(output)) for output in made]
    )
    return [
        (output, theirs, score.reason)
        for output, score in zip(made, scores, strict=True)
        if (theirs := peer(output)) is not (score.value == 1.0) and not cause(output)
    ]


def compare(made: Sequence[Output], theirs: Sequence[Any], ours: Sequence[Any], shown: int) -> None:
    """Print the verdicts' table and the disagreements."""
    table: Counter[tuple[str, Any, Any]] = Counter()
    apart: dict[tuple[str, str, Any, Any], list[tuple[Output, str]]] = defaultdict(list)
    for output, other, score in zip(made, theirs, ours, strict=True):
        own = None if score.value is None else bool(score.value)
        table[output.kind, other, own] += 1
        if other is not own:
            apart[f"{output.category}, {output.form}", output.kind, other, own].append((output, score.reason))
    print(f"{len({output.item for output in made})} items, {len(made)} outputs")
    for (kind, other, own), count in sorted(table.items(), key=str):
        print(f"{kind:20} bfcl-eval {other!s:12} tool_calls {own!s:6} {count}")
    for (category, kind, other, own), found in apart.items():
        print(f"\n{category}, {kind}: bfcl-eval {other}, tool_calls {own}: {len(found)}")
        for reason, count in Counter(cause(output) or "no reason is known" for output, _ in found).items():
            print(f"  {count} times: {reason}")
        for output, reason in found[:shown]:
            print(f"  {output.item}: {output.text[:150]}\n    {reason} | {json.dumps(output.expected)[:200]}")


if __name__ == "__main__":
    main()
