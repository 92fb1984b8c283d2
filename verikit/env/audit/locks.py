"""Versions of packages that a lock file of an environment has."""

from __future__ import annotations

import re
import tomllib

from verikit.env.audit.task import AuditedTask

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
_LINE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([\w.+!-]+)")


def locked_versions(task: AuditedTask) -> dict[str, str]:
    """Versions by the normalized names of packages. A package with two versions is excluded."""
    found: dict[str, set[str]] = {}
    for path in task.files():
        name = path.rpartition("/")[2]
        text = task.text(path) if name in LOCKS or name in ("requirements.lock", "constraints.txt") else None
        for package, version in _toml(text) if text is not None and name in LOCKS else _lines(text or ""):
            found.setdefault(re.sub(r"[-_.]+", "-", package).lower(), set()).add(version)
    return {name: next(iter(versions)) for name, versions in found.items() if len(versions) == 1}


def _toml(text: str) -> list[tuple[str, str]]:
    """The packages of a lock file in TOML; none if it can't be read."""
    try:
        packages = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    held = packages.get("package", packages.get("packages"))
    rows = [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []
    return [
        (one["name"], one["version"])
        for one in rows
        if isinstance(one.get("name"), str) and isinstance(one.get("version"), str)
    ]


def _lines(text: str) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for line in text.splitlines() if (match := _LINE.match(line.strip()))]
