"""What the tier for data frames has loaded before it forks: pandas, where it is installed."""

import contextlib
import importlib

with contextlib.suppress(ImportError):
    importlib.import_module("pandas")
