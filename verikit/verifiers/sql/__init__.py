"""Does the query give what the gold query gives? Both run on databases in the sandbox."""

from verikit.verifiers.sql.verifier import SQL

__all__ = ["SQL"]
