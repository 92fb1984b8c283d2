"""What a release changes, and what must agree before one is built. Needs Python 3.11 and nothing else.

python tests/release.py prepare 0.2.0 2026-11-23     the version where it stands, and the changelog's heading
python tests/release.py check v0.2.0                 does a tag agree with them?
python tests/release.py notes 0.2.0                  the changelog's section, for the release's page
python tests/release.py registered yes|no            how to install: from PyPI, or from a checkout until then
"""

import re
import sys
import tomllib
from pathlib import Path

try:
    from tests.release_installs import switch
except ImportError:  # run as a script, from any folder
    from release_installs import switch

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)((a|b|rc)\d+)?")
UNRELEASED = "## [Unreleased]"


def prepare(root, version, date):
    """Write a version and its date into pyproject.toml, CITATION.cff and CHANGELOG.md."""
    if not VERSION.fullmatch(version) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise SystemExit(f"{version} {date} is no version such as 0.2.0 and no date such as 2026-11-23")
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    if f"## [{version}]" in text:
        raise SystemExit(f"CHANGELOG.md has a section {version} already")
    if UNRELEASED not in text:
        raise SystemExit(f"CHANGELOG.md has no {UNRELEASED}")
    changelog.write_text(text.replace(UNRELEASED, f"{UNRELEASED}\n\n## [{version}] - {date}", 1), "utf-8")
    _replace(root / "pyproject.toml", r'^version = ".*"$', f'version = "{version}"')
    _replace(
        root / "CITATION.cff", r"^version: .*$(\ndate-released: .*$)?", f"version: {version}\ndate-released: {date}"
    )


def problems(root, tag):
    """What does not agree with a tag, as sentences."""
    version = tag.removeprefix("v")
    if tag == version or not VERSION.fullmatch(version):
        return [f"{tag} is no tag such as v0.2.0"]
    found = []
    said = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if said != version:
        found.append(f"pyproject.toml says {said}")
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    if not cited or cited[1] != version:
        found.append(f"CITATION.cff says {cited[1] if cited else 'nothing'}")
    try:
        section = notes(root, version)
    except SystemExit as missing:
        return [*found, str(missing)]
    if len(section.splitlines()) < 3:
        found.append(f"CHANGELOG.md tells nothing of {version}")
    return found


def link(root, address):
    """Write the project's links into pyproject.toml, in place of those that are there, and into CITATION.cff."""
    base = address.rstrip("/")
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", base):
        raise SystemExit(f"{address} is no address such as https://HOST/OWNER/NAME")
    links = {
        "Repository": base,
        "Documentation": f"{base}/tree/main/docs",
        "Changelog": f"{base}/blob/main/CHANGELOG.md",
        "Issues": f"{base}/issues",
        "Security": f"{base}/blob/main/SECURITY.md",
    }
    table = "[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in links.items())
    config = root / "pyproject.toml"
    text = re.sub(r"^\[project\.urls\]\n(?:.+\n)*\n", "", config.read_text("utf-8"), flags=re.MULTILINE)
    config.write_text(text.replace("[project.scripts]\n", f"{table}\n[project.scripts]\n", 1), "utf-8")
    _replace(
        root / "CITATION.cff",
        r"^license: .*$(\nrepository-code: .*$)?",
        f"license: Apache-2.0\nrepository-code: {base}",
    )


def notes(root, version):
    """The changelog's section of a version, without its heading."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    match = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not match:
        raise SystemExit(f"CHANGELOG.md has no section '## [{version}] - DATE'")
    return match[1].strip() + "\n"


def _replace(path, pattern, line):
    text, count = re.subn(pattern, line, path.read_text("utf-8"), count=1, flags=re.MULTILINE)
    if not count:
        raise SystemExit(f"{path.name} has no line {pattern}")
    path.write_text(text, "utf-8")


def main(words):
    """Do what the words say."""
    match words:
        case ["prepare", version, date]:
            prepare(ROOT, version, date)
        case ["check", tag]:
            if found := problems(ROOT, tag):
                raise SystemExit(f"{tag}: " + "; ".join(found))
            print(f"{tag}: version, citation and changelog agree")
        case ["urls", address]:
            link(ROOT, address)
        case ["notes", version]:
            print(notes(ROOT, version), end="")
        case ["registered", ("yes" | "no") as answer]:
            switch(ROOT, answer == "yes")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
