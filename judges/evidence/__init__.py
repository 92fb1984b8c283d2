"""What a judge is shown of a conversation, a long text or content parts.

content.py      prompts and answers as turns: text and whatever else there is
entries.py      a run as entries: words, calls, results, changed files
fold.py         long texts by head, tail and rare lines
digest.py       entries within a budget
cited.py        citations of entries
actions.py      criteria that speak of actions
pieces.py       texts that are too long, read in parts
"""

from verikit.judges.evidence.content import Evidence, Media, Shown, Turn, as_text, reply_shown, turns

__all__ = ["Evidence", "Media", "Shown", "Turn", "as_text", "reply_shown", "turns"]
