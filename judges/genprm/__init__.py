"""Process reward models: the generative one with code execution, its critic loop, and discriminative ones.

protocols/       the exact strings of a review (TOML)
protocol.py      reads them
steps.py         splits a solution, and writes the tagged format
verdict.py       the reward at the verdict's token
notebook.py      a path's code
path.py          the state machine of one path
waves.py         all paths of a batch together
known.py         reviews of partial solutions, to continue from
review.py        the input and the result of a review
aggregate.py     one value from the steps' rewards
stepwise.py      the base of every process reward model
verifier.py      `genprm`
classifier.py    `prm`: discriminative ones
column.py        `step_column`: stored step scores
critic.py        refines solutions
"""

from verikit.judges.genprm.aggregate import Aggregation, aggregate
from verikit.judges.genprm.classifier import Classifier
from verikit.judges.genprm.column import StepColumn
from verikit.judges.genprm.critic import Critic, CritiqueTurn, Refinement
from verikit.judges.genprm.notebook import Cell
from verikit.judges.genprm.protocol import MODES, Mode, Protocol, load_protocol
from verikit.judges.genprm.review import Path, Review, Solution, StepReview
from verikit.judges.genprm.steps import Splitting, split_steps, tagged, untagged
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.judges.genprm.verifier import GenPRM

__all__ = [
    "MODES",
    "Aggregation",
    "Cell",
    "Classifier",
    "Critic",
    "CritiqueTurn",
    "GenPRM",
    "Mode",
    "Path",
    "Protocol",
    "Refinement",
    "Review",
    "Solution",
    "Splitting",
    "StepColumn",
    "StepReview",
    "StepVerifier",
    "aggregate",
    "load_protocol",
    "split_steps",
    "tagged",
    "untagged",
]
