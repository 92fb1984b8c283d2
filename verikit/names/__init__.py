"""Maps names to objects: entry points, specs as strings, user-written settings, and functions of other stacks."""
