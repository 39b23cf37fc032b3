//! Five programs that do nothing, one for each kind of linkage: their peak memory by `bench` and by hyperfine.

use super::hyperfine::Hyperfine;
use super::table;
use super::underpin_bench::{self, Underpin};
use crate::run;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Ends by two instructions of its own.
const BARE: &str = r#"void _start(void) { __asm__ volatile("mov $60, %eax\n xor %edi, %edi\n syscall"); }"#;
/// Ends at once, after its C library has started.
const MAIN: &str = "int main(void) { return 0; }";

/// One program, and the range that its peak must be in, in KiB: the figures of August on another machine, with some
/// room for other releases of the libraries.
struct Kind {
    name: &'static str,
    program: PathBuf,
    range: [u64; 2],
}

/// Measures and returns the page.
///
/// # Errors
/// If a compiler or a tool is missing.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("small-memory")?;
    let kinds = kinds(&folder)?;
    let commands: Vec<String> = kinds.iter().map(|kind| kind.program.display().to_string()).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let (underpin, runs) = (Underpin(run::release_binary()?), rounds.max(2).to_string());
    let document = underpin.measure(&["-r", "2", "--memory-runs", &runs], &commands, &folder)?;
    let ours = (0..kinds.len())
        .map(|index| Ok(kibibytes(underpin_bench::median(&document, index, "rss")?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut columns = vec![("underpin bench".to_owned(), ours.iter().copied().map(Some).collect())];
    for peer in Hyperfine::all()? {
        let figures = peer.measure(&["-r", &runs], &commands, &folder)?;
        columns.push((peer.name, figures.iter().map(|one| one.memory.map(kibibytes)).collect()));
    }
    Ok(page(&kinds, &columns, &ours))
}

fn kibibytes(bytes: f64) -> u64 {
    (bytes / 1024.0).round() as u64
}

fn kinds(folder: &Path) -> anyhow::Result<Vec<Kind>> {
    let glibc = |name: &str, source, flags: &[&str]| run::compile_c(folder, name, source, flags);
    let musl = |name: &str, flags: &[&str]| run::compile_with("musl-gcc", folder, name, MAIN, flags);
    Ok(vec![
        Kind {
            name: "no C library, static",
            program: glibc("bare", BARE, &["-O2", "-static", "-nostdlib"])?,
            range: [4, 40],
        },
        Kind { name: "musl, static", program: musl("musl-static", &["-O2", "-static"])?, range: [12, 120] },
        Kind { name: "musl, dynamic", program: musl("musl-dynamic", &["-O2"])?, range: [250, 800] },
        Kind { name: "glibc, static", program: glibc("glibc-static", MAIN, &["-O2", "-static"])?, range: [350, 1000] },
        Kind { name: "glibc, dynamic", program: glibc("glibc-dynamic", MAIN, &["-O2"])?, range: [800, 1800] },
    ])
}

/// A tool's name and its figure for each program, if it has one.
type Column = (String, Vec<Option<u64>>);

fn page(kinds: &[Kind], columns: &[Column], ours: &[u64]) -> String {
    let mut text = table::machine("The memory of programs that do nothing", "cargo xtask bench small-memory");
    text += "Peak resident memory in KiB. underpin reads it from the process itself right before its end; hyperfine \
             takes what `wait4` reports, which is at least that of the process that started it.\n\n| program |";
    columns.iter().for_each(|(name, _)| text += &format!(" {name} |"));
    text += &format!("\n| --- |{}\n", " --- |".repeat(columns.len()));
    for (index, kind) in kinds.iter().enumerate() {
        text += &format!("| {} |", kind.name);
        for (_, figures) in columns {
            text += &figures[index].map_or_else(|| " not measured |".to_owned(), |figure| format!(" {figure} |"));
        }
        text += "\n";
    }
    let rising = ours.windows(2).all(|pair| pair[0] < pair[1]);
    let within = kinds.iter().zip(ours).all(|(kind, figure)| (kind.range[0]..=kind.range[1]).contains(figure));
    let verdict = |met| if met { "met" } else { "**missed**" };
    let _ = writeln!(
        text,
        "\n## Goals\n\n| goal | verdict |\n| --- | --- |\n| five figures, each above the one before | {} |\n\
         | each of the order of 12, 24, 550, 700 and 1,176 KiB | {} |",
        verdict(rising),
        verdict(within)
    );
    text
}
