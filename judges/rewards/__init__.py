"""Outcome reward models: one number for a whole reply, by a model with a head, local or on a server.

encode.py     a conversation as a model's input: template, length limit
local.py      heads of transformers
remote.py     the pooling endpoints of vLLM and SGLang
reward.py     how a head's outputs become a reward
verifier.py   `rm`
"""

from verikit.judges.rewards.verifier import RewardModel

__all__ = ["RewardModel"]
