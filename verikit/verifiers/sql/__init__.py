"""Does the query return the result of the gold query? Both run on databases in the sandbox."""

from verikit.verifiers.sql.verifier import SQL

__all__ = ["SQL"]
