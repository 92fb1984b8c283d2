"""Recipes: what is sampled, how it is rewarded, and what is kept between steps."""
