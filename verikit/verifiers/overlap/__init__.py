"""How close is the reply to a reference? Exact match, F1, ROUGE, BLEU and similar metrics, word error rate."""
