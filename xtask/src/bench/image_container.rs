//! What an image for containers costs beside umoci, the tool that makes one by hand without a daemon.

use super::stats::{Estimate, Sample};
use anyhow::ensure;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Interleaves both for a static program. The paragraph for the page, and our time over umoci's.
///
/// # Errors
/// If one of the tools is missing or fails, or two images of ours differ.
pub fn beside_umoci(
    underpin: &Path,
    program: &Path,
    folder: &Path,
    rounds: usize,
) -> anyhow::Result<(String, Estimate)> {
    let (mut ours, mut theirs, mut digests) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let place = folder.join(format!("container-{round}"));
        fs::create_dir(&place)?;
        let order = if round % 2 == 0 { [true, false] } else { [false, true] };
        for is_ours in order {
            if is_ours {
                let (took, digest) = build(underpin, program, &place)?;
                ours.push(took.as_secs_f64());
                digests.push(digest);
            } else {
                theirs.push(by_hand(program, &place)?.as_secs_f64());
            }
        }
        fs::remove_dir_all(&place)?;
    }
    digests.dedup();
    ensure!(digests.len() == 1, "the same program gave {} images", digests.len());
    let (ours, theirs) = (Sample::new(ours), Sample::new(theirs));
    let ratio = ours.ratio(&theirs);
    let text = format!(
        "\n## Containers\n\nAn image for containers of the same static program, by `underpin image build --target oci` and by \
         hand with umoci (init, new, unpack, a copy, config, repack), interleaved: {:.1} ms and {:.1} ms, ratio {:.3} ({:.3} to \
         {:.3}). The same manifest {rounds} times of {rounds}: {}.\n",
        1e3 * ours.median().value,
        1e3 * theirs.median().value,
        ratio.value,
        ratio.low,
        ratio.high,
        digests[0]
    );
    Ok((text, ratio))
}

fn build(underpin: &Path, program: &Path, place: &Path) -> anyhow::Result<(Duration, String)> {
    let begun = Instant::now();
    let mut command = Command::new(underpin);
    command.args(["image", "build", "--target", "oci", "--json", "-o"]).arg(place.join("image")).arg(program);
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
