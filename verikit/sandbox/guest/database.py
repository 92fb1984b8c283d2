"""Modules that the database tier loads before it forks: sqlite3, and duckdb if it is installed."""

import importlib.util
import json
import sqlite3

if importlib.util.find_spec("duckdb"):
    importlib.import_module("duckdb")

sqlite3.connect(":memory:").execute("SELECT 1").fetchall()
json.dumps([])
