"""Tests made false on purpose: a program that passes them too was not really tested."""
