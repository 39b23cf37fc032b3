//! `underpin doctor`.

use clap::Args;

/// Check what this machine permits (ptrace, perf, ...) and how to enable what is missing.
///
/// Looks at ptrace, performance counters, the CPUs and their governor, address space randomisation, and at the C
/// libraries, loaders, compilers and emulators that are installed. Nothing is changed; the one program that is run, to
/// try ptrace on it, is `sh -c :`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 fine; 1 a verb cannot work here.\n\
    \n\
    Examples:\n  \
    underpin doctor                         what is there, how to enable the rest\n  \
    underpin doctor --json                  the same as a document\n\
    \n\
    Next: `underpin survey PROG`.")]
pub struct DoctorArgs {
    /// Print one JSON document (schema underpin.doctor/1)
    #[arg(long)]
    pub json: bool,
}
