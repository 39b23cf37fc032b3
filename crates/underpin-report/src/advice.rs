//! What to do about it: rules over the documents of one program. Each piece of advice names the figures behind it and
//! a command that exists; a rule that does not apply says nothing.

use crate::bytes::Raw;
use crate::document::check::{AdviceRecord, CheckDocument};
use crate::document::trace::{PhaseName, TraceDocument};
use crate::document::tree::{EdgeResult, FindingSlug, TreeDocument};
use crate::text::by_cost;
use crate::units::{count, percent, thousands, time};
use bstr::ByteSlice;
use std::collections::BTreeMap;

/// Failing lookups below this are not worth a word.
const STORM_LOOKUPS: u64 = 20;
/// A library is named where it takes at least this share of the loader's time, and at least a millisecond.
const HEAVY_SHARE: f64 = 0.2;
const HEAVY_SECONDS: f64 = 1e-3;
/// From this share on the watching is more than half of what is seen.
const DOUBT_SHARE: f64 = 0.5;

/// One piece of advice, heaviest kind first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// A library is nowhere: the program does not start.
    MissingLibrary {
        /// The program.
        program: Raw,
        /// The name asked for.
        name: Raw,
        /// Paths tried for it.
        tries: usize,
    },
    /// Many lookups fail before the libraries are found.
    LookupStorm {
        /// The program.
        program: Raw,
        /// Failing lookups.
        failed: u64,
        /// Time in them, in seconds.
        seconds: f64,
        /// The loader's phase, in seconds.
        loader_seconds: f64,
        /// The directory with the most of them.
        directory: Raw,
        /// How many of them are there.
        in_directory: u64,
    },
    /// Search directories of an object do not exist.
    DeadDirectories {
        /// The object to change.
        object: Raw,
        /// How many of its directories are dead.
        directories: usize,
    },
    /// A library takes much of the loader's time.
    HeavyLibrary {
        /// The program.
        program: Raw,
        /// The library.
        name: Raw,
        /// Search, mapping and relocation, in seconds.
        seconds: f64,
        /// The loader's phase, in seconds.
        loader_seconds: f64,
    },
    /// A library is looked for after the start and never found.
    NeverFound {
        /// The command.
        command: Vec<Raw>,
        /// The library.
        name: Raw,
        /// Lookups made for it.
        lookups: usize,
        /// How many other libraries share its fate.
        others: usize,
    },
    /// An object is found only thanks to an earlier one.
    Accidental {
        /// The program.
        program: Raw,
        /// The name.
        name: Raw,
        /// How many requests are met by luck.
        requests: usize,
    },
    /// ld.so.cache names files that are gone.
    StaleCache {
        /// How many.
        entries: usize,
    },
    /// The tracer itself is most of the time seen.
    LargeDoubt {
        /// The command.
        command: Vec<Raw>,
        /// Estimated time of the watching, in seconds.
        seconds: f64,
        /// Time watched, in seconds.
        whole_seconds: f64,
    },
}

