#!/usr/bin/env python3
"""An allocation workload that resembles a Python service, and what is left in memory when its burst is over.

The pattern is that of ../ruby/bench_alloc.rb: BENCH_THREADS threads make BENCH_ITERS objects a round (all threads
together), BENCH_ROUNDS rounds follow one another with new threads; bodies from 16 B to 64 kB, half of them below 128 B
and a tenth above 13 kB; most objects live as long as a request (the last 512 of a thread), one in eight goes to a cache
of 4,000 entries for each thread, where it displaces another at random. Then everything is dropped and collected, and
after BENCH_SLEEP_AFTER seconds the resident memory is read.

CPython serves objects of up to 512 B itself (pymalloc), from arenas that it gets by mmap and not by malloc. So about two
thirds of the objects here never reach the allocator under test, while nearly all of the bytes do: bytes, bytearrays and
the tables of lists and dicts. With PYTHONMALLOC=malloc in the environment everything goes to malloc; `pythonmalloc` in
the output says which it was.

Prints one JSON object: time_s (the rounds alone), rss_start_mb, rss_live_mb (before the drop), rss_end_mb, rss_delta_mb
(end less start), rss_peak_mb and what it ran on.
"""

import gc
import json
import os
import platform
import random
import re
import sys
import threading
import time

import allocator

LAST = 512
CACHE = 4_000
CACHED_EVERY = 8
YIELD_EVERY = 1_000
SMALLEST = 16
RANGE = 4_096
SIZES = 8_192


def number(name, default, least, kind):
    """A setting of the environment; a wrong one ends the program with status 2."""
    text = os.environ.get(name, default)
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not value >= least:
        what = "a whole number" if kind is int else "a number"
        print(f"bench_alloc.py: {name}={text} must be {what} of at least {least}", file=sys.stderr)
        sys.exit(2)
    return value


THREADS = number("BENCH_THREADS", "4", 1, int)
ITERS = number("BENCH_ITERS", "300000", 1, int)
ROUNDS = number("BENCH_ROUNDS", "10", 1, int)
SLEEP_BEFORE = number("BENCH_SLEEP_BEFORE", "0.5", 0, float)
SLEEP_AFTER = number("BENCH_SLEEP_AFTER", "2", 0, float)


def make(turn, size):
    """One object with a body of about `size` bytes."""
    kind = turn % 8
    if kind == 0:
        return [turn] * (size // 8 + 4)
    if kind == 1:
        return dict.fromkeys(range(9 + size % 8), turn)
    # A bytearray's body is an allocation of its own, bytes are one with their object.
    return bytearray(size) if kind < 5 else b"x" * size


def serve(seed, iterations, cache):
    """The part of one thread in one round."""
    numbers = random.Random(seed)
    sizes = [int(SMALLEST * RANGE ** (numbers.random() ** 2)) for _ in range(SIZES)]
    places = [int(numbers.random() * CACHE) for _ in range(SIZES + 1)]
    last = [None] * LAST
    for turn in range(iterations):
        made = make(turn, sizes[turn % SIZES])
        last[turn % LAST] = made
        if turn % CACHED_EVERY == 0:
            # A length prime to that of `sizes`: the pairs of a size and a place do not repeat.
            cache[places[turn % (SIZES + 1)]] = made
        if turn % YIELD_EVERY == 0:
            time.sleep(0)


def rounds(caches):
    """All rounds, each with threads of its own."""
    for turn in range(ROUNDS):
        shares = [ITERS // THREADS + (index < ITERS % THREADS) for index in range(THREADS)]
        threads = [
            threading.Thread(target=serve, args=(turn * THREADS + index, share, caches[index]))
            for index, share in enumerate(shares)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def kilobytes(path, field):
    """A field of a file below /proc/self, in MB."""
    with open(path, encoding="ascii") as file:
        return int(re.search(rf"^{field}:\s+(\d+)", file.read(), re.MULTILINE).group(1)) / 1024


def main():
    """Runs the workload and prints its figures."""
    gc.collect()
    # Time for a look from outside at the memory after start-up.
    time.sleep(SLEEP_BEFORE)
    rss_start = kilobytes("/proc/self/smaps_rollup", "Rss")
    caches = [[None] * CACHE for _ in range(THREADS)]
    start = time.monotonic()
    rounds(caches)
    seconds = time.monotonic() - start
    rss_live = kilobytes("/proc/self/smaps_rollup", "Rss")
    caches.clear()
    gc.collect()
    time.sleep(SLEEP_AFTER)
    rss_end = kilobytes("/proc/self/smaps_rollup", "Rss")
    figures = {
        "time_s": round(seconds, 3),
        "rss_delta_mb": round(rss_end - rss_start, 2),
        "rss_start_mb": round(rss_start, 2),
        "rss_live_mb": round(rss_live, 2),
        "rss_end_mb": round(rss_end, 2),
        "rss_peak_mb": round(kilobytes("/proc/self/status", "VmHWM"), 2),
        "allocator": allocator.description(),
        "pythonmalloc": os.environ.get("PYTHONMALLOC"),
        "python": platform.python_version(),
        "threads": THREADS,
        "iters": ITERS,
        "rounds": ROUNDS,
        "sleep_after_s": SLEEP_AFTER,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
