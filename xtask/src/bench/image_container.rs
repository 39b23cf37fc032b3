//! What an image for containers costs beside umoci, the tool that makes one by hand without a daemon.

use super::stats::{Estimate, Sample};
use anyhow::ensure;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Interleaves both for a static program, by underpin as it is released and as cargo builds it. The paragraph for the page, and the
/// time of each of the two over umoci's.
///
/// # Errors
/// If one of the tools is missing or fails, or two images of ours differ.
pub fn beside_umoci(
    underpins: [&Path; 2],
    program: &Path,
    folder: &Path,
    rounds: usize,
) -> anyhow::Result<(String, [Estimate; 2])> {
    let (mut ours, mut theirs, mut digests) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
    let mut bytes = [0, 0];
    for round in 0..rounds {
        let place = folder.join(format!("container-{round}"));
        fs::create_dir(&place)?;
        // Each comes first, second and third in turn.
        for turn in 0..3 {
            let of = (round + turn) % 3;
            let Some(underpin) = underpins.get(of) else {
                theirs.push(by_hand(program, &place)?.as_secs_f64());
                continue;
            };
            let (took, digest) = build(underpin, program, &place.join(of.to_string()))?;
            ours[of].push(took.as_secs_f64());
            digests.push(digest);
        }
        bytes = [largest_blob(&place.join("0"))?, largest_blob(&place.join("layout"))?];
        fs::remove_dir_all(&place)?;
    }
    digests.dedup();
    ensure!(digests.len() == 1, "the same program gave {} images", digests.len());
    let (ours, theirs) = (ours.map(Sample::new), Sample::new(theirs));
    let ratios = [ours[0].ratio(&theirs), ours[1].ratio(&theirs)];
    let mut text = "\n## Containers\n\nAn image for containers of the same static program, by `underpin image build --target oci` and \
                    by hand with umoci (init, new, unpack, a copy, config, repack), interleaved. *As released* is the static file that \
                    `underpin build` makes of it; `cargo install` gives one that glibc's loader starts.\n\n\
                    | underpin | its time | umoci's | ratio |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for (name, (ours, ratio)) in ["as released", "by `cargo install`"].iter().zip(ours.iter().zip(ratios)) {
        let _ = writeln!(
            text,
            "| {name} | {:.1} ms | {:.1} ms | {:.3} ({:.3} to {:.3}) |",
            1e3 * ours.median().value,
            1e3 * theirs.median().value,
            ratio.value,
            ratio.low,
            ratio.high
        );
    }
    let _ = writeln!(text, "\nThe same manifest {0} times of {0}, by both: {1}.", 2 * rounds, digests[0]);
    let _ = writeln!(text, "The layer of the program: {} bytes, umoci's {}.", bytes[0], bytes[1]);
    Ok((text, ratios))
}

/// The size in bytes of the largest blob of a layout.
fn largest_blob(layout: &Path) -> anyhow::Result<u64> {
    let entries = fs::read_dir(layout.join("blobs/sha256"))?;
    entries
        .map(|entry| Ok(entry?.metadata()?.len()))
        .try_fold(0, |largest, size: anyhow::Result<u64>| Ok(largest.max(size?)))
}

fn build(underpin: &Path, program: &Path, image: &Path) -> anyhow::Result<(Duration, String)> {
    let begun = Instant::now();
    let mut command = Command::new(underpin);
    command.args(["image", "build", "--target", "oci", "--json", "-o"]).arg(image).arg(program);
    let output = command.output()?;
    let took = begun.elapsed();
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout)?;
    Ok((took, document["container"]["manifest"].as_str().unwrap_or_default().to_owned()))
}

fn by_hand(program: &Path, place: &Path) -> anyhow::Result<Duration> {
    let umoci = |args: &[&str]| {
        let mut command = Command::new("umoci");
        let status = command.args(args).current_dir(place).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(status.success(), "{command:?}: {status}");
        Ok(())
    };
    let begun = Instant::now();
    umoci(&["init", "--layout", "layout"])?;
    umoci(&["new", "--image", "layout:latest"])?;
    umoci(&["unpack", "--image", "layout:latest", "bundle"])?;
    fs::copy(program, place.join("bundle/rootfs/program"))?;
    umoci(&["config", "--image", "layout:latest", "--config.entrypoint", "/program"])?;
    umoci(&["repack", "--image", "layout:latest", "bundle"])?;
    Ok(begun.elapsed())
}
