"""OpenAI's graders (fine-tuning and evals) without OpenAI: their schema, templates, formulas and text metrics.

schema.py      the JSON of each type, checked
template.py    `{{item.x}}` and `{{sample.output_text}}`
formula.py     `calculate_output` of a multi grader
similarity.py  the metrics of `text_similarity`

The verifier that uses them can also call models, so it is in `verikit.judges.graders`.
"""
