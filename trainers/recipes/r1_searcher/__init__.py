"""R1-Searcher (arXiv 2503.05592): two-stage reinforcement learning of when and what to search."""
