"""Checks of the content seen in a visit, each with its problems. The page itself is already closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verikit.artifacts.browser.session import Page
from verikit.artifacts.browser.sight import holds, lines, plain
from verikit.artifacts.browser.tree import usual
from verikit.errors import UsageError

_A11Y = '{"role": "button", "name": "Save"}'
Wanted = bool | int | str | Sequence[str] | Mapping[str, str]
"""Whether there is an element, the number of them, the visible text of the only one or of each, or its attributes."""


def texts(page: Page, wanted: Sequence[str]) -> Iterator[str]:
    """Strings that are not visible."""
    yield from (f"{text!r} is not in sight{_missing(page)}" for text in wanted if not holds(page.runs, text))


def absent(page: Page, unwanted: Sequence[str]) -> Iterator[str]:
    """Strings that are visible, and should not be."""
    yield from (f"{text!r} is in sight" for text in unwanted if holds(page.runs, text))


def elements(page: Page, wanted: Mapping[str, Wanted]) -> Iterator[str]:
    """Elements that are not as they should be."""
    for found, (selector, what) in zip(page.elements, wanted.items(), strict=True):
        fault = _element(page, found, what)
        if fault:
            yield f"{selector!r}: {fault}"


def _element(page: Page, found: Mapping[str, Any], wanted: Wanted) -> str:
    count = found["count"]
    if isinstance(wanted, bool):
        return "" if (count > 0) == wanted else f"{count} elements"
    if isinstance(wanted, int):
        return "" if count == wanted else f"{count} elements, expected {wanted}"
    seen = [plain(" ".join(lines(page.runs, item["mark"]))) for item in found["items"]]
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return "" if seen == [plain(text) for text in wanted] else f"the visible texts are {str(seen)[:160]}"
    if count != 1:
        return f"{count} elements, expected one"
    if isinstance(wanted, str):
        return "" if seen[0] == plain(wanted) else f"the text in sight is {seen[0][:160]!r}"
    own = found["items"][0]["attributes"]
    return "; ".join(f"{name} is {own.get(name)!r}"[:160] for name in wanted if own.get(name) != wanted[name])


def check_roles(wanted: Sequence[Mapping[str, str]]) -> None:
    """Look at the form of roles and names.

    Raises:
        UsageError: They have another form.
    """
    if isinstance(wanted, str | Mapping):
        raise UsageError("a11y is a list", hint=_A11Y)
    for one in wanted:
        texts = isinstance(one, Mapping) and all(isinstance(value, str) and value for value in one.values())
        if not texts or "role" not in one or not set(one) <= {"role", "name"}:
            raise UsageError(f"{one!r:.200} is not a role with a name", hint=_A11Y)


def roles(page: Page, wanted: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Roles and names that the accessibility tree lacks."""
    for one in wanted:
        named = [plain(name) for role, name in page.roles if role == usual(one["role"])]
        if not named:
            yield f"no {one['role']} in the accessibility tree"
        elif "name" in one and plain(one["name"]) not in named:
            yield f"no {one['role']} {one['name']!r} in the accessibility tree, its names are {str(named)[:160]}"


def console(page: Page, wanted: str | Sequence[str]) -> Iterator[str]:
    """Errors in the console, or strings that were not printed. Only a driver can read the console."""
    if isinstance(wanted, str):
        yield from (f"an error in the console: {text[:200]}" for text in page.errors[:1])
        return
    printed = [plain(text) for text in page.printed]
    yield from (f"{text!r} was not printed" for text in wanted if plain(text) not in printed)


def requests(page: Page, allowed: bool | Sequence[str]) -> Iterator[str]:
    """Requested addresses outside the workspace that are not allowed."""
    starts = () if isinstance(allowed, bool) else tuple(allowed)
    for address in page.outside:
        if not address.startswith(starts):
            yield f"the page requests {address[:200]!r}"


def _missing(page: Page) -> str:
    if page.misdrawn:
        return f"; {page.misdrawn[0]}"
    return f"; the workspace has no {page.missing[0][:100]!r}, which the page requests" if page.missing else ""
