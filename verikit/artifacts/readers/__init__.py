"""Readers of files. They run only in the sandbox, read hostile bytes, and return plain data."""
