"""55 attacks on graders of files, by number: `ATTACKS`. Tests and a benchmark run them."""

from tests.workspaces.attacks.acting import ACTING
from tests.workspaces.attacks.case import Attack, Left
from tests.workspaces.attacks.documents import DOCUMENTS
from tests.workspaces.attacks.files import FILES

ATTACKS = tuple(sorted((*FILES, *DOCUMENTS, *ACTING), key=lambda attack: attack.number))

__all__ = ["ATTACKS", "Attack", "Left"]
