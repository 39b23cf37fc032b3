//! The command line as the user types it: one module per verb, nothing here touches the world.
//!
//! Help, man pages and completions are all generated from these definitions.

mod alone;
mod bench;
mod bind;
mod build;
mod bundle;
mod check;
mod doctor;
mod generate;
mod image;
mod run;
mod serve;
mod storm;
mod suite;
mod survey;
mod target;
mod trace;
mod tree;
mod verify;

pub use bench::{AroundArgs, BenchArgs, BindState, Failure, Order, ReportArgs, ResultArgs, RuleArgs, TimeUnit};
pub use bind::{BindArgs, Place, UnbindArgs};
pub use build::{BuildArgs, CompilerName, GoalName, Switch};
pub use bundle::BundleArgs;
pub use check::CheckArgs;
pub use doctor::DoctorArgs;
pub use generate::{GenerateArgs, What};
pub use image::{
    ImageArgs, ImageBuildArgs, ImageCompareArgs, ImageDoctorArgs, ImageFipsArgs, ImageLayerAction, ImageLayerArgs,
    ImageRunArgs, ImageSdkArgs, ImageSizeArgs, ImageSourcesArgs, ImageVerb, Kvm, LibcName, Network, Runner,
    target as image_target,
};
pub use run::RunArgs;
pub use serve::ServeArgs;
pub use storm::{ModelledBinding, ParameterArgs, StormArgs};
pub use suite::{SuiteArgs, SuiteName};
pub use survey::SurveyArgs;
pub use target::{Cpu, DisplayArgs, ExportArgs, TargetArgs};
pub use trace::{TraceArgs, UntilPhase};
pub use tree::TreeArgs;
pub use verify::VerifyArgs;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;

/// Explain what a Linux binary depends on: every library it loads and why, the distributions it runs on, and where its
/// start-up time goes. Then help: bind library paths, swap the allocator, or bundle everything.
#[derive(Debug, Parser)]
#[command(
    name = "underpin",
    version,
    max_term_width = 80,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 fine, 1 a finding or a failed gate, 2 wrong use or an error of\n\
                  underpin. `underpin trace` and `underpin run` pass through the command's exit\n\
                  status (126 and 127 if it could not be started); so does `underpin image run`.\n\n\
                  JSON: docs/schemas describes the documents. A name that is not UTF-8 is text\n\
                  with U+FFFD, and its bytes are in hexadecimal in a field beside it (`path` and\n\
                  `path_bytes`; of a list a list, with null for names that are text).\n\n\
                  Examples:\n  \
                  underpin survey git             the whole picture of one program\n  \
                  underpin check ./app --on rhel8 exit code 1 if it will not run there\n  \
                  underpin bench --malloc system,mimalloc -- ruby app.rb\n\n\
                  Next: `underpin VERB --help` has examples of each verb."
)]
pub struct Cli {
    /// What goes with every verb.
    #[command(flatten)]
    pub general: GeneralArgs,

    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options that go with every verb.
#[derive(Debug, Args)]
pub struct GeneralArgs {
    /// When to colour the output; NO_COLOR and CLICOLOR_FORCE are honoured too
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

impl Cli {
    /// When to colour: `--color`, or what `bench --style` means.
    pub fn color(&self) -> Color {
        match &self.verb {
            Verb::Bench(args) if self.general.color == Color::Auto => args.style.color(),
            _ => self.general.color,
        }
    }

    /// Takes a command line apart, the program's name first.
    ///
    /// # Errors
    /// What clap says of a command line that is wrong, or that asks for help.
    pub fn of(line: &[OsString]) -> Result<Cli, clap::Error> {
        alone::read(line).map_or_else(|| Cli::try_parse_from(line), Ok)
    }
}

/// When to colour the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Into files and pipes too.
    Always,
    /// Never.
    Never,
}

/// One verb of the program. Its description, short in the list of verbs and long in `--help`, is that of its arguments: a
/// comment here would take the place of both.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Survey(SurveyArgs),
    Tree(TreeArgs),
    Check(CheckArgs),
    Trace(TraceArgs),
    Storm(Box<StormArgs>),
    Bundle(BundleArgs),
    Build(Box<BuildArgs>),
    Image(ImageArgs),
    Bind(BindArgs),
    Unbind(UnbindArgs),
    Verify(VerifyArgs),
    Bench(Box<BenchArgs>),
    Report(ReportArgs),
    Run(RunArgs),
    Doctor(DoctorArgs),
    #[command(hide = true)]
    Generate(GenerateArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clap makes of a line, or its words of refusal.
    fn told(line: &[OsString], parse: impl Fn(&[OsString]) -> Result<Cli, clap::Error>) -> Result<String, String> {
        parse(line).map(|cli| format!("{cli:?}")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_verb_on_its_own_is_parsed_as_among_the_others() {
        for words in [
            "tree git",
            "tree --list --print0 /usr/bin/emacs",
            "tree --list --json git",
            "tree -vv --color always --cpu v2 a b c",
            "tree --check git -- --version",
            "tree --root / --env A=B --secure x --why libz.so.1",
            "tree",
            "tree --help",
            "tree -h",
            "tree --version",
            "tree --lst git",
            "--color never tree git",
            "tree --color sometimes git",
            "trees git",
            "help tree",
            "survey git",
            "check git --on rhel8",
            "check --color never git --json",
            "check",
            "trace -- git --version",
            "storm --processes 100 git",
            "bundle git -o folder",
            "build . --libc glibc:2.28 -- --release -p x",
            "build --crate ripgrep",
            "build --no-such-option",
            "bind --dry-run git",
            "unbind git",
            "verify git",
            "bench --malloc system,mimalloc -- ruby app.rb",
            "bench -n 3 true false --color always",
            "report a.json",
            "run --malloc jemalloc -- git -C . log",
            "doctor --json",
            "doctor extra",
            "generate man",
            "image",
            "image --help",
            "image help",
            "image bild app",
            "image build --target oci --json -o image app",
            "image build app --color always -o image",
            "image build",
            "image --color never build app -o image",
            "image run app -- cat -n",
            "image run app --help",
            "image compare busybox --quick",
            "image sdk app -o sdk",
            "image size app --against other",
            "image sources app",
            "image doctor app.tar",
            "image fips app.tar",
            "image layer show zlib",
            "",
        ] {
            let line: Vec<OsString> =
                std::iter::once("underpin").chain(words.split_whitespace()).map(Into::into).collect();
            let among_others = told(&line, |line| Cli::try_parse_from(line));
            let begins_with_its_verb = !words.split("image ").any(|words| words.starts_with("--"));
            assert_eq!(alone::read(&line).is_some(), among_others.is_ok() && begins_with_its_verb, "{words}");
            assert_eq!(told(&line, Cli::of), among_others, "{words}");
        }
    }
}
