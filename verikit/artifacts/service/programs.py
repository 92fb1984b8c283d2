"""The command that starts a service: which program of this machine or of the workspace it is."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.errors import WorkspaceError
from verikit.sandbox import paths
from verikit.sandbox.toolchains import Missing, toolchain

LANGUAGES = {"node": "javascript", "bash": "bash", "sh": "bash"}
"""Commands of a toolchain, and its language. `python` needs no toolchain."""


@dataclass(frozen=True)
class ServiceProgram:
    """A command, and the paths that it needs from the machine."""

    command: Sequence[str]
    """`{work}` is replaced by the folder of the workspace."""
    readable: Sequence[str]
    file: str = ""
    """The file of the workspace that is executed, if the command is one."""


def program_of(start: Sequence[str]) -> ServiceProgram:
    """The program that a command starts.

    Raises:
        WorkspaceError: This machine lacks it.
    """
    name, *arguments = start
    if name in ("python", "python3"):
        return ServiceProgram([sys.executable, *arguments], [*paths.readable(), *_python()])
    if name in LANGUAGES:
        chain = toolchain(LANGUAGES[name])
        if isinstance(chain, Missing):
            raise WorkspaceError(f"{name} is not installed", hint=chain.install)
        return ServiceProgram([chain.run[0], *arguments], [*paths.readable(), *chain.run_tools])
    shell = toolchain("bash")  # a program of the workspace may be a script
    tools = () if isinstance(shell, Missing) else shell.run_tools
    path = os.path.normpath(name)
    return ServiceProgram([f"{{work}}/{path}", *arguments], [*paths.readable(), *tools], path)


def _python() -> list[str]:
    """The files that the interpreter needs to start as a separate program: itself, its environment and its library."""
    library = f"{sysconfig.get_config_var('LIBDIR')}/{sysconfig.get_config_var('INSTSONAME')}"
    found = [sys.executable, os.path.realpath(sys.executable), f"{sys.prefix}/pyvenv.cfg", library]
    return [path for path in found if os.path.exists(path)]
