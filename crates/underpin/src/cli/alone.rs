//! A command line of one verb, read without the descriptions of the others.
//!
//! To describe the options of all verbs to clap takes a millisecond and half a megabyte: more than `tree` needs for many a
//! program. What is a valid command line for the verb that it names is taken as one; everything else, help and
//! errors with it, is left to the whole description.

use super::{Cli, GeneralArgs, ImageArgs, ImageVerb, Verb};
use clap::{Args, Command, FromArgMatches};
use std::ffi::OsString;

/// What reads the command line of one verb: `None` where the line is not a valid one.
type Reader = fn(&[OsString]) -> Option<Cli>;

/// A command line whose first words name a verb.
pub(super) fn read(line: &[OsString]) -> Option<Cli> {
    let word = |at: usize| line.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    let reader = if word(1) == "image" { reader_of_image(word(2)) } else { reader(word(1)) };
    reader?(line)
}

fn reader(verb: &str) -> Option<Reader> {
    Some(match verb {
        "survey" => |line| one(line, 1, Verb::Survey),
        "tree" => |line| one(line, 1, Verb::Tree),
        "check" => |line| one(line, 1, Verb::Check),
        "trace" => |line| one(line, 1, Verb::Trace),
        "storm" => |line| one(line, 1, Verb::Storm),
        "bundle" => |line| one(line, 1, Verb::Bundle),
        "build" => |line| one(line, 1, Verb::Build),
        "bind" => |line| one(line, 1, Verb::Bind),
        "unbind" => |line| one(line, 1, Verb::Unbind),
        "verify" => |line| one(line, 1, Verb::Verify),
        "bench" => |line| one(line, 1, Verb::Bench),
        "report" => |line| one(line, 1, Verb::Report),
        "run" => |line| one(line, 1, Verb::Run),
        "doctor" => |line| one(line, 1, Verb::Doctor),
        "generate" => |line| one(line, 1, Verb::Generate),
        _ => return None,
    })
}

fn reader_of_image(verb: &str) -> Option<Reader> {
    Some(match verb {
        "build" => |line| one(line, 2, |args| image(ImageVerb::Build(args))),
        "run" => |line| one(line, 2, |args| image(ImageVerb::Run(args))),
        "compare" => |line| one(line, 2, |args| image(ImageVerb::Compare(args))),
        "sdk" => |line| one(line, 2, |args| image(ImageVerb::Sdk(args))),
        "size" => |line| one(line, 2, |args| image(ImageVerb::Size(args))),
        "sources" => |line| one(line, 2, |args| image(ImageVerb::Sources(args))),
        "doctor" => |line| one(line, 2, |args| image(ImageVerb::Doctor(args))),
        "fips" => |line| one(line, 2, |args| image(ImageVerb::Fips(args))),
        "layer" => |line| one(line, 2, |args| image(ImageVerb::Layer(args))),
        _ => return None,
    })
}

fn image(verb: ImageVerb) -> Verb {
    Verb::Image(ImageArgs { verb })
}

/// Reads a line by the description of one verb, which so many of its words name.
fn one<A: Args>(line: &[OsString], names: usize, verb: impl FnOnce(A) -> Verb) -> Option<Cli> {
    let names: Vec<String> =
        line.iter().skip(1).take(names).filter_map(|word| word.to_str().map(str::to_owned)).collect();
    let (last, before) = names.split_last()?;
    let described = A::augment_args(Command::new(last));
    let described = before.iter().rev().fold(described, |inner, name| Command::new(name).subcommand(inner));
    let whole = GeneralArgs::augment_args(Command::new("underpin")).subcommand(described);
    let mut matches = whole.disable_help_subcommand(true).try_get_matches_from(line).ok()?;
    let general = GeneralArgs::from_arg_matches_mut(&mut matches).ok()?;
    for _ in &names {
        matches = matches.remove_subcommand()?.1;
    }
    Some(Cli { general, verb: verb(A::from_arg_matches_mut(&mut matches).ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_verb_is_read_alone() {
        let whole = Cli::command();
        for verb in whole.get_subcommands() {
            let name = verb.get_name();
            assert_eq!(reader(name).is_some(), name != "image", "{name}");
        }
        for verb in whole.find_subcommand("image").unwrap().get_subcommands() {
            assert!(reader_of_image(verb.get_name()).is_some(), "image {}", verb.get_name());
        }
    }
}
