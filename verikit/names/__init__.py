"""Names to objects: entry points, specs as text, settings that a person wrote, functions of other stacks."""
