"""Tiny data sets in exactly the published forms, each with a right completion and a near miss for its first row."""

import base64
import json
import pickle
import zlib

CALL = {
    "name": "pay",
    "description": "Pay.",
    "parameters": {"type": "dict", "properties": {"sum": {"type": "integer"}}},
}


def packed(tests):
    """As LiveCodeBench packs its private tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


def program(text):
    return f"```python\n{text}\n```"


STDIN = [{"input": "3 4\n", "output": "7\n", "testtype": "stdin"}]
ADD, SUBTRACT = (program(f"a, b = map(int, input().split())\nprint(a {sign} b)") for sign in "+-")
PLUS, MINUS = (program(f"class Solution:\n    def add(self, a, b):\n        return a {sign} b") for sign in "+-")
DOUBLE, SQUARE = (program(f"def double(n):\n    return n {form}") for form in ("* 2", "** 2"))
PARAGRAPHS = [
    {"idx": 0, "title": "A", "paragraph_text": "A was made by B.", "is_supporting": True},
    {"idx": 1, "title": "B", "paragraph_text": "B was born in Rome.", "is_supporting": True},
    {"idx": 2, "title": "C", "paragraph_text": "C is a town.", "is_supporting": False},
]

ROWS = {
    "gsm8k": (
        {"question": "How many clips?", "answer": "48/2 = <<48/2=24>>24\n48 + 1,000 = 1,048\n#### 1,048"},
        "So there are 1048 clips.",
        "So there are 1049 clips.",
        "numeric",
    ),
    "math": (
        {
            "problem": "Halve $\\frac{2}{3}$.",
            "level": "Level 2",
            "type": "Algebra",
            "solution": "First $\\boxed{2}$, no: $\\boxed{\\frac{1}{3}}$.",
        },
        "\\boxed{1/3}",
        "\\boxed{2}",
        "answer",
    ),
    "math (MATH-500)": (
        {
            "problem": "p",
            "solution": "So $\\boxed{\\sqrt{2}}$.",
            "answer": "\\sqrt{2}",
            "subject": "Algebra",
            "level": 2,
            "unique_id": "test/algebra/1.json",
        },
        "\\boxed{\\sqrt{2}}",
        "\\boxed{\\sqrt{3}}",
        "answer",
    ),
    "math (DeepScaleR)": (
        {"problem": "Add up.", "answer": "-\\frac{2}{3}", "solution": "1. So $-\\frac{2}{3}$."},
        "\\boxed{-2/3}",
        "\\boxed{2/3}",
        "answer",
    ),
    "numinamath": (
        {
            "source": "synthetic_math",
            "problem": "Solve for $y$.",
            "solution": "It is $\\boxed{\\frac{13}{6}}$.",
            "messages": [{"content": "Solve for $y$.", "role": "user"}, {"content": "…", "role": "assistant"}],
        },
        "\\boxed{13/6}",
        "\\boxed{6/13}",
        "answer",
    ),
    "numinamath (1.5)": (
        {
            "problem": "Find $k$.",
            "solution": "…",
            "answer": "8",
            "problem_type": "Algebra",
            "question_type": "math-word-problem",
            "problem_is_valid": "Yes",
            "solution_is_valid": "Yes",
            "source": "olympiads",
            "synthetic": False,
        },
        "It is 8.",
        "It is 9.",
        "answer",
    ),
    "verl (Skywork-OR1)": (
        {
            "data_source": "train-math-deepscaler",
            "prompt": [{"role": "user", "content": "Give an interval."}],
            "ability": "math",
            "reward_model": {"ground_truth": '["\\\\frac{1}{2}", "0.5"]', "style": "rule"},
            "extra_info": {"index": 7, "model_difficulty": {"DeepSeek-R1-Distill-Qwen-7B": 3}},
        },
        "\\boxed{0.5}",
        "\\boxed{0.25}",
        "answer",
    ),
    "verl (DAPO)": (
        {
            "data_source": "math_dapo",
            "prompt": [{"role": "user", "content": "Solve."}],
            "ability": "MATH",
            "reward_model": {"ground_truth": "34", "style": "rule-lighteval/MATH_v2"},
            "extra_info": {"index": "9a9b6eb4"},
        },
        "Answer: 34",
        "Answer: 43",
        "answer",
    ),
    "verl (an interval)": (
        {
            "data_source": "big_math",
            "prompt": [{"role": "user", "content": "Which x?"}],
            "reward_model": {"ground_truth": "[0, \\infty)", "style": "rule"},
        },
        "\\boxed{[0, \\infty)}",
        "\\boxed{(0, \\infty)}",
        "answer",
    ),
    "verl (code)": (
        {
            "data_source": "train-code-taco-easy",
            "prompt": [{"role": "user", "content": "Add."}],
            "ability": "code",
            "reward_model": {"ground_truth": json.dumps({"inputs": ["3 4\n"], "outputs": ["7\n"]}), "style": "rule"},
            "extra_info": {"index": 0},
        },
        ADD,
        SUBTRACT,
        "code",
    ),
    "hotpotqa": (
        {
            "_id": "5a7a06935542990198eaf050",
            "answer": "Arthur's Magazine",
            "question": "Which magazine was started first?",
            "supporting_facts": [["Arthur's Magazine", 0], ["First for Women", 0], ["Arthur's Magazine", 1]],
            "context": [
                ["Arthur's Magazine", ["Arthur's Magazine was a periodical.", " It ended in 1846."]],
                ["Radio City", ["Radio City is a station."]],
            ],
            "type": "comparison",
            "level": "medium",
        },
        "It was Arthur's Magazine.",
        "It was First for Women.",
        "cover_em",
    ),
    "hotpotqa (hub)": (
        {
            "id": "5a7a0693",
            "question": "Which one?",
            "answer": "no",
            "type": "comparison",
            "level": "hard",
            "supporting_facts": {"title": ["A", "B"], "sent_id": [0, 1]},
            "context": {"title": ["A", "B"], "sentences": [["One.", " Two."], ["Three."]]},
        },
        "<answer>no</answer>",
        "<answer>yes</answer>",
        "f1",
    ),
    "2wiki": (
        {
            "_id": "8813f87c",
            "type": "compositional",
            "question": "Who is the mother?",
            "context": [
                ["Polish-Russian War", ["It is a film.", "It was directed."]],
                ["Maheen Khan", ["She designs."]],
            ],
            "supporting_facts": [["Polish-Russian War", 1]],
            "evidences": [["Polish-Russian War", "director", "Xawery"]],
            "answer": "Małgorzata Braunek",
        },
        "Małgorzata Braunek",
        "Małgorzata",
        "cover_em",
    ),
    "2wiki (texts of JSON)": (
        {
            "_id": "1",
            "type": "inference",
            "question": "Who?",
            "context": json.dumps([["P", ["One.", "Two."]]]),
            "supporting_facts": json.dumps([["P", 0]]),
            "evidences": "[]",
            "answer": "Ann Lee",
        },
        "Ann Lee",
        "Lee",
        "cover_em",
    ),
    "2wiki (objects)": (
        {
            "id": "1",
            "question": "Who?",
            "context": [{"title": "P", "sentences": ["One."]}],
            "supporting_facts": [{"title": "P", "sent_id": 0}],
            "answer": "Ann Lee",
        },
        "Ann Lee",
        "Lee",
        "cover_em",
    ),
    "musique": (
        {
            "id": "2hop__1_2",
            "paragraphs": PARAGRAPHS,
            "question": "Where was the maker of A born?",
            "question_decomposition": [
                {"id": 1, "question": "A >> made by", "answer": "B", "paragraph_support_idx": 0}
            ],
            "answer": "Rome",
            "answer_aliases": ["Roma", "Rome, Italy"],
            "answerable": True,
        },
        "<answer>Roma</answer>",
        "<answer>Milan</answer>",
        "cover_em",
    ),
    "musique (FlashRAG)": (
        {
            "id": "dev_0",
            "question": "Where?",
            "golden_answers": ["Rome", "Roma"],
            "metadata": {"paragraphs": PARAGRAPHS, "answerable": True},
        },
        "Roma",
        "Milan",
        "f1",
    ),
    "livecodebench": (
        {
            "question_title": "Add",
            "question_content": "Add two numbers.",
            "platform": "atcoder",
            "question_id": "abc387_b",
            "contest_id": "abc387",
            "contest_date": "2025-01-04T00:00:00",
            "starter_code": "",
            "difficulty": "easy",
            "public_test_cases": json.dumps(STDIN),
            "private_test_cases": packed([{"input": "5 6\n", "output": "11\n", "testtype": "stdin"}]),
            "metadata": "{}",
        },
        ADD,
        program("print(7)"),
        "code(preset='livecodebench')",
    ),
    "livecodebench (a function)": (
        {
            "question_title": "add",
            "question_content": "Add.",
            "platform": "leetcode",
            "question_id": "3000",
            "contest_date": "2024-08-01T00:00:00",
            "starter_code": "class Solution:\n    def add(self, a: int, b: int) -> int:\n        ",
            "difficulty": "easy",
            "public_test_cases": json.dumps([{"input": "1\n2", "output": "3", "testtype": "functional"}]),
            "private_test_cases": packed([{"input": "5\n6", "output": "11", "testtype": "functional"}]),
            "metadata": '{"func_name": "add"}',
        },
        PLUS,
        MINUS,
        "code(preset='livecodebench')",
    ),
    "apps": (
        {
            "problem_id": 12,
            "question": "Add two numbers.",
            "solutions": '["print(sum(map(int, input().split())))"]',
            "input_output": json.dumps({"inputs": ["3 4\n", "5 6\n"], "outputs": ["7\n", "11\n"]}),
            "difficulty": "interview",
            "url": "https://codeforces.com/problemset/problem/1",
            "starter_code": "",
        },
        ADD,
        SUBTRACT,
        "code",
    ),
    "taco": (
        {
            "question": "Double a number.",
            "starter_code": "def double(n):\n\t",
            "input_output": json.dumps({"fn_name": "double", "inputs": [[2], [5]], "outputs": [[4], [10]]}),
            "difficulty": "EASY",
            "raw_tags": "[]",
            "name": None,
            "source": "codewars",
            "tags": "[]",
            "skill_types": "[]",
            "url": "https://www.codewars.com/1",
            "Expected Auxiliary Space": None,
            "time_limit": None,
        },
        DOUBLE,
        SQUARE,
        "code",
    ),
    "code-contests": (
        {
            "name": "1575_A. Add",
            "description": "Add two numbers.",
            "public_tests": {"input": ["3 4\n"], "output": ["7\n"]},
            "private_tests": {"input": [], "output": []},
            "generated_tests": {"input": ["5 6\n"], "output": ["11\n"]},
            "source": 2,
            "difficulty": 7,
            "solutions": {"language": [3], "solution": ["print(1)"]},
            "incorrect_solutions": {"language": [], "solution": []},
            "time_limit": {"seconds": 2, "nanos": 0},
            "input_file": "",
            "output_file": "",
        },
        ADD,
        SUBTRACT,
        "code",
    ),
    "ifeval": (
        {
            "key": 1000,
            "prompt": "Say hello without commas, in lower case.",
            "instruction_id_list": ["punctuation:no_comma", "change_case:english_lowercase"],
            "kwargs": [{}, {"num_words": None, "relation": None}],
        },
        "hello my dear friends of old, ".replace(",", ""),
        "hello, my dear friends of old",
        "instructions",
    ),
    "ifeval (IF-RLVR)": (
        {
            "key": "k",
            "messages": [{"role": "user", "content": "Say hello without commas."}],
            "ground_truth": "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]",
            "dataset": "ifeval",
        },
        "hello friends",
        "hello, friends",
        "instructions",
    ),
    "bfcl": (
        {
            "id": "simple_python_0",
            "question": [[{"role": "user", "content": "Pay 3."}]],
            "function": [CALL],
            "ground_truth": [{"pay": {"sum": [3]}}],
        },
        "[pay(sum=3)]",
        "[pay(sum=4)]",
        "tool_calls",
    ),
    "bfcl (multi-turn)": (
        {
            "id": "multi_turn_base_0",
            "question": [[{"role": "user", "content": "Go there."}], [{"role": "user", "content": "And back."}]],
            "initial_config": {
                "GorillaFileSystem": {
                    "root": {"w": {"type": "directory", "contents": {"sub": {"type": "directory", "contents": {}}}}}
                }
            },
            "involved_classes": ["GorillaFileSystem"],
            "ground_truth": [["cd('sub')"], ["cd(folder='..')"]],
            "path": ["GorillaFileSystem.cd"],
        },
        json.dumps([["[cd(folder='sub')]"], ["[cd(folder='..')]"]]),
        json.dumps([["[cd(folder='sub')]"], ["[ls()]"]]),
        "bfcl_multi_turn",
    ),
    "bfcl (irrelevance)": (
        {"id": "irrelevance_0", "question": [[{"role": "user", "content": "Sing."}]], "function": [CALL]},
        "I can't sing.",
        "[pay(sum=4)]",
        "tool_calls",
    ),
}
"""Name of the form, and what variant of it -> row, right completion, near miss, verifier."""
