"""Several commands of verikit, one after another, in the processes of one torchrun: torch is imported once for all.

python -m torch.distributed.run … -m tests.trainers.several COMMANDS.json

COMMANDS.json is a list of [port, arguments]. The first command meets where torchrun says, as a user's does. The others
meet at ports of their own: a place that was met at keeps the addresses of then.
"""

import json
import os
import sys
from pathlib import Path

from verikit.cli import cli


def run(commands):
    for number, (port, arguments) in enumerate(commands):
        if number:
            os.environ |= {"TORCHELASTIC_USE_AGENT_STORE": "False", "MASTER_PORT": str(port)}
        if code := cli.main(arguments, prog_name="verikit", standalone_mode=False):
            sys.exit(code)


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_bytes()))
