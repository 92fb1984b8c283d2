"""LLM judges, juries, win rates and process reward models.

asking/         prompts, requests, replies read strictly
evidence/       candidates as a judge may see them, runs of agents, answers that are too long
pointwise.py    a rating, or True or False against a reference
pairwise.py     which of two answers is better, in both orders
jury.py         several judges in parallel
cascade.py      a cheap judge first, dearer ones if its verdict is not clear
tournament.py   best-of-N by comparing candidates
rubric/         points for criteria met
rubric_synth/   rubrics made from right and wrong candidates
bias.py         how far a judge prefers a position, a length or a form
opponents.py    answers to compare with
heads.py        heads of transformers, in padded batches
rates/          win rates, length control, ratings, agreement, without an engine
match/          `verikit judge`
calibration/    `verikit calibrate`: a judge's error by labels, and rates corrected for it
"""

from verikit.judges.asking.prompt import JudgePrompt, load_prompt, prompt_names
from verikit.judges.asking.reply import JudgeVerdict, ReplyFormat
from verikit.judges.cascade import Cascade, cascade
from verikit.judges.jury import Jury, jury
from verikit.judges.pairwise import ByScore, Comparer, Comparison, Pair, Pairwise
from verikit.judges.pointwise import Pointwise, Reference
from verikit.judges.rubric import Rubric
from verikit.judges.tournament import Halving, Knockout, Pivot, RoundRobin, Swiss

__all__ = [
    "ByScore",
    "Cascade",
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
    "cascade",
    "jury",
    "load_prompt",
    "prompt_names",
]
