"""Patches to repositories: the forms a reply may have, the row's task, and which files belong to the row.

`replies` picks the reader of a reply's form: `unified_diff`, `search_replace`, `begin_patch`, `whole_files`. `task`
reads a row, and `declared` finds the files that its tests name; `commands`, `shell` and `manifests` read its test
commands. `judged` builds the tree that is run, `runs` runs it, and `helpers` finds files that only the tests load.
"""
