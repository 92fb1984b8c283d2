"""LibreOffice in its own box: recalculates workbooks, and turns documents into PDFs.

`convert.converted` runs it once for several files. `workbook` writes a model of cells as files to recalculate.
"""
