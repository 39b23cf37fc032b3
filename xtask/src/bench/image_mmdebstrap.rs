//! What an image of a distribution's program costs beside mmdebstrap, which unpacks the program's package and all that it
//! depends on.

use super::stats::{Estimate, Sample};
use anyhow::{Context, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Its package has the same name.
const PROGRAM: &str = "curl";

/// Our time and size over mmdebstrap's.
pub struct Beside {
    /// The paragraph for the page.
    pub text: String,
    /// Times.
    pub time: Estimate,
    /// Bytes of the two archives.
    pub size: Estimate,
}

/// Interleaves both, and starts the program from our archive.
///
/// # Errors
/// If mmdebstrap is missing or fails, or the program does not start from our archive.
pub fn beside_mmdebstrap(underpin: &Path, folder: &Path, rounds: usize) -> anyhow::Result<Beside> {
    let suite = codename()?;
    let (ours, theirs) = (folder.join("closure.tar"), folder.join("mmdebstrap.tar"));
    let include = format!("--include={PROGRAM}");
    let build = |command: &mut Command, archive: &Path| {
        fs::remove_file(archive).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        let begun = Instant::now();
        let status = command.stdout(Stdio::null()).status().with_context(|| format!("cannot start {command:?}"))?;
        ensure!(status.success(), "{command:?}: {status}");
        anyhow::Ok(begun.elapsed().as_secs_f64())
    };
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let order = if round % 2 == 0 { [true, false] } else { [false, true] };
        for is_ours in order {
            if is_ours {
                let mut command = Command::new(underpin);
                command.args(["image", "build", PROGRAM, "--target", "oci", "-o"]).arg(&ours);
                our_times.push(build(&mut command, &ours)?);
            } else {
                let mut command = Command::new("mmdebstrap");
                command.args(["--quiet", "--variant=extract", &include, &suite]).arg(&theirs);
                their_times.push(build(&mut command, &theirs)?);
            }
        }
    }
    starts(underpin, &ours)?;
    let (our_times, their_times) = (Sample::new(our_times), Sample::new(their_times));
    let time = our_times.ratio(&their_times);
    let bytes = |path: &Path| anyhow::Ok(fs::metadata(path)?.len() as f64);
    let (our_bytes, their_bytes) = (bytes(&ours)?, bytes(&theirs)?);
    let text = format!(
        "\n## A program of the distribution\n\n`{PROGRAM}` with what it needs, by `underpin image build --target oci` from this \
         machine's files and by mmdebstrap (`--variant=extract {include}` of {suite}), which fetches the packages, interleaved: \
         {:.2} s and {:.2} s, ratio {:.3} ({:.3} to {:.3}); archives of {:.1} MB and {:.1} MB. The program starts from ours.\n",
        our_times.median().value,
        their_times.median().value,
        time.value,
        time.low,
        time.high,
        our_bytes / 1e6,
        their_bytes / 1e6,
    );
    Ok(Beside { text, time, size: Estimate::exact(our_bytes / their_bytes) })
}

/// A library that is missing would end it before its first word.
fn starts(underpin: &Path, archive: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(underpin);
    command.args(["image", "run"]).arg(archive).args(["--", PROGRAM, "--version"]);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success() && said.starts_with(PROGRAM),
        "{command:?}: {}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// The name of this release.
fn codename() -> anyhow::Result<String> {
    let text = fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(name.context("/etc/os-release has no VERSION_CODENAME: mmdebstrap needs Debian's")?.to_owned())
}
