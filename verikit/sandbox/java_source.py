"""Which class of a Java source names its file, and which one is started."""

from __future__ import annotations

import re

_JAVA_CLASS = re.compile(r"\b(?:class|interface|enum|record)[ \t\n]+([A-Za-z_$][\w$]*)")
_JAVA_PUBLIC = re.compile(r"^[ \t]*public[ \t]+(?:(?:final|abstract|strictfp)[ \t]+)*(?:class|interface|enum|record)"
                          r"[ \t\n]+([A-Za-z_$][\w$]*)", re.MULTILINE)  # fmt: skip
_JAVA_PACKAGE = re.compile(
    r"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)*+"
    r"package[ \t\n]+([A-Za-z_$][\w$]*(?:[ \t]*\.[ \t]*[A-Za-z_$][\w$]*)*)[ \t\n]*;"
)
"""The package of a file: the first declaration after comments."""
_JAVA_MAIN = re.compile(r"\bstatic[ \t\n]+(?:final[ \t\n]+)?void[ \t\n]+main\b")
_MOST_CLASSES = 50
"""Maximum classes before `main` that are checked for enclosing it."""


def main_class(text: str) -> tuple[str, str]:
    """The class that names the file, and the class that is started: the one around `static void main`.

    The second has the name of its package before it.
    """
    public = _JAVA_PUBLIC.search(text)
    main = _JAVA_MAIN.search(text)
    before = text[: main.start()] if main else ""
    classes = list(_JAVA_CLASS.finditer(before))[-_MOST_CLASSES:]
    start = classes[-1][1] if classes else "Main"
    for found in classes:
        if before.count("{", found.end()) > before.count("}", found.end()):
            start = found[1]
    if public and main and public.start() < main.start():
        start = public[1]
    package = _JAVA_PACKAGE.match(text)
    name = "".join(package[1].split()) + "." if package else ""
    return (public[1] if public else start), name + start
