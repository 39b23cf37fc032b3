#!/usr/bin/env bash
# Fuzzes every target for a bounded time, as many at once as there are processors: `fuzz/run.sh SECONDS [TARGET...]`; with 0
# seconds it only builds them.
# Ends with an error if an input panics, takes longer than 5 s, or allocates more than 2 MB at once (64 MB with an
# interpreter) or 512 MB in all (inputs have at most 64 kB); the other targets still run for their time.
#
# cargo-fuzz asks for a nightly compiler only because sanitizers and coverage are switched on by -Z flags;
# RUSTC_BOOTSTRAP=1 lets the pinned stable compiler take them.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- elf ld_so_cache ld_so_conf rewrite pack rack_env overlay

command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
export RUSTC_BOOTSTRAP=1 seconds
# All of them before the first one runs, so that none spends its time waiting for cargo's lock.
cargo fuzz build --fuzz-dir .
[ "$seconds" != 0 ] || exit 0
bash seeds.sh

# One target. What it has to say is printed at once, so that targets do not mix their lines.
fuzz() {
    # The one target with an interpreter, whose heap is copied once.
    most=2 && [ "$1" != rack_env ] || most=64
    if said=$(cargo fuzz run --fuzz-dir . "$1" -- -max_total_time="$seconds" -max_len=65536 -timeout=5 \
        -malloc_limit_mb="$most" -rss_limit_mb=512 -print_final_stats=1 -verbosity=0 2>&1); then
        printf '== %s for %s s\n%s\n' "$1" "$seconds" "$(grep '^stat::' <<<"$said")"
    else
        printf '== %s failed\n%s\n' "$1" "$(tail -n 60 <<<"$said")"
        return 1
    fi
}
export -f fuzz
printf '%s\n' "$@" | xargs -P "$(nproc)" -I TARGET bash -c 'fuzz TARGET'
