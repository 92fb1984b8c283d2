"""PDFs: sizes, visible text, tables and forms as a person sees them on the rendered page."""

from verikit.verifiers.pdf.verifier import Pdf

__all__ = ["Pdf"]
