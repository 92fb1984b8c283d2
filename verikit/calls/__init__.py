"""Tool calls as models write them: in messages, and in text as JSON, in tags, or as source code.

`calls_of` and `text_calls` are the entry points. Text written by a model is never evaluated.
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
    tagged_calls,
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
    "tagged_calls",
    "text_calls",
]
