"""The status of the values in a reply: asserted, denied, hypothetical, quoted, or offered together with others.

`words` has the roles of words in a dozen languages. `tokens` reads a sentence as a sequence of them. From that
sequence, `roles` derives the status of a value in the sentence, and `predicates` what is said of its subject.
`sentences` reads plain sentences, `echoes` those that repeat the question, and `withdrawals` finds retracted answers.
`listing` shows the claims of a whole reply.

`closing` finds values by words that introduce an answer, `statements` by sentences that state one, `extract` the final
answer of a reply. `json_answers` and `json_fields` read answers in JSON.
"""
