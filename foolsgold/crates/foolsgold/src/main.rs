//! The command `foolsgold`: arguments become a configuration, and the configuration a server.

use clap::Parser;
use foolsgold::cli::{Cli, Command, Serve};
use foolsgold::{compose, pack};
use foolsgold_server::Ending;
use foolsgold_server::log::say;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(all(feature = "jemalloc", not(feature = "mimalloc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The allocator of everything except the interpreters, as `/info` names it.
const ALLOCATOR_NAME: &str = match (cfg!(feature = "mimalloc"), cfg!(feature = "jemalloc")) {
    (true, _) => "mimalloc",
    (false, true) => "jemalloc",
    (false, false) => "system",
};

/// The command line, the configuration or the application cannot be used.
const REFUSED: u8 = 2;

/// Requests were cut off at shutdown.
const CUT_OFF: u8 = 1;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Pack(options)) => pack_application(&options),
        None => serve(cli.serve),
    };
    done.unwrap_or_else(|error| {
        // There is nowhere left to report a failure.
        let _ = writeln!(anstream::stderr(), "foolsgold: {error:#}");
        ExitCode::from(REFUSED)
    })
}

/// Serves until told to stop: 0 if every request was answered.
fn serve(serve: Serve) -> anyhow::Result<ExitCode> {
    // An application named on the command line is served as if none were packed.
    let packed = if serve.rackup.is_some() { None } else { pack::Packed::own()?.map(Arc::new) };
    let settings = packed.as_ref().map(|packed| packed.settings()).transpose()?;
    let config = serve.into_config(settings)?;
    let patience = config.server.drain;
    let server = compose::start(config, packed, ALLOCATOR_NAME)?.catch_signals()?;
    server.places().for_each(|place| say(&format!("serves at {place}")));
    match server.until_told(patience) {
        Ending::Drained => Ok(ExitCode::SUCCESS),
        Ending::CutOff(connections) => {
            say(&format!("ended with {connections} connections cut off"));
            Ok(ExitCode::from(CUT_OFF))
        }
        Ending::Failed => anyhow::bail!("ended, because no interpreter is left to serve requests"),
    }
}

fn pack_application(options: &pack::Options) -> anyhow::Result<ExitCode> {
    let report = pack::pack(options, &pack::compile)?;
    let (output, mebibytes) = (options.output.display(), report.bytes as f64 / f64::from(1 << 20));
    let noun = if report.files == 1 { "file" } else { "files" };
    let files = format!("{} {noun}, {} of them compiled", report.files, report.compiled);
    writeln!(anstream::stdout(), "{output}: {files}; {mebibytes:.1} MiB")?;
    if report.hidden > 0 {
        writeln!(anstream::stdout(), "{} names that begin with a dot were left out", report.hidden)?;
    }
    Ok(ExitCode::SUCCESS)
}
