"""Tests made false on purpose: a program that passes them too is equal to everything."""
