"""A program of another language and the tests that a row appends, as one source file."""
