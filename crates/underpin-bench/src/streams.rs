//! Where the streams of the commands come from and go to.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use underpin_sys::{Streams, SysError};

/// Where the output of the commands goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutputTo {
    /// To /dev/null.
    #[default]
    Null,
    /// To where ours goes.
    Inherit,
    /// Into a pipe that is read and thrown away: for programs that do less if they write to /dev/null.
    Pipe,
    /// Into a file, appended.
    File(PathBuf),
}

/// Where the streams of the commands come from and go to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamsPlan {
    /// Standard input; `None`: /dev/null.
    pub input: Option<PathBuf>,
    /// Standard output and error.
    pub output: OutputTo,
}

impl StreamsPlan {
    /// The plan of one command, which may have a destination of its own for its output.
    pub(crate) fn with_output(&self, own: Option<&OutputTo>) -> StreamsPlan {
        StreamsPlan { input: self.input.clone(), output: own.unwrap_or(&self.output).clone() }
    }

    pub(crate) fn open(&self) -> Result<Streams, SysError> {
        let failed = |what| move |error: io::Error| SysError::io(what, &error);
        let null = PathBuf::from("/dev/null");
        let input = File::open(self.input.as_ref().unwrap_or(&null)).map_err(failed("opening the input"))?;
        let output = match &self.output {
            OutputTo::Inherit => return Ok(Streams { input: Some(input.into()), output: None, error: None }),
            OutputTo::Pipe => drained_pipe().map_err(failed("opening a pipe"))?,
            OutputTo::Null => appended(&null).map_err(failed("opening the output"))?,
            OutputTo::File(path) => appended(path).map_err(failed("opening the output"))?,
        };
        let error = output.try_clone().map_err(failed("opening the output"))?;
        Ok(Streams { input: Some(input.into()), output: Some(output), error: Some(error) })
    }
}

fn appended(path: &Path) -> io::Result<OwnedFd> {
    File::options().append(true).create(true).open(path).map(OwnedFd::from)
}

/// The end of a pipe to write to; a thread throws away what comes out of it, until no writer is left.
fn drained_pipe() -> io::Result<OwnedFd> {
    let (mut from, to) = io::pipe()?;
    let drain = move || {
        let mut buffer = vec![0; 64 * 1024];
        // A pipe that fails has nothing more to give.
        while from.read(&mut buffer).is_ok_and(|count| count > 0) {}
    };
    std::thread::Builder::new().name("drain".to_owned()).spawn(drain)?;
    Ok(to.into())
}
