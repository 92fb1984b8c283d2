"""Decks of slides: titles, lists, tables, notes and pictures that a person sees in the show."""

from verikit.verifiers.pptx.verifier import Pptx

__all__ = ["Pptx"]
