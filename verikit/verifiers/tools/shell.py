"""Shell as simple commands with their words: quotes, lists, pipes, redirections, substitutions, here-documents.

One pass over the characters. Only quotes and plain variables that the script itself sets are expanded. A word
whose value can't be known from the text (`$d`, `$(…)`, `{a,b}`) keeps its text and is not `known`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from verikit.verifiers.tools.commands import (
    HereDocument,
    Script,
    SimpleCommand,
    Word,
    assignment,
    give,
    without_assignments,
)
from verikit.verifiers.tools.quotes import ansi, backquoted, bracketed, document_end

MAX_CHARS = 200_000
MAX_DEPTH = 20
MAX_SUBSHELLS = 10  # that start with `((`, of a text; more are a problem
_BLANK, _ENDS = " \t", "\n;&|()<>"
_LONG = ("&>>", "<<<", "<<-", "&&", "||", ";;", "|&", ">>", "<<", ">&", "<&", "<>", ">|", "&>", ">(", "<(")
_REDIRECTS = frozenset((">", ">>", ">|", "&>", "&>>", "<", "<>", ">&", "<&"))
RESERVED = frozenset("if then else elif fi while until do done time ! { } coproc".split())
_SETTERS = frozenset("export declare typeset readonly local read unset printf mapfile readarray getopts let".split())
"""Programs that may change the variables that they name."""
_SUBSTITUTIONS = re.compile(r"\$(?!')|`")
_DOCUMENT_SUBSTITUTIONS = re.compile(r"\\.|\$(?!')|`", re.DOTALL)


def parsed(text: str) -> Script:
    """The simple commands of a script, in their order; commands of substitutions first."""
    script = Script()
    if len(text) > MAX_CHARS:
        script.problems.append(f"a command of {len(text):,} characters")
        return script
    _Reader(text, script, {}, 0).read()
    return script


class _Reader:
    """Reads one text; separate readers read substitutions, into the same script."""

    def __init__(self, text: str, script: Script, variables: dict[str, str], depth: int) -> None:
        self._text, self._at, self._script = text, 0, script
        self._variables, self._depth = variables, depth
        self._documents: list[HereDocument] = []
        self._in_pattern = False
        """Whether a pattern of `case` comes next."""
        self._case: SimpleCommand | None = None
        self._subshells = 0

    def read(self) -> None:
        """Read all of it."""
        command = SimpleCommand()
        while self._at < len(self._text):
            mark = self._text[self._at]
            if mark in _BLANK or self._text.startswith("\\\n", self._at):
                self._at += 2 if mark == "\\" else 1
            elif mark == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif mark == "(" and self._arithmetic(command):
                continue
            elif mark in _ENDS and not self._text.startswith(("<(", ">("), self._at):
                command = self._operator(command)
            else:
                self._word_of(command)
        self._end(command)
        if self._documents:
            self._script.problems.append("a here-document without its end")

    def _arithmetic(self, command: SimpleCommand) -> bool:
        """Read `((…))` as one command, or as the head of `for ((…))`. Returns False if it is something else."""
        begin = self._at
        if not self._text.startswith("((", begin) or [word.text for word in command.words] not in ([], ["for"]):
            return False
        if self._subshells > MAX_SUBSHELLS:
            self._script.problems.append("many subshells")  # each may be read to the end of the text
            return False
        inner = self._calculated(begin + 2)
        if inner is None:
            self._at = begin  # a subshell within a subshell
            self._subshells += 1
            return False
        command.words += [Word("(("), Word(inner.strip(), not set("$`") & set(inner))]
        return True

    def _calculated(self, at: int) -> str | None:
        """The arithmetic after `((`, whose substitutions are read; None if its end is not directly before a `)`."""
        inner = self._bracketed(at)
        if not self._text.startswith(")", self._at):
            return None
        self._at += 1
        if any(set(pair) <= set(inner.replace("\\\n", "")) for pair in ("\\", "'$", "'`", "`(", "`)")):
            self._script.problems.append("quotes in arithmetic")
        self._inside(inner).read_substitutions()
        return inner

    def read_substitutions(self, marks: re.Pattern[str] = _SUBSTITUTIONS) -> None:
        """Read only the commands that a text substitutes, as in double quotes."""
        while found := marks.search(self._text, self._at):
            self._at = found.start()
            if found[0].startswith("\\"):
                self._at = found.end()
            else:
                self._expansion([])

    def _inside(self, text: str) -> _Reader:
        if self._depth >= MAX_DEPTH:
            self._script.problems.append("substitutions within substitutions without end")
            text = ""
        return _Reader(text, self._script, self._variables, self._depth + 1)

    def _word_of(self, command: SimpleCommand) -> None:
        begin = self._at
        word = self._word()
        plain = self._text[begin : self._at].replace("\\\n", "")
        if plain.isdecimal() and self._text[self._at : self._at + 1] in ("<", ">"):
            return  # a number of a file before its redirection
        self._end_head_of_for(command, plain)
        if not command.words and word.text in RESERVED and plain == word.text:
            command.lead.append(word.text)
            self._script.steps.append(word.text)
            return
        if not command.words and plain in ("case", "select", "function", "[["):
            self._case = command if plain == "case" else self._case
            self._script.problems.append(f"{word.text} …")
        command.words.append(word)

    def _end_head_of_for(self, command: SimpleCommand, plain: str) -> None:
        """End `for x` and `for ((…))` before `do` or `{`, also without a `;`."""
        words = [word.text for word in command.words[:3]]
        if plain in ("do", "{") and words[:1] == ["for"] and (len(words) == 2 or words[1:2] == ["(("]):
            self._end(command)
            command.words.clear()

    def _operator(self, command: SimpleCommand) -> SimpleCommand:
        sign = next((one for one in _LONG if self._text.startswith(one, self._at)), self._text[self._at])
        self._at += len(sign)
        if sign in _REDIRECTS or sign.startswith("<<"):
            self._redirect(command, sign)
            return command
        command.ended = sign
        if self._is_pattern(command, sign):
            return SimpleCommand()
        if sign == "(" and not self._opens(command):
            self._script.problems.append("a bracket within words")
            command.words.append(Word("$(", known=False))
        taken = self._end(command)
        self._script.steps.append(sign)
        if sign == "\n":
            self._here_documents()
        return SimpleCommand(piped=sign in ("|", "|&"), lead=[] if taken else command.lead)

    def _opens(self, command: SimpleCommand) -> bool:
        """Whether a bracket after the words of a command opens the values of an array or defines a function."""
        return (
            not command.words
            or command.words[-1].text.endswith("=")
            or (len(command.words) == 1 and self._text[self._at : self._at + 20].lstrip(_BLANK).startswith(")"))
        )

    def _is_pattern(self, command: SimpleCommand, sign: str) -> bool:
        """Whether the words are patterns of `case`, which are not commands. Keeps track of where patterns are."""
        words = [word.text for word in command.words]
        starts = command is self._case and words[2:3] == ["in"] and words[3:4] != ["esac"]
        patterned = starts or (self._in_pattern and words[:1] != ["esac"])
        if patterned and sign in (")", "|", "("):
            self._in_pattern = sign != ")"
            return True
        if words or sign == ";;":
            self._in_pattern = starts or sign == ";;"
        return False

    def _redirect(self, command: SimpleCommand, sign: str) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        begin = self._at
        target = self._word()
        if sign in ("<<", "<<-"):
            end, quoted = document_end(self._text[begin : self._at])
            self._documents.append(HereDocument(command, end, quoted, sign == "<<-"))
        elif sign == "<<<":
            give(command, target.text)
            command.altered |= not target.known
        elif not (sign in (">&", "<&") and (target.text.isdecimal() or target.text == "-")):
            command.redirects.append((sign, target))

    def _here_documents(self) -> None:
        """The lines up to the end of each here-document that the line before has opened."""
        waiting, self._documents = self._documents, []
        for document in waiting:
            lines = []
            while self._at < len(self._text):
                line = self._line(document)
                if line == document.end:
                    break
                lines.append(line)
            else:
                self._script.problems.append("a here-document without its end")
            body = "\n".join(lines)
            give(document.command, body)
            if not document.quoted:
                document.command.altered |= any(mark in body for mark in ("$", "`", "\\\\"))
                self._inside(body).read_substitutions(_DOCUMENT_SUBSTITUTIONS)

    def _line(self, document: HereDocument) -> str:
        """The next line of a here-document; backslashes join lines if its end is not quoted."""
        parts = []
        while True:
            stop = self._text.find("\n", self._at)
            stop = len(self._text) if stop < 0 else stop
            part = self._text[self._at : stop]
            self._at = min(stop + 1, len(self._text))
            joined = not document.quoted and (len(part) - len(part.rstrip("\\"))) % 2 and self._at < len(self._text)
            parts.append(part[:-1] if joined else part)
            if not joined:
                line = "".join(parts)
                return line.lstrip("\t") if document.tabs else line

    def _end(self, command: SimpleCommand) -> bool:
        """Add a command, and return whether there is one; assignments without a command set variables."""
        if command.words and all(assignment(word) for word in command.words):
            self._assign(command.words)
        self._forget(without_assignments(command).words)
        if command.words[:1] and command.words[0].text == "for":
            for word in command.words[1:2]:
                self._variables.pop(word.text, None)
            self._script.steps.append("for")
            return False
        if command.words or command.redirects:
            command.inner = self._depth > 0
            self._script.commands.append(command)
            self._script.steps.append(command)
            return True
        return False

    def _assign(self, assignments: Sequence[Word]) -> None:
        """Set variables; unknown and long values are dropped."""
        for word in assignments:
            name, _, value = word.text.partition("=")
            if word.known and len(value) < 500:
                self._variables[name] = value
            else:
                self._variables.pop(name, None)

    def _forget(self, words: Sequence[Word]) -> None:
        """Drop the variables that a program may change. `export NAME` keeps the value."""
        while words and words[0].text in ("command", "builtin"):
            words = words[1:]
        if words and words[0].text in _SETTERS:
            keeps = words[0].text in ("export", "readonly")
            for word in words[1:]:
                name, given, _ = word.text.partition("=")
                if given or not keeps:
                    self._variables.pop(name, None)

    def _word(self) -> Word:
        parts: list[str] = []
        known, pattern, braces = True, False, ""
        while self._at < len(self._text):
            mark = self._text[self._at]
            if mark in _BLANK or (mark in _ENDS and not self._text.startswith(("<(", ">("), self._at)):
                break
            if mark == "'":
                parts.append(self._quoted("'"))
            elif mark == '"':
                known &= self._double(parts)
            elif mark == "\\":
                parts.append(self._text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif self._text.startswith('$"', self._at):
                self._at += 1  # a text in the user's language
            elif mark in "$`<>":
                known &= self._expansion(parts)
            else:
                pattern |= mark in "*?["
                braces = _braced(braces, mark, parts)
                parts.append(mark)
                self._at += 1
        return Word("".join(parts), known and braces != "{,}", pattern)

    def _quoted(self, mark: str) -> str:
        end = self._text.find(mark, self._at + 1)
        if end < 0:
            self._script.problems.append("a quote that is not closed")
            end = len(self._text)
        found = self._text[self._at + 1 : end]
        self._at = end + 1
        return found

    def _double(self, parts: list[str]) -> bool:
        """Read a string in double quotes; return whether its value is known."""
        known = True
        self._at += 1
        while self._at < len(self._text):
            mark = self._text[self._at]
            if mark == '"':
                self._at += 1
                return known
            if mark == "\\" and self._text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                parts.append(self._text[self._at + 1].replace("\n", ""))
                self._at += 2
            elif mark in "$`" and not self._text.startswith("$'", self._at):
                known &= self._expansion(parts)
            else:
                parts.append(mark)
                self._at += 1
        self._script.problems.append("a quote that is not closed")
        return False

    def _expansion(self, parts: list[str]) -> bool:
        """Read an expansion that starts with `$`, a backquote or `<(`; return whether its value is known."""
        text, at = self._text, self._at
        if text[at] == "`":
            script, self._at, closed = backquoted(text, at + 1)
            if not closed:
                self._script.problems.append("a quote that is not closed")
            return self._substituted(script, parts)
        if text.startswith(("$(", "<(", ">("), at):
            inner = self._calculated(at + 3) if text.startswith("$((", at) else None
            if inner is not None:
                parts.append(f"({inner})")
                return False
            return self._substituted(self._bracketed(at + 2), parts)
        if text.startswith("$'", at):
            value, self._at = ansi(text, at + 2)
            parts.append(value)
            return True
        name = self._name(at + 1)
        if name is None:
            parts.append("$")
            self._at += 1
            return at + 1 >= len(text) or text[at + 1] in " \t\n\"'/"
        if name in self._variables:
            parts.append(self._variables[name])
            return True
        parts.append(f"${name}")
        return False

    def _name(self, at: int) -> str | None:
        """The variable after a `$`, which is skipped; None if there isn't one."""
        text = self._text
        if text.startswith("{", at):
            end = text.find("}", at)
            self._at = len(text) if end < 0 else end + 1
            self._inside(text[at + 1 : end]).read_substitutions()
            return text[at + 1 : end]
        end = at
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
        if end == at and text[at : at + 1] in ("?", "#", "@", "*", "!", "$", "-"):
            end = at + 1
        if end == at:
            return None
        self._at = end
        return text[at:end]

    def _bracketed(self, at: int) -> str:
        """The text up to the bracket that closes."""
        inner, self._at, closed = bracketed(self._text, at)
        if not closed:
            self._script.problems.append("a bracket that is not closed")
        return inner

    def _substituted(self, inner: str, parts: list[str]) -> bool:
        self._script.steps.append("$(")
        self._inside(inner).read()
        self._script.steps.append("$)")
        parts.append(f"$({inner})")
        return False


def _braced(before: str, mark: str, parts: Sequence[str]) -> str:
    """The signs of a brace expansion that a word has up to a mark without quotes: `{`, `{,` or `{,}`."""
    if not before:
        return "{" if mark == "{" else ""
    if before == "{" and (mark == "," or (mark == "." and parts[-1] == ".")):
        return "{,"
    return "{,}" if before == "{," and mark == "}" else before
