"""Right programs with a main part that must not run where tests call functions, in every form."""

from __future__ import annotations

import textwrap

from tests.objects.corpus import Problem, meta_of, recast

GUARDS = {
    "input": "n = int(input('n? '))\nprint(n)",
    "argv": "import sys\nprint(sys.argv[1], open(sys.argv[1]).read())",
    "exit": "import sys\nprint('bye')\nsys.exit(0)",
    "unittest": "import unittest\n\nclass Own(unittest.TestCase):\n    def test_it(self): pass\n\nunittest.main()",
    "argparse": "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('path')\nparser.parse_args()",
    "loop": "while True:\n    line = input()\n    if line == 'quit':\n        break\n    print(line)",
}
TASKS = {
    "plain": (
        "def digit_sum(n):\n    return sum(map(int, str(abs(n))))\n",
        ("abs(n)", "n"),
        ["assert digit_sum(123) == 6", "assert digit_sum(0) == 0\nassert digit_sum(-19) == 10"],
        ">>> digit_sum(123)\n6\n>>> digit_sum(-19)\n10\n",
    ),
    "object": (
        "class Tally:\n    def __init__(self):\n        self.counts = {}\n\n    def add(self, word):\n"
        "        self.counts[word] = self.counts.get(word, 0) + 1\n        return self\n",
        ("return self", "return None"),
        ["t = Tally()\nassert t.add('a').add('b').add('a') is t\nassert t.counts == {'a': 2, 'b': 1}"],
        ">>> t = Tally()\n>>> t.add('a').add('a').counts\n{'a': 2}\n",
    ),
}


def guarded(form: str) -> list[Problem]:
    """The problems of a form, one for each kind of main part and task."""
    found = []
    for task, (program, (old, new), parts, doctests) in TASKS.items():
        for guard, code in GUARDS.items():
            body = textwrap.indent(code, "    ")
            main = f"\n\nif __name__ == '__main__':\n{body}\n"
            called = f"\n\ndef main():\n{body}\n\nif __name__ == '__main__':\n    main()\n"
            wrong = (("wrong value", program.replace(old, new) + main), ("no guard", f"{program}\n\n{code}\n"))
            right = (program + main, program + called)
            name, kinds = f"main_{guard}_{task}", ("main part", task)
            problem = Problem(name, "asserts", kinds, {"tests": parts}, right, wrong)
            forms = [problem, *recast(problem)]
            meta = meta_of("doctest", doctests)
            forms.append(
                Problem(f"{problem.name}-doctest", "doctest", problem.kinds, meta, problem.right, problem.wrong)
            )
            found += [one for one in forms if one.form == form]
    return found
