"""Process reward models: the generative one with code execution, its critic loop, and discriminative ones beside it.

protocols/       the texts of a review, by the word (TOML)
protocol.py      reading them
steps.py         splitting a solution; the tagged form
verdict.py       the reward at the verdict's token
notebook.py      a path's code
path.py          the state machine of one path
waves.py         all paths of a batch together
known.py         reviews of begun solutions, to go on from
review.py        what is reviewed and what comes out
aggregate.py     one value from the steps' rewards
stepwise.py      what every process reward model has
verifier.py      `genprm`
classifier.py    `prm`: discriminative ones
column.py        `step_column`: stored step scores
critic.py        refining solutions
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
