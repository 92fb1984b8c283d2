"""Verifiers that grade with the boxes of `verikit.env.audit`."""
