"""Readers of files. They run in the sandbox alone, see hostile bytes, and return plain data."""
