//! Man pages, completions and schemas, generated so that they always match the command line and the documents.

use crate::cli::{Cli, GenerateArgs, What};
use crate::exit::Exit;
use crate::screen::Screen;
use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::io::{self, Write};
use underpin_report::Verb;

/// Prints one document.
///
/// # Errors
/// If no such verb exists.
pub fn run(args: &GenerateArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let mut root = Cli::command();
    root.build();
    let mut text = Vec::new();
    match &args.what {
        What::Man { verb: None } => page(root, &mut text)?,
        What::Man { verb: Some(verb) } => {
            let found = root.find_subcommand(verb).or_else(|| below(&root, verb));
            let command = found.with_context(|| format!("underpin has no verb {verb}"))?;
            let name = format!("underpin-{verb}");
            page(command.clone().name(name.clone()).display_name(name), &mut text)?;
        }
        What::Schema { verb } => writeln!(text, "{:#}", schema(verb)?)?,
        What::Completions { shell } => clap_complete::generate(*shell, &mut root, "underpin", &mut text),
    }
    screen.text(text);
    Ok(Exit::Fine)
}

/// `image-build` is the verb `build` of `image`.
fn below<'a>(root: &'a Command, verb: &str) -> Option<&'a Command> {
    let (verb, below) = verb.split_once('-')?;
    root.find_subcommand(verb)?.find_subcommand(below)
}

fn schema(verb: &str) -> anyhow::Result<serde_json::Value> {
    let verb = Verb::ALL.into_iter().find(|known| known.name() == verb);
    Ok(underpin_report::schema(verb.context("no verb of that name has a document")?))
}

/// One man page. The closing text of the help keeps its line breaks: filled, its examples would run together.
fn page(command: Command, out: &mut Vec<u8>) -> io::Result<()> {
    let closing = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_verbs = command.get_subcommands().any(|verb| !verb.is_hide_set());
    // No date, so that a page changes only with a release.
    let man = Man::new(command).source(concat!("underpin ", env!("CARGO_PKG_VERSION"))).date("");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if has_verbs {
        man.render_subcommands_section(out)?;
    }
    let (heading, text) = closing.split_once(":\n").unwrap_or(("Exit status", &closing));
    write!(out, ".SH {}\n.nf\n{}\n.fi\n", heading.to_uppercase(), text.replace('\\', "\\\\").replace('-', "\\-"))
}
