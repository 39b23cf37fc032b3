//! What ran, where and how: enough to repeat it.

use crate::page::{Block, Cell, DataTable, Pictures, Section, joined, machine_table, paragraph};
use crate::styled::Role;
use crate::units::{count, time};
use crate::words::{load_words, method_words};
use underpin_bench::{Analysis, Stopped};

/// The commands and what each variant changes in the environment.
pub(super) fn what_ran(document: &Analysis) -> Option<Section> {
    let changed = document.variants.iter().any(|variant| !variant.environment.is_empty());
    let names: &[&'static str] = if changed {
        &["variant", "command", "environment", "runs#", "watched#", "failed#"]
    } else {
        &["variant", "command", "runs#", "watched#", "failed#"]
    };
    let mut table = DataTable::new(names).ordered();
    for variant in &document.variants {
        let changes = variant.environment.iter().map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => format!("without {name}"),
        });
        let mut row = vec![Cell::new(Role::Name, &variant.name), Cell::new(Role::Command, variant.command.join(" "))];
        if changed {
            row.push(joined(Role::Command, changes).into());
        }
        row.extend(
            [variant.runs.len(), variant.memory_runs.len(), variant.failures].map(|one| Cell::count(one as u64)),
        );
        table.row(row);
    }
    (!table.rows.is_empty()).then(|| Section::new("What ran", vec![Block::Table(table)]))
}

/// The machine and the method.
pub(super) fn section(document: &Analysis, pictures: Pictures) -> Section {
    let mut blocks = vec![
        Block::Table(machine_table(&document.machine)),
        Block::Table(DataTable::facts("method", method_facts(document))),
        paragraph(
            Role::Plain,
            "Times come from runs that are timed and otherwise left alone, in blocks that go through all variants there \
             and back. Memory comes from watched runs of their own: from each process right before its end, and from the \
             sum over the process tree while it runs. Intervals of medians are bootstrapped over blocks; intervals of \
             changes are those of the rank test.",
        ),
        paragraph(Role::Plain, method_words(document)),
        paragraph(
            Role::Plain,
            "A variant leaves the Pareto front only if another is no worse in either figure (by its median, or the \
             same within 1 %) and claimed better in one at least.",
        ),
    ];
    if pictures == Pictures::Drawn {
        let words = "Every run is in this page: the element `document` holds them as JSON (schema underpin.bench/1).";
        blocks.push(paragraph(Role::Dim, words));
    }
    Section::new("Machine and method", blocks)
}

fn method_facts(document: &Analysis) -> Vec<(&'static str, String)> {
    let method = &document.method;
    let stopped = match method.stopped {
        Stopped::Runs => "after the runs asked for",
        Stopped::Time => "after the usual time",
        Stopped::Budget => "when the budget was spent",
        Stopped::Narrow => "when the interval was narrow enough",
        Stopped::Interrupted => "by an interruption",
    };
    vec![
        ("underpin", document.underpin.clone()),
        ("load", document.load.as_ref().map(load_words).unwrap_or_default()),
        ("warm-up", count(method.warmup as usize, "run of each", "runs of each")),
        ("timed", count(method.blocks, "block", "blocks")),
        ("ended", stopped.to_owned()),
        ("stopping rule", method.until.clone().unwrap_or_default()),
        ("budget", method.budget_seconds.map(time).unwrap_or_default()),
        ("took", method.took_seconds.map(time).unwrap_or_default()),
        ("settling", format!("{} until memory counts as that after start-up", time(method.settle_seconds))),
        ("confidence", format!("{:.0} %", method.confidence * 100.0)),
        ("seed", method.seed.to_string()),
    ]
}
