"""The program that a command's words run: behind wrappers, launchers and options, and as a module of Python."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from verikit.verifiers.tools.commands import SimpleCommand, Word, without_assignments

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
    --config-env --with --extra --package --python --env-file --project --directory --attr-source --super-prefix
    --with-editable --with-requirements --no-extra --no-group --only-group --index --default-index --index-url
    --extra-index-url --find-links --upgrade-package --reinstall-package --index-strategy --keyring-provider
    --resolution --prerelease --exclude-newer --link-mode --config-setting --no-build-isolation-package
    --no-build-package --no-binary-package --refresh-package --cache-dir --python-preference --python-platform --color
    --allow-insecure-host --config-file --env""".split()
)
"""Long options whose value may be the next word."""
_TARGET = re.compile(r"-[a-su-zA-RT-Z]*t(.*)", re.DOTALL)
_OUTPUT = re.compile(r"(?:-[bcdfghiMnRrsuVzCm]*o|--o[a-z]*=)(.*)", re.DOTALL)
_LAUNCHED = "pECPfwei"
"""Short options of launchers that take a value."""
_FIRST = frozenset("timeout taskset flock chroot".split())
"""Wrappers with an argument before the program."""
_LAUNCHERS = frozenset("uv poetry pipenv pdm rye hatch".split())
"""Programs that run other programs after the word `run`."""
_MOST_WRAPPERS = 20
_NAMING = _LAUNCHERS | {"strace", "ltrace", "time", "flock", "xvfb-run", "env", "sudo", "doas"}
"""Wrappers that may have files among their own arguments."""
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


