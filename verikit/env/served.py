"""The task API that OpenEnv and ORS servers share: environments, their splits, the tasks of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from verikit.errors import UsageError, VerikitError, nearest

PAGE = 500
"""Tasks per request."""
MAX_BYTES = 64 * 2**20
"""Maximum size of one reply. Longer replies are rejected."""
TIMEOUT_S = 60.0


def served_tasks(address: str, split: str | None) -> Iterator[Any]:
    """The tasks of a server, in its own format.

    Args:
        address: `http://HOST:PORT`, followed by the environment's name if the server has several.
        split: Of the tasks; None: the first.

    Raises:
        UsageError: The server has no such environment or split, or offers no tasks.
        VerikitError: It doesn't answer, or not in this form.
    """
    import httpx

    base, wanted = environment_of(address)
    with httpx.Client(base_url=base, timeout=TIMEOUT_S, follow_redirects=False) as client:
        name = environment_name(client, wanted)
        path = f"/{quote(name, safe='')}"
        listed = _of_kind(list, asked(client, "GET", f"{path}/splits"), f"{path}/splits")
        splits = [item.get("name") if isinstance(item, dict) else item for item in listed]
        chosen = split or (splits[0] if splits else "")
        if chosen not in splits:
            raise UsageError(f"{name} has no split {chosen!r}", hint=nearest(str(chosen), map(str, splits)))
        total = _of_kind(
            int, asked(client, "POST", f"{path}/num_tasks", split=chosen), f"{path}/num_tasks", "num_tasks"
        )
        for start in range(0, total, PAGE):
            stop = min(start + PAGE, total)
            found = asked(client, "POST", f"{path}/task_range", split=chosen, start=start, stop=stop)
            page = _of_kind(list, found, f"{path}/task_range", "tasks")
            if not page:  # a server that overstates its tasks would cause endless requests
                raise VerikitError(f"{path}: the server has {total} tasks, but sent none starting at {start}")
            yield from page


def environment_name(client: Any, wanted: str) -> str:
    """The name of a server's environment: the requested one, or the only one.

    Raises:
        UsageError: It has no such environment, or several and `wanted` is empty.
        VerikitError: It doesn't answer, or not in this form.
    """
    names = _of_kind(list, asked(client, "GET", "/list_environments"), "/list_environments")
    name = wanted or (str(names[0]) if len(names) == 1 else "")
    if name not in names:
        if name:
            told = f"has no environment {name!r}"
        else:
            told = "has several environments" if names else "has no environment"
        hint = f"name it behind the address, as in {_address(client)}/{names[0]}" if len(names) > 1 else ""
        hint = hint if not wanted else f"there are {', '.join(map(str, names[:20]))}"
        raise UsageError(f"{_address(client)} {told}", hint=hint)
    return name


def _address(client: Any) -> str:
    return str(client.base_url).rstrip("/")


def _of_kind(kind: type[Any], found: Any, path: str, key: str = "") -> Any:
    """The content of a reply (under `key`), if it has the expected type.

    Raises:
        VerikitError: It doesn't: the server speaks another protocol.
    """
    value = found
    if key:
        value = found.get(key) if isinstance(found, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise VerikitError(
            f"{path}: the reply must be in OpenEnv's or ORS's format", hint="is it the address of another server?"
        )
    return value


def environment_of(address: str) -> tuple[str, str]:
    """A server's address, and the name of the environment after it, or ""."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}", parts.path.strip("/")


def asked(client: Any, method: str, path: str, **body: Any) -> Any:
    """A reply's JSON, read no further than `MAX_BYTES`.

    Raises:
        UsageError: The environment doesn't offer this (501).
        VerikitError: The server doesn't answer, or not in this form.
    """
    import httpx

    try:
        with client.stream(method, path, json=body or None) as response:
            data = bytearray()
            for piece in response.iter_bytes():
                data += piece
                if len(data) > MAX_BYTES:
                    raise VerikitError(f"{path}: a reply larger than {MAX_BYTES >> 20} MiB")
        if response.status_code == 501:
            raise UsageError(f"{path}: this environment offers no tasks")
        if response.status_code != 200:
            raise VerikitError(f"{path}: HTTP {response.status_code}: {bytes(data[:200]).decode('utf-8', 'replace')}")
        return json.loads(data)
    except httpx.HTTPError as error:
        raise VerikitError(f"{_address(client)}{path}: {error or type(error).__name__}") from None
    except (ValueError, RecursionError) as error:
        raise VerikitError(f"{path}: the reply must be JSON: {error}") from None
