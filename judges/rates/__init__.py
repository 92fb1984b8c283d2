"""Win rates and ratings from verdicts, without an engine.

winrate.py          raw and discrete win rate with its standard error
length_control.py   AlpacaEval's length-controlled win rate (fast path), and prediction from fitted weights
exact.py            its fit exactly as in alpaca_eval, on scikit-learn
elo.py              Elo ratings and the choice of opponents (Elo-Evolve)
bradley_terry.py    one table of ratings with intervals from all games
noise.py            how noisy a judge is: absolute scores against comparisons (Elo-Evolve)
bias.py             what to report with every win rate: consistency, position, ties, length
agreement.py        accuracy and Cohen's kappa against labels
"""
