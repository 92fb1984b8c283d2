"""The program that a command's words run: behind wrappers, launchers and options, and as a module of Python."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from verikit.verifiers.tools.shell import Word

_WRAPPERS = {
    "sudo": "ugphCDRrT", "env": "uC", "nohup": "", "time": "fo", "timeout": "ks", "nice": "n", "stdbuf": "ioe",
    "exec": "a", "command": "", "builtin": "", "setsid": "", "ionice": "cnp", "doas": "uC", "unbuffer": "",
    "chroot": "", "strace": "eopsuP", "ltrace": "eopsu", "watch": "n", "xvfb-run": "ens", "taskset": "", "flock": "Ew",
    "busybox": "", "fakeroot": "",
}  # fmt: skip
"""Programs that run the rest of their words, with their options that take a value."""
_LONG_VALUES = frozenset(
    """--user --group --prompt --chdir --chroot --unset --signal --kill-after --adjustment --format
    --output --input --error --argv0 --class --classdata --interval --timeout --conflict-exit-code --host --role --type
    --arg-file --delimiter --max-args --max-procs --max-chars --git-dir --work-tree --namespace
    --config-env --with --extra --package --python --env-file --project --directory""".split()
)
"""Long options whose value may be the next word."""
_FIRST = frozenset("timeout taskset flock chroot".split())
"""Wrappers with an argument before the program."""
_LAUNCHERS = frozenset("uv poetry pipenv pdm rye hatch".split())
"""Programs that run other programs after the word `run`."""
_MOST_STARTS = 20
"""Folders that `find` starts in and that are told apart."""


def program_name(word: Word) -> str:
    """A program without its folders and the number of its version: `python` for `/usr/bin/python3.11`."""
    name = posixpath.basename(word.text)
    return name.rstrip("0123456789.") if name.startswith(("python", "pip", "pypy", "perl", "ruby", "node")) else name


def without_options(words: Sequence[Word], with_value: str) -> list[Word]:
    """The words after leading options and assignments; `with_value` has the short options that take a value."""
    at = 0
    while at < len(words) and (words[at].text.startswith("-") or "=" in words[at].text):
        flag = words[at].text
        at += 2 if _takes_next(flag, with_value) else 1
        if flag == "--":
            break
    return list(words[at:])


def _takes_next(flag: str, with_value: str) -> bool:
    """Whether the word after an option is its value."""
    if not flag.startswith("-") or flag.startswith("--"):
        return flag in _LONG_VALUES
    first = next((at for at, letter in enumerate(flag) if at and letter in with_value), None)
    return first == len(flag) - 1


def unwrapped(words: Sequence[Word]) -> list[Word]:
    """The words starting at the actual program. The program is not known if an option has the whole command."""
    left = list(words)
    while left:
        inner = _inner(posixpath.basename(left[0].text), left[1:])
        if inner is None:
            break
        left = inner
    return left


def _inner(wrapper: str, words: Sequence[Word]) -> list[Word] | None:
    """The command that a wrapper or launcher runs; None if the program is neither."""
    if wrapper in _LAUNCHERS:
        rest = without_options(words, "pEC")
        return without_options(rest[1:], "pE") if rest and rest[0].text == "run" else None
    if wrapper not in _WRAPPERS:
        return None
    rest = without_options(words, _WRAPPERS[wrapper])
    options = words[: len(words) - len(rest)]
    if wrapper == "env" and any(word.text.startswith(("-S", "--s")) for word in options):
        return [Word("$command", known=False)]
    return rest[1:] if wrapper in _FIRST else rest


def module_run(words: Sequence[Word]) -> Sequence[Word]:
    """The module that Python runs by `-m` and its arguments; empty if there isn't one."""
    rest = list(words[1:])
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        letters = flag[1:].partition("m")[0]
        if flag.startswith("--") or any(letter in "cWX" for letter in letters):
            rest = rest[1:] if flag in ("-W", "-X") else rest
            if "c" in letters:
                return ()
        elif flag.endswith("m"):
            return rest
        elif "m" in flag:
            return [Word(flag.partition("m")[2]), *rest]
    return ()


def git_words(arguments: Sequence[Word]) -> tuple[list[Word], list[tuple[str, Word]]]:
    """The words of `git` from its action on, and its options with a value before that, such as `-C`."""
    given: list[tuple[str, Word]] = []
    at = 0
    while at < len(arguments) and arguments[at].text.startswith("-"):
        flag, _, value = arguments[at].text.partition("=")
        if value:
            given.append((flag, replace(arguments[at], text=value)))
        elif _takes_next(flag, "Cc") and at + 1 < len(arguments):
            at += 1
            given.append((flag, arguments[at]))
        at += 1
    return list(arguments[at:]), given


def xargs_words(arguments: Sequence[Word]) -> tuple[list[Word], str]:
    """The words of the program that `xargs` runs, and the mark that it replaces; "" if it appends."""
    inner = without_options(arguments, "aEdILnPs")
    options = [word.text for word in arguments[: len(arguments) - len(inner)]]
    mark = ""
    for flag, after in zip(options, [*options[1:], ""], strict=False):
        if flag == "-I":
            mark = after
        elif flag.startswith(("-I", "-i")):
            mark = flag[2:] or "{}"
        elif flag.startswith("--replace"):
            mark = flag.partition("=")[2] or "{}"
    return inner, mark


