//! `underpin image compare` of musl and glibc twins: its tables beside the published figures, how far equal boots are apart,
//! and where counted instructions and this machine's times disagree.

use super::image_causes::{self, Measured, Standing, counted, full_name, measured, standing};
use super::image_here::{BUILDS, Here, How};
use super::image_published::MEMORY;
use super::stats::Estimate;
use super::suite::{difference, figure, ratio};
use super::table::{self, Goal, Limit};
use super::underpin_bench::document;
use crate::build::zig;
use crate::run;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use underpin_image::Target;

/// What the images are made of.
const PACKAGES: [&str; 2] = ["busybox", "dash"];
const PAGE: &str = "image-compare";
/// How often the rows run on the machine itself in each build at first.
const FIRST: usize = 3;
/// How often those are measured again whose difference is another one; of these those whose intervals decide nothing; and of
/// these those that are without a cause. On a noisy machine two steps of 10 % may each be none after 33 turns.
const AGAIN: [usize; 3] = [11, 33, 99];
const ALL_WAYS: [How; 3] = [How::Here, How::OneProcessor, How::GuestsFunctions];
/// The row that only a dynamic program can have.
const DLOPEN: &str = "dlopen";
/// Bytes.
const KIB: f64 = 1024.0;

/// Starts each image so often, and returns the page.
///
/// # Errors
/// If an image or a program does not build, or no guest comes up.
pub fn run(boots: usize) -> anyhow::Result<String> {
    // Nothing of underpin itself is timed, so it need not be optimised.
    let underpin = run::debug_binary()?;
    let folder = run::scratch("bench-image-compare")?;
    let mut text = table::machine("Twin images", "cargo xtask bench image-compare");
    write!(
        text,
        "\nThe short form of `underpin image compare {}`: images of the same recipes and kernel with musl (static) and with \
         glibc, each started {boots} times in QEMU without KVM, with a clock that counts instructions (icount: a nanosecond for each). Where processes take \
         turns (switches, TCP), five run a row in each start, and the middle one counts. The load of the last minute was {} at the beginning. The difference is glibc / musl - 1 for times, musl / glibc - 1 for bandwidths and \
         rates, so + is better than glibc. \"Published\" is openEuler's comparison on a Raspberry Pi 4 at 600 MHz, with musl as it \
         comes; \"here\" is the difference in time of the same files on this machine without emulation.\n",
        PACKAGES.join(" "),
        table::load()
    )?;
    let mut sections = String::new();
    let mut goals: Vec<(String, f64, Limit)> = Vec::new();
    // This machine's processor first: less has to be built, and its rows stand beside those without emulation.
    for target in [Target::QemuX86_64, Target::QemuAarch64] {
        let json = folder.join(format!("{target}.json"));
        let begun = Instant::now();
        let twins = folder.join(format!("{target}.twins"));
        compare(&underpin, target, boots, &json, &twins, &folder)?;
        let minutes = begun.elapsed().as_secs_f64() / 60.0;
        let document = document(&json)?;
        let is_native = target.processor() == std::env::consts::ARCH;
        let native = is_native.then(|| Native::measure(&underpin, &document, &twins, &folder)).transpose()?;
        goals.extend(goals_of(&document, target, minutes, native.as_ref()));
        sections += &section(&document, target, native.as_ref())?;
        // The next one takes as long again: what is there by then is kept.
        let page = format!("{text}{}{sections}", table_of(&goals));
        let path = super::page(PAGE);
        std::fs::write(&path, page).with_context(|| format!("cannot write {path}"))?;
    }
    text += &table_of(&goals);
    text += &sections;
    std::fs::remove_dir_all(&folder)?;
    Ok(text)
}

fn table_of(goals: &[(String, f64, Limit)]) -> String {
    let goals: Vec<Goal<'_>> =
        goals.iter().map(|(text, value, limit)| Goal { text, ratio: Estimate::exact(*value), limit: *limit }).collect();
    table::goals(&goals)
}

/// The rows on this machine itself.
struct Native {
    here: Here,
    /// The rows whose difference was another one, measured again.
    again: Vec<Measured>,
    /// The rows that both have.
    known: usize,
}

