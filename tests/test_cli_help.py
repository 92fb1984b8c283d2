"""Help by purpose, colours, and the suggestion of a next command."""

import os
import shlex
import sys

import click
import pytest

from verikit.cli import cli, main
from verikit.cli.command import HELP_ALL, OTHER, SHARED, GroupedCommand, next_step

LONGEST = 9
"""Options that a command may show without grouping them."""


def commands(group, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            yield " ".join((*path, name)), found


ALL = dict(commands(cli))
LONG = {name: command for name, command in ALL.items() if command.usual}


def text_of(command, *, everything):
    context = click.Context(command, info_name="it")
    context.meta[HELP_ALL] = everything
    return command.get_help(context)


def options_of(command):
    return [option for option in command.params if isinstance(option, click.Option)]


def test_every_command_groups_its_help_if_it_has_many_options():
    assert all(isinstance(command, GroupedCommand) for command in ALL.values())
    assert [name for name, command in ALL.items() if len(options_of(command)) > LONGEST and not command.usual] == []
    assert {len(command.usual) for command in LONG.values()} == {6}


@pytest.mark.parametrize("name", LONG)
def test_help_explains_the_usual_options_and_names_the_others_and_help_all_explains_each_once(name):
    command = LONG[name]
    for everything in (False, True):
        words = text_of(command, everything=everything).replace(",", " ").split()
        assert {max(option.opts, key=len) for option in options_of(command)} | {HELP_ALL} <= set(words)
    first = text_of(command, everything=False)
    assert first.index("Usual options:") < first.index("More options") < first.index("Help:")
    shown = command.grouped(click.Context(command))
    listed = [option.name for group in shown.values() for option in group]
    assert len(listed) == len(set(listed))
    assert {option.name for option in options_of(command)} <= set(listed)


@pytest.mark.parametrize("name", LONG)
def test_every_option_has_a_purpose_and_every_declared_name_is_an_option(name):
    command = LONG[name]
    assert OTHER not in command.grouped(click.Context(command))
    there = {opt for option in options_of(command) for opt in option.opts}
    declared = [*command.usual, *(option for names in command.purposes.values() for option in names)]
    assert [option for option in declared if option not in there] == []
    assert len(declared) == len(set(declared))


def test_commands_are_listed_again_after_each_was_imported():
    assert dict(commands(cli)).keys() == ALL.keys()


def test_a_shared_purpose_names_options_that_exist():
    there = {opt for command in ALL.values() for option in options_of(command) for opt in option.opts}
    assert {name for names in SHARED.values() for name in names.split()} <= there


def called(monkeypatch, *words):
    """The exit code of a command, run in this process as the shell would run it."""
    monkeypatch.setattr(sys, "argv", ["verikit", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_help_all_works_without_required_arguments_and_on_short_commands(monkeypatch, capsys):
    for name in ("score", "list"):
        assert called(monkeypatch, name, HELP_ALL) == 0
        assert "--json" in capsys.readouterr().out
    assert "Thresholds and exit codes:" in text_of(ALL["score"], everything=True)
    assert HELP_ALL not in text_of(ALL["list"], everything=False)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "two words.jsonl"
    row = '{"prompt": "1+%d?", "completion": "2", "answer": "%d"}\n'
    path.write_text(row % (1, 2) + row % (2, 3))
    return path


def test_score_suggests_a_command_that_works_on_stderr_only(rows, monkeypatch, capsys):
    assert called(monkeypatch, "score", rows) == 0
    printed = capsys.readouterr()
    last = printed.err.splitlines()[-1]
    assert last == "next: verikit report 'runs/two words' --html 'two words.html'"
    assert "next:" not in printed.out
    _, _, *words = shlex.split(last)
    assert called(monkeypatch, *words) == 0
    assert (rows.parent / "two words.html").stat().st_size > 1000


@pytest.mark.parametrize("quiet", [["--json"], ["-q"], ["-o", "-"]])
def test_nothing_is_suggested_where_a_program_reads_or_the_user_wants_quiet(quiet, rows, monkeypatch, capsys):
    called(monkeypatch, "score", rows, *quiet)
    printed = capsys.readouterr()
    assert "next:" not in printed.err + printed.out


def test_a_suggestion_shows_no_key_and_moves_no_cursor(capsys):
    spec = "judge('openai:http://h/v1#m', api_key='sk-abcdefghijklmnopqrstuvwx')"
    next_step("verikit", "explain", "a\x1b[2J.jsonl", "-v", spec)
    err = capsys.readouterr().err
    assert "sk-abcdef" not in err
    assert "\x1b" not in err


def on_a_terminal(monkeypatch, *words):
    """What a command prints if stdout is a terminal."""
    master, slave = os.openpty()
    with open(slave, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        called(patch, *words)
        terminal.flush()
        found = os.read(master, 65536).decode()
    os.close(master)
    return found


def test_pass_and_fail_have_colours_on_a_terminal_unless_no_color_is_set(monkeypatch, capsys):
    right = ["explain", "--completion", "4", "--answer", "4"]
    wrong = ["explain", "--completion", "5", "--answer", "4"]
    monkeypatch.setenv("NO_COLOR", "")  # https://no-color.org: an empty value does not count
    assert "\x1b[32m" in on_a_terminal(monkeypatch, *right)
    assert "\x1b[31m" in on_a_terminal(monkeypatch, *wrong)
    called(monkeypatch, *wrong)
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in on_a_terminal(monkeypatch, *wrong)
