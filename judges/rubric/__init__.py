"""Rubrics: criteria with points, each judged by a model.

criteria.py     criteria, and the rules that combine them into one value
read.py         the published formats of rubrics
asking.py       several criteria in one request, a verdict on each
verifier.py     the verifier `rubric`
canaries.py     answers that must get no points
"""

from verikit.judges.rubric.criteria import Criteria, Criterion
from verikit.judges.rubric.read import in_row, read, read_file
from verikit.judges.rubric.verifier import Rubric

__all__ = ["Criteria", "Criterion", "Rubric", "in_row", "read", "read_file"]