impl Native {
    fn measure(underpin: &Path, document: &Value, twins: &Path, folder: &Path) -> anyhow::Result<Native> {
        let mut guest = Command::new(underpin);
        guest.args(["image", "run"]).arg(twins.join(BUILDS[0])).args(["--", "cat", "/proc/cpuinfo"]);
        let guest = guest.stdin(Stdio::null()).output().context("cannot start underpin")?;
        ensure!(guest.status.success(), "image run: {}", String::from_utf8_lossy(&guest.stderr));
        let host = std::fs::read_to_string("/proc/cpuinfo")?;
        let mut here = Here::new(twins, folder, &flags(&String::from_utf8_lossy(&guest.stdout)), &flags(&host))?;
        let counted = counted(document);
        let names: Vec<String> = counted.iter().map(|(name, _)| name.clone()).collect();
        here.measure(&[How::Here], &names, FIRST)?;
        let gain = |here: &Here, name: &str| here.gain(How::Here, name);
        // By the figure itself: those that may be near the counted one are looked at again, too.
        let is_another = |(name, counted): &&(String, f64)| {
            gain(&here, name).is_some_and(|here| standing(*counted, Estimate::exact(here.value)) != Standing::Alike)
        };
        let others: Vec<String> = counted.iter().filter(is_another).map(|(name, _)| name.clone()).collect();
        here.measure(&ALL_WAYS, &others, AGAIN[0])?;
        let mut again = all_measured(document, &others, &here)?;
        for (times, is_doubtful) in
            [(AGAIN[1], Measured::is_undecided as fn(&Measured) -> bool), (AGAIN[2], Measured::is_unexplained)]
        {
            let doubtful: Vec<String> =
                again.iter().filter(|row| is_doubtful(row)).map(|row| row.name.clone()).collect();
            here.measure(&ALL_WAYS, &doubtful, times)?;
            again = all_measured(document, &others, &here)?;
        }
        let known = names.iter().filter(|name| gain(&here, name).is_some()).count();
        Ok(Native { here, again, known })
    }

    fn count(&self, standing_of: Standing) -> usize {
        self.again.iter().filter(|row| standing(row.counted, row.here) == standing_of).count()
    }
}

fn all_measured(document: &Value, names: &[String], here: &Here) -> anyhow::Result<Vec<Measured>> {
    let rows = measured(document, names, here);
    ensure!(rows.len() == names.len(), "of {} rows only {} could be measured again", names.len(), rows.len());
    Ok(rows)
}

/// The features in a text of /proc/cpuinfo.
fn flags(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    line.and_then(|line| line.split_once(':')).map_or_else(String::new, |(_, flags)| flags.to_owned())
}

