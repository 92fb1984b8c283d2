"""From prompts to candidates: `sample` asks any engine for n samples a prompt, each a request with a seed of its own.

How a stopping rule plugs in: `sample(…, rule=RULE)` takes anything with the method of `StopRule`,

    def stop(self, samples: Sequence[Sample], n: int) -> bool

It is asked after each finished sample of a prompt, with that prompt's samples so far in the order of their numbers and
the `n` that were asked for, and says whether to leave the rest out. It is never asked about a sample out of order, nor
with a failed one, so what it decides does not depend on timing: an interrupted run decides the same again. A sample has
its completion, its thoughts, and in `meta` the keys of its row beside its own (`finish_reason`, `usage`, `logprobs`
where they were asked for, as in the file). It has the gold answer as well, at which an honest rule does not look. One
rule serves all prompts and is asked from one thread: what it remembers it keys by `samples[0].id`. Rows tell the rule's
class, and figures over them rest on the first sample alone, unless the rule has the methods of `DescribedRule`
(`verikit.sampling.core`), which say how many samples come before it can stop.

    core.py      `sample`: prompts to rows, in the order of the prompts
    settings.py  what is asked of the engine, and a result as a row's candidate
    lanes.py     waves of requests on their way, several at once where the engine is a server
    run.py       a file of prompts to a file of rows that an interrupted run goes on with
    prices.py    what tokens cost
"""

from verikit.sampling.core import SampledRow, StopRule, sample
from verikit.sampling.settings import SamplingSettings

__all__ = ["SampledRow", "SamplingSettings", "StopRule", "sample"]
