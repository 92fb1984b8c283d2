"""Code independent of scoring: the operating system, folders, secrets, numbers, the terminal, traces."""
