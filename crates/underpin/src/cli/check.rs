//! `underpin check`.

use super::DisplayArgs;
use clap::Args;
use std::path::PathBuf;
use underpin_resolve::compat::Expectations;

/// Show which distributions a program runs on, and which symbols rule out the others.
///
/// Reads the floors of the program and of the libraries shipped with it: the oldest glibc, libstdc++ and other versioned
/// libraries, kernel and processor that will do. There are three answers: it runs (`yes`, or `yes*` once further libraries
/// are installed), it does not run (`no`), and not known (`?`) if a fact is missing that the loader would need. The program
/// is not run.
///
/// Without --on and --max-glibc every system of the table is judged and the exit code is 0. With them it is 0 only if
/// the program is known to run on each system named and keeps the limit; otherwise it is 1, also if the answer is not
/// known. With --strict, only a plain `yes` counts.
///
/// For a folder or a wheel (NAME.whl) the answer is the platform tag of Python's wheels that all programs and libraries
/// in it meet together (manylinux or musllinux), and what in which file rules out the next older tag. If the name of
/// the wheel claims a tag that it does not meet, the exit code is 1.
///
/// The answer is about what the loader checks before the program starts: its interpreter, each library, each version of
/// a library. A library without versions can still lack a function, which shows only when the program calls it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin check ./app                    its floors, and every known system\n  \
    underpin check ./app --on rhel8         exit code 1 if it will not run there\n  \
    underpin check ./app --on debian11 --on alpine3.20\n  \
    underpin check ./app --on debian12 --strict   nothing to be installed first\n  \
    underpin check ./app --max-glibc 2.28   a gate for CI\n  \
    underpin check ./app --expect static,musl,malloc=mimalloc\n  \
    underpin check bin/app --with lib       with the libraries it is shipped with\n  \
    underpin check --json ./app | jq .floors\n  \
    underpin check dist/app-1.0-cp312-cp312-manylinux2014_x86_64.whl\n\
    \n\
    Next: `underpin check -v PROG` shows every symbol behind a floor, `underpin\n\
    bundle PROG -o DIR` makes a copy that runs on older systems too.")]
pub struct CheckArgs {
    /// The program or library (a name without a slash is searched for in PATH), a folder of them, or a wheel
    #[arg(value_name = "PROG")]
    pub program: PathBuf,

    /// A system on which it must run, such as rhel8, debian11, ubuntu20.04, alpine3.20 (may be repeated)
    #[arg(long, value_name = "SYSTEM")]
    pub on: Vec<String>,

    /// The newest glibc that it may need
    #[arg(long, value_name = "VERSION")]
    pub max_glibc: Option<String>,

    /// Let only a plain `yes` pass
    ///
    /// The exit code is then also 1 if libraries have to be installed first (`yes*`), if facts about the system were not
    /// read from the distribution itself, and if not every supported processor is new enough.
    #[arg(long, requires = "on")]
    pub strict: bool,

    /// What the program must be, separated by commas: static, static-pie or dynamic; glibc, musl or none; arch=NAME;
    /// malloc=NAME, or NAME+NAME if two serve it (glibc, musl, jemalloc, mimalloc, tcmalloc, snmalloc, partitionalloc, zig, go,
    /// own, none); limits such as glibc<=2.28 or kernel<4 (also glibcxx, cxxabi, gcc). The exit code is 1 if one is not met;
    /// what is not known is not met
    #[arg(long, value_name = "LIST", value_parser = clap::value_parser!(Expectations))]
    pub expect: Option<Expectations>,

    /// A folder of libraries that are shipped with the program (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub with: Vec<PathBuf>,

    #[command(flatten)]
    pub display: DisplayArgs,
}
