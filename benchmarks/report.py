"""The HTML report of 10,000 samples: time to write it, its size, and how long Chromium takes for what a reader does.

Interaction is the time from an action until the frame after it has been painted, median of `--rounds`; about 100 ms is
where a person notices. Needs Playwright (`pip install playwright`) and a Chromium (`--chromium`). Bars: 100 ms for an
action (search, which reads 20 MB of text, 300 ms after its pause of 120 ms), 5 s for opening.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from verikit.report import Options, report
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file

PROMPTS, CANDIDATES = 1250, 8
MAX_MS, MAX_SEARCH_MS, MAX_OPEN_S = 100.0, 300.0, 5.0
SELECT = "const s = document.querySelector('.controls select'); s.value = '{}'; s.dispatchEvent(new Event('change'))"
ACTIONS = {
    "filter": "document.querySelector('.chip.wrong').click()",
    "next sample": "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j'}))",
    "scroll by 900 rows": "document.querySelector('.list').scrollTop += 50000",
    "longest first": SELECT.format("longest first"),
    "in order": SELECT.format("in order"),
}
SEARCH = """
  const box = document.querySelector('input[type=search]');
  box.value = box.value ? '' : 'j999';
  box.dispatchEvent(new Event('input'));
  await new Promise((done) => setTimeout(done, 120));
"""


def generate(path: Path) -> None:
    rng = random.Random(0)
    words = [f"{'abcdefghij'[i % 10]}{i}" for i in range(1000)]
    with open(path, "w") as stream:
        for i in range(PROMPTS):
            texts = [" ".join(rng.choices(words, k=rng.randrange(100, 700))) for _ in range(CANDIDATES)]
            row = {"id": f"q{i}", "prompt": " ".join(rng.choices(words, k=60)), "completions": texts, "answer": "a0"}
            stream.write(json.dumps(row) + "\n")


def timed(page: Any, action: str, rounds: int) -> float:
    """Milliseconds of an action and the frame after it."""
    script = f"""async () => {{
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      await frame();
      const began = performance.now();
      {{ {action} }}
      await frame();
      return performance.now() - began;
    }}"""
    return float(median(page.evaluate(script) for _ in range(rounds)))


def measure(file: Path, chromium: str, rounds: int) -> tuple[float, dict[str, float]]:
    """Seconds to open the page, and milliseconds by action."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        began = time.perf_counter()
        page.goto(f"file://{file}")
        page.wait_for_selector("html[data-ready]")
        opening = time.perf_counter() - began
        found = {name: timed(page, action, rounds) for name, action in ACTIONS.items()}
        found["search (after 120 ms)"] = timed(page, SEARCH, rounds) - 120
        browser.close()
    return opening, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "in.jsonl")
        score_file(str(folder / "in.jsonl"), ScoringPlan(verifier="mean(exact, length(max=2000))"), folder / "run")
        began = time.process_time()
        page = report([folder / "run"], Options())
        writing = time.process_time() - began
        (folder / "page.html").write_bytes(page)
        opening, actions = measure(folder / "page.html", options.chromium, options.rounds)
    print(f"{PROMPTS * CANDIDATES:,} samples: written in {writing:.1f} CPU s, {len(page) / 2**20:.0f} MB")
    print(f"  opened in {opening:.1f} s (bar {MAX_OPEN_S:.0f})")
    for action, ms in actions.items():
        print(f"  {action}: {ms:.0f} ms (bar {MAX_SEARCH_MS if 'search' in action else MAX_MS:.0f})")


if __name__ == "__main__":
    main()
