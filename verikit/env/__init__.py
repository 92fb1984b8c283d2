"""Environments of other stacks as data: their tasks as rows, their stored rollouts with the rewards that they gave.

    read(source)          rollouts: NeMo-Gym's, verifiers' traces and results, Harbor's trials
    tasks(source)         tasks: of a Harbor folder, an OpenEnv or ORS server, an installed verifiers environment
    play(address, rows)   completions given to an OpenEnv server, each with the reward that it gave
    play_ors(…)           the same for an ORS server, whose tool takes the answer
    check(source, spec)   does a verifier agree with the environment's own rewards, and where not?

Files are data and stay that: nothing of a Harbor task is run. An environment package of verifiers is code that you
installed, and reading its tasks runs it in this process.
"""

from verikit.env.agreement import Agreement, Disagreement, check
from verikit.env.openenv import play
from verikit.env.ors import play_ors
from verikit.env.rollouts import Rollout, read
from verikit.env.tasks import tasks

__all__ = ["Agreement", "Disagreement", "Rollout", "check", "play", "play_ors", "read", "tasks"]
