//! Embeds the Ruby library of `ruby/lib` in the executable.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("ruby/lib");
    // A folder is looked at with all that lies in it.
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-changed=build.rs");
    let mut names = Vec::new();
    if folder.is_dir() {
        collect(&folder, "", &mut names)?;
    }
    names.sort();
    let mut text = format!("static LIBRARY: [Embedded; {}] = [\n", names.len());
    for name in &names {
        let file = folder.join(name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?}), None),", file.display().to_string());
    }
    text.push_str("];\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("library.rs"), text)
}

/// Names of the files below a folder.
fn collect(folder: &Path, below: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name =
            entry.file_name().into_string().map_err(|name| io::Error::other(format!("{name:?} is not UTF-8")))?;
        let name = format!("{below}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}
