import subprocess
import sys

CODE = """
import sys
from verikit.engines import CachedEngine, Replay, load_engine
heavy = {"torch", "transformers", "httpx", "vllm", "sqlite3", "numpy", "pydantic", "jinja2"} & set(sys.modules)
assert not heavy - {HEAVY}, heavy
"""


def run(code, *flags):
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_importing_the_engines_loads_no_engine_library():
    run(CODE.replace("{HEAVY}", "{'sqlite3'}"))


def test_a_missing_extra_is_named_with_the_line_that_adds_it():
    run("""
import sys
sys.modules["transformers"] = sys.modules["vllm"] = None
from verikit.engines import load_engine
from verikit.errors import MissingExtra
for kind in ("hf", "vllm"):
    try:
        load_engine(kind + ":x")
    except MissingExtra as error:
        assert error.hint == f"pip install 'verikit[{kind}]'", error.hint
    else:
        raise AssertionError(kind)
""")


def test_data_can_be_made_by_recipes_without_torch():
    run("""
import sys
sys.modules["torch"] = None
import verikit.trainers.recipes.elo_evolve.recipe, verikit.trainers.recipes.spice.synth
""")
