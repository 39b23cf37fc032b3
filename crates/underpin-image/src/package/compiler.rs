//! The compiler's own libraries, which no recipe names: what was built says which of them it loads.

use super::Package;
use super::stage::{of_image, walk};
use crate::ImageError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use underpin_elf::{Details, Elf};
use underpin_resolve::unwinder::{UNWINDER, UNWINDING};

/// Libraries, and the recipes that have them. The first brings the second along.
const LIBRARIES: [(&str, &str); 2] = [("libstdc++.so.6", "libstdc++"), (UNWINDER, "libgcc")];

/// Names of the recipes of a compiler's libraries that files of these packages load and no package has: by DT_NEEDED, or because
/// glibc opens one to unwind a stack.
///
/// # Errors
/// If a package's folder cannot be read.
pub fn compiler_recipes(packages: &[&Package]) -> Result<Vec<&'static str>, ImageError> {
    let installed = packages.iter().map(|package| walk(&package.stage)).collect::<Result<Vec<_>, _>>()?;
    let is_there = |soname: &str| installed.iter().flatten().any(|path| path.ends_with(soname));
    let mut missing: Vec<_> = LIBRARIES.into_iter().filter(|(soname, _)| !is_there(soname)).collect();
    let mut wanted = Vec::new();
    for package in packages {
        if missing.is_empty() {
            break;
        }
        for path in of_image(package)? {
            let loaded = loaded(&package.stage.join(&path)).map_err(ImageError::io(&path))?;
            wanted.extend(missing.extract_if(.., |(soname, _)| loaded.contains(soname)).map(|(_, recipe)| recipe));
        }
    }
    Ok(wanted)
}

/// Which of the libraries a file loads.
fn loaded(path: &Path) -> io::Result<Vec<&'static str>> {
    if path.symlink_metadata()?.is_symlink() {
        return Ok(Vec::new());
    }
    let (mut file, mut bytes) = (File::open(path)?, Vec::new());
    file.by_ref().take(4).read_to_end(&mut bytes)?;
    if bytes != b"\x7fELF" {
        return Ok(Vec::new());
    }
    file.read_to_end(&mut bytes)?;
    // What is no whole file is for whoever loads it to refuse.
    let Ok(elf) = Elf::read(&bytes) else { return Ok(Vec::new()) };
    let Some(dynamic) = &elf.dynamic else { return Ok(Vec::new()) };
    let is_called = || {
        let details = Details::read(&bytes, &elf).ok();
        let imports = details.into_iter().flat_map(|details| details.imports);
        imports.into_iter().any(|import| UNWINDING.iter().any(|name| import.name == name.as_bytes()))
    };
    let is_loaded = |soname: &str| {
        dynamic.needed.iter().any(|name| *name == soname.as_bytes()) || soname == UNWINDER && is_called()
    };
    Ok(LIBRARIES.into_iter().map(|(soname, _)| soname).filter(|soname| is_loaded(soname)).collect())
}
