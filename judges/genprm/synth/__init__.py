"""Training data for a GenPRM, generated from problems with answers."""
