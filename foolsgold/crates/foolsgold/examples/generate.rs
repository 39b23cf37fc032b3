//! Writes foolsgold's man pages and completions into a folder: `cargo xtask docs` runs it for `foolsgold/docs`.
//!
//! An example rather than a command, so that the server contains nothing that only packagers need.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use foolsgold::cli::Cli;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const SHELLS: [(Shell, &str); 4] = [
    (Shell::Bash, "foolsgold.bash"),
    (Shell::Elvish, "foolsgold.elv"),
    (Shell::Fish, "foolsgold.fish"),
    (Shell::Zsh, "_foolsgold"),
];

/// Every document: its path below the folder, and its text.
pub fn documents() -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut command = Cli::command();
    command.build();
    let mut all = vec![man(&command, "foolsgold")?];
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        all.push(man(verb, &format!("foolsgold-{}", verb.get_name()))?);
    }
    for (shell, file) in SHELLS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "foolsgold", &mut text);
        all.push((Path::new("completions").join(file), text));
    }
    Ok(all)
}

fn man(command: &Command, name: &str) -> io::Result<(PathBuf, Vec<u8>)> {
    let mut text = Vec::new();
    let source = concat!("foolsgold ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command.clone()).source(source).render(&mut text)?;
    Ok((Path::new("man").join(format!("{name}.1")), text))
}

#[allow(dead_code, reason = "the test that includes this file calls `documents`")]
fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: generate FOLDER"))?);
    for (path, text) in documents()? {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}
