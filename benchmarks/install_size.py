"""What `pip install verikit` adds to an empty environment, in MB, and which packages weigh most.

Run: python benchmarks/install_size.py. It needs a package index. The environment holds no pip of its own; compiled
.pyc files count, as pip writes them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections import Counter
from pathlib import Path

BAR = 120.0
ROOT = Path(__file__).resolve().parent.parent


def measure(folder: Path) -> tuple[float, float]:
    """MB on disk (whole blocks) and of content, links not followed."""
    stats = [path.lstat() for path in folder.rglob("*")]
    return sum(s.st_blocks * 512 for s in stats) / 1e6, sum(s.st_size for s in stats) / 1e6


def by_package(site: Path) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for path in site.iterdir():
        files = [path, *path.rglob("*")] if path.is_dir() else [path]
        sizes[path.name] += sum(f.lstat().st_blocks * 512 for f in files)
    return sizes


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder)
        venv.create(environment, with_pip=False)
        before = measure(environment)
        python = environment / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        subprocess.run([*pip, "install", "-q", str(ROOT)], check=True)
        after = measure(environment)
        listed = subprocess.run([*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True).stdout
        [site] = environment.glob("lib/python*/site-packages")
        for name, size in by_package(site).most_common(8):
            print(f"{size / 1e6:7.1f} MB  {name}")
    disk, content = after[0] - before[0], after[1] - before[1]
    torch = any(line.startswith("torch==") for line in listed.splitlines())
    print(f"{len(listed.splitlines())} packages, torch: {'yes' if torch else 'no'}")
    print(f"added: {disk:.1f} MB on disk, {content:.1f} MB of content (bar {BAR:g} MB)")
    return 0 if disk < BAR and not torch else 1


if __name__ == "__main__":
    sys.exit(main())
