"""docs/cli.md is the commands' own help; `UPDATE=1 pytest tests/test_cli_reference.py` writes it anew."""

import json
import os
import subprocess
import sys

import click

from tests.conftest import ROOT
from verikit.cli import COMMANDS, cli

PAGE = ROOT / "docs/cli.md"


FORKS = """
import click, json, os, sys
from verikit.cli import COMMANDS, cli, main
for name in COMMANDS:
    cli.get_command(click.Context(cli), name)  # their imports, once
for words in json.loads(sys.argv[1]):
    sys.stdout.flush()
    if os.fork() == 0:
        sys.argv[1:] = words
        try:
            main()
        except SystemExit as ended:
            sys.stdout.flush()
            os._exit(ended.code or 0)
    if os.wait()[1]:
        sys.exit("no help of " + " ".join(words))
    print(end="\\0")
"""


def helps_of(commands):
    """What each prints in a process of its own: in one that ran a command before, click keeps that run's settings."""
    command = [sys.executable, "-c", FORKS, json.dumps(commands)]
    environment = {**os.environ, "COLUMNS": "80"}
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    return printed.split("\0")[:-1]


def reference():
    commands = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            commands += [[name, "--help"], *([name, sub, "--help-all"] for sub in getattr(command, "commands", {}))]
        else:
            commands.append([name, "--help-all"])
    parts = ["# Command line\n\nWritten from the commands' own help (`--help-all`).\n"]
    for (*words, _), text in zip(commands, helps_of(commands), strict=True):
        parts.append(f"\n##{'#' * (len(words) - 1)} {' '.join(words)}\n\n```text\n{text}```\n")
    return "".join(parts)


def test_the_command_reference_is_what_the_commands_say_of_themselves():
    if os.environ.get("UPDATE"):
        PAGE.write_text(reference(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == reference()
