"""Who says what of a value in a reply: asserted, denied, hypothetical, quoted, offered beside others.

`words` has the parts that words of a dozen languages play, `tokens` reads a sentence as a row of them, `roles` tells
from that row what the sentence says of one of its values, and `predicates` what it says of its subject. `sentences`
reads plain sentences, `echoes` those that repeat the question, `withdrawals` what is taken back; `listing` shows the
claims of a whole reply.

`closing` finds values by words that introduce an answer, `statements` by sentences that state one, `extract` the final
answer of a reply. `json_answers` and `json_fields` read answers in JSON.
"""
