"""Code independent of scoring: the operating system, folders, secrets, numbers, exceptions, the terminal, traces."""
