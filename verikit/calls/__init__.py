"""Tool calls as models make them: in messages, and in text as JSON, in tags, or as source of a language.

`calls_of` and `text_calls` are the functions to call. Nothing that a model wrote is evaluated.
"""

from verikit.calls.reading import (
    MAX_CALLS,
    MAX_CHARS,
    Language,
    ToolCall,
    calls_in,
    calls_of,
    deeper_than,
    load_json,
    python_calls,
    read_call,
    source_calls,
    text_calls,
)

__all__ = [
    "MAX_CALLS",
    "MAX_CHARS",
    "Language",
    "ToolCall",
    "calls_in",
    "calls_of",
    "deeper_than",
    "load_json",
    "python_calls",
    "read_call",
    "source_calls",
    "text_calls",
]
