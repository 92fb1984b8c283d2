"""Converters: published datasets become rows that verikit reads.

    forms.py         the table of formats, and the definition of a format
    parts.py         functions that all converter families use
    mathematics.py   GSM8K, MATH, NuminaMath, DeepScaleR, verl's format (Skywork-OR1, DAPO)
    preferences.py   UltraFeedback: prompts, and pairs
    questions.py     HotpotQA, 2WikiMultihopQA, MuSiQue: questions, and their passages
    passages.py      KILT's and DPR's passages, documents of the web (DCLM, Nemotron-CC)
    programs.py      LiveCodeBench, APPS, TACO, CodeContests
    suites.py        IFEval, BFCL, HealthBench
    deliverables.py  SpreadsheetBench, GDPval
    osworld.py       OSWorld: evaluators over files (osworld_tables.py: their rules for workbooks)
    inputs.py        rows of local files or of the Hugging Face Hub, numbered
    run.py           `convert`: rows in, rows out, and a held-out file

A bad row is counted and reported with file, line and field. The others are converted.
"""

from verikit.convert.forms import FORMS, Form
from verikit.convert.run import ConversionCounts, convert

__all__ = ["FORMS", "ConversionCounts", "Form", "convert"]
