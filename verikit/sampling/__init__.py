"""From prompts to candidates: `sample` requests n samples per prompt from any engine, each with its own seed.

To add a stopping rule, call `sample(…, rule=RULE)` with any object that has the method of `StopRule`,

    def stop(self, samples: Sequence[Sample], n: int) -> bool

It is called after each finished sample of a prompt, with that prompt's samples so far, ordered by number, and the
requested `n`. It returns whether to skip the remaining samples. It never sees samples out of order or failed ones, so
its decisions do not depend on timing and an interrupted run repeats them. A sample has its completion and its thoughts.
Its `meta` contains the other keys of its row (`finish_reason`, `usage`, and `logprobs` if requested, as in the file).
It also has the gold answer, which a fair rule must not use. One rule serves all prompts and is called from one thread,
so its state must be keyed by `samples[0].id`. Rows contain the rule's class. Metrics use only the first sample, unless
the rule has the methods of `DescribedRule` (`verikit.sampling.core`), which return the minimum number of samples before
it can stop.

    core.py      `sample`: prompts to rows, in the order of the prompts
    settings.py  the request for a sample, and its result as a row's candidate
    lanes.py     waves of requests in progress, several in parallel if the engine is a server
    run.py       a file of prompts to a file of rows, resumable after an interrupt
    prices.py    token prices
"""

from verikit.sampling.core import SampledRow, StopRule, sample
from verikit.sampling.settings import SamplingSettings

__all__ = ["SampledRow", "SamplingSettings", "StopRule", "sample"]
