"""`verikit doctor`."""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any

import click

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.browser.report import browser_told
from verikit.artifacts.office.report import office_told
from verikit.artifacts.service.report import service_told
from verikit.cli.command import GroupedCommand, next_note, next_step
from verikit.cli.options import data_options, data_words, gold_option, json_option, limit_option
from verikit.errors import AgentFault, MissingExtra, SandboxError, SchemaError, UsageError, WorkspaceError, with_hint
from verikit.names import registry
from verikit.platform.secrets import strike
from verikit.platform.system import processors
from verikit.platform.terminal import pass_or_fail, printable
from verikit.readers import Reader, read
from verikit.sandbox import LocalSandbox, Report
from verikit.sandbox.backends import VARIABLE, backend_name, start
from verikit.sandbox.toolchains import LANGUAGES, Missing, toolchain


@click.command(cls=GroupedCommand)
@click.option("--data", metavar="FILE", help="Check a file instead: unreadable rows and unusable gold answers.")
@gold_option
@data_options
@limit_option
@json_option
def doctor(
    data: str | None, gold: str | None, mapping: dict[str, str], format_: str | None, limit: int | None, as_json: bool
) -> int:
    """Check this machine: versions, installed extras, sandbox guarantees, and how to install missing parts.

    It also lists verifiers, engines and other parts registered by other installed packages.
    With --data, check a file of candidates. The exit code is 1 if a row is unreadable or `answer` can't use its gold
    answer.
    """
    if data is not None:
        bad = _check_file(read(data, format=format_, mapping=mapping, gold=gold), limit, as_json)
        _suggest(data, bad, data_words(mapping, format_, gold), quiet=as_json)
        return int(bad)
    if limit or gold or format_ or mapping:
        raise UsageError("--limit, --gold, --format and --map belong to a file", hint="add --data FILE")
    found = examine()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return 0
    _show(found)
    missing = any(extra["missing"] for extra in found["extras"].values())
    install = "install the extras that you need, with the commands above"
    next_note(install if missing else "nothing to install: all extras are there")
    return 0


def _show(found: dict[str, Any]) -> None:
    click.echo(f"verikit {found['verikit']} on Python {found['python']}, {found['platform']}, {found['cpus']} CPUs")
    _show_extras(found["extras"])
    click.echo(_guarantees(found["sandbox"]))
    others = found["sandboxes"]
    click.echo(f"`code` uses the sandbox {others.pop('chosen')} (option sandbox=, or {VARIABLE})")
    for name, told in others.items():
        click.echo(_guarantees(told) if isinstance(told, dict) else _part(f"  {name:<14}{told}"))
    click.echo("languages of `code` other than Python")
    for language, told in found["languages"].items():
        click.echo(_part(f"  {language:<14}{told}"))
    click.echo("verifiers of files that an agent left")
    for name, told in found["artifacts"].items():
        click.echo(_part(printable(f"  {name:<14}{told}")))
    if found["entry_points"]:
        click.echo("names that other distributions register")
    for entry in found["entry_points"]:
        others = f"; refused: {', '.join(entry['others'])} registers it too" if entry["others"] else ""
        click.echo(printable(f"  {entry['kind']} {entry['name']} = {entry['value']} ({entry['distribution']}{others})"))


def _show_extras(extras: dict[str, Any]) -> None:
    for name, extra in extras.items():
        line = ", ".join(f"{package} {number}" for package, number in extra["have"].items()) or "-"
        if extra["missing"]:
            line += f"; missing {', '.join(extra['missing'])}: {extra['fix']}"
        click.echo(_part(f"  {'core' if name == '' else name:<12} {line}"))


def _guarantees(told: dict[str, Any] | str) -> str:
    """Colour a sandbox's guarantees, or the reason why there is no sandbox."""
    if isinstance(told, str):
        return pass_or_fail(told, 0.0)
    return "\n".join(map(_marked, Report(**told).text().split("\n")))


def _marked(line: str) -> str:
    """Colour the line of a guarantee by its word."""
    word = " ".join(line.split()[1:2])
    return pass_or_fail(line, _MARKS[word]) if word in _MARKS else line


_MARKS = {"yes": 1.0, "partly": None, "NO": 0.0}
"""The words of `Report.text` with their colours."""


def _part(line: str) -> str:
    """Colour the line of a part if something is missing."""
    missing = "missing" in line or "not available" in line
    return pass_or_fail(line, None) if missing else line


def _sandbox() -> dict[str, Any] | str:
    """Return the guarantees of the sandbox on this machine, or why it is not available."""
    try:
        with LocalSandbox(strict=False) as box:
            return box.report.as_dict()
    except SandboxError as error:
        return with_hint(f"sandbox not available: {error}", error.hint)


