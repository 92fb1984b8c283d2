"""Reinforcement learning with tools in the rollout, over several turns."""
