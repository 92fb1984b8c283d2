"""Expected tool calls and their rules, for `tool_calls` and `trajectory`."""
