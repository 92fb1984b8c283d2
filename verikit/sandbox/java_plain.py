"""Decides which Java programs can share a virtual machine, case after case, and rewrites their classes for it.

A program is *plain* if its classes can't reach anything in Java's library that outlives a case: no files, no
reflection, no properties, no hooks, no finalizers, and only threads that a case waits for. Classes list everything
that they reach in their constant pools, and the virtual machine verifies them. So a list of allowed names decides it.
Classes are loaded again for each case, so a plain program leaves nothing behind. All others start a virtual machine
for each case.

The classes come from a compiler that read hostile source code. Classes that can't be parsed are not plain.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

EXIT = "verikit/Engine"
"""Replaces `System` in calls to exit (`native/Engine.java`)."""
_OLDEST = 52
"""The oldest class file version with the virtual machine checks that verikit relies on."""
_NATIVE, _MAGIC, _MOST_POOL = 0x0100, 0xCAFEBABE, 65_500
_MOST_BYTES = 200_000
"""Of all classes; to read more would cost more than it saves."""

_TABLE = {
    "java/lang/": "Boolean Byte CharSequence Character Comparable Double Enum Float Integer Iterable Long Math Number "
    "Record Runnable Short StrictMath String StringBuffer StringBuilder AutoCloseable Cloneable Appendable Readable",
    "java/lang/invoke/": "LambdaMetafactory StringConcatFactory",
    "java/lang/runtime/": "ObjectMethods SwitchBootstraps",
    "java/io/": "BufferedInputStream BufferedOutputStream BufferedReader BufferedWriter ByteArrayInputStream "
    "ByteArrayOutputStream CharArrayReader CharArrayWriter Closeable DataInputStream DataOutputStream "
    "FilterInputStream FilterOutputStream Flushable InputStream InputStreamReader LineNumberReader OutputStream "
    "OutputStreamWriter PrintStream PrintWriter Reader Serializable StreamTokenizer StringReader StringWriter Writer "
    "DataInput DataOutput",
    "java/math/": "BigDecimal BigInteger MathContext RoundingMode",
    "java/nio/charset/": "StandardCharsets",
    "java/text/": "DecimalFormat DecimalFormatSymbols NumberFormat Format",
    "java/util/": "AbstractCollection AbstractList AbstractMap AbstractMap$SimpleEntry "
    "AbstractMap$SimpleImmutableEntry AbstractQueue AbstractSequentialList AbstractSet ArrayDeque ArrayList Arrays "
    "BitSet Collection Collections Comparator Deque DoubleSummaryStatistics EnumMap EnumSet Enumeration HashMap "
    "HashSet Hashtable IntSummaryStatistics Iterator LinkedHashMap LinkedHashSet LinkedList List ListIterator "
    "LongSummaryStatistics Map Map$Entry NavigableMap NavigableSet Objects Optional OptionalDouble OptionalInt "
    "OptionalLong PrimitiveIterator$OfDouble PrimitiveIterator$OfInt PrimitiveIterator$OfLong PriorityQueue Queue "
    "Random RandomAccess Scanner SequencedCollection SequencedMap SequencedSet Set SortedMap SortedSet Stack "
    "StringJoiner StringTokenizer TreeMap TreeSet Vector",
    "java/util/concurrent/atomic/": "AtomicBoolean AtomicInteger AtomicIntegerArray AtomicLong AtomicLongArray "
    "AtomicReference",
    "java/util/function/": "BiConsumer BiFunction BiPredicate BinaryOperator BooleanSupplier Consumer "
    "DoubleBinaryOperator DoubleConsumer DoubleFunction DoublePredicate DoubleSupplier DoubleToIntFunction "
    "DoubleToLongFunction DoubleUnaryOperator Function IntBinaryOperator IntConsumer IntFunction IntPredicate "
    "IntSupplier IntToDoubleFunction IntToLongFunction IntUnaryOperator LongBinaryOperator LongConsumer LongFunction "
    "LongPredicate LongSupplier LongToDoubleFunction LongToIntFunction LongUnaryOperator ObjDoubleConsumer "
    "ObjIntConsumer ObjLongConsumer Predicate Supplier ToDoubleBiFunction ToDoubleFunction ToIntBiFunction "
    "ToIntFunction ToLongBiFunction ToLongFunction UnaryOperator",
    "java/util/regex/": "MatchResult Matcher Pattern",
    "java/util/stream/": "BaseStream Collector Collectors DoubleStream IntStream IntStream$Builder LongStream Stream "
    "Stream$Builder",
}
_WHOLE = frozenset(folder + name for folder, names in _TABLE.items() for name in names.split())
"""Classes that may be inherited from. All their members may be used, except `_NEVER` and members that open files."""
_THROWABLE = "<init> getMessage getLocalizedMessage getCause initCause toString addSuppressed fillInStackTrace equals"
_SWITCHED = "java/lang/NoSuchFieldError"
"""What javac's own code around a `switch` over an enum catches."""
_SOME = {
    "java/lang/Object": "<init> getClass hashCode equals toString wait notify notifyAll clone",
    "java/lang/Class": "getName getSimpleName desiredAssertionStatus isInstance cast",
    "java/lang/System": "in out err currentTimeMillis nanoTime arraycopy lineSeparator exit getProperty",
    "java/lang/Thread": "start join run sleep interrupt interrupted isInterrupted currentThread isAlive",
    "java/lang/AssertionError": _THROWABLE,
    "java/lang/Throwable": _THROWABLE,
    "java/lang/MatchException": _THROWABLE,
    "java/nio/charset/Charset": "forName defaultCharset name",
    "java/security/MessageDigest": "getInstance update digest reset",
    "java/util/Locale": "ROOT US ENGLISH UK getDefault",
    "java/util/concurrent/ConcurrentHashMap": "<init> get put containsKey remove size isEmpty entrySet keySet values "
    "merge getOrDefault putIfAbsent computeIfAbsent computeIfPresent compute clear toString",
}
"""Members of other classes that may be used. Of these classes, only Object may be inherited from."""
_THREADS = (
    "(Ljava/lang/Runnable;Ljava/lang/String;)V",
    "(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;Ljava/lang/String;)V",
    "(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;Ljava/lang/String;J)V",
)
"""Threads with a name. Java numbers threads without one, from the start of the virtual machine."""
_EXCEPTIONS = ("java/lang/", "java/util/", "java/io/", "java/util/concurrent/")
_NEVER = frozenset("finalize intern identityHashCode getStackTrace setStackTrace setDefault".split())
"""Members that no class may use or have, including names that start with `parallel`.

Their effects outlive a case, or they reveal how the program was started.
"""
_FROM_FILES = ("java/io/PrintStream", "java/io/PrintWriter")
"""Whose constructors open files of a name."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A program whose cases can share a virtual machine."""

    files: Mapping[str, bytes]
    """Its classes, with `Engine.exit` instead of `System.exit`."""
    unwinds: bool
    """Whether it catches nothing that could end a case, such as an unknown Error."""
    threads: bool
    """Whether it makes any."""