impl Advice {
    /// The rule's name in JSON.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Advice::MissingLibrary { .. } => "missing_library",
            Advice::LookupStorm { .. } => "lookup_storm",
            Advice::DeadDirectories { .. } => "dead_directories",
            Advice::HeavyLibrary { .. } => "heavy_library",
            Advice::NeverFound { .. } => "never_found",
            Advice::Accidental { .. } => "accidental",
            Advice::StaleCache { .. } => "stale_cache",
            Advice::LargeDoubt { .. } => "large_doubt",
        }
    }

    /// What to do and why, with the figures.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Advice::MissingLibrary { name, tries, .. } => {
                let tries = count(*tries, "path was tried", "paths were tried");
                format!("{name} is not found, so the program does not start; {tries}. See where it is looked for:")
            }
            Advice::LookupStorm { failed, seconds, loader_seconds, directory, in_directory, .. } => format!(
                "{} lookups fail before every library is found: {} of the loader's {} ({}). {} of them are in {}. See \
                 which search path names it:",
                thousands(*failed),
                time(*seconds),
                time(*loader_seconds),
                percent(*seconds, *loader_seconds),
                thousands(*in_directory),
                directory
            ),
            Advice::DeadDirectories { object, directories } => format!(
                "{} in the search path of {object}, and every search goes through it. Take out what holds nothing that \
                 it needs, on a copy first:",
                count(*directories, "directory that does not exist is", "directories that do not exist are")
            ),
            Advice::HeavyLibrary { name, seconds, loader_seconds, .. } => format!(
                "{name} takes {} of the loader's {} ({}) to find, map and relocate. See who asks for it:",
                time(*seconds),
                time(*loader_seconds),
                percent(*seconds, *loader_seconds)
            ),
            Advice::NeverFound { name, lookups, others, .. } => {
                let rest = if *others > 0 {
                    format!(", and so are {}", count(*others, "other library", "other libraries"))
                } else {
                    String::new()
                };
                format!(
                    "{name} is looked for after the start and never found ({}){rest}. See each lookup:",
                    count(*lookups, "lookup", "lookups")
                )
            }
            Advice::Accidental { name, requests, .. } => format!(
                "{} met only because another library came first, such as the one for {name}: a changed order breaks \
                 it. See how it is found:",
                count(*requests, "request is", "requests are")
            ),
            Advice::StaleCache { entries } => {
                format!("{} in ld.so.cache name files that are gone. Renew it:", count(*entries, "entry", "entries"))
            }
            Advice::LargeDoubt { seconds, whole_seconds, .. } => format!(
                "About {} of the {} seen was added by the watching ({}): compare figures with each other, not with a \
                 clock. Fewer stops give truer times:",
                time(*seconds),
                time(*whole_seconds),
                percent(*seconds, *whole_seconds)
            ),
        }
    }

    /// The command to run; `None` where a name in it cannot be typed.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        match self {
            Advice::MissingLibrary { program, name, .. }
            | Advice::HeavyLibrary { program, name, .. }
            | Advice::Accidental { program, name, .. } => {
                Some(format!("underpin tree --why {} {}", quoted(name)?, quoted(program)?))
            }
            Advice::LookupStorm { program, .. } => Some(format!("underpin tree --paths {}", quoted(program)?)),
            Advice::DeadDirectories { object, .. } => Some(format!("patchelf --shrink-rpath {}", quoted(object)?)),
            Advice::NeverFound { command, .. } => {
                Some(format!("underpin trace -vv --until exit -- {}", line(command)?))
            }
            Advice::StaleCache { .. } => Some("sudo ldconfig".to_owned()),
            Advice::LargeDoubt { command, .. } => Some(format!("underpin trace --until entry -- {}", line(command)?)),
        }
    }
}

impl From<&Advice> for AdviceRecord {
    fn from(advice: &Advice) -> AdviceRecord {
        AdviceRecord { rule: advice.rule().to_owned(), message: advice.message(), command: advice.command() }
    }
}

/// A word for a POSIX shell; `None` where it holds what cannot be typed.
#[must_use]
pub fn quoted(word: &Raw) -> Option<String> {
    let text = word.bytes().to_str().ok()?;
    if crate::bytes::visible(word.bytes()) != text {
        return None;
    }
    let safe = |ch: char| ch.is_alphanumeric() || "/._-+=:,@%".contains(ch);
    if !text.is_empty() && text.chars().all(safe) {
        return Some(text.to_owned());
    }
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}

fn line(command: &[Raw]) -> Option<String> {
    Some(command.iter().map(quoted).collect::<Option<Vec<_>>>()?.join(" "))
}

/// The advice of a survey: from the closure, from the start-up, then from the check.
#[must_use]
pub fn survey_advice(check: &CheckDocument, tree: &TreeDocument, trace: Option<&TraceDocument>) -> Vec<AdviceRecord> {
    let mut advice: Vec<Advice> = missing(tree).collect();
    if let Some(trace) = trace {
        advice.extend(storm(tree, trace));
    }
    advice.extend(dead_directories(tree));
    if let Some(trace) = trace {
        advice.extend(heavy(tree, trace));
        advice.extend(never_found(trace));
    }
    advice.extend(accidental(tree));
    advice.extend(stale_cache(tree));
    advice.extend(trace.and_then(large_doubt));
    advice.iter().map(AdviceRecord::from).chain(check.advice.iter().cloned()).collect()
}

fn missing(tree: &TreeDocument) -> impl Iterator<Item = Advice> {
    tree.edges.iter().filter(|edge| edge.result == EdgeResult::Missing).map(|edge| Advice::MissingLibrary {
        program: tree.program.clone(),
        name: edge.name.clone(),
        tries: edge.tries.len(),
    })
}

