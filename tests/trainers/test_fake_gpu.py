"""What a GPU would be told by a learner's step and by the decoder, counted on a machine without one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEARN = ("learn", "learn fp32", "learn packed", "learn gspo", "learn lora", "learn shared")
DECODE = ("decode", "decode shared", "decode top-p")
WAITS_PER_STEP = 2
"""The gradient's norm, and the sums for the log; none for a micro-batch."""
MB = 2**20


@pytest.fixture(scope="module")
def found():
    """Every case's counts, from a process of their own: the device is registered for a whole process."""
    done = subprocess.run([sys.executable, "-m", "tests.fake_gpu"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("case", [*LEARN, *DECODE, "head", "score"])
def test_nothing_large_is_computed_on_the_host_or_left_there(found, case):
    assert "error" not in found[case], found[case]
    assert not found[case]["wrong"]


@pytest.mark.parametrize("case", LEARN)
def test_a_learning_step_waits_for_the_device_no_oftener_with_more_micro_batches(found, case):
    assert found[case]["units"] > 1
    assert sum(found[case]["waits"].values()) <= WAITS_PER_STEP, found[case]["waits"]


@pytest.mark.parametrize("case", LEARN)
def test_learning_copies_little_more_than_the_rows_numbers(found, case):
    # 124 ids and 92 learnt tokens, up to 7 numbers each; where tokens of shared prompts stand comes on top.
    assert 2_000 < found[case]["copied"]["to device"] <= (10_000 if case == "learn shared" else 8_000)
    assert found[case]["copied"]["to host"] <= 64


@pytest.mark.parametrize("case", DECODE)
def test_decoding_waits_for_the_device_once_in_several_tokens(found, case):
    assert sum(found[case]["waits"].values()) / found[case]["units"] <= 1 / 8, found[case]["waits"]


@pytest.mark.parametrize("case", DECODE)
def test_decoding_copies_a_token_and_its_log_probability_for_each_row(found, case):
    copied = found[case]["copied"]
    assert copied["to host"] == found[case]["units"] * 12 * 16
    assert copied["to device"] < 1_000


@pytest.mark.parametrize(("case", "most"), [*((case, 2.4) for case in LEARN), *((case, 1.1) for case in DECODE)])
def test_the_device_holds_no_more_than_its_budget(found, case, most):
    assert most / 4 * MB < found[case]["peak"] < most * MB


def test_the_heads_products_are_large_enough_to_be_bound_by_computing(found):
    """An H100 computes about 300 bf16 operations in the time it reads a byte, an A100 150."""
    assert found["head"]["flops"] / found["head"]["product_bytes"] > 400


def test_the_head_holds_a_few_chunks_of_logits_at_a_real_vocabulary(found):
    logits = 8192 * 151_936 * 4
    assert found["head"]["peak"] < logits * 0.75


def test_scoring_holds_the_logits_once_and_waits_once_a_sequence(found):
    """8,192 tokens of a vocabulary of 152k: 5 GB of logits in fp32; 1 GiB of them and its next of kin at a time."""
    assert found["score"]["peak"] < 2.5 * 2**30
    assert sum(found["score"]["waits"].values()) <= 1, found["score"]["waits"]


@pytest.mark.parametrize(
    ("fault", "field"),
    [("wait", "waits"), ("copy", "copied"), ("copy", "waits"), ("host", "wrong"), ("memory", "peak")],
)
def test_the_counts_show_a_fault_made_on_purpose(found, fault, field):
    counts = found[f"broken {fault}"]
    shown = {
        "waits": lambda: sum(counts["waits"].values()) >= 2,
        "copied": lambda: counts["copied"] == {"to device": 64 * 64 * 4, "to host": 64 * 64 * 4},
        "wrong": lambda: bool(counts["wrong"]),
        "peak": lambda: counts["peak"] == 5 * 64 * 64 * 4,
    }
    assert shown[field](), counts


def test_tensors_of_two_devices_do_not_mix(found):
    assert "same device" in found["broken mixed"]["error"]
