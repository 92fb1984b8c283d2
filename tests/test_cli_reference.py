"""docs/cli.md is the commands' own help; `UPDATE=1 pytest tests/test_cli_reference.py` writes it anew."""

import os
import subprocess
import sys

import click

from tests.conftest import ROOT
from verikit.cli import COMMANDS, cli

PAGE = ROOT / "docs/cli.md"


def help_of(*words):
    """What a new process prints: in one that ran a command before, click keeps that run's settings."""
    command = [sys.executable, "-m", "verikit", *words, "--help"]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}
    ).stdout


def reference():
    parts = ["# Command line\n\nWritten from the commands' own help.\n"]
    for name in COMMANDS:
        parts.append(f"\n## {name}\n\n```text\n{help_of(name)}```\n")
        command = cli.get_command(click.Context(cli), name)
        for sub in getattr(command, "commands", {}):
            parts.append(f"\n### {name} {sub}\n\n```text\n{help_of(name, sub)}```\n")
    return "".join(parts)


def test_the_command_reference_is_what_the_commands_say_of_themselves():
    if os.environ.get("UPDATE"):
        PAGE.write_text(reference(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == reference()
