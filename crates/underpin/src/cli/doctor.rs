//! `underpin doctor`.

use clap::Args;

/// Show what this machine allows, and the command that mends each lack.
///
/// Looks at ptrace, performance counters, the CPUs and their governor, address space randomisation, and at the C
/// libraries, loaders, compilers and emulators that are installed. Nothing is changed; the one program that is run, to
/// try ptrace on it, is `sh -c :`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin doctor              what is there, and how to mend what is not\n  \
    underpin doctor --json       the same for a program; exit code 1 where a verb cannot work here")]
pub struct DoctorArgs {
    /// Print one JSON document (schema underpin.doctor/1)
    #[arg(long)]
    pub json: bool,
}
