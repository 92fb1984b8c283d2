"""Verifiers, one module each."""
