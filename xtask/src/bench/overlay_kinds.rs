//! The kinds of processor that the overlay is measured on: machines are of one or another by chance and differ a lot, so each
//! kind has a page of its own, and `docs/bench/overlay.md` lists them.

use anyhow::Context;
use std::fmt::Write;
use std::path::Path;

/// A level below the processor's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Masked {
    /// No AVX-512.
    Avx2,
}

impl Masked {
    /// The harness's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Masked::Avx2 => "avx2",
        }
    }

    /// What keeps glibc's loader from choosing anything wider (GLIBC_TUNABLES).
    pub const fn tunables(self) -> &'static str {
        match self {
            Masked::Avx2 => "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD",
        }
    }

    /// For a page: what is used, and why.
    pub const fn words(self) -> &'static str {
        match self {
            Masked::Avx2 => {
                "AVX2 with AVX-512 masked. The processor has it, and neither the overlay nor glibc was let use it: other \
                 processors of AVX2 may differ, and musl and LLVM have one level only"
            }
        }
    }
}

/// The widest instructions that this processor has.
pub fn level() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        let wide = std::arch::is_x86_feature_detected!("avx512bw") && std::arch::is_x86_feature_detected!("avx512vl");
        match (wide, std::arch::is_x86_feature_detected!("avx2")) {
            (true, _) => "AVX-512",
            (false, true) => "AVX2",
            _ => "SSE2",
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        "NEON"
    }
}

/// A line of this machine's first processor.
pub fn processor(key: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo")?;
    let value = text.lines().find_map(|line| line.split_once(':').filter(|(name, _)| name.trim() == key));
    Ok(value.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned()))
}

/// The page of this machine's kind, without its ending.
///
/// # Errors
/// If the kernel does not say which processor it is.
pub fn file(masked: Option<Masked>) -> anyhow::Result<String> {
    let file = file_of(&processor("vendor_id")?, &processor("cpu family")?, &processor("model")?, level());
    Ok(masked.map_or(file.clone(), |masked| format!("{file}-as-{}", masked.name())))
}

/// The same instructions are of different speed on two kinds of core: each has a page. AMD counts its kinds by family; Intel has
/// kept the number 6 since 1995 and counts by model.
fn file_of(vendor: &str, family: &str, model: &str, level: &str) -> String {
    let level = level.replace('-', "").to_lowercase();
    match vendor {
        "AuthenticAMD" => format!("overlay-amd-{family}-{level}"),
        "GenuineIntel" => format!("overlay-intel-{family}-{model}-{level}"),
        _ => format!("overlay-{level}"),
    }
}

/// Writes the list of all kinds that there is a page of.
///
/// # Errors
/// If a file cannot be read or written.
pub fn write_list(folder: &Path) -> anyhow::Result<()> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("overlay-") && name.ends_with(".md") {
            let text = std::fs::read_to_string(folder.join(&name))?;
            pages.push((name, text));
        }
    }
    pages.sort();
    let list = folder.join("overlay.md");
    std::fs::write(&list, listed(&pages)).with_context(|| format!("cannot write {}", list.display()))
}

fn listed(pages: &[(String, String)]) -> String {
    let mut text = "# The overlay's functions beside other C libraries', by kind of processor\n\n\
         `cargo xtask bench overlay` writes the page of the kind that it runs on, and this list. Each ratio is the overlay's time \
         over glibc's.\n\n\
         | kind | measured on | the worst ratio | above 1.25 | geometric mean |\n| --- | --- | ---: | ---: | ---: |\n"
        .to_owned();
    for (name, page) in pages {
        let between = |start: &str, end: &str| {
            page.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map_or("-", |(value, _)| value.trim())
        };
        let vendor = between("processors (", "), ").split(',').next().unwrap_or_default();
        let kind = format!("{vendor}, family {}, {}", between("of family ", ";"), between("overlay uses ", "."));
        let goal = |text: &str| between(text, "\n").split('|').nth(1).map_or("-", str::trim).to_owned();
        let _ = writeln!(
            text,
            "| [{kind}]({name}) | {} | {} | {} of {} | {} |",
            between("Measured on ", " "),
            goal("| the worst function"),
            goal("| functions and sizes above"),
            between("glibc's time, of ", " "),
            goal("| the geometric mean of all"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\nMeasured on 2026-11-23 by `x`: 2 processors (AMD EPYC, family 26, model 2), Debian.\n\n\
        The processor is of family 26, model 2; the overlay uses AVX-512.\n\n\
        | goal | measured | verdict |\n| --- | --- | --- |\n\
        | the worst function and size over glibc's | 1.465 (1.374 to 1.546) | **missed** |\n\
        | functions and sizes above 1.25 of glibc's time, of 950 | 14 | **missed** |\n\
        | the geometric mean of all | 0.7930 | met |\n";

    #[test]
    fn a_kind_is_one_line_with_the_figures_of_its_page() {
        let text = listed(&[("overlay-amd-26-avx512.md".to_owned(), PAGE.to_owned())]);
        let row = "| [AMD EPYC, family 26, model 2, AVX-512](overlay-amd-26-avx512.md) | 2026-11-23 | 1.465 (1.374 to 1.546) | 14 of 950 | 0.7930 |";
        assert_eq!(text.lines().last(), Some(row));
    }

    #[test]
    fn a_name_with_parentheses_is_whole() {
        let page = PAGE.replace("AMD EPYC", "Intel(R) Xeon(R) Processor");
        let text = listed(&[("overlay-intel-6-167-avx512.md".to_owned(), page)]);
        assert!(text.contains("| [Intel(R) Xeon(R) Processor, family 26, model 2, AVX-512]("), "{text}");
    }

    #[test]
    fn each_kind_has_a_page_of_its_own() {
        let kinds = [
            ("AuthenticAMD", "25", "1", "AVX2"),
            ("AuthenticAMD", "25", "17", "AVX-512"),
            ("AuthenticAMD", "26", "2", "AVX-512"),
            ("GenuineIntel", "6", "167", "AVX-512"),
            ("GenuineIntel", "6", "207", "AVX-512"),
            ("unknown", "unknown", "unknown", "NEON"),
        ];
        let files: std::collections::BTreeSet<_> =
            kinds.iter().map(|(vendor, family, model, level)| file_of(vendor, family, model, level)).collect();
        assert!(files.contains("overlay-amd-25-avx512"), "{files:?}");
        assert_eq!(files.len(), kinds.len());
    }

    #[test]
    fn a_page_of_a_masked_level_says_so_in_the_list() {
        let page = PAGE.replace("AVX-512.", &format!("{}.", Masked::Avx2.words()));
        let text = listed(&[("overlay-amd-26-avx512-as-avx2.md".to_owned(), page)]);
        assert!(
            text.contains(
                "| [AMD EPYC, family 26, model 2, AVX2 with AVX-512 masked](overlay-amd-26-avx512-as-avx2.md) |"
            ),
            "{text}"
        );
    }

    #[test]
    fn the_list_replaces_itself_and_no_page_of_a_kind() {
        let folder = std::env::temp_dir().join(format!("underpin-kinds-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("overlay-amd-26-avx512.md"), PAGE).unwrap();
        std::fs::write(folder.join("overlay.md"), "old").unwrap();
        write_list(&folder).unwrap();
        let list = std::fs::read_to_string(folder.join("overlay.md")).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("overlay-amd-26-avx512.md")).unwrap(), PAGE);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(list.matches("overlay-").count(), 1, "{list}");
    }
}
