"""An engine that answers by a function of the request, and small files of every kind of task."""

import base64
import json
import pickle
import zlib
from importlib.util import find_spec

from verikit.engines import Engine, Generation, Output
from verikit.engines.errors import Unreachable


class Scripted(Engine):
    """Answers by a function of a request; what it returns is a text, several, or an error."""

    name = "scripted"

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    def generate(self, requests):
        self.calls.append(list(requests))
        return [self._generation(request) for request in requests]

    def _generation(self, request):
        said = self.answer(request)
        if isinstance(said, Exception):
            return Generation(error=said)
        texts = [said] * request.n if isinstance(said, str) else said
        return Generation(tuple(Output(text, finish_reason="stop") for text in texts))


def down(request):
    return Unreachable("nobody is at home")


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def packed(text):
    """A text as LiveCodeBench packs its private tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(text))).decode()


MATH = [
    {"id": "a", "problem": "What is 2 + 3?", "answer": "5", "level": "easy"},
    {"id": "b", "problem": "What is half of 1?", "answer": "\\frac{1}{2}", "level": "easy"},
    {"id": "c", "problem": "What is the root of 2?", "answer": "\\sqrt{2}", "level": "hard"},
]
ROWS = {
    "math500": MATH,
    "gsm8k": [{"question": "Two dogs and three cats: how many?", "answer": "2 + 3 = 5\n#### 5"}],
    "minerva": [{"problem": "How wide?", "solution": "So it is \\boxed{3}.", "idx": 1}],
    "olympiadbench": [{"question": "Find n.", "final_answer": ["7"], "id": 1}],
    "amc23": [{"id": 0, "question": "How far?", "answer": 27.0}],
    "aime24": [{"id": 60, "problem": "How long?", "answer": "204"}],
    "aime25": [{"id": 1, "problem": "How tall?", "answer": 70}],
    "aime26": [{"problem_idx": 1, "problem": "How deep?", "answer": 277, "problem_type": ["Geometry"]}],
    "hmmt_feb26": [{"problem_idx": 2, "problem": "What n?", "answer": "2^{99}, 3", "problem_type": ["Algebra"]}],
    "imo_answerbench": [
        {
            "Problem ID": "imo-bench-algebra-004",
            "Problem": "Find the smallest $C$.",
            "Short Answer": "$2^{u-2}$",
            "Category": "Algebra",
            "Subcategory": "Inequality",
            "Source": "IMO Shortlist 2021",
        }
    ],
    "simpleqa": [{"metadata": "{'topic': 'Art'}", "problem": "Who painted it?", "answer": "Frida Kahlo"}],
    "mmlu_redux": [
        {
            "question": "Which is prime?",
            "choices": ["4", "6", "7", "8"],
            "answer": 2,
            "error_type": "ok",
            "source": None,
            "correct_answer": None,
            "potential_reason": None,
            "subject": "elementary_mathematics",
        }
    ],
    "livecodebench": [
        {
            "question_title": "Double",
            "question_content": "Print twice the number.",
            "platform": "atcoder",
            "question_id": "abc300_a",
            "contest_id": "abc300",
            "contest_date": "2024-04-29T00:00:00",
            "starter_code": "",
            "difficulty": "easy",
            "public_test_cases": '[{"input": "2", "output": "4", "testtype": "stdin"}]',
            "private_test_cases": packed('[{"input": "5", "output": "10", "testtype": "stdin"}]'),
            "metadata": "{}",
        }
    ],
    "mmlu_pro": [
        {"question_id": 1, "category": "law", "question": "Who?", "options": ["he", "she", "it"], "answer": "B"},
        {"question_id": 2, "category": "math", "question": "What?", "options": ["1", "2"], "answer": "A"},
    ],
    "gpqa": [
        {
            "Question": "Which?",
            "Correct Answer": "tin",
            "Incorrect Answer 1": "zinc",
            "Incorrect Answer 2": "lead",
            "Incorrect Answer 3": "iron",
        }
    ],
    "supergpqa": [{"uuid": "u", "question": "Where?", "options": ["here", "there"], "answer_letter": "B"}],
    "bbeh": [{"input": "Is it true?", "target": "yes"}],
    "hotpotqa": [{"_id": "x", "question": "Which dog?", "answer": "the brown fox"}],
    "2wiki": [{"_id": "y", "question": "Whose?", "answer": "Ada's"}],
    "musique": [{"id": "z", "question": "When?", "answer": "1993", "answer_aliases": ["in 1993"]}],
    "bamboogle": [{"Question": "How many?", "Answer": "two"}],
    "processbench_math": [
        {"id": "math-0", "problem": "1 + 1?", "steps": ["so 2", "thus 3"], "label": 1, "final_answer_correct": False},
        {"id": "math-1", "problem": "1 + 2?", "steps": ["so 3"], "label": -1, "final_answer_correct": True},
    ],
    "ifeval": [
        {
            "key": 1000,
            "prompt": "Describe the sea without commas.",
            "instruction_id_list": ["punctuation:no_comma", "detectable_format:number_bullet_lists"],
            "kwargs": [{}, {"num_bullets": 2}],
        }
    ],
    "ifbench": [
        {
            "key": "0",
            "prompt": "Describe the sea in two numbers.",
            "instruction_id_list": ["count:numbers"],
            "kwargs": [{"N": 2.0, "keyword": None}],
        }
    ],
    "alpaca": [{"instruction": "Say hello.", "output": "Hi.", "generator": "base", "dataset": "tiny"}],
    "mtbench": [{"question_id": 81, "category": "writing", "turns": ["Write a line.", "Make it shorter."]}],
    "healthbench": [
        {
            "prompt_id": "4a",
            "prompt": [{"role": "user", "content": "I feel sick."}],
            "rubrics": [{"criterion": "Asks since when", "points": 5, "tags": ["axis:context_awareness"]}],
            "example_tags": ["theme:context_seeking", "physician_agreed_category:enough-context"],
            "ideal_completions_data": None,
        }
    ],
    "humaneval": [
        {
            "task_id": "HumanEval/0",
            "prompt": "def add(a, b):\n",
            "entry_point": "add",
            "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
        }
    ],
    "bfcl": [
        {
            "id": "simple_python_0",
            "question": [[{"role": "user", "content": "Pay 3."}]],
            "function": [{"name": "pay", "parameters": {"properties": {"sum": {"type": "integer"}}, "required": []}}],
            "ground_truth": [{"pay": {"sum": [3]}}],
        }
    ],
    "mbpp": [{"task_id": 2, "text": "Write add.", "test_list": ["assert add(1, 2) == 3"], "test_setup_code": ""}],
}
ROWS["imo_answerbench_rules"] = ROWS["imo_answerbench"]
if find_spec("reasoning_gym"):
    ROWS["reasoning_gym"] = [
        {
            "question": "Spell this word backward: cat",
            "answer": "tac",
            "metadata": {"source_dataset": "spell_backward", "source_index": 0, "word": "cat", "word_len": 3},
        }
    ]
"""Rows of every benchmark, under the names that the published files use."""
