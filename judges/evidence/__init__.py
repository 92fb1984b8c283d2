"""What a judge is shown of a conversation, a long text or content parts.

content.py      prompts and answers as turns: text and whatever else there is
pieces.py       texts that are too long, read in parts
"""

from verikit.judges.evidence.content import Evidence, Media, Shown, Turn, as_text, reply_shown, turns

__all__ = ["Evidence", "Media", "Shown", "Turn", "as_text", "reply_shown", "turns"]
