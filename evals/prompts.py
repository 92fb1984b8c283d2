"""The tasks' prompts, as lm-eval's `doc_to_text` and `doc_to_target`.

Each prompt specifies the answer's format, which the task's verifier reads.
"""

from __future__ import annotations

import json
import string

from verikit.evals.docs import Doc

LETTERED = "Answer with one of the letters of the options. Think step by step, then end with a line of this form:\n"


def math_prompt(doc: Doc) -> str:
    r"""A problem whose answer goes into a box."""
    return f"{doc['question']}\nPlease reason step by step, and put your final answer within \\boxed{{}}.\n\nAnswer:"


def choice_prompt(doc: Doc) -> str:
    """A question with its options by letter."""
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(string.ascii_uppercase, doc["options"]))  # noqa: B905
    form = "the answer is (X)"
    return f"{doc['question']}\n{options}\n\n{LETTERED}{form}\n\nAnswer:"


def open_prompt(doc: Doc) -> str:
    """A question with a short answer."""
    return f"{doc['question']}\n\nThink step by step, then end with a line of this form:\nThe answer is: X\n\nAnswer:"


def plain_prompt(doc: Doc) -> str:
    """Only the instruction."""
    return str(doc["question"])


def conversation_prompt(doc: Doc) -> str:
    """A conversation to continue, as a string. A single question is unchanged. Chat runs send its messages instead."""
    turns = json.loads(doc["conversation"])
    if len(turns) == 1:
        return str(turns[0]["content"])
    return "\n\n".join(f"{turn['role'].capitalize()}: {turn['content']}" for turn in turns) + "\n\nAssistant:"


def solution(doc: Doc) -> str:
    """Return the answer shown for a few-shot example."""
    return str(doc["solution"])


def target(doc: Doc) -> str | list[str]:
    """Return the accepted answers. A single one is a string, and "" means there are none."""
    golds = list(doc["answer"])
    return golds if len(golds) > 1 else "".join(golds)


def code_prompt(doc: Doc) -> str:
    """A function to complete: HumanEval."""
    question = doc["question"].strip()
    return f"Complete this function. Reply with the whole function in one Python code block.\n\n{question}\n"


def tested_prompt(doc: Doc) -> str:
    """A task in words with the tests it must pass: MBPP."""
    question, tests = doc["question"].strip(), "\n".join(json.loads(doc["tests"]).get("test_list", ()))
    return f"{question}\nYour code should pass these tests:\n{tests}\nReply with one Python code block.\n"


def tagged_prompt(doc: Doc) -> str:
    """A question whose answer goes between tags: reasoning_gym."""
    form = "between <answer> and </answer>, and nothing else there, in the form that the question asks for"
    return f"{doc['question']}\n\nThink step by step, then give the final answer {form}.\n"
