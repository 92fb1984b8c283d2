"""Whether servers can be started on this machine, found by trying it."""

from __future__ import annotations

import time

from verikit.artifacts.service.box import ServiceBox
from verikit.artifacts.service.call import connected
from verikit.artifacts.service.programs import program_of
from verikit.errors import AgentFault, SandboxError, WorkspaceError, with_hint

_PORT, _WAIT_S = 8000, 30.0
_SERVER = f"import socket; socket.create_server(('127.0.0.1', {_PORT})).accept()"


def service_told() -> str:
    """How servers are started here, or why none can be."""
    try:
        with ServiceBox(program_of(["python", "-c", _SERVER]), {}, [], _PORT) as box:
            box.start()
            end, late = time.monotonic() + _WAIT_S, "the loopback of the box is not reached"
            while (link := connected(box, end, late)) is None:
                box.check_running("before it listened")
                box.wait(None, end, late)
            link.close()
    except (WorkspaceError, SandboxError, AgentFault) as error:
        return with_hint(f"the sandbox for a server can't start: {error}", error.hint)
    return "over the loopback of a box, in its own namespaces"
