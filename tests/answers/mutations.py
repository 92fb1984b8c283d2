"""Small changes of the trees of `trees`, some of which keep the value on part of the line only, and an oracle for them.

The oracle evaluates a tree with mpmath at points of both signs and many sizes; it knows nothing of verikit's parser,
fields or sampling.
"""

import mpmath

from tests.answers.trees import SYMBOLS, grow

SIZES = (0.013, 0.42, 0.6, 1.7, 2.9, 7.3, 19.6, 50.5, 101.3, 998.2)
POINTS = 20


def mutate(tree, rng):
    """The tree with one part rewritten, by a rule that may or may not keep its value."""
    parts = list(positions(tree))
    rng.shuffle(parts)
    for path in parts[:12]:
        changed = _rewritten(at(tree, path), rng)
        if changed is not None:
            return replaced(tree, path, changed)
    return ("neg", tree)


def positions(tree, path=()):
    """The paths of all parts."""
    yield path
    for index, part in enumerate(tree[1:], 1):
        if isinstance(part, tuple):
            yield from positions(part, (*path, index))


def at(tree, path):
    """The part at a path."""
    for index in path:
        tree = tree[index]
    return tree


def replaced(tree, path, part):
    """The tree with another part at a path."""
    if not path:
        return part
    inner = replaced(tree[path[0]], path[1:], part)
    return (*tree[: path[0]], inner, *tree[path[0] + 1 :])


def _rewritten(tree, rng):
    kind, *args = tree
    two = ("num", 2)
    options = [("root", 2, ("pow", tree, two)), ("abs", tree), ("neg", ("neg", tree)), ("pow", ("root", 2, tree), two)]
    if kind == "num":
        options += [("num", args[0] + rng.choice([1, 10, 50])), ("neg", tree), ("num", args[0] * 50)]
    elif kind == "sym":
        options += [("sym", rng.choice(SYMBOLS)), ("neg", tree)]
    elif kind in ("add", "mul"):
        swapped = "mul" if kind == "add" else "add"
        options += [(kind, *rng.sample(args, len(args))), (swapped, *args), (kind, *args[1:], args[0])]
        if len(args) > 2:
            options.append((kind, *args[1:]))
        if kind == "mul" and args[-1][0] == "add":
            rest = args[:-1]
            options.append(("add", *(("mul", *rest, term) for term in args[-1][1:])))
        if kind == "add":
            options.append(("neg", ("add", *(("neg", a) for a in args))))
    elif kind == "neg":
        options += [args[0]]
    elif kind == "div":
        options += [("div", args[1], args[0]), ("mul", args[0], ("pow", args[1], ("neg", ("num", 1))))]
    elif kind == "pow":
        options += [args[0], ("pow", args[0], ("num", 3)), ("mul", args[0], args[0])]
        if args[0][0] == "pow":
            options.append(("pow", args[0][1], ("mul", args[0][2], args[1])))
    elif kind == "root":
        options += [args[1], ("root", args[0] + 1, args[1])]
        inner = args[1]
        if inner[0] == "pow":
            options += [inner[1], ("abs", inner[1])]
        if inner[0] == "mul":
            options.append(("mul", *(("root", args[0], a) for a in inner[1:])))
    elif kind == "abs":
        options += [args[0], ("neg", args[0])]
    elif kind == "fn":
        options += [
            args[1],
            ("fn", rng.choice(["sin", "cos", "arctan"]), args[1]),
            ("neg", ("fn", args[0], ("neg", args[1]))),
        ]
        if args[0] == "ln" and args[1][0] == "pow":
            options.append(("mul", args[1][2], ("fn", "ln", args[1][1])))
        if args[0] == "sin":
            options.append(("root", 2, ("add", ("num", 1), ("neg", ("pow", ("fn", "cos", args[1]), two)))))
    return rng.choice(options)


def pair(rng):
    """A tree and a change of it."""
    tree = grow(rng, rng.randint(1, 3))
    if rng.random() < 0.3:  # Zeros far from the origin.
        tree = ("root", 2, ("pow", ("add", tree, ("num", rng.choice([30, 70, 500]))), ("num", 2)))
    other = mutate(tree, rng)
    return tree, mutate(other, rng) if rng.random() < 0.3 else other


def names(tree):
    """The symbols of a tree."""
    if tree[0] == "sym":
        return {tree[1]}
    return set().union(*(names(part) for part in tree[1:] if isinstance(part, tuple)))


def value(tree, point, imaginary=False):
    """The value at a point; raises where there is none, or no real one unless complex ones count."""
    found = _value(tree, point, imaginary)
    if not imaginary and mpmath.im(found):
        raise ValueError("no real value")
    if not abs(found) < 1e60:
        raise OverflowError("more digits than are computed")
    return found


def _value(tree, point, imaginary):
    kind, *args = tree
    if kind == "num":
        return mpmath.mpf(args[0])
    if kind == "sym":
        return point[args[0]]
    if kind == "const":
        return {"pi": mpmath.pi, "e": mpmath.e, "i": mpmath.mpc(0, 1)}[args[0]] * 1
    if kind == "root":
        base = value(args[1], point, imaginary)
        if mpmath.im(base) == 0 and mpmath.re(base) < 0 and args[0] % 2:
            return -mpmath.root(-base, args[0])
        return mpmath.power(base, mpmath.mpf(1) / args[0])
    if kind == "fn":
        name = {"arctan": "atan"}.get(str(args[0]), str(args[0]))
        return getattr(mpmath, name)(value(args[1], point, imaginary))
    values = [value(a, point, imaginary) for a in args]
    if kind == "add":
        return mpmath.fsum(values)
    if kind == "mul":
        return mpmath.fprod(values)
    if kind == "neg":
        return -values[0]
    if kind == "div":
        return values[0] / values[1]
    if kind == "pow":
        if values[0] == 0 and mpmath.re(values[1]) <= 0:
            raise ZeroDivisionError
        return mpmath.power(values[0], values[1])
    if kind == "abs":
        return abs(values[0])
    if mpmath.re(values[0]) < 0:
        raise ValueError("the factorial of a negative number")
    return mpmath.gamma(values[0] + 1)


def differ(a, b, rng):
    """A point where both trees have values, real ones unless i is in a tree, that differ; None if none is found."""
    symbols = sorted(names(a) | names(b))
    imaginary = "('const', 'i')" in str((a, b))
    for _ in range(POINTS if symbols else 1):
        point = {name: mpmath.mpf(rng.choice(SIZES) * rng.uniform(0.9, 1.1) * rng.choice((1, -1))) for name in symbols}
        if _gap(a, b, point, imaginary, 20) and _gap(a, b, point, imaginary, 200):
            return {name: float(number) for name, number in point.items()}
    return None


def _gap(a, b, point, imaginary, digits):
    """Whether two trees have values that differ there, computed to so many digits."""
    with mpmath.workdps(digits):
        try:
            left, right = value(a, point, imaginary), value(b, point, imaginary)
        except (ValueError, ZeroDivisionError, OverflowError):
            return False
        size = max(abs(left), abs(right))
        return mpmath.isfinite(size) and size < 1e80 and abs(left - right) > 1e-9 * max(size, mpmath.mpf("1e-9"))
