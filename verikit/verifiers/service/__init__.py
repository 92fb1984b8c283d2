"""Services: a server that an agent left, started in a box and called over HTTP."""

from verikit.verifiers.service.verifier import Service

__all__ = ["Service"]
