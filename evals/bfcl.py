"""BFCL: tools and a question to answer with calls. These are the single-turn items, graded by `tool_calls`.

The prompt is the leaderboard's default for models without native tool calling (BFCL v4, plain text, Python format), so
results are comparable. As there, Java's and JavaScript's parameters are described as source text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from verikit.evals.docs import Doc

_INSTRUCTIONS = """\
You are an expert in composing functions.You are given a question and a set of possible functions. \
Based on the question, you will need to make one or more function/tool calls to achieve the purpose. \
If none of the functions can be used, point it out. \
If the given question lacks the parameters required by the function, also point it out.

You should only return the function calls in your response.

If you decide to invoke any of the function(s), you MUST put it in the format of \
[func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)].  \
You SHOULD NOT include any other text in the response.

At each turn, you should try your best to complete the tasks requested by the user within the current turn. \
Continue to output functions to call until you have fulfilled the user's request to the best of your ability. \
Once you have no more functions to call, the system will consider the current turn complete and proceed to the \
next turn or task.

Here is a list of functions in json format that you can invoke.
"""
_LANGUAGES = {"simple_java": "Java", "simple_javascript": "JavaScript"}


def prompt(doc: Doc) -> str:
    """The instructions with the tools, then the question."""
    language = _LANGUAGES.get(doc["category"])
    tools = [described(tool, language) for tool in json.loads(doc["tools"])]
    return f"{instructions(tools)}\n\n{doc['question']}\n"


def instructions(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the leaderboard's instructions with the tools."""
    return f"{_INSTRUCTIONS}{json.dumps(tools, indent=4)}"


def described(tool: Mapping[str, Any], language: str | None) -> dict[str, Any]:
    """Return a tool as shown in the prompt: with its language, and with non-Python parameters as strings."""
    syntax = {"Java": "Java 8 SDK", None: "Python 3"}.get(language, language)
    text = f"{tool.get('description', '')} Note that the provided function is in {syntax} syntax."
    shown = {**tool, "description": text}
    if language is not None:
        parameters = tool["parameters"]
        properties = {key: _as_text(value, language) for key, value in parameters["properties"].items()}
        shown["parameters"] = {**parameters, "properties": properties}
    return shown


def _as_text(parameter: Mapping[str, Any], language: str) -> dict[str, Any]:
    kind, text = parameter["type"], parameter.get("description", "")
    if kind == "any":
        text += f" This parameter can be of any type of {language} object in string representation."
    else:
        text += f" This is {language} {kind} type parameter in string representation."
    inner = (parameter.get("items") or {}).get("type")
    if inner is not None:
        text += f" The list elements are of type {inner}; they are not in string representation."
    if kind == "dict" and "properties" in parameter:
        entries = json.dumps(parameter["properties"])
        text += f" The dictionary entries have the following schema; they are not in string representation. {entries}"
    kept = {key: value for key, value in parameter.items() if key not in ("items", "properties")}
    return kept | {"description": text, "type": "string"}
