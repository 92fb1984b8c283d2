"""Training data for a GenPRM, made from problems with answers."""
