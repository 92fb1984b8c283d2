"""The GRPO trainer and its recipes."""
