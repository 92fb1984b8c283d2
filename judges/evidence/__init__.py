"""Evidence for a judge: the shown part of a conversation, a long text or content parts.

shown.py        texts of candidates, marked and within a length
special_tokens.py  special tokens broken in them
content.py      prompts and answers as turns: text and other content
entries.py      a run as entries: messages, calls, results, changed files
attached.py     files among content parts
media.py        pictures and other media among content parts
pictures.py     pictures, decoded and in their places
run_pictures.py the pictures of a run that are sent
fold.py         long texts by head, tail and rare lines
digest.py       entries within a budget
canaries.py     texts that try to gain a verdict
cited.py        citations of entries
actions.py      criteria that mention actions
pieces.py       texts that are too long, read in parts
workspace.py    a run with the files that it left
left.py         the files as entries
file_text.py    the shown text of a file
linediff.py     the lines that differ
looks.py        looks at entries and files before a verdict
opening.py      files that a look opens
drawn.py        pages of files as pictures
"""

from verikit.judges.evidence.content import Evidence, Shown, Turn, as_text, reference_shown, reply_shown, turns
from verikit.judges.evidence.media import Media

__all__ = ["Evidence", "Media", "Shown", "Turn", "as_text", "reference_shown", "reply_shown", "turns"]
