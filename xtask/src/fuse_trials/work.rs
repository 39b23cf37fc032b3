//! Programs at work, fused and unchanged: what they print and write must be the same, byte for byte.

use super::copies::{self, Made};
use super::section::{Context, head, missing};
use anyhow::{Context as _, ensure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The heading of the part.
pub const HEADING: &str = "## At work";
/// How long a piece of work may take, in seconds.
const LIMIT: &str = "120";

/// A piece of work: `script` runs in an empty folder, with the program's path in `P`; a second run leaves the same.
struct Job {
    program: &'static str,
    package: &'static str,
    does: &'static str,
    script: &'static str,
}

const fn job(program: &'static str, package: &'static str, does: &'static str, script: &'static str) -> Job {
    Job { program, package, does, script }
}

/// None of these programs is in a test.
const JOBS: [Job; 10] = [
    job("tshark", "tshark", "400 packets as text, JSON and statistics", include_str!("work/tshark.sh")),
    job("ogr2ogr", "gdal-bin", "2,000 points projected, to CSV and KML, and SQL", include_str!("work/ogr2ogr.sh")),
    job("openscad", "openscad", "a solid with rounded edges and text, to STL", include_str!("work/openscad.sh")),
    job("tesseract", "tesseract-ocr", "a line of text read from a picture", include_str!("work/tesseract.sh")),
    job("/usr/lib/R/bin/exec/R", "r-base-core", "a regression, an SVD, an FFT and a plot", include_str!("work/r.sh")),
    job("octave-cli", "octave", "a determinant, an FFT, sparse systems and a picture", include_str!("work/octave.sh")),
    job("ffmpeg", "ffmpeg", "two seconds to H.264 and VP8, and back to frames", include_str!("work/ffmpeg.sh")),
    job("gdb", "gdb", "an exception of C++, its stack, containers and Python", include_str!("work/gdb.sh")),
    job("gimp-console", "gimp", "an ellipse drawn, blurred and saved", include_str!("work/gimp.sh")),
    job("darktable-cli", "darktable", "a photograph developed", include_str!("work/darktable.sh")),
];

/// What a piece of work left: its end, what it printed, and its files by name.
#[derive(PartialEq)]
struct Left {
    end: Option<i32>,
    said: Vec<u8>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Does each piece of work by the program and by a fused copy.
///
/// # Errors
/// If a copy cannot be made, the work itself fails, or what it leaves differs.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let mut text = head(HEADING, "work", context.rounds);
    text += "Each script runs in an empty folder, twice by the program as it is and once by a fused copy; end, output and all files \
             are compared byte for byte (xtask/src/fuse_trials/work has the scripts).\n\n\
             | program | work | libraries inside | |\n| --- | --- | --- | --- |\n";
    let (mut absent, mut differ) = (Vec::new(), Vec::new());
    for job in &JOBS {
        let Some(program) = copies::installed(job.program) else {
            absent.push((job.program, job.package));
            continue;
        };
        let folder = context.folder("work", job.package);
        let (inside, verdict) = match copies::fused(&context.underpin, &program, &folder.join("fused"))? {
            Made::Merged(merged) => {
                let [first, again, fused] =
                    [&program, &program, &merged.program].map(|program| left(job, program, &folder.join("run")));
                let (first, again, fused) = (first?, again?, fused?);
                ensure!(first.end == Some(0), "{}: {}", job.program, String::from_utf8_lossy(&first.said));
                let verdict = match () {
                    () if first == fused => "the same",
                    () if first != again => "two runs of the original differ",
                    () => {
                        differ.push(job.program);
                        "**differs**"
                    }
                };
                (merged.members.to_string(), verdict.to_owned())
            }
            Made::LeftAlone(count) => (count.to_string(), "left alone: too few".to_owned()),
            Made::Refused(reason) => ("-".to_owned(), format!("refused: {reason}")),
        };
        writeln!(text, "| {} | {} | {inside} | {verdict} |", job.program, job.does)?;
    }
    ensure!(differ.is_empty(), "{}: another result\n{text}", differ.join(", "));
    Ok(text + &missing(&absent))
}

fn left(job: &Job, program: &Path, folder: &Path) -> anyhow::Result<Left> {
    fs::create_dir_all(folder)?;
    let mut command = Command::new("timeout");
    command.args([LIMIT, "sh", "-e", "-c", job.script]).current_dir(folder);
    let output = command.env("P", program).env("HOME", folder).env("LC_ALL", "C.UTF-8").output()?;
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A program keeps its own state in hidden folders.
        if entry.file_type()?.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| entry.path().display().to_string())?;
            files.insert(entry.file_name().to_string_lossy().into_owned(), bytes);
        }
    }
    fs::remove_dir_all(folder)?;
    Ok(Left { end: output.status.code(), said: [output.stdout, output.stderr].concat(), files })
}
