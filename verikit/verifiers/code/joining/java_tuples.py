"""The tuples of `org.javatuples`, which MultiPL-E's Java rows import: as classes of the program's own file."""

# ruff: noqa: E501 - lines of Java as they are
from __future__ import annotations

import re

NAMES = (
    "Unit", "Pair", "Triplet", "Quartet", "Quintet", "Sextet", "Septet", "Octet", "Ennead", "Decade",
)  # fmt: skip
_IMPORT = re.compile(r"^[ \t]*import[ \t]+(?:static[ \t]+)?org\.javatuples\.[\w.]*\*?[ \t]*;", re.MULTILINE)


def with_tuples(text: str) -> str:
    """A source with the tuples that it uses instead of their import; unchanged if it does not import any."""
    if not _IMPORT.search(text):
        return text
    text = _IMPORT.sub("", text).replace("org.javatuples.", "")
    used = [
        name for name in NAMES if re.search(rf"\b{name}\b", text) and not re.search(rf"\bclass[ \t]+{name}\b", text)
    ]
    return "\n".join([text, *map(_tuple, used)])


def _tuple(name: str) -> str:
    """The source of a tuple."""
    numbers = range(NAMES.index(name) + 1)
    kinds = [f"T{n}" for n in numbers]
    kind = f"{name}<{', '.join(kinds)}>"
    given = ", ".join(f"T{n} value{n}" for n in numbers)
    values = ", ".join(f"value{n}" for n in numbers)
    lines = [
        f"final class {name}<{', '.join(kinds)}> implements Iterable<Object>, Comparable<{kind}>, java.io.Serializable {{",
        *(f"    private final T{n} value{n};" for n in numbers),
        f"    public {name}({given}) {{ {' '.join(f'this.value{n} = value{n};' for n in numbers)} }}",
        f"    public static <{', '.join(kinds)}> {kind} with({given}) {{ return new {name}<>({values}); }}",
    ]
    for n in numbers:
        other = f"{name}<{', '.join('X' if m == n else f'T{m}' for m in numbers)}>"
        changed = ", ".join("value" if m == n else f"value{m}" for m in numbers)
        lines.append(f"    public T{n} getValue{n}() {{ return value{n}; }}")
        lines.append(f"    public <X> {other} setAt{n}(X value) {{ return new {name}<>({changed}); }}")
    lines += [
        f"    public java.util.List<Object> toList() {{ return java.util.Arrays.asList((Object) {values.replace(', ', ', (Object) ')}); }}",
        "    public Object[] toArray() { return toList().toArray(); }",
        "    public Object getValue(int at) { return toList().get(at); }",
        f"    public int getSize() {{ return {len(numbers)}; }}",
        "    public boolean contains(Object one) { return toList().contains(one); }",
        "    public int indexOf(Object one) { return toList().indexOf(one); }",
        "    public java.util.Iterator<Object> iterator() { return toList().iterator(); }",
        f"    public boolean equals(Object o) {{ return o instanceof {name} && toList().equals((({name}<{', '.join('?' * len(numbers))}>) o).toList()); }}",
        "    public int hashCode() { return toList().hashCode(); }",
        "    public String toString() { return toList().toString(); }",
        '    @SuppressWarnings("unchecked")',
        f"    public int compareTo({kind} other) {{",
        "        for (int at = 0; at < getSize(); at++) {",
        "            int found = ((Comparable<Object>) getValue(at)).compareTo(other.getValue(at));",
        "            if (found != 0) return found;",
        "        }",
        "        return 0;",
        "    }",
        "}",
    ]
    return "\n".join(lines)