fn loader_seconds(trace: &TraceDocument) -> Option<f64> {
    trace.phases.iter().find(|phase| phase.name == PhaseName::Loader).map(|phase| phase.seconds)
}

/// Only lookups for libraries that the loader itself made: a program may probe for files as it likes.
fn storm(tree: &TreeDocument, trace: &TraceDocument) -> Option<Advice> {
    let mut failed = 0;
    let mut seconds = 0.0;
    let mut directories: BTreeMap<Raw, u64> = BTreeMap::new();
    for library in trace.libraries.iter().filter(|library| library.phase == PhaseName::Loader) {
        for lookup in &library.failed {
            failed += 1;
            seconds += lookup.seconds;
            *directories.entry(Raw::from(lookup.path.directory())).or_default() += 1;
        }
    }
    let (directory, in_directory) = directories.into_iter().max_by_key(|(_, lookups)| *lookups)?;
    (failed >= STORM_LOOKUPS).then_some(Advice::LookupStorm {
        program: tree.program.clone(),
        failed,
        seconds,
        loader_seconds: loader_seconds(trace)?,
        directory,
        in_directory,
    })
}

fn dead_directories(tree: &TreeDocument) -> Vec<Advice> {
    let mut dead: BTreeMap<usize, usize> = BTreeMap::new();
    for finding in tree.findings.iter().filter(|finding| finding.kind == FindingSlug::DeadDirectory) {
        *dead.entry(finding.object.unwrap_or(0)).or_default() += 1;
    }
    let object =
        |index: usize| tree.objects.get(index).filter(|object| object.rpath.is_some() || object.runpath.is_some());
    dead.into_iter()
        .filter_map(|(index, directories)| {
            Some(Advice::DeadDirectories { object: object(index)?.path.clone(), directories })
        })
        .collect()
}

fn heavy(tree: &TreeDocument, trace: &TraceDocument) -> Option<Advice> {
    let loader_seconds = loader_seconds(trace)?;
    let library = by_cost(&trace.libraries).into_iter().find(|library| library.phase == PhaseName::Loader)?;
    let seconds = library.total_seconds();
    (seconds >= HEAVY_SECONDS && seconds >= HEAVY_SHARE * loader_seconds).then(|| Advice::HeavyLibrary {
        program: tree.program.clone(),
        name: library.name.clone(),
        seconds,
        loader_seconds,
    })
}

fn never_found(trace: &TraceDocument) -> Option<Advice> {
    let late = |phase: PhaseName| !matches!(phase, PhaseName::Exec | PhaseName::Loader);
    let mut missing = trace.missing.iter().filter(|library| late(library.phase));
    let first = missing.next()?;
    Some(Advice::NeverFound {
        command: trace.command.clone(),
        name: first.name.clone(),
        lookups: first.failed.len(),
        others: missing.count(),
    })
}

fn accidental(tree: &TreeDocument) -> Option<Advice> {
    let mut findings = tree.findings.iter().filter(|finding| finding.kind == FindingSlug::Accidental);
    let name = findings.next()?.name.clone()?;
    Some(Advice::Accidental { program: tree.program.clone(), name, requests: 1 + findings.count() })
}

fn stale_cache(tree: &TreeDocument) -> Option<Advice> {
    let entries = tree.findings.iter().filter(|finding| finding.kind == FindingSlug::StaleCache).count();
    (entries > 0).then_some(Advice::StaleCache { entries })
}

