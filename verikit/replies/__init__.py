"""A model's output as text: its thoughts and its reply, normalisers, and characters that show nothing."""
