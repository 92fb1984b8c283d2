"""Waiting for what another thread or process does: as long as it takes, and only a hang ends in a failure."""

import time


def until(true, what, seconds=120.0):
    """Wait until `true()` is truthy, and give its value; fail after far more seconds than any machine needs."""
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)
    return found
