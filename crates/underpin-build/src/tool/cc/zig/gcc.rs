//! Options that GCC alone knows. clang refuses what it does not know, and zig with it; a makefile that was never compiled by another
//! compiler has them. Those that only say how GCC optimises or shows its messages go: the program computes the same without.

/// Beginnings of names of ways to optimise, without `-f` and `no-`.
const BEGINNINGS: [&str; 11] = [
    "graphite",
    "ipa-",
    "ira-",
    "loop-",
    "reorder-",
    "sched",
    "sel-sched-",
    "selective-scheduling",
    "shrink-wrap",
    "tree-",
    "var-tracking",
];
/// Of these, what clang knows too.
const KNOWN: [&str; 2] = ["tree-slp-vectorize", "tree-vectorize"];
/// Further names, as `gcc --help=optimizers` has them. Not those that decide what a program computes or is protected against
/// (`strict-volatile-bitfields`, `lifetime-dse`, `harden-compares`, `toplevel-reorder`), with which zig ends and names them.
const NAMES: [&str; 56] = [
    "aggressive-loop-optimizations",
    "allocation-dce",
    "auto-inc-dec",
    "bit-tests",
    "code-hoisting",
    "combine-stack-adjustments",
    "compare-elim",
    "conserve-stack",
    "cprop-registers",
    "crossjumping",
    "cse-follow-jumps",
    "dce",
    "delayed-branch",
    "dse",
    "early-inlining",
    "fold-simple-inlines",
    "forward-propagate",
    "function-cse",
    "gcse-lm",
    "guess-branch-probability",
    "hoist-adjacent-loads",
    "if-conversion",
    "if-conversion2",
    "indirect-inlining",
    "inline-atomics",
    "isolate-erroneous-paths-attribute",
    "isolate-erroneous-paths-dereference",
    "limit-function-alignment",
    "live-range-shrinkage",
    "lra-remat",
    "move-loop-invariants",
    "move-loop-stores",
    "optimize-strlen",
    "partial-inlining",
    "peephole",
    "peephole2",
    "predictive-commoning",
    "printf-return-value",
    "ree",
    "rerun-cse-after-loop",
    "reschedule-modulo-scheduled-loops",
    "section-anchors",
    "simd-cost-model",
    "split-ivs-in-unroller",
    "split-loops",
    "split-paths",
    "split-wide-types",
    "split-wide-types-early",
    "ssa-backprop",
    "ssa-phiopt",
    "stdarg-opt",
    "store-merging",
    "thread-jumps",
    "unroll-completely-grow-size",
    "version-loops-for-strides",
    "vpt",
];
/// Names of other options: what GCC shows and looks for, how it links by LTO, what clang does in any case, and ways to optimise
/// that GCC does not list as such.
const OTHERS: [&str; 10] = [
    "analyzer",
    "concepts",
    "devirtualize-at-ltrans",
    "diagnostics-show-caret",
    "ext-numeric-literals",
    "gnu-unique",
    "hardened",
    "lto-compression-level",
    "lto-partition",
    "vect-cost-model",
];
/// Options of GCC for x86, without `-m` and `no-`.
const OF_X86: [&str; 4] = ["accumulate-outgoing-args", "align-stringops", "push-args", "stringop-strategy"];

/// Whether a program computes the same without this option of a compiler.
pub(super) fn is_gccs_own(word: &str) -> bool {
    let name = |start: &str| {
        let name = word.strip_prefix(start)?;
        name.strip_prefix("no-").unwrap_or(name).split('=').next()
    };
    let is_way = |name: &str| {
        let begins = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && !KNOWN.contains(&name);
        begins || NAMES.contains(&name) || OTHERS.contains(&name)
    };
    name("-f").is_some_and(is_way) || name("-m").is_some_and(|name| OF_X86.contains(&name))
}

/// LTO in as many processes as GCC is told to (`-flto=4`, `-flto=auto`): zig takes its own number.
pub(super) fn lto(word: &str) -> Option<&'static str> {
    let value = word.strip_prefix("-flto=")?;
    let is_count = matches!(value, "auto" | "jobserver") || value.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then_some("-flto")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn ways_to_optimise_go_and_what_decides_the_program_stays() {
        for word in [
            "-ftree-loop-vectorize",
            "-fno-tree-pre",
            "-ftree-parallelize-loops=4",
            "-fno-early-inlining",
            "-fira-region=all",
            "-fvect-cost-model=dynamic",
            "-freorder-blocks-algorithm=stc",
            "-mno-align-stringops",
            "-flto-partition=none",
        ] {
            assert!(is_gccs_own(word), "{word}");
        }
        for word in [
            "-ftree-vectorize",
            "-fsplit-stack",
            "-fno-lifetime-dse",
            "-fno-toplevel-reorder",
            "-fharden-compares",
            "-fwrapv",
            "-ffast-math",
            "-mred-zone",
            "-fPIC",
            "-O2",
        ] {
            assert!(!is_gccs_own(word), "{word}");
        }
        let of = ["-flto=2", "-flto=auto", "-flto=thin", "-flto"].map(lto);
        assert_eq!(of, [Some("-flto"), Some("-flto"), None, None]);
    }

    /// By the list of GCC 12; versions from 9 to 16 add names and drop few.
    #[test]
    fn the_names_are_those_of_gccs_own_list() {
        let Ok(output) = Command::new("gcc").arg("--help=optimizers").env("LC_ALL", "C").output() else { return };
        let said = String::from_utf8_lossy(&output.stdout);
        let listed: Vec<&str> =
            said.lines().filter_map(|line| line.split_whitespace().next()?.strip_prefix("-f")).collect();
        // clang installed as gcc lists none.
        if listed.is_empty() {
            return;
        }
        let is_listed = |name: &&&str| listed.iter().any(|option| option.split('=').next() == Some(**name));
        let strangers: Vec<_> = NAMES.iter().filter(|name| !is_listed(name)).collect();
        assert!(strangers.len() * 10 < NAMES.len(), "{strangers:?}");
        assert!(BEGINNINGS.iter().all(|start| listed.iter().any(|option| option.starts_with(start))));
    }
}
