//! What boots say besides rows: how long a guest takes to come up, what it leaves of its memory, and how far the figures of
//! equal boots are apart.

use crate::summary::{Build, RowRun};
use schemars::JsonSchema;
use serde::Serialize;
use underpin_bench::stats::{Bootstrap, median, median_interval};
use underpin_bench::{
    BenchRecord, Change, Header, Interval, Metric, Nanos, Reported, RunOutcome, Sample, Unit, VariantRecord,
    paired_ratio,
};

/// A figure of whole boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuestFigureName {
    /// From the start of the emulator to the first result, by this machine's clock.
    FirstResult,
    /// From the start of the guest's kernel to the first command, by the guest's clock.
    Boot,
    /// The start and end of a process that does nothing, by the guest's clock.
    EmptyProcess,
    /// Memory that is in use before the first command: what the kernel has, less what is available.
    UsedMemory,
}

impl GuestFigureName {
    /// What it is counted in.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            GuestFigureName::UsedMemory => Unit::Bytes,
            _ => Unit::Seconds,
        }
    }
}

/// A figure of one boot.
#[derive(Clone, Copy, Debug)]
pub struct BootFigure {
    /// The index of the build.
    pub build: usize,
    /// The block.
    pub block: u32,
    /// The figure, in base units.
    pub figure: f64,
}

/// A figure of boots under every build.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GuestFigure {
    /// Which.
    pub name: GuestFigureName,
    /// What it is counted in.
    pub unit: Unit,
    /// Under each build, in their order; absent if no boot had it.
    pub cells: Vec<Option<GuestCell>>,
}

/// A figure of boots under one build.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GuestCell {
    /// The median over the boots.
    pub median: Interval,
    /// Boots.
    pub boots: usize,
    /// The figure over the reference's; absent for the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Interval>,
    /// What may be said of the ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Change>,
}

/// A figure of boots, beside that of the first build.
#[must_use]
pub fn guest_figure(name: GuestFigureName, builds: &[Build], figures: &[BootFigure], header: &Header) -> GuestFigure {
    let variant = |build: &Build| VariantRecord { name: build.name.clone(), ..VariantRecord::default() };
    let header = Header { variants: builds.iter().map(variant).collect(), ..header.clone() };
    let sample = |one: &BootFigure| {
        // Compared as times of operations are, whatever it is counted in.
        let reported = Reported {
            ns: one.figure * 1e9,
            operations: 1,
            repetitions: 1,
            bytes: 0,
            virtual_memory: 0,
            resident: 0,
            dirty: 0,
            mhz: None,
        };
        Sample::of_report(one.build, one.block, Nanos(0), RunOutcome::Exited(0), reported)
    };
    let record = BenchRecord { header, samples: figures.iter().map(sample).collect(), memory: Vec::new(), end: None };
    let cell = |build: usize| {
        let compared = (build > 0).then(|| paired_ratio(&record, Metric::Operation, 0, build).ok()).flatten();
        Some(GuestCell {
            median: median_interval(&record.blocks(Metric::Operation, build), Bootstrap::default())?,
            boots: record.figures(Metric::Operation, build).len(),
            ratio: compared.as_ref().map(|one| one.ratio),
            verdict: compared.map(|one| one.verdict),
        })
    };
    GuestFigure { name, unit: name.unit(), cells: (0..builds.len()).map(cell).collect() }
}

/// Figures of equal boots are called steady up to this distance from their median.
pub const STEADY: f64 = 0.05;

/// How far the rows' figures of equal boots are apart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Repeats {
    /// The index of the build.
    pub build: usize,
    /// Boots of each row.
    pub boots: usize,
    /// Rows with a figure from every boot.
    pub rows: usize,
    /// Of them those of which no figure is further from their median than 5 %.
    pub steady: usize,
    /// The median over the rows of the largest distance from the row's median, as a share of it.
    pub typical: f64,
    /// The largest of all.
    pub most: f64,
    /// The row that has it.
    pub most_row: String,
    /// The rows that are not steady, the furthest first.
    pub unsteady: Vec<Unsteady>,
}

/// A row whose figures of equal boots are apart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unsteady {
    /// Its name.
    pub row: String,
    /// The largest distance from the median, as a share of it.
    pub share: f64,
}

