//! One file of the tree: a copy with its search path and its loader.

use crate::{Layout, Placed, Site};
use anyhow::{Context, bail};
use std::fs;
use std::path::Path;
use std::process::Command;
use underpin_elf::Elf;

/// How a file got into the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Its search path stands where no further segment was needed.
    InPlace,
    /// It has a PT_LOAD more than its original.
    WithSegment,
    /// It is the original.
    AsItIs(Unwritten),
}

/// Why a file has no search path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// A loader searches nothing.
    Loader,
    /// It cannot be rewritten.
    Refused(String),
}

/// Copies it.
pub(crate) fn file(file: &Placed, site: &Site, layout: Layout) -> anyhow::Result<Written> {
    let to = site.folder.join(&file.place);
    fs::copy(&file.from, &to).with_context(|| format!("cannot copy {} to {}", file.from.display(), to.display()))?;
    if file.loader {
        return Ok(Written::AsItIs(Unwritten::Loader));
    }
    let before = loads(&to)?;
    patchelf(file, &to, site, layout)?;
    Ok(if loads(&to)? > before { Written::WithSegment } else { Written::InPlace })
}

fn loads(path: &Path) -> anyhow::Result<usize> {
    let elf = Elf::read(fs::read(path)?.as_slice()).with_context(|| path.display().to_string())?;
    Ok(elf.loads().count())
}

fn patchelf(file: &Placed, to: &Path, site: &Site, layout: Layout) -> anyhow::Result<()> {
    let elf = Elf::read(fs::read(to)?.as_slice())?;
    let mut command = Command::new("patchelf");
    if !layout.direct_runpath {
        command.arg("--force-rpath");
    }
    let folders: Vec<String> =
        file.search_path.iter().map(|folder| site.named.join(folder).display().to_string()).collect();
    command.arg("--set-rpath").arg(folders.join(":"));
    if let (Some(interpreter), Some(_)) = (&file.interpreter, &elf.interpreter) {
        command.arg("--set-interpreter").arg(site.named.join(interpreter));
    }
    let output = command.arg(to).output().context("cannot start patchelf")?;
    if !output.status.success() {
        bail!("patchelf on {}: {}", file.from.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
