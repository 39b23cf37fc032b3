//! The plan of `underpin bench --suite`.

use super::ResultPlan;
use super::bench::fresh_seed;
use crate::cli::{BenchArgs, GoalName};
use anyhow::{Context, bail};
use std::path::PathBuf;
use std::time::Duration;
use underpin_bench::{Machine, Metric, Nanos, Rules, least_blocks_at, level};
use underpin_build::{Processor, SpecText};
use underpin_suite::original::{OriginalSuite, Setting};
use underpin_suite::{Row, Suite, matches, rows};

/// Which rows are measured under which builds, and how.
#[derive(Debug)]
pub struct SuitePlan {
    /// The rows, by suite.
    pub rows: Vec<&'static Row>,
    /// The builds as the user wrote them, each name once, and what they are; the first is the reference.
    pub builds: Vec<(String, SpecText)>,
    /// What they are made for.
    pub goal: GoalName,
    /// The originals whose programs measure the rows of their suites.
    pub originals: Vec<Original>,
    /// The processor, if not this machine's.
    pub target: Option<Processor>,
    /// What a run was asked for: another of the same words can go on with it.
    pub asked: String,
    /// How long the program of a row works in one run.
    pub milliseconds: u32,
    /// The rules of each row's experiment.
    pub rules: Rules,
    /// The short form.
    pub is_quick: bool,
    /// Go on with a run that was interrupted.
    pub resumes: bool,
    /// The name under which it is kept.
    pub save: Option<String>,
    /// What to do with the figures.
    pub results: ResultPlan,
    /// Whether progress is shown.
    pub shows_progress: bool,
    /// Where.
    pub machine: Machine,
}

/// What is compared if nothing else is asked for.
const USUAL: &str = "glibc,musl";
/// How long a row's program works in one run: in the short form, and else.
const MILLISECONDS: (u32, u32) = (100, 300);
/// The fewest runs of a build if it is not the short form.
const RUNS: u32 = 24;
/// The longest that one run may take; a row that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(60);

impl SuitePlan {
    /// # Errors
    /// If a build cannot be read, or no row matches.
    pub fn new(args: BenchArgs) -> anyhow::Result<SuitePlan> {
        let originals =
            args.suites.suite_source.iter().map(|text| Original::find(text)).collect::<anyhow::Result<Vec<_>>>()?;
        let mut suites = args.suites.suites();
        suites.extend(originals.iter().map(Original::measures));
        suites.sort();
        suites.dedup();
        let text = args.build.as_deref().unwrap_or(USUAL);
        let builds = parsed_builds("--build", text)?;
        let rows = chosen(&suites, &originals, &args.suites.filter)?;
        let machine = Machine::here();
        let is_quick = args.suites.quick;
        let names: Vec<&str> = suites.iter().map(|suite| suite.name()).collect();
        let target = args.suites.target.filter(|target| Processor::host() != Some(*target));
        let on = target.map_or("here", Processor::name);
        let goal = args.suites.goal.unwrap_or_default();
        let asked = format!(
            "{:?}, {} of {text}, {goal:?}, {:?}, quick {is_quick}, {on}",
            args.suites.suite_source,
            names.join(","),
            args.suites.filter
        );
        let rules = rules(&args, builds.len(), rows.len(), &machine);
        let results = ResultPlan::new(args.results);
        if results.gate.as_ref().is_some_and(|gate| !gate.rules.is_empty()) {
            bail!("--gate with --suite: name rows, as in `row:strlen<+3%` or `row:*<+10%`");
        }
        Ok(SuitePlan {
            rows,
            builds,
            goal,
            originals,
            target,
            asked,
            milliseconds: if is_quick { MILLISECONDS.0 } else { MILLISECONDS.1 },
            rules,
            is_quick,
            resumes: args.suites.resume,
            save: args.save,
            results: ResultPlan { is_shown: args.style.shows_screen(), ..results },
            shows_progress: args.style.shows_progress(),
            machine,
        })
    }

    /// The suites whose rows our own programs measure.
    pub fn suites(&self) -> Vec<Suite> {
        let is_ours = |suite: &Suite| self.rows.iter().any(|row| row.suite == *suite && !self.is_originals(row));
        Suite::ALL.into_iter().filter(is_ours).collect()
    }

    /// Whether a row is measured by an original's programs.
    pub fn is_originals(&self, row: &Row) -> bool {
        self.originals.iter().any(|original| original.measures() == row.suite)
    }

    /// How often an original's programs are run under each build: once in each block.
    pub fn blocks_of_originals(&self) -> u32 {
        self.rules.runs.unwrap_or(RUNS).div_ceil(2)
    }
}

/// So few rows that each is given as many blocks as it needs to be claimed if no other differs.
const FEW_ROWS: usize = 16;

