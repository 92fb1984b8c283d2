"""Outcome reward models: one number for a whole reply, by a model with a head, here or on a server.

encode.py     a conversation as a model's input: template, length limit
local.py      heads of transformers
remote.py     the pooling end points of vLLM and SGLang
reward.py     what is read of a head's numbers
verifier.py   `rm`
"""

from verikit.judges.rewards.verifier import RewardModel

__all__ = ["RewardModel"]
