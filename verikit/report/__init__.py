"""Finished runs as one self-contained HTML page: `verikit report RUN… --html OUT.html`.

model.py    a page's content, as plain data
kinds.py    the kinds of runs, how to recognise their folders, and their collectors
score.py    a score run (seen.py aggregates its rows); other kinds' collectors are next to the code that writes them
curves.py   charts that several kinds share
criteria.py  criteria that a judge decided: agreement with people, noise
items.py    samples: tags, and the length at which their texts are cut
compare.py  several runs side by side
drawing.py  a chart as shapes, for a paper; pictures.py writes them as SVG and PDF
export.py   every table and chart as a file: CSV, Markdown, LaTeX (latex.py), SVG, PDF
page.py     data and assets to HTML; charts and the sample browser are drawn by the page's own script
"""

from verikit.report.compare import report
from verikit.report.model import SAMPLES, Options

__all__ = ["SAMPLES", "Options", "report"]
