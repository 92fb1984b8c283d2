"""verikit: is this output right, and which of these is best?

A `Verifier` maps samples to scores. Write what is good once, and use it to score and rerank candidates, as a reward in
training, and in benchmark suites.
"""

from verikit.errors import VerikitError
from verikit.types import PASS_MARK, Answer, Group, Message, Prompt, Sample, Score, Status
from verikit.verifier import Verifier, score_all, verifier

__all__ = [
    "PASS_MARK",
    "Answer",
    "Group",
    "Message",
    "Prompt",
    "Sample",
    "Score",
    "Status",
    "Verifier",
    "VerikitError",
    "score_all",
    "verifier",
]