def runs(words: Sequence[Word], target: str) -> bool | None:
    """Whether a command runs a program with its first words, as `git push`. None: its text doesn't show it.

    Options between the words are skipped. The word after an option may be its value.
    """
    wanted = target.split()
    if wanted[0] not in (program_name(words[0]), posixpath.basename(words[0].text)):
        return False
    rest = list(words[1:])
    if wanted[0] == "git":
        rest, given = git_words(rest)
        if any(flag == "-c" and value.text.startswith("alias.") for flag, value in given):
            return None
    return _comes(rest, wanted[1:])


def _comes(words: Sequence[Word], wanted: Sequence[str]) -> bool | None:
    """Whether the wanted words come first, apart from options."""
    if not wanted:
        return True
    option = unsure = False
    for at, word in enumerate(words):
        if not word.known:
            return None
        is_option = word.text.startswith("-")
        unsure = unsure or (option and not is_option)  # it may be the option's value
        if word.text == wanted[0]:
            rest = _comes(words[at + 1 :], wanted[1:])
            return None if rest and unsure else rest
        if not is_option and not option:
            return False
        option = is_option and "=" not in word.text
    return False


def target_last(arguments: Sequence[Word]) -> list[Word]:
    """The paths of a copy, its target last, also if it is the value of `-t`."""
    paths, target = [], []
    for before, word in zip(["", *(each.text for each in arguments)], arguments, strict=False):
        name, _, value = word.text.partition("=")
        if name == "--target-directory" and value:
            target.append(replace(word, text=value))
        elif word.text.startswith("-t") and len(word.text) > 2:
            target.append(replace(word, text=word.text[2:]))
        elif before in ("-t", "--target-directory"):
            target.append(word)
        elif not word.text.startswith("-"):
            paths.append(word)
    return paths + target


def found_by(arguments: Sequence[Word]) -> list[Word]:
    """The paths that `find` finds: below the folders that it starts in, if the text shows them."""
    starts = _starts(arguments) or [Word(".")]
    opaque = {"-files0-from", "-D"} & {word.text for word in arguments}
    if opaque or len(starts) > _MOST_STARTS or not all(word.known for word in starts):
        return [Word("$file", known=False)]
    return [Word(posixpath.join(word.text, "$file"), known=False) for word in starts]


def _starts(arguments: Sequence[Word]) -> Sequence[Word]:
    """The words of `find` between its first options and its expression."""
    options = 0
    while options < len(arguments) and arguments[options].text[:2] in ("-L", "-H", "-P", "-O"):
        options += 1
    end = options
    while end < len(arguments) and arguments[end].text[:1] not in ("-", "(", "!", ","):
        end += 1
    return arguments[options:end]


def actions_of_find(arguments: Sequence[Word]) -> list[tuple[str, list[Word]]]:
    """The options of `find` that do something, with their words: a command up to its `;` or `+`, or a file."""
    actions: list[tuple[str, list[Word]]] = []
    most = 0
    for word in arguments:
        if most:
            actions[-1][1].append(word)
            most = 0 if word.text in (";", "+") else most - 1
        elif word.text == "-delete" or word.text.startswith(("-exec", "-ok", "-fprint", "-fls")):
            actions.append((word.text, []))
            most = {"-d": 0, "-f": 1}.get(word.text[:2], len(arguments))
    return actions


def tests_of(arguments: Sequence[Word]) -> list[Word]:
    """The paths of `pytest`, without the names of tests in them. Values such as `--basetemp=PATH` are among them."""
    found: list[Word] = []
    for before, word in zip(["", *(each.text for each in arguments)], arguments, strict=False):
        name, _, value = word.text.partition("=")
        text = value.rpartition(":")[2] if name.startswith("--") else name.partition("::")[0]
        if text and not text.startswith("-") and before not in ("-k", "-m", "-n", "-W", "-r"):
            found.append(replace(word, text=text))
    return found


def awk_acts(program: str, text: str) -> bool:
    """Whether a script of awk may write a file or run a command."""
    if not program.endswith("awk"):
        return False
    return "print" in text.rpartition(">")[0] or "|" in text.replace("||", "") or "system" in text


def filled(words: Sequence[Word], mark: str, found: Word) -> list[Word]:
    """A command's words with a found path, which is not known, at the places of its mark."""
    return [replace(found, text=word.text.replace(mark, found.text)) if mark in word.text else word for word in words]


def written(program: str, arguments: Sequence[Word]) -> list[Word]:
    """The files that a program writes although it mostly reads: the output of `sort`, the second path of `uniq`."""
    if program in ("uniq", "xxd"):
        return [word for word in arguments if not word.text.startswith("-")][1:2]
    if program != "sort":
        return []
    after = [word for flag, word in pairwise(arguments) if flag.text in ("-o", "--output")]
    joined = [replace(word, text=word.text.removeprefix("--output=").removeprefix("-o")) for word in arguments]
    return after + [new for new, word in zip(joined, arguments, strict=True) if new.text and new != word]
