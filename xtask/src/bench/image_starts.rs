//! Twins by every compiler, and the Raspberry Pi's, each started so many times: whether every start ends with the result of a
//! command. No time is judged, so as many guests run at once as there are processors.

use super::stats::{Estimate, median};
use super::table::{self, Goal, Limit};
use crate::image_recipes::{Choice, LIBCS, Packages, choices, last};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

const BOARD: &str = "rpi4";
/// A shell that says something, and ends with what is neither success nor a usual failure.
const COMMAND: [&str; 3] = ["dash", "-c", "echo $((6 * 7)) $0; exit 7"];
const PRINTS: &str = "42 dash\n";
const CODE: i32 = 7;
/// In the guest, which is emulated.
const SECONDS: &str = "300";

const WITHOUT: &str = "starts without the result: none";
const LEAST: &str = "starts of each image: at least 20";

/// An image, and what its starts came to.
struct Tried {
    choice: Choice,
    folder: PathBuf,
    emulator: String,
    seconds: Vec<f64>,
    /// How the others ended.
    failures: Vec<String>,
}

/// Builds, starts and returns the page.
///
/// # Errors
/// If an image does not build.
pub fn run(starts: usize) -> anyhow::Result<String> {
    let packages = Packages::new()?;
    let folder = crate::run::scratch("bench-image-starts")?;
    let mut images = Vec::new();
    for choice in combinations() {
        let Choice { libc, target, toolchain } = choice;
        println!("building for {libc} on {target} by {toolchain}");
        let image = folder.join(format!("{libc}-{target}-{toolchain}"));
        build(&packages, choice, &image)?;
        let (emulator, seconds, failures) = (String::new(), Vec::new(), Vec::new());
        images.push(Mutex::new(Tried { choice, folder: image, emulator, seconds, failures }));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(image) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
            image.lock().unwrap_or_else(PoisonError::into_inner).start(&packages, starts)?;
        }
        anyhow::Ok(())
    };
    thread::scope(|scope| {
        let at_once = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a thread failed"))?)
    })?;
    fs::remove_dir_all(&folder)?;
    let images = images.into_iter().map(|image| image.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(page(&images.collect::<Vec<_>>(), starts))
}

/// What every recipe is built for, and the board by one compiler.
fn combinations() -> Vec<Choice> {
    let board = LIBCS.map(|libc| Choice { libc, target: BOARD, toolchain: "gcc" });
    choices().into_iter().chain(board).collect()
}

fn build(packages: &Packages, choice: Choice, image: &Path) -> anyhow::Result<()> {
    let Choice { libc, target, toolchain } = choice;
    let place = image.display().to_string();
    let words = ["build", "--libc", libc, "--target", target, "--toolchain", toolchain, "-o", &place, "dash"];
    let output = packages.image(&words)?;
    ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

impl Tried {
    fn start(&mut self, packages: &Packages, starts: usize) -> anyhow::Result<()> {
        let place = self.folder.display().to_string();
        let words = [&["run", "--kvm", "off", "--json", "--timeout", SECONDS, &place, "--"][..], &COMMAND].concat();
        for _ in 0..starts {
            let begun = Instant::now();
            let output = packages.image(&words)?;
            let took = begun.elapsed().as_secs_f64();
            let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            if output.status.code() == Some(CODE) && document["output"] == PRINTS {
                self.seconds.push(took);
                self.emulator = document["qemu"].as_str().context("the version of QEMU")?.to_owned();
            } else {
                self.failures.push(format!("{}: {} {}", output.status, document["output"], last(&output)));
            }
        }
        println!("{}", self.line(starts));
        Ok(())
    }

    fn line(&self, starts: usize) -> String {
        let Tried { choice: Choice { libc, target, toolchain }, emulator, seconds, .. } = self;
        let time = if seconds.is_empty() { "-".to_owned() } else { format!("{:.1} s", median(seconds.clone())) };
        format!("| {libc} | {target} | {toolchain} | {emulator} | {} of {starts} | {time} |", seconds.len())
    }
}

fn page(images: &[Tried], starts: usize) -> String {
    let mut text = table::machine("Starts of images", "cargo xtask bench image-starts");
    let _ = writeln!(
        text,
        "The recipe dash, built for each C library and machine by each compiler (`underpin image build --libc ... --target ... \
         --toolchain ... dash`), and each image started {starts} times in QEMU without KVM (`underpin image run ... -- {}`). A start \
         counts if the command's output came back and `image run` ended with its exit code, {CODE}. As many guests run at once as \
         there are processors: the medians of the times from the start of underpin to its end say no more than that no start hung. \
         `{BOARD}` is QEMU's model of the Raspberry Pi 4, from its card's image; real hardware was not tried.\n\n\
         | C library | machine | compiler | QEMU | starts with the result | median time |\n| --- | --- | --- | --- | --- | --- |",
        COMMAND.map(|word| if word.contains(' ') { format!("'{word}'") } else { word.to_owned() }).join(" "),
    );
    images.iter().for_each(|image| text += &format!("{}\n", image.line(starts)));
    let failures = images.iter().flat_map(|image| image.failures.iter().map(move |failure| (image, failure)));
    for (Tried { choice: Choice { libc, target, toolchain }, .. }, failure) in failures.clone() {
        let _ = writeln!(text, "\n{libc} on {target} by {toolchain}: {failure}");
    }
    let goals = [
        Goal { text: WITHOUT, ratio: Estimate::exact(failures.count() as f64), limit: Limit::AtMost(0.0) },
        Goal { text: LEAST, ratio: Estimate::exact(starts as f64), limit: Limit::AtLeast(20.0) },
    ];
    text + &table::goals(&goals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(ended: usize, failures: &[&str]) -> Tried {
        Tried {
            choice: Choice { libc: "musl", target: "qemu-x86_64", toolchain: "gcc" },
            folder: PathBuf::new(),
            emulator: "7.2".to_owned(),
            seconds: vec![2.0; ended],
            failures: failures.iter().map(|failure| (*failure).to_owned()).collect(),
        }
    }

    #[test]
    fn one_start_without_the_result_is_a_goal_missed_and_says_why() {
        let page = page(&[tried(20, &[]), tried(19, &["exit status: 125: null"])], 20);
        assert!(
            page.contains("| 7.2 | 20 of 20 | 2.0 s |\n") && page.contains("| 7.2 | 19 of 20 | 2.0 s |\n"),
            "{page}"
        );
        assert!(page.contains("\nmusl on qemu-x86_64 by gcc: exit status: 125: null\n"), "{page}");
        assert!(page.contains(&format!("| {WITHOUT} | 1 | **missed** |")), "{page}");
        assert!(super::page(&[tried(20, &[])], 20).contains(&format!("| {WITHOUT} | 0 | met |")));
    }

    #[test]
    fn too_few_starts_are_no_proof() {
        assert!(page(&[tried(3, &[])], 3).contains(&format!("| {LEAST} | 3 | **missed** |")));
        assert!(page(&[tried(0, &[])], 0).contains("| 0 of 0 | - |"));
    }

    #[test]
    fn twins_are_built_by_every_compiler_and_the_board_has_both_libraries() {
        let all = combinations();
        assert_eq!(all.len(), 14);
        assert!(all.contains(&Choice { libc: "glibc", target: "qemu-aarch64", toolchain: "clang" }));
        assert!(all.contains(&Choice { libc: "musl", target: BOARD, toolchain: "gcc" }));
    }
}
