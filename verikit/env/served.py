"""The task API that OpenEnv and ORS servers share: environments, their splits, the tasks of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from verikit.errors import UsageError, VerikitError

PAGE = 500
"""Tasks asked for at once."""
MAX_BYTES = 64 * 2**20
"""Of one reply; a longer one is refused."""
TIMEOUT_S = 60.0
Field = TypeVar("Field")


def served_tasks(address: str, split: str | None) -> Iterator[Any]:
    """The tasks of a server, as it has them.

    Args:
        address: `http://HOST:PORT`, or with the environment's name behind it where the server holds several.
        split: Of the tasks; None: the first.

    Raises:
        UsageError: the server has no such environment or split, or offers no tasks.
        VerikitError: it doesn't answer, or not in this form.
    """
    import httpx

    base, wanted = environment_of(address)
    with httpx.Client(base_url=base, timeout=TIMEOUT_S, follow_redirects=False) as client:
        names = asked(client, "GET", "/list_environments")
        name = wanted or (names[0] if isinstance(names, list) and len(names) == 1 else "")
        if not isinstance(names, list) or name not in names:
            hint = f"there are {', '.join(map(str, names[:20]))}" if isinstance(names, list) else ""
            raise UsageError(f"{base} has no environment {name!r}", hint=hint)
        path = f"/{quote(str(name), safe='')}"
        listed = asked(client, "GET", f"{path}/splits")
        if not isinstance(listed, list):
            raise VerikitError(f"{path}/splits: the reply is no list")
        splits = [item.get("name") if isinstance(item, dict) else item for item in listed]
        chosen = split or (splits[0] if splits else "")
        if chosen not in splits:
            raise UsageError(f"{name} has no split {chosen!r}", hint=f"there are {', '.join(map(str, splits))}")
        total = _field(asked(client, "POST", f"{path}/num_tasks", split=chosen), "num_tasks", int)
        for start in range(0, total, PAGE):
            stop = min(start + PAGE, total)
            page = _field(
                asked(client, "POST", f"{path}/task_range", split=chosen, start=start, stop=stop), "tasks", list
            )
            if not page:  # or a server that says it has more tasks than it gives would be asked without end
                raise VerikitError(f"{path}: there are {total} tasks, but none from {start} on")
            yield from page


def _field(reply: Any, key: str, kind: type[Field]) -> Field:
    """What a reply says under a key.

    Raises:
        VerikitError: nothing, or something of another type.
    """
    found = reply.get(key) if isinstance(reply, dict) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise VerikitError(f"the server's reply has no {key!r} of type {kind.__name__}")
    return found


def environment_of(address: str) -> tuple[str, str]:
    """A server's address, and the name of the environment behind it; "" where there is none."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}", parts.path.strip("/")


def asked(client: Any, method: str, path: str, **body: Any) -> Any:
    """A reply's JSON, read no further than `MAX_BYTES`.

    Raises:
        UsageError: the environment doesn't offer this (501).
        VerikitError: the server doesn't answer, or not in this form.
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
        raise VerikitError(f"{client.base_url}{path.lstrip('/')}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise VerikitError(f"{path}: the reply is no JSON: {error}") from None
