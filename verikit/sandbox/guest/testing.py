"""What the tier for test files has loaded before it forks: the runners of tests that are installed."""

import contextlib
import doctest
import importlib
import unittest

_runners = [doctest, unittest]
for _name in ("pytest", "_pytest.assertion.rewrite", "_pytest.doctest", "_pytest.python_api", "_pytest.unittest"):
    with contextlib.suppress(ImportError):
        _runners.append(importlib.import_module(_name))