fn large_doubt(trace: &TraceDocument) -> Option<Advice> {
    let (seconds, whole_seconds) = (trace.added_seconds(), trace.instants.end_seconds);
    (whole_seconds > 0.0 && seconds > DOUBT_SHARE * whole_seconds).then(|| Advice::LargeDoubt {
        command: trace.command.clone(),
        seconds,
        whole_seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tree::{FindingRecord, Level};
    use crate::testing::{broken_closure, prefix_closure, sample_check, sample_trace};

    fn tree() -> TreeDocument {
        TreeDocument::new(&prefix_closure())
    }

    fn trace() -> TraceDocument {
        TraceDocument::new(&sample_trace())
    }

    fn finding(kind: FindingSlug, name: &str) -> FindingRecord {
        FindingRecord {
            severity: Level::Warning,
            kind,
            object: Some(0),
            name: Some(name.into()),
            path: None,
            other: None,
            message: String::new(),
        }
    }

    #[test]
    fn a_missing_library_is_explained_with_its_tries() {
        let advice: Vec<Advice> = missing(&TreeDocument::new(&broken_closure())).collect();
        assert_eq!(advice.len(), 1);
        assert!(advice[0].message().contains("4 paths were tried"), "{}", advice[0].message());
        assert_eq!(advice[0].command().unwrap(), "underpin tree --why libgone.so.3 ./broken");
        assert_eq!(missing(&tree()).count(), 0);
    }

    #[test]
    fn a_storm_begins_at_its_threshold_and_names_the_worst_directory() {
        let mut trace = trace();
        assert_eq!(storm(&tree(), &trace), None, "two failing lookups are no storm");
        let lookup = trace.libraries[1].failed[1].clone();
        trace.libraries[1].failed = vec![lookup; 20];
        let Some(Advice::LookupStorm { failed, directory, in_directory, .. }) = storm(&tree(), &trace) else {
            panic!("twenty failing lookups are a storm")
        };
        assert_eq!((failed, in_directory, directory.to_string().as_str()), (20, 20, "/opt/gone/lib/"));
    }

    #[test]
    fn dead_directories_are_taken_out_of_the_object_that_names_them() {
        let advice = dead_directories(&tree());
        assert_eq!(advice.len(), 1);
        assert_eq!(advice[0].command().unwrap(), "patchelf --shrink-rpath /opt/app/bin/app");
        let mut without = tree();
        without.objects[0].runpath = None;
        assert!(dead_directories(&without).is_empty(), "patchelf has nothing to change there");
    }

    #[test]
    fn a_heavy_library_has_a_share_and_a_size() {
        let mut trace = trace();
        let Some(Advice::HeavyLibrary { name, .. }) = heavy(&tree(), &trace) else { panic!("3.9 ms of 5.1 ms") };
        assert_eq!(name.to_string(), "libdeep.so");
        trace.libraries.iter_mut().for_each(|library| library.map_seconds /= 1e4);
        trace.libraries.iter_mut().for_each(|library| library.relocate_seconds = None);
        assert_eq!(heavy(&tree(), &trace), None);
    }

    #[test]
    fn what_is_never_found_counts_only_after_the_loader() {
        let mut trace = trace();
        let advice = never_found(&trace).unwrap();
        assert_eq!(advice.command().unwrap(), "underpin trace -vv --until exit -- ./app --version");
        trace.missing[0].phase = PhaseName::Loader;
        assert_eq!(never_found(&trace), None, "the loader's own misses are the missing libraries");
    }

    #[test]
    fn accidents_and_stale_entries_are_counted() {
        let mut tree = tree();
        assert_eq!((accidental(&tree), stale_cache(&tree)), (None, None));
        tree.findings.push(finding(FindingSlug::Accidental, "libluck.so"));
        tree.findings.push(finding(FindingSlug::Accidental, "libother.so"));
        tree.findings.push(finding(FindingSlug::StaleCache, "libold.so"));
        assert!(accidental(&tree).unwrap().message().starts_with("2 requests are met"), "{:?}", accidental(&tree));
        assert_eq!(stale_cache(&tree), Some(Advice::StaleCache { entries: 1 }));
    }

    #[test]
    fn doubt_is_advice_from_one_half_on() {
        let mut trace = trace();
        assert_eq!(large_doubt(&trace), None);
        trace.phases[1].tracing_seconds = 0.6 * trace.instants.end_seconds;
        assert!(large_doubt(&trace).is_some());
    }

    #[test]
    fn a_survey_ends_with_the_advice_of_the_check() {
        let check = sample_check();
        let advice = survey_advice(&check, &tree(), Some(&trace()));
        let rules: Vec<&str> = advice.iter().map(|item| item.rule.as_str()).collect();
        assert_eq!(rules, ["dead_directories", "heavy_library", "never_found", "zig_cc"]);
        assert_eq!(survey_advice(&check, &tree(), None).len(), 2);
    }

    #[test]
    fn commands_quote_for_the_shell_or_are_left_out() {
        assert_eq!(quoted(&"/a/b-1.so".into()).unwrap(), "/a/b-1.so");
        assert_eq!(quoted(&"a b'c;$x".into()).unwrap(), r"'a b'\''c;$x'");
        assert_eq!(quoted(&"".into()).unwrap(), "''");
        assert_eq!(quoted(&"a\u{1b}b".into()), None);
        assert_eq!(quoted(&bstr::BString::from(&b"\xff"[..]).into()), None);
    }
}
