"""How pages and the GitHub action say to install verikit, before and after its name is registered on PyPI."""

import re

ADDRESS = "https://HOST/OWNER/verikit"

README = (
    "README.md",
    "In a checkout of this repository, install verikit, score\ncandidates, rerank them and summarise:\n",
    "`pip install verikit` installs it. The example\n"
    "needs a checkout of this repository. It scores candidates, reranks them and summarises:\n",
)
TRAIN = (
    "README.md",
    "pip install -e '.[train]'\nverikit train arithmetic\n",
    "pip install 'verikit[train]'\nverikit train arithmetic\n",
)
LESSON = (
    "docs/tutorial.md",
    "pip install -e '.[train]'\nverikit train arithmetic -o",
    "pip install 'verikit[train]'\nverikit train arithmetic -o",
)
COMMANDS = (
    "docs/install.md",
    "pip install -e .                     # scores, reranks, serves specs of rules; no torch, no numpy\n"
    "pip install -e '.[serve,text]'       # with extras: `verikit doctor` lists them, and what each lacks\n",
    "pip install verikit                  # scores, reranks, serves specs of rules; no torch, no numpy\n"
    "pip install 'verikit[serve,text]'    # with extras: `verikit doctor` lists them, and what each lacks\n",
)
CHECKOUT = (
    "docs/install.md",
    "verikit is not on PyPI yet. Run these commands in a checkout of the repository. In the same environment,\n"
    "`pip install 'verikit[serve]'` then adds an extra. Add `-c constraints/main.txt` for the versions that a release\n"
    "was tested with.\n",
    "From a copy of the repository, run `pip install -e .`. Add `-c constraints/main.txt` for the versions "
    "that a release\nwas tested with.\n",
)
ACTION = (
    "examples/ci/action.yml",
    "    description: What pip installs, such as git+https://HOST/OWNER/verikit. verikit is not on PyPI yet.\n"
    "    required: true\n",
    "    description: What pip installs.\n    default: verikit\n",
)
WORKFLOW = (
    "examples/ci/workflow.yml",
    "          verikit: git+https://HOST/OWNER/verikit\n          candidates:",
    "          candidates:",
)
STEPS = (
    "examples/ci/README.md",
    "4. Set `verikit` in `workflow.yml` to the address of the repository. verikit is not on PyPI yet.\n\nThe baseline",
    "\nThe baseline",
)
LINES = (README, TRAIN, LESSON, COMMANDS, CHECKOUT, ACTION, WORKFLOW, STEPS)
"""Each file with its lines before and after."""


def switch(root, registered):
    """Write the lines of one state into every file. Files that have them already stay as they are.

    A file that has neither is an error, and then nothing is written.
    """
    texts = {}
    for name, *forms in LINES:
        new, old = forms[registered], forms[not registered]
        text = texts.get(name) or (root / name).read_text("utf-8")
        texts[name] = text if _has(text, new, old) else _pattern(old).sub(lambda _, new=new: new, text, count=1)
        if not _has(texts[name], new, old):
            raise SystemExit(f"{name} has neither form of the lines that start with {old.splitlines()[0]!r}")
    for name, text in texts.items():
        (root / name).write_text(text, "utf-8")


def _has(text, new, old):
    """Whether a text has the new lines. One form may be a part of the other."""
    return bool(_pattern(new).search(text)) and (old in new or not _pattern(old).search(text))


def _pattern(lines):
    """Find lines, also if the repository's address was filled in."""
    return re.compile(re.escape(lines).replace(re.escape(ADDRESS), r"https://\S+"))
