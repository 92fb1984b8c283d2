"""Process-guided search: a policy writes step by step, and a verifier selects the partial solutions to continue.

    draft.py      a partial solution, and requests to extend it
    strategy.py   the interface of a strategy, and the budget
    best_of.py, stepwise.py, beam.py, dvts.py, critic.py   the strategies
    search.py     the search for one prompt: events in, requests and drafts to judge out
    run.py        many prompts in parallel
    files.py      the files needed to resume a run
    spec.py       `--search`

A custom strategy subclasses `SearchStrategy`. It is a generator that yields lists of `Growth` and is sent the grown
drafts with their scores. It does not depend on engines, batches or files.
"""

from verikit.guided.beam import Beam
from verikit.guided.best_of import BestOf
from verikit.guided.critic import CriticLoop
from verikit.guided.draft import Draft, Growth, distinct, ranked
from verikit.guided.dvts import DVTS
from verikit.guided.run import guided_search
from verikit.guided.search import SearchedRow
from verikit.guided.spec import load_strategy
from verikit.guided.stepwise import Stepwise
from verikit.guided.strategy import SearchStrategy, TokenBudget, Walk

__all__ = [
    "DVTS",
    "Beam",
    "BestOf",
    "CriticLoop",
    "Draft",
    "Growth",
    "SearchStrategy",
    "SearchedRow",
    "Stepwise",
    "TokenBudget",
    "Walk",
    "distinct",
    "guided_search",
    "load_strategy",
    "ranked",
]