def unwrapped(words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """The words starting at the actual program, and those of its wrappers that may be files or folders.

    The program is not known if an option has the whole command.
    """
    # `time` is a word of the shell, so `time -p a` has `-p a` for a command
    left = list(words[1:] if words and words[0].text == "-p" else words)
    skipped: list[Word] = []
    for _ in range(_MOST_WRAPPERS):
        wrapper = posixpath.basename(left[0].text) if left else ""
        inner = _inner(wrapper, left[1:])
        if inner is None:
            return left, skipped
        if wrapper in _NAMING:
            skipped += left[1 : len(left) - len(inner)]
        left = inner
    return [Word("$command", known=False)], skipped


def changes_folder(options: Sequence[Word]) -> bool:
    """Whether options of wrappers, such as `env -C`, name the folder that the program runs in."""
    return any(word.text.startswith(("-C", "-D", "--chdir", "--directory")) for word in options)


def values_of(options: Sequence[Word]) -> list[Word]:
    """The values of a wrapper's options: words of their own, or joined to the options."""
    found = []
    for word in options:
        text = word.text
        if text.startswith("-"):
            text = text.partition("=")[2] if text.startswith("--") else text[2:]
        elif "=" in text:
            continue
        if text:
            found.append(replace(word, text=text))
    return found


def _inner(wrapper: str, words: Sequence[Word]) -> list[Word] | None:
    """The command that a wrapper or launcher runs; None if the program is neither."""
    if wrapper in _LAUNCHERS:
        rest = without_options(words, _LAUNCHED)
        return _launched(wrapper, rest[1:]) if rest and rest[0].text == "run" else None
    if wrapper not in _WRAPPERS:
        return None
    rest = without_options(words, _WRAPPERS[wrapper])
    options = words[: len(words) - len(rest)]
    if wrapper == "env" and any(re.match(r"-[^-uCa]*S|--s", word.text) for word in options):
        return [Word("$command", known=False)]
    return rest[1:] if wrapper in _FIRST else rest


def _launched(launcher: str, words: Sequence[Word]) -> list[Word]:
    """The command after `run`. `uv run` also runs scripts and modules of Python."""
    rest = without_options(words, _LAUNCHED)
    options = {word.text for word in words[: len(words) - len(rest)]}
    if launcher == "uv" and options & {"-m", "--module"}:
        return [Word("python"), Word("-m"), *rest]
    if launcher == "uv" and "-" in options:
        return [Word("python"), Word("-"), *rest]
    is_script = rest and (rest[0].text.endswith(".py") or options & {"-s", "--script"})
    return [Word("python"), *rest] if launcher == "uv" and is_script else rest


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


def xargs_words(arguments: Sequence[Word]) -> tuple[list[Word], str, Sequence[Word]]:
    """The words of the program that `xargs` runs, the mark that it replaces ("" if it appends), and its options."""
    inner = without_options(arguments, "aEdILnPs")
    before = arguments[: len(arguments) - len(inner)]
    options = [word.text for word in before]
    mark = ""
    for flag, after in zip(options, [*options[1:], ""], strict=False):
        if flag == "-I":
            mark = after
        elif flag.startswith(("-I", "-i")):
            mark = flag[2:] or "{}"
        elif flag.startswith("--replace"):
            mark = flag.partition("=")[2] or "{}"
    return inner, mark, before


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


def target_last(program: str, arguments: Sequence[Word]) -> list[Word]:
    """The paths of a copy, its target last, also if it is the value of `-t`."""
    paths, target = list[Word](), list[Word]()
    if program in ("rsync", "scp"):  # their `-t` is another option
        return [word for word in arguments if not word.text.startswith("-")]
    for before, word in zip(["", *(each.text for each in arguments)], arguments, strict=False):
        name, _, value = word.text.partition("=")
        joined = _TARGET.match(word.text)
        if name.startswith("--t") and value:
            target.append(replace(word, text=value))
        elif joined and joined[1]:
            target.append(replace(word, text=joined[1]))
        elif (before.startswith("--t") and "=" not in before) or ((last := _TARGET.match(before)) and not last[1]):
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


_UNREAD = "--ignore", "--deselect"
"""Options of pytest with paths that it does not read."""


def tests_of(arguments: Sequence[Word]) -> list[Word]:
    """The paths of `pytest`, without the names of tests in them. Values such as `--basetemp=PATH` are among them."""
    found: list[Word] = []
    for before, word in zip(["", *(each.text for each in arguments)], arguments, strict=False):
        text = word.text
        if text.startswith("--"):
            text = text.partition("=")[2]
        elif text.startswith("-"):
            joined = re.match(r"-[qvxsl]*[cop](.+)", text, re.DOTALL)
            text = joined[1] if joined else ""
        else:
            text = text.partition("::")[0]
        text = text.rpartition("=")[2].rpartition(":")[2]
        unread = before in ("-k", "-m", "-n", "-W", "-r", *_UNREAD) or word.text.startswith(_UNREAD)
        if text and not unread:
            found.append(replace(word, text=text))
    return found


def awk_acts(program: str, text: str) -> bool:
    """Whether a script of awk may read or write a file or run a command."""
    if not program.endswith("awk"):
        return False
    writes = any("print" in text.replace("||", "").rpartition(sign)[0] for sign in ">|")
    return writes or "getline" in text or "system" in text


_SED_FILES = re.compile(r"(?<![A-Za-z])[wWrRe](?:\s|$)")


def sed_acts(program: str, text: str) -> bool:
    """Whether a script of sed may read or write a file or run a command."""
    return program == "sed" and bool(_SED_FILES.search(text))


def in_place(program: str, flags: Sequence[str]) -> bool:
    """Whether `sed` or `awk` changes the files it reads."""
    if program == "sed":
        return any(re.match(r"-[nErsuzb]*i|--i", flag) for flag in flags)
    return program.endswith("awk") and any(flag in ("-i", "-iinplace", "--include=inplace") for flag in flags)


def filled(words: Sequence[Word], mark: str, found: Word) -> list[Word]:
    """A command's words with a found path, which is not known, at the places of its mark."""
    return [replace(found, text=word.text.replace(mark, found.text)) if mark in word.text else word for word in words]


def written(program: str, arguments: Sequence[Word]) -> list[Word]:
    """The files that a program writes although it mostly reads: the output of `sort`, the second path of `uniq`."""
    if program in ("uniq", "xxd"):
        return _paths_after(arguments, "fsw" if program == "uniq" else "cglnos")[1:2]
    if program not in ("sort", "iconv"):
        return []
    found, is_next = list[Word](), False
    for word in arguments:
        flag = _OUTPUT.match(word.text)
        if is_next:
            found.append(word)
        elif flag and flag[1]:
            found.append(replace(word, text=flag[1]))
        is_next = not is_next and (word.text in ("--o", "--out", "--output") or bool(flag and not flag[1]))
    return found


def _paths_after(arguments: Sequence[Word], with_value: str) -> list[Word]:
    """The words that are neither options nor their values. `-` is one of them."""
    found, skip = list[Word](), False
    for word in arguments:
        is_option = word.text.startswith("-") and word.text != "-"
        if not is_option and not skip:
            found.append(word)
        skip = is_option and _takes_next(word.text, with_value)
    return found


def links(program: str, arguments: Sequence[Word]) -> bool:
    """Whether a command makes links: `ln`, or `cp` with an option for it."""
    return program == "ln" or (
        program == "cp" and any(re.match(r"-[a-zA-Z]*[sl]|--(sy|l)", word.text) for word in arguments)
    )


def linked_paths(paths: Sequence[Word]) -> list[Word]:
    """The paths that a link may lead to. A symbolic link starts in its own folder, and its name may be a folder."""
    if len(paths) < 2:
        return list(paths)
    target, found = paths[-1], list[Word]()
    for word in paths[:-1]:
        known = word.known and (target.known or word.text.startswith("/"))
        for folder in ("", posixpath.dirname(target.text), target.text):
            found.append(replace(word, text=posixpath.join(folder, word.text), known=known))
    return found


def makes_links(command: SimpleCommand) -> bool:
    """Whether a command may make a symbolic link to a folder."""
    words, _ = unwrapped(without_assignments(command).words)
    return bool(words) and links(program_name(words[0]), words[1:])
