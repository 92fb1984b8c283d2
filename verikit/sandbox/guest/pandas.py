"""Modules that the tier for data frames loads before it forks: pandas, if it is installed."""

import contextlib
import importlib

with contextlib.suppress(ImportError):
    importlib.import_module("pandas")
