"""Which allocator serves this process, and how it came there.

Nothing here believes an environment variable: the dynamic linker is asked where `malloc` is, and the process's own maps
say which file lies at that address.
"""

import ctypes
import os
import re

FAMILIES = ("jemalloc", "mimalloc", "snmalloc", "tcmalloc", "hoard")
LIBC = (("glibc", re.compile(r"libc[.-]")), ("musl", re.compile(r"ld-musl-")))


def mappings():
    """Address ranges of mapped files."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(None, 5)
            if len(fields) == 6 and fields[5].startswith("/"):
                low, high = (int(end, 16) for end in fields[0].split("-"))
                yield low, high, fields[5]


def object_of(function):
    """The file mapped where the dynamic linker finds a function."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), function), ctypes.c_void_p).value
    return next((path for low, high, path in mappings() if low <= address < high), None)


def malloc_object():
    """The file that serves malloc."""
    found = object_of("malloc")
    if found == os.readlink("/proc/self/exe"):
        # An executable that is not position-independent gives a function whose address it takes an address of its own,
        # a jump to the real one. No program takes the address of malloc_usable_size, which every allocator has.
        return object_of("malloc_usable_size")
    return found


def libc(file):
    """glibc, musl or None."""
    return next((name for name, pattern in LIBC if pattern.match(file)), None)


def name_of(path):
    """The allocator's name, by its file."""
    file = os.path.basename(path)
    return next((name for name in FAMILIES if name in file), None) or libc(file) or file


def needs(path, library):
    """Whether an ELF file has the library's name among its strings, as every file has the names that it needs."""
    stem = re.match(r".*?\.so|.*", library).group()
    pattern = re.compile(rb"\0%s[.\d]*\0" % re.escape(stem.encode()))
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                return False
            # Part by part, since what is read here must not weigh in the figures.
            before = b""
            while part := file.read(65536):
                if pattern.search(before + part):
                    return True
                before = part[-256:]
    except OSError:
        pass
    return False


def how(path):
    """An object that comes before the C library although no other file asks for it was preloaded."""
    file = os.path.basename(path)
    if libc(file):
        return "libc"
    if path == os.readlink("/proc/self/exe"):
        return "built in"
    if any(needs(other, file) for other in {other for _, _, other in mappings()} - {path}):
        return "linked"
    return "via LD_PRELOAD"


def description():
    """For example `jemalloc (via LD_PRELOAD)`, `glibc (libc)`."""
    path = malloc_object()
    return f"{name_of(path)} ({how(path)})" if path else "unknown (no maps)"