/// How far the figures of each build's boots are apart; only builds with two boots and a row are listed.
#[must_use]
pub fn repeats(rows: &[RowRun], builds: &[Build]) -> Vec<Repeats> {
    builds.iter().enumerate().filter_map(|(index, build)| repeats_of(rows, index, &build.name)).collect()
}

fn repeats_of(rows: &[RowRun], build: usize, name: &str) -> Option<Repeats> {
    let mut spreads: Vec<(f64, &str)> = Vec::new();
    let mut boots = 0;
    for row in rows {
        let Some(record) = &row.record else { continue };
        let Some(variant) = record.header.variants.iter().position(|variant| variant.name == name) else { continue };
        let figures = record.figures(Metric::Operation, variant);
        let Some(middle) = median(&figures).filter(|_| figures.len() > 1) else { continue };
        let furthest = figures.iter().map(|figure| (figure / middle - 1.0).abs()).fold(0.0, f64::max);
        boots = boots.max(figures.len());
        spreads.push((furthest, row.row.name));
    }
    spreads.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (most, row) = spreads.first().copied()?;
    let unsteady = spreads.iter().take_while(|(share, _)| *share > STEADY);
    let unsteady: Vec<Unsteady> =
        unsteady.map(|(share, row)| Unsteady { row: (*row).to_owned(), share: *share }).collect();
    let shares: Vec<f64> = spreads.iter().map(|(share, _)| *share).collect();
    Some(Repeats {
        build,
        boots,
        rows: spreads.len(),
        steady: spreads.len() - unsteady.len(),
        typical: median(&shares)?,
        most,
        most_row: row.to_owned(),
        unsteady,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::guest::tests::header;
    use crate::guest::{GuestBoot, rows_of};

    fn builds() -> Vec<Build> {
        ["glibc", "musl"].map(|name| Build { name: name.to_owned(), description: String::new(), emulator: None }).into()
    }

    #[test]
    fn a_figure_of_boots_is_compared_block_by_block() {
        let figures: Vec<BootFigure> = (0..10)
            .flat_map(|block| [(0, 2.0), (1, 1.0)].map(|(build, figure)| BootFigure { build, block, figure }))
            .collect();
        let figure = guest_figure(GuestFigureName::FirstResult, &builds(), &figures, &header());
        let cells: Vec<&GuestCell> = figure.cells.iter().flatten().collect();
        assert_eq!((cells[0].median.estimate, cells[0].boots, cells[0].verdict), (2.0, 10, None));
        assert_eq!(cells[1].ratio.unwrap().estimate, 0.5);
        assert_eq!(cells[1].verdict, Some(Change::Less));
        let nothing = guest_figure(GuestFigureName::UsedMemory, &builds(), &[], &header());
        assert!(nothing.cells.iter().all(Option::is_none));
    }

    #[test]
    fn the_distance_between_equal_boots_is_that_of_the_figure_furthest_from_the_median() {
        let reported = |ns: f64| {
            serde_json::from_str::<Reported>(&format!(
                "{{\"ns\":{ns},\"operations\":1,\"repetitions\":1,\"virtual\":0,\"resident\":0,\"dirty\":0}}"
            ))
        };
        let boot = |block: u32, strlen: f64, memset: f64| GuestBoot {
            build: 0,
            block,
            at_ns: Nanos(0),
            rows: vec![
                ("libc:strlen".to_owned(), Ok(reported(strlen).unwrap())),
                ("libc:memset".to_owned(), Ok(reported(memset).unwrap())),
            ],
        };
        let boots = [boot(0, 100.0, 10.0), boot(1, 101.0, 10.0), boot(2, 102.0, 12.0)];
        let rows = ["strlen", "memset"].map(|name| crate::find("libc", name).unwrap());
        let all = repeats(&rows_of(&boots, &rows, &builds(), &[], &header()), &builds());
        assert_eq!(all.len(), 1);
        let one = &all[0];
        assert_eq!((one.boots, one.rows, one.steady, one.most_row.as_str()), (3, 2, 1, "memset"));
        assert_eq!(one.unsteady.iter().map(|row| row.row.as_str()).collect::<Vec<_>>(), ["memset"]);
        assert!((one.most - 0.2).abs() < 1e-9, "{one:?}");
    }
}