def plain(files: Mapping[str, bytes]) -> Plain | None:
    """The program of these class files for an engine of many cases, or None if it is not plain.

    Args:
        files: relative names, such as `Main.class`, and contents.
    """
    if sum(map(len, files.values())) > _MOST_BYTES:
        return None
    try:
        read = {name: _read(content) for name, content in files.items()}
    except (ValueError, IndexError, KeyError, struct.error):
        return None
    own = {name.removesuffix(".class") for name in files}
    for name, found in read.items():
        if name != f"{found.name}.class" or found.name.startswith(("java/", "verikit/")) or not _is_plain(found, own):
            return None
    return Plain(
        {name: _with_exit(files[name], found) for name, found in read.items()},
        not any(kind in ("", "java/lang/Throwable") for found in read.values() for kind in found.caught),
        any(use[:2] == ("java/lang/Thread", "<init>") for found in read.values() for use in found.uses),
    )


@dataclass(slots=True)
class _ClassFile:
    """The relevant properties of a class."""

    name: str
    above: list[str]
    """The classes it inherits from directly, and its interfaces."""
    uses: list[tuple[str, str, str]]
    """Owner, name and descriptor of each member that it names."""
    methods: list[tuple[int, str]] = field(default_factory=list)
    """Flags and name."""
    caught: set[str] = field(default_factory=set)
    """Classes whose objects it catches. The empty name: every exception."""
    pool_end: int = 0
    pool_size: int = 0
    exits: list[int] = field(default_factory=list)
    """Offsets in the constant pool of `System` as the owner of `exit`."""


def _is_plain(found: _ClassFile, own: set[str]) -> bool:
    """Whether one class names only what dies with its case."""
    if any(flags & _NATIVE or _is_never(name) for flags, name in found.methods):
        return False
    if not all(
        name in own or name == "java/lang/Object" or name in _WHOLE or _is_exception(name) for name in found.above
    ):
        return False
    known = ("", "java/lang/Throwable", _SWITCHED)
    if not all(name in own or name in known or _is_exception(name) for name in found.caught):
        return False
    return all(_may_use(own, *use) for use in found.uses)


def _is_exception(name: str) -> bool:
    folder, _, short = name.rpartition("/")
    return f"{folder}/" in _EXCEPTIONS and short.endswith("Exception")


def _is_never(member: str) -> bool:
    return member in _NEVER or member.startswith("parallel")