def _sandboxes() -> dict[str, Any]:
    """Return the chosen sandbox, and for each but `local` its verified guarantees or why it is not available."""
    try:
        chosen = backend_name()
    except UsageError as error:
        chosen = with_hint(str(error), error.hint)
    found: dict[str, Any] = {"chosen": strike(chosen)}
    tried = ["bwrap"] if shutil.which("bwrap") else []
    if chosen.startswith(("process", "http", "docker")) and " " not in chosen:
        tried.append(chosen)
    for name in tried:
        try:
            with start(name) as box:
                report = box.report.as_dict()
            found[strike(name)] = report
        except SandboxError as error:
            found[strike(name)] = with_hint(f"not available: {error}", error.hint)
    for name, command, hint in _COMMANDS:
        if name not in found and not shutil.which(command):
            found[name] = f"missing: {command} is not on PATH ({hint})"
    found.setdefault("process", "limits only: it isolates nothing, by its nature")
    if not any(name.startswith("docker") for name in found):
        found["docker:IMAGE"] = f"{shutil.which('docker')}; tried when {VARIABLE} names an image"
    found.setdefault("http://HOST", f"your own server (`verikit serve --sandbox`); tried when {VARIABLE} names it")
    return found


_COMMANDS = (
    ("bwrap", "bwrap", "apt-get install bubblewrap"),
    ("docker:IMAGE", "docker", "https://docs.docker.com/engine/install"),
)


def _languages() -> dict[str, str]:
    """What builds or runs each language here, or the line that installs it."""
    found = {language: toolchain(language) for language in LANGUAGES}
    return {
        language: f"missing: {chain.install}" if isinstance(chain, Missing) else (chain.build or chain.run)[0]
        for language, chain in found.items()
    }


def _file_readers() -> dict[str, str]:
    """Return, for each verifier of documents, whether its reader runs in the sandbox, or the line that installs it."""
    found: dict[str, str] = {}
    works = ""
    for name, module in _FILE_READERS.items():
        reader = import_module(module).READER
        try:
            reader.check_packages()
            works = works or _tried(reader)
            found[name] = works
        except MissingExtra as error:
            found[name] = with_hint(f"missing: {error}", error.hint)
    return found


_FILE_READERS = {
    "docx": "verikit.verifiers.docx.verifier", "pptx": "verikit.verifiers.pptx.slides",
    "pdf": "verikit.verifiers.pdf.pages", "image": "verikit.verifiers.image.verifier",
    "xlsx": "verikit.verifiers.xlsx.observed",
}  # fmt: skip
"""The modules with the readers. All run in the same way, so one is tried."""


def _tried(reader: BoxReader) -> str:
    try:
        observe(reader, [b""], {})
    except AgentFault:  # it has rejected the empty file, as it must
        return "read in the sandbox"
    except (SandboxError, WorkspaceError) as error:
        return with_hint(f"missing: {error}", error.hint)
    return "missing: the reader takes an empty file"


def examine() -> dict[str, Any]:
    """Return versions of Python and verikit, installed and missing packages per extra ("": core), and the sandbox."""
    extras: dict[str, dict[str, Any]] = {}
    for line in registry.requirements():
        package = re.match(r"[\w.-]+", line)
        marker = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if package is None:
            continue
        name = marker[1] if marker else ""
        extra = extras.setdefault(
            name,
            {"have": {}, "missing": [], "fix": f"pip install 'verikit[{name}]'" if name else "pip install verikit"},
        )
        try:
            extra["have"][package[0]] = version(package[0])
        except PackageNotFoundError:
            extra["missing"].append(package[0])
    return {
        "verikit": registry.version(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cpus": processors(),
        "extras": extras,
        "sandbox": _sandbox(),
        "sandboxes": _sandboxes(),
        "languages": _languages(),
        "artifacts": {
            "html": browser_told(),
            "LibreOffice": office_told(),
            "service": service_told(),
            **_file_readers(),
        },
        "entry_points": [entry._asdict() for entry in registry.foreign()],
    }


def _check_file(reader: Reader, limit: int | None, as_json: bool) -> bool:
    """Print which rows of a file can't be used, and return whether there are any."""
    from verikit.answers.gold import check_gold

    good, problems = 0, []
    for item in islice(reader, limit):
        if isinstance(item, SchemaError):
            told = f"field {item.field!r}: {item.problem}" if item.field else item.problem
            problems.append({"line": item.line, "id": None, "problem": with_hint(told, item.hint)})
        elif problem := check_gold(item.answer):
            problems.append({"line": None, "id": item.id, "problem": problem})
        else:
            good += 1
    if as_json:
        click.echo(json.dumps({"good": good, "format": reader.format, "problems": problems}, indent=2))
        return bool(problems)
    for found in problems:
        where = f"line {found['line']}" if found["id"] is None else f"id {found['id']}"
        click.echo(printable(f"{where}: {found['problem']}"))
    told = f"{good} rows are good, {len(problems)} are not (read as {reader.format})"
    click.echo(pass_or_fail(told, float(not problems)))
    for note in reader.notes:
        click.echo(note)
    return bool(problems)


def _suggest(file: str, bad: bool, words: list[str], *, quiet: bool) -> None:
    if bad:
        next_note("correct these rows, then check the file again", quiet=quiet)
    else:
        next_step("verikit", "score", "FILE" if file == "-" else file, *words, quiet=quiet)
