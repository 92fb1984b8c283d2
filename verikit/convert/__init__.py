"""Converters: data sets in the forms in which they are published become rows that verikit reads.

    forms.py         the table of forms, and what a form is
    parts.py         what the converters of all families take from rows
    mathematics.py   GSM8K, MATH, NuminaMath, DeepScaleR, verl's form (Skywork-OR1, DAPO)
    preferences.py   UltraFeedback: prompts, and pairs
    questions.py     HotpotQA, 2WikiMultihopQA, MuSiQue: questions, and their passages
    passages.py      KILT's and DPR's passages, documents of the web (DCLM, Nemotron-CC)
    programs.py      LiveCodeBench, APPS, TACO, CodeContests
    suites.py        IFEval, BFCL, HealthBench
    inputs.py        rows of local files or of the hub, numbered
    run.py           `convert`: rows in, rows out, and a file of held-out ones

A bad row is counted and told with file, line and field; the others are converted.
"""

from verikit.convert.forms import FORMS, Form
from verikit.convert.run import ConversionCounts, convert

__all__ = ["FORMS", "ConversionCounts", "Form", "convert"]