fn compare(
    underpin: &Path,
    target: Target,
    boots: usize,
    json: &Path,
    twins: &Path,
    folder: &Path,
) -> anyhow::Result<()> {
    let mut command = Command::new(underpin);
    command.args(["image", "compare", "--quick", "--target", target.name(), "--export-json"]).arg(json).args(PACKAGES);
    command.args(["--boots", &boots.to_string()]);
    command.arg("-o").arg(twins);
    command.arg("--store").arg(folder.join("store")).stdin(Stdio::null()).stdout(Stdio::null());
    // Programs with musl for another processor need it.
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env("PATH", std::env::join_paths(std::iter::once(zig()?).chain(std::env::split_paths(&path)))?);
    let status = command.status().context("cannot start underpin")?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

fn rows(document: &Value) -> impl Iterator<Item = &Value> {
    let suites = document["suite"]["suites"].as_array().into_iter().flatten();
    suites.flat_map(|suite| suite["rows"].as_array().into_iter().flatten())
}

fn goals_of(document: &Value, target: Target, minutes: f64, native: Option<&Native>) -> Vec<(String, f64, Limit)> {
    let none = Limit::AtMost(0.0);
    let mut goals = Vec::new();
    for repeats in document["repeats"].as_array().into_iter().flatten() {
        let count = |key: &str| repeats[key].as_f64().unwrap_or(f64::NAN);
        let build = &document["images"][repeats["build"].as_u64().unwrap_or_default() as usize]["build"];
        let text = format!(
            "{target}, {}: rows of {} further than 5 % from their median in {} equal boots",
            build.as_str().unwrap_or_default(),
            count("rows"),
            count("boots")
        );
        goals.push((text, count("rows") - count("steady"), none));
    }
    let ratio = document["sizes"][0]["system_ratio"].as_f64().unwrap_or(f64::NAN);
    goals.push((format!("{target}: size without the kernel, musl over glibc: at most 0.6"), ratio, Limit::AtMost(0.6)));
    let failed = rows(document).filter(|row| row["row"] != DLOPEN && has_failed(row)).count();
    goals.push((
        format!("{target}: rows that failed in a guest, but for `{DLOPEN}`, which a static program does not have"),
        failed as f64,
        none,
    ));
    goals.push((format!("{target}: the whole comparison, in minutes: at most 10"), minutes, Limit::AtMost(10.0)));
    if let Some(native) = native {
        let unexplained = native.again.iter().filter(|row| row.is_unexplained()).count();
        let text = format!(
            "{target}: rows of {} whose ratio is certainly not within 15 % of that here, and without a measured cause ({} with one; of {} \
             more it is not decided)",
            native.known,
            native.count(Standing::Apart) - unexplained,
            native.count(Standing::Open)
        );
        goals.push((text, unexplained as f64, none));
    }
    goals
}

fn has_failed(row: &Value) -> bool {
    row["cells"].as_array().into_iter().flatten().any(|cell| cell["is"] == "failed")
}

fn section(document: &Value, target: Target, native: Option<&Native>) -> anyhow::Result<String> {
    let guest = &document["guest"]["emulator"];
    let mut text = format!("\n## {target}\n\n{}, {} MiB.", guest.as_str().unwrap_or_default(), document["memory_mib"]);
    let kernel = document["images"][0]["kernel"].as_str().unwrap_or_default();
    writeln!(
        text,
        " Both images have the kernel {kernel} and the same recipes; packages that differ: {}.",
        differing(document)
    )?;
    text += &figures(document)?;
    text += &sizes(document)?;
    for repeats in document["repeats"].as_array().into_iter().flatten() {
        let percent = |key: &str| 100.0 * repeats[key].as_f64().unwrap_or(f64::NAN);
        let unsteady: Vec<String> = repeats["unsteady"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| {
                let share = 100.0 * one["share"].as_f64().unwrap_or(f64::NAN);
                format!("{} ({share:.1} %)", one["row"].as_str().unwrap_or_default())
            })
            .collect();
        let further = if unsteady.is_empty() { "none".to_owned() } else { unsteady.join(", ") };
        writeln!(
            text,
            "\n{}: {} equal boots are typically {:.2} % apart, at most {:.2} % ({}); further than 5 %: {further}.",
            document["images"][repeats["build"].as_u64().unwrap_or_default() as usize]["build"]
                .as_str()
                .unwrap_or_default(),
            repeats["boots"],
            percent("typical"),
            percent("most"),
            repeats["most_row"].as_str().unwrap_or_default()
        )?;
    }
    for suite in document["suite"]["suites"].as_array().into_iter().flatten() {
        text += &tables(suite, native.map(|native| &native.here))?;
    }
    text += &memory(document)?;
    if let Some(native) = native {
        text += &image_causes::table(&native.again, AGAIN)?;
    }
    Ok(text)
}

fn differing(document: &Value) -> String {
    let of = |image: &Value| image["version"].as_str().map_or("absent".to_owned(), str::to_owned);
    let package = |package: &Value| {
        let images: Vec<String> = package["images"].as_array().into_iter().flatten().map(of).collect();
        format!("{} ({})", package["name"].as_str().unwrap_or_default(), images.join(", "))
    };
    let all: Vec<String> = document["differences"].as_array().into_iter().flatten().map(package).collect();
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

fn figures(document: &Value) -> anyhow::Result<String> {
    let mut text = "\n| whole images | glibc | musl | musl / glibc |\n| --- | ---: | ---: | --- |\n".to_owned();
    for figure in document["figures"].as_array().into_iter().flatten() {
        let (name, is_bytes) = match figure["name"].as_str().unwrap_or_default() {
            "first_result" => ("start of QEMU to the first result, this machine's clock", false),
            "boot" => ("kernel to the first command, counted", false),
            "empty_process" => ("start and end of an empty process, counted", false),
            _ => ("memory in use after the boot", true),
        };
        let cell = |build: usize| {
            let median = figure["cells"][build]["median"]["estimate"].as_f64().unwrap_or(f64::NAN);
            match (is_bytes, median) {
                (true, bytes) => format!("{:.1} MiB", bytes / KIB / KIB),
                (false, seconds) if seconds < 1e-2 => format!("{:.1} us", seconds * 1e6),
                (false, seconds) => format!("{seconds:.3} s"),
            }
        };
        let ratio = &figure["cells"][1]["ratio"];
        let of = |key: &str| ratio[key].as_f64().unwrap_or(f64::NAN);
        writeln!(
            text,
            "| {name} | {} | {} | {:.3} ({:.3} to {:.3}) |",
            cell(0),
            cell(1),
            of("estimate"),
            of("low"),
            of("high")
        )?;
    }
    Ok(text)
}

fn sizes(document: &Value) -> anyhow::Result<String> {
    let sizes = &document["sizes"][0];
    let kib = |bytes: &Value| bytes.as_f64().map_or("-".to_owned(), |bytes| format!("{:.1}", bytes / KIB));
    let mut text = "\n| size, in KiB | musl | glibc |\n| --- | ---: | ---: |\n".to_owned();
    for part in sizes["differences"].as_array().into_iter().flatten() {
        let version = part["version"].as_str().or(part["against_version"].as_str()).unwrap_or_default();
        let name = part["name"].as_str().unwrap_or_default();
        writeln!(text, "| {name} {version} | {} | {} |", kib(&part["bytes"]), kib(&part["against_bytes"]))?;
    }
    for (name, key) in [("all but the kernel", "system_bytes"), ("what is shipped, with gzip", "shipped_bytes")] {
        writeln!(text, "| {name} | {} | {} |", kib(&sizes[key]), kib(&sizes["against"][key]))?;
    }
    Ok(text)
}

fn tables(suite: &Value, native: Option<&Here>) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut group = String::new();
    for row in suite["rows"].as_array().into_iter().flatten() {
        if row["group"] != group.as_str() {
            group = row["group"].as_str().unwrap_or_default().to_owned();
            let here = if native.is_some() { [" here |", " ---: |"] } else { ["", ""] };
            write!(
                text,
                "\n### {}: {group}\n\n| row | glibc | musl | difference | published |{}\n| --- | ---: | ---: | --- | ---: |{}\n",
                suite["suite"].as_str().unwrap_or_default(),
                here[0],
                here[1]
            )?;
        }
        let percent = |gain: f64| format!("{:+.0} %", (gain - 1.0) * 100.0);
        let published = row["original_ratio"].as_f64().map_or("-".to_owned(), |ratio| percent(1.0 / ratio));
        let name = row["row"].as_str().unwrap_or_default();
        let gain = |here: &Here| here.gain(How::Here, &full_name(suite, row));
        let here = native.map(|here| gain(here).map_or("-".to_owned(), |gain| percent(gain.value)));
        let here = here.map_or_else(String::new, |here| format!(" {here} |"));
        let difference = ratio(row).map_or("-".to_owned(), difference);
        writeln!(text, "| {name} | {} | {} | {difference} | {published} |{here}", figure(row, 0), figure(row, 1))?;
    }
    Ok(text)
}

/// The three kinds of memory that the rows of libc-bench leave, each with the published figure.
fn memory(document: &Value) -> anyhow::Result<String> {
    let libc = document["suite"]["suites"].as_array().into_iter().flatten().find(|suite| suite["suite"] == "libc");
    let Some(libc) = libc else { return Ok(String::new()) };
    let mut text = "\n### libc: memory after the work, in KiB, with openEuler's figure in brackets\n\n\
                    | row | virtual, glibc | musl | resident, glibc | musl | dirty, glibc | musl |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (name, published) in &MEMORY {
        let row = libc["rows"].as_array().into_iter().flatten().find(|row| row["row"] == *name);
        let of = |build: usize, key: &str, published: u64| {
            let bytes = row.and_then(|row| row["cells"][build]["memory"][key].as_f64());
            bytes.map_or("-".to_owned(), |bytes| format!("{:.0}", bytes / KIB)) + &format!(" ({published})")
        };
        let kinds = ["virtual_bytes", "resident_bytes", "dirty_bytes"].into_iter().zip(published);
        let cells: Vec<String> =
            kinds.flat_map(|(key, (glibc, musl))| [of(0, key, *glibc), of(1, key, *musl)]).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | "))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_of_a_processor_are_on_its_line() {
        let text = "processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nflags\t\t: fpu\n";
        assert_eq!(flags(text).split_whitespace().collect::<Vec<_>>(), ["fpu", "avx2"]);
    }
}
