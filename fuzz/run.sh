#!/usr/bin/env bash
# Fuzzes every target for a bounded time: `fuzz/run.sh SECONDS [TARGET...]`. Ends with an error at the first input that
# panics, takes longer than 5 s, or allocates more than 2 MB at once (64 MB with an interpreter) or 512 MB in all (inputs have at most 64 kB).
#
# cargo-fuzz asks for a nightly compiler only because sanitizers and coverage are switched on by -Z flags;
# RUSTC_BOOTSTRAP=1 lets the pinned stable compiler take them.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- elf ld_so_cache ld_so_conf rewrite pack rack_env overlay

command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
export RUSTC_BOOTSTRAP=1
bash seeds.sh
for target in "$@"; do
    echo "== $target for $seconds s"
    log=$(mktemp)
    # The one target with an interpreter, whose heap is copied once.
    most=2 && [ "$target" != rack_env ] || most=64
    if ! cargo fuzz run --fuzz-dir . "$target" -- -max_total_time="$seconds" -max_len=65536 -timeout=5 \
        -malloc_limit_mb="$most" -rss_limit_mb=512 -print_final_stats=1 -verbosity=0 >"$log" 2>&1; then
        tail -n 60 "$log"
        exit 1
    fi
    grep '^stat::' "$log"
    rm -f "$log"
done