def _may_use(own: set[str], owner: str, name: str, descriptor: str) -> bool:
    """Whether a class may name this member."""
    if _is_never(name):
        return False
    if name == "printStackTrace":
        return descriptor == "()V"  # with a stream it could reveal the program's caller
    if owner in own:
        return True
    if owner.startswith("["):
        return name == "clone"
    if name == "<init>" and owner == "java/lang/Thread":
        return descriptor in _THREADS
    if name == "<init>" and (owner in _FROM_FILES or owner == "java/util/Scanner"):
        return not descriptor.startswith(("(Ljava/io/File;", "(Ljava/nio/")) and (
            owner not in _FROM_FILES or not descriptor.startswith("(Ljava/lang/String;")
        )
    if _is_exception(owner):
        return name in _THROWABLE.split()
    return owner in _WHOLE or name in _SOME.get(owner, "").split()


def _read(data: bytes) -> _ClassFile:
    """The relevant parts of a class file.

    Raises:
        ValueError, IndexError, KeyError, struct.error: it has another form.
    """
    magic, _, major, count = struct.unpack_from(">IHHH", data)
    if magic != _MAGIC or major < _OLDEST:
        raise ValueError("no class file of a known kind")
    pool, end = _pool(data, count)

    def utf8(index: int) -> str:
        tag, at = pool[index]
        if tag != 1:
            raise ValueError("not a text")
        (size,) = struct.unpack_from(">H", data, at)
        return data[at + 2 : at + 2 + size].decode("latin-1")

    def class_name(index: int) -> str:
        tag, at = pool[index]
        if tag != 7:
            raise ValueError("not a class")
        return utf8(*struct.unpack_from(">H", data, at))

    uses, exits = list[tuple[str, str, str]](), list[int]()
    for tag, at in pool.values():
        if tag in (9, 10, 11):
            owner_index, pair = struct.unpack_from(">HH", data, at)
            name_index, kind_index = struct.unpack_from(">HH", data, pool[pair][1])
            use = class_name(owner_index), utf8(name_index), utf8(kind_index)
            uses.append(use)
            if use[:2] == ("java/lang/System", "exit"):
                exits.append(at)
    _, this, parent, interfaces = struct.unpack_from(">HHHH", data, end)
    above = [parent, *struct.unpack_from(f">{interfaces}H", data, end + 8)]
    found = _ClassFile(class_name(this), [class_name(index) for index in above], uses, pool_end=end, pool_size=count,
                       exits=exits)  # fmt: skip
    at = end + 8 + 2 * interfaces
    for is_method in (False, True):
        (members,) = struct.unpack_from(">H", data, at)
        at += 2
        for _ in range(members):
            flags, name_index, _, attributes = struct.unpack_from(">HHHH", data, at)
            at += 8
            if is_method:
                found.methods.append((flags, utf8(name_index)))
            for _ in range(attributes):
                name_index, size = struct.unpack_from(">HI", data, at)
                if utf8(name_index) == "Code":
                    found.caught |= {class_name(kind) if kind else "" for kind in _handlers(data, at + 6)}
                at += 6 + size
    return found


def _pool(data: bytes, count: int) -> tuple[dict[int, tuple[int, int]], int]:
    """Tag and offset of each constant, and the end of the pool. Constants that run their own code are rejected."""
    sizes = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 18: 4}
    pool, at, index = dict[int, tuple[int, int]](), 10, 1
    while index < count:
        tag = data[at]
        pool[index] = (tag, at + 1)
        size = 2 + int.from_bytes(data[at + 1 : at + 3], "big") if tag == 1 else sizes[tag]
        at += 1 + size
        index += 2 if tag in (5, 6) else 1
    return pool, at


def _handlers(data: bytes, at: int) -> Iterator[int]:
    """The index of the class that each handler of a method catches. 0: every exception."""
    (code,) = struct.unpack_from(">I", data, at + 4)
    at += 8 + code
    (count,) = struct.unpack_from(">H", data, at)
    for number in range(count):
        yield struct.unpack_from(">H", data, at + 2 + 8 * number + 6)[0]


def _with_exit(data: bytes, found: _ClassFile) -> bytes:
    """The class with `Engine` as the owner of `exit`. Its constant pool gains a string and a class."""
    if not found.exits or found.pool_size > _MOST_POOL:
        return data
    changed = bytearray(data)
    struct.pack_into(">H", changed, 8, found.pool_size + 2)
    for at in found.exits:
        struct.pack_into(">H", changed, at, found.pool_size + 1)
    name = EXIT.encode()
    changed[found.pool_end : found.pool_end] = (
        struct.pack(">BH", 1, len(name)) + name + struct.pack(">BH", 7, found.pool_size)
    )
    return bytes(changed)
