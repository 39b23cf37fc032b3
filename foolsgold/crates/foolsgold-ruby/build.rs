//! Embeds the Ruby library (`ruby/lib`, `ruby/stdlib`) and the demonstration (`ruby/demo`) in the executable; Ruby
//! files are compiled ahead of time.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("ruby");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let compiler = PathBuf::from(env::var_os("DEP_MRUBY_NAMED").unwrap_or_default());
    println!("cargo:rerun-if-changed=build.rs");
    let mut names = Vec::new();
    for part in ["lib", "stdlib", "demo"] {
        // Cargo watches a folder with everything in it.
        println!("cargo:rerun-if-changed={}", folder.join(part).display());
        collect(&folder.join(part), &format!("{part}/"), &mut names)?;
    }
    names.sort();
    let mut text = format!("static LIBRARY: [Embedded; {}] = [\n", names.len());
    for (number, name) in names.iter().enumerate() {
        let file = folder.join(name);
        let compiled = if is_ruby(name) {
            let compiled = out.join(format!("{number}.mrb"));
            compile(&compiler, name, &file, &compiled)?;
            format!("Some(include_bytes!({:?}))", compiled.display().to_string())
        } else {
            "None".to_owned()
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?}), {compiled}),", file.display().to_string());
    }
    text.push_str("];\n");
    fs::write(out.join("library.rs"), text)
}

fn is_ruby(name: &str) -> bool {
    [".rb", ".ru"].iter().any(|end| name.ends_with(end))
}

/// Compiles a file under the name that applications see, which appears in backtraces and `__FILE__`.
fn compile(compiler: &Path, name: &str, file: &Path, to: &Path) -> io::Result<()> {
    let output = Command::new(compiler).arg(format!("/foolsgold/{name}")).args([file, to]).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))))
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
