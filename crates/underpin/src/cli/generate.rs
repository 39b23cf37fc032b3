//! The hidden verb behind `cargo xtask docs`: man pages and shell completions from these very
//! definitions, and the schemas of the JSON documents.

use clap::{Args, Subcommand};
use clap_complete::Shell;

/// Print a man page, shell completions or a JSON Schema.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Which
    #[command(subcommand)]
    pub what: What,
}

/// What to generate.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Print the man page of underpin, or of one verb
    Man {
        /// The verb
        verb: Option<String>,
    },
    /// Print the JSON Schema of a verb's document
    Schema {
        /// The verb
        verb: String,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}
