"""Text documents: headings, text, tables and styles as a reader of the document sees them."""

from verikit.verifiers.docx.verifier import Docx

__all__ = ["Docx"]
