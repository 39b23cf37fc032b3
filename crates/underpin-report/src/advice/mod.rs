//! Advice: rules over the documents of one program. Each piece of advice names the figures behind it and a command that
//! exists; a rule that does not apply gives no advice.

mod rules;

pub use rules::{allocator_advice, binding_advice, is_of_environment_alone, survey_advice};

use crate::bytes::{Raw, quoted};
use crate::document::check::AdviceRecord;
use crate::document::gain::BindingGain;
use crate::document::tree::{FoundBy, Why};
use crate::document::trial::{TrialRatio, TriedAllocator};
use crate::units::{count, percent, thousands, time};
use crate::words::{change_decimals, change_interval, change_words, fuse};
use underpin_bench::Change;

/// One piece of advice, heaviest kind first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// A library was not found: the program does not start.
    MissingLibrary {
        /// The program.
        program: Raw,
        /// The requested name.
        name: Raw,
        /// Paths tried for it.
        tries: usize,
    },
    /// Bound to its libraries, the program would start with far fewer calls.
    Bind {
        /// The program.
        program: Raw,
        /// What it would save.
        gain: BindingGain,
    },
    /// On another allocator the command uses less of something, at no great price.
    Allocator {
        /// The command.
        command: Vec<Raw>,
        /// The allocator and its figures.
        tried: TriedAllocator,
        /// Timed runs of each.
        runs: usize,
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
        /// How many of them are in that directory.
        in_directory: u64,
        /// The rule that leads to the directory, if the closure has it.
        rule: Option<Why>,
    },
    /// The same, predicted for a program that was not run.
    PredictedStorm {
        /// The program.
        program: Raw,
        /// Lookups that will fail.
        failed: u64,
        /// Libraries that are found.
        libraries: usize,
        /// The directory with the most of them.
        directory: Raw,
        /// How many of them are in that directory.
        in_directory: u64,
        /// The rule that leads to the directory, if the closure has it.
        rule: Option<Why>,
    },
    /// So many libraries that it may be worth to merge them.
    Fuse {
        /// The program.
        program: Raw,
        /// How many.
        libraries: usize,
    },
    /// Search directories of an object do not exist.
    DeadDirectories {
        /// The object to change.
        object: Raw,
        /// How many of its directories do not exist.
        directories: usize,
    },
    /// A library takes a large part of the loader's time.
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
        /// How many other libraries are never found either.
        others: usize,
    },
    /// An object is found only thanks to an earlier one.
    Accidental {
        /// The program.
        program: Raw,
        /// The name.
        name: Raw,
        /// How many requests are satisfied by chance.
        requests: usize,
    },
    /// ld.so.cache names files that are gone.
    StaleCache {
        /// How many.
        entries: usize,
    },
    /// The tracer itself accounts for most of the time measured.
    LargeDoubt {
        /// The command.
        command: Vec<Raw>,
        /// Estimated cost of the tracing, in seconds.
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
            Advice::Bind { .. } => "bind",
            Advice::Allocator { .. } => "allocator",
            Advice::LookupStorm { .. } => "lookup_storm",
            Advice::PredictedStorm { .. } => "predicted_storm",
            Advice::Fuse { .. } => "fuse",
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
            Advice::Bind { gain, .. } => bind_words(gain),
            Advice::Allocator { tried, runs, .. } => {
                format!("{} ({} of each). Keep it:", trial_words(tried), count(*runs, "run", "runs"))
            }
            Advice::LookupStorm { failed, seconds, loader_seconds, directory, in_directory, rule, .. } => format!(
                "{} lookups fail before every library is found: {} of the loader's {} ({}). {} of them are in \
                 {directory}{}. {}",
                thousands(*failed),
                time(*seconds),
                time(*loader_seconds),
                percent(*seconds, *loader_seconds),
                thousands(*in_directory),
                named_by(rule.as_ref()),
                if by_environment(rule.as_ref()) { "See what it loads without:" } else { "See which object names it:" },
            ),
            Advice::PredictedStorm { failed, libraries, directory, in_directory, rule, .. } => format!(
                "{} lookups fail at every start before {} found. {} of them are in {directory}{}. See what they cost:",
                thousands(*failed),
                count(*libraries, "library is", "libraries are"),
                thousands(*in_directory),
                named_by(rule.as_ref())
            ),
            Advice::Fuse { libraries, .. } => format!(
                "{libraries} libraries are mapped at every start, and their symbols are looked up in one another. With \
                 its libraries merged into one file, a program of so many started in {} of its processor time. Measure \
                 yours, on a copy:",
                fuse::GAINED
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
            Advice::NeverFound { name, lookups, others, .. } => never_found_words(name, *lookups, *others),
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

    /// The command to run; `None` if it has a name that cannot be typed.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        match self {
            Advice::MissingLibrary { program, name, .. }
            | Advice::HeavyLibrary { program, name, .. }
            | Advice::Accidental { program, name, .. } => {
                Some(format!("underpin tree --why {} {}", quoted(name)?, quoted(program)?))
            }
            Advice::Bind { program, .. } => Some(format!("underpin bind --dry-run --flatten {}", quoted(program)?)),
            Advice::Allocator { command, tried, .. } => {
                Some(format!("underpin run --malloc {} -- {}", tried.name, line(command)?))
            }
            Advice::LookupStorm { program, rule, .. } if by_environment(rule.as_ref()) => {
                Some(format!("env -u LD_LIBRARY_PATH underpin tree {}", quoted(program)?))
            }
            Advice::LookupStorm { program, .. } => Some(format!("underpin tree --paths {}", quoted(program)?)),
            Advice::PredictedStorm { program, .. } => Some(format!("underpin trace -- {}", quoted(program)?)),
            Advice::Fuse { program, .. } => Some(format!("underpin bench --bind fused -- {}", quoted(program)?)),
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

fn bind_words(gain: &BindingGain) -> String {
    let BindingGain { before, after, measured } = gain;
    let measured = measured.as_ref().map_or_else(String::new, |it| {
        format!(
            " Measured over whole runs: {} instead of {} (ratio {:.2}, {:.2} to {:.2}; {} runs of each).",
            time(it.after_seconds),
            time(it.before_seconds),
            it.ratio.estimate,
            it.ratio.low,
            it.ratio.high,
            it.runs
        )
    });
    format!(
        "Bound to where its libraries are today, it would start with {} calls of the loader instead of {}, of which {} \
         would fail instead of {}.{measured} See the plan, which changes nothing:",
        thousands(after.calls),
        thousands(before.calls),
        thousands(after.errors),
        thousands(before.errors)
    )
}

/// `jemalloc: memory -81 % [-83, -78], time +7 % [+5, +9]`.
fn trial_words(tried: &TriedAllocator) -> String {
    let words = |name: &str, figure: &TrialRatio| {
        let ratio = &figure.ratio;
        let unsure = if figure.verdict == Change::Undecided { "; not distinguishable from none" } else { "" };
        format!("{name} {} {}{unsure}", change_words(ratio.estimate, change_decimals(ratio)), change_interval(ratio))
    };
    let memory = tried.rss.as_ref().map(|rss| words("memory", rss));
    let figures: Vec<String> = memory.into_iter().chain([words("time", &tried.wall)]).collect();
    format!("{}: {}", tried.name, figures.join(", "))
}

/// The rule that leads to a directory, in brackets.
fn named_by(rule: Option<&Why>) -> String {
    rule.map_or_else(String::new, |why| format!(" ({})", why.text))
}

fn by_environment(rule: Option<&Why>) -> bool {
    rule.is_some_and(|why| why.by == FoundBy::LibraryPath)
}

fn never_found_words(name: &Raw, lookups: usize, others: usize) -> String {
    let rest = match others {
        0 => String::new(),
        _ => format!(", and so are {}", count(others, "other library", "other libraries")),
    };
    let lookups = count(lookups, "lookup", "lookups");
    format!("{name} is looked for after the start and never found ({lookups}){rest}. See each lookup:")
}

fn line(command: &[Raw]) -> Option<String> {
    Some(command.iter().map(quoted).collect::<Option<Vec<_>>>()?.join(" "))
}
