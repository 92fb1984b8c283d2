"""LLM judges, juries, win rates and process reward models.

reply.py        reading a judge's reply, strictly
shown.py        candidates as a judge may see them
evidence/       runs of agents as entries, content parts, answers that are too long
prompt.py       judge prompts: TOML files, ours in prompts/
ask.py          asking an engine
judge.py        what every judge has
scaled.py       several criteria, several askings
shares.py       how probable each verdict was
pointwise.py    a rating, or True or False against a reference
pairwise.py     which of two answers is better, in both orders
jury.py         several judges side by side
tournament.py   best-of-N by comparing candidates
rubric/         points for criteria met
page.py         a run's folder, for the HTML report
rates/          win rates, length control, ratings, agreement; needs no engine
match/          `verikit judge`
calibration/    `verikit calibrate`: a judge's error by labels, and rates corrected for it
"""

from verikit.judges.jury import Jury, jury
from verikit.judges.pairwise import ByScore, Comparer, Comparison, Pair, Pairwise
from verikit.judges.pointwise import Pointwise, Reference
from verikit.judges.prompt import JudgePrompt, load_prompt, prompt_names
from verikit.judges.reply import JudgeVerdict, ReplyFormat
from verikit.judges.rubric import Rubric
from verikit.judges.tournament import Halving, Knockout, Pivot, RoundRobin, Swiss

__all__ = [
    "ByScore",
    "Comparer",
    "Comparison",
    "Halving",
    "JudgePrompt",
    "JudgeVerdict",
    "Jury",
    "Knockout",
    "Pair",
    "Pairwise",
    "Pivot",
    "Pointwise",
    "Reference",
    "ReplyFormat",
    "RoundRobin",
    "Rubric",
    "Swiss",
    "jury",
    "load_prompt",
    "prompt_names",
]
