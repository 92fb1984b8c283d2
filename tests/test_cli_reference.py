"""docs/cli.md is the commands' own help; `UPDATE=1 pytest tests/test_cli_reference.py` writes it anew."""

import os

import click

from tests.conftest import ROOT
from verikit.cli import COMMANDS, cli

PAGE = ROOT / "docs/cli.md"


def reference():
    parts = ["# Command line\n\nWritten from the commands' own help.\n"]
    for name in COMMANDS:
        wide = {"max_content_width": 100, "terminal_width": 100}
        context = cli.make_context("verikit", ["list"], resilient_parsing=True, **wide)
        command = cli.get_command(context, name)
        below = click.Context(command, info_name=name, parent=context, **wide)
        parts.append(f"\n## {name}\n\n```text\n{command.get_help(below)}\n```\n")
        for sub in getattr(command, "commands", {}).values():
            deeper = click.Context(sub, info_name=sub.name, parent=below, **wide)
            parts.append(f"\n### {name} {sub.name}\n\n```text\n{sub.get_help(deeper)}\n```\n")
    return "".join(parts)


def test_the_command_reference_is_what_the_commands_say_of_themselves():
    if os.environ.get("UPDATE"):
        PAGE.write_text(reference(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == reference()
