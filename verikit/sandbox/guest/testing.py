"""Modules that the tier for test files loads before it forks: the installed test runners."""

import contextlib
import doctest
import importlib
import unittest

_runners = [doctest, unittest]
for _name in ("pytest", "_pytest.assertion.rewrite", "_pytest.doctest", "_pytest.python_api", "_pytest.unittest"):
    with contextlib.suppress(ImportError):
        _runners.append(importlib.import_module(_name))