/// As many runs as a difference needs that is claimed at all, and no watched ones: the programs report their memory.
fn rules(args: &BenchArgs, builds: usize, rows: usize, machine: &Machine) -> Rules {
    // The correction for many rows is shared by those that differ, usually most of them: as for two.
    let alone = if rows <= FEW_ROWS { rows } else { 2 };
    let blocks = least_blocks_at(builds.saturating_sub(1) * alone, level(machine, Metric::Operation));
    let least = u32::try_from(2 * blocks).unwrap_or(RUNS);
    let usual = if args.suites.quick { least } else { least.max(RUNS) };
    Rules {
        runs: Some(args.rules.runs.unwrap_or(usual)),
        memory_runs: 0,
        timeout_ns: Some(Nanos::from(args.rules.timeout.unwrap_or(LONGEST))),
        seed: args.rules.seed.unwrap_or_else(fresh_seed),
        ..Rules::default()
    }
}

/// The builds of a list with commas. The same build twice is measured twice, to show the noise.
///
/// # Errors
/// If one cannot be read; `option` is what it was given to.
pub(super) fn parsed_builds(option: &str, list: &str) -> anyhow::Result<Vec<(String, SpecText)>> {
    let mut builds: Vec<(String, SpecText)> = Vec::new();
    for text in list.split(',').map(str::trim) {
        let spec = text.parse().with_context(|| {
            format!("{option} {text}: write builds with commas between them, as in glibc,musl,musl+mimalloc")
        })?;
        let again = builds.iter().filter(|(name, _)| name == text || name.starts_with(&format!("{text} ("))).count();
        let name = if again == 0 { text.to_owned() } else { format!("{text} ({})", again + 1) };
        builds.push((name, spec));
    }
    Ok(builds)
}

/// The rows of suites that patterns name, or all of them.
///
/// # Errors
/// If a pattern names none.
pub(super) fn chosen(suites: &[Suite], originals: &[Original], filter: &[String]) -> anyhow::Result<Vec<&'static Row>> {
    let has = |row: &Row| originals.iter().filter(|one| one.measures() == row.suite).all(|original| original.has(row));
    let all: Vec<&Row> = suites.iter().flat_map(|suite| rows(*suite)).filter(|row| has(row)).collect();
    if filter.is_empty() {
        return Ok(all);
    }
    let mut wanted: Vec<&Row> = Vec::new();
    for pattern in filter {
        let meant = meant(&all, pattern);
        if meant.is_empty() {
            let names: Vec<&str> = all.iter().map(|row| row.name).collect();
            bail!(
                "--filter {pattern}: no row of these suites matches: expected a row's name or a part of it, with `*` for any \
                 text; there are {}",
                names.join(", ")
            );
        }
        wanted.extend(meant);
    }
    Ok(all.into_iter().filter(|row| wanted.contains(row)).collect())
}

/// The rows that a pattern means: those of that whole name if there are any, else all that match.
fn meant(rows: &[&'static Row], pattern: &str) -> Vec<&'static Row> {
    let whole = pattern.rsplit(':').next().unwrap_or(pattern);
    let matching: Vec<&Row> = rows.iter().copied().filter(|row| matches(row, pattern)).collect();
    let exact: Vec<&Row> = matching.iter().copied().filter(|row| row.name == whole).collect();
    if exact.is_empty() { matching } else { exact }
}

/// An original benchmark in a folder of the user's.
#[derive(Debug)]
pub struct Original {
    /// Which.
    pub suite: OriginalSuite,
    /// The folder of its sources.
    pub folder: PathBuf,
}

impl Original {
    /// `NAME=FOLDER`.
    fn find(text: &str) -> anyhow::Result<Original> {
        let form = || format!("--suite-source {text}: expected NAME=FOLDER, as in libc-bench=/src/libc-bench");
        let (name, folder) = text.split_once('=').with_context(form)?;
        let suite: OriginalSuite = name.parse().with_context(|| format!("--suite-source {text}"))?;
        let folder = PathBuf::from(folder).canonicalize().with_context(|| format!("--suite-source {text}"))?;
        let place = suite.recognise(&|path| folder.join(path).is_file());
        let place = place.with_context(|| format!("--suite-source {text}: {}", folder.display()))?;
        Ok(Original { suite, folder: folder.join(place) })
    }

    /// How it is run here.
    pub fn setting(&self, is_quick: bool) -> Setting {
        Setting { processors: std::thread::available_parallelism().map_or(1, usize::from), is_quick }
    }

    /// The suite whose rows it measures.
    pub fn measures(&self) -> Suite {
        match self.suite {
            OriginalSuite::LibcBench => Suite::Libc,
            OriginalSuite::Lmbench => Suite::Os,
            OriginalSuite::Unixbench => Suite::System,
            OriginalSuite::Coremark => Suite::Cpu,
        }
    }

    /// Whether it has a row.
    fn has(&self, row: &Row) -> bool {
        let recipe = self.suite.recipe(&self.setting(true));
        recipe.runs.iter().any(|run| run.rows.iter().any(|one| one.suite == row.suite && one.name == row.name))
    }
}
