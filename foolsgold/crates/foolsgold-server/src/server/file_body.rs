//! The bytes of a file being sent, read on blocking threads.

use bytes::Bytes;
use foolsgold_core::work::Aborted;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes read at once; a file up to this size needs one blocking task.
pub(super) const PIECE: usize = 128 << 10;

/// A file being sent.
#[derive(Debug)]
pub(super) struct FileBody {
    /// Bytes not yet handed over.
    left: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Ready(File),
    Reading(JoinHandle<io::Result<(File, Bytes)>>),
    Broken,
}

impl FileBody {
    /// The next `left` bytes of a file.
    pub(super) fn new(file: File, left: u64) -> FileBody {
        FileBody { left, state: State::Ready(file) }
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let read = match std::mem::replace(&mut self.state, State::Broken) {
            State::Broken => return Poll::Ready(Some(Err(Aborted))),
            State::Ready(file) => self.read(file),
            State::Reading(read) => read,
        };
        let mut read = read;
        match Pin::new(&mut read).poll(cx) {
            Poll::Pending => {
                self.state = State::Reading(read);
                Poll::Pending
            }
            // The file became shorter, so the announced length cannot be kept.
            Poll::Ready(Ok(Ok((file, bytes)))) if !bytes.is_empty() => {
                self.left -= bytes.len() as u64;
                if self.left > 0 {
                    self.state = State::Ready(file);
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(_) => Poll::Ready(Some(Err(Aborted))),
        }
    }

    fn read(&self, mut file: File) -> JoinHandle<io::Result<(File, Bytes)>> {
        let most = self.left.min(PIECE as u64);
        spawn_blocking(move || {
            let bytes = read_up_to(&mut file, most)?;
            Ok((file, bytes))
        })
    }
}

pub(super) fn read_up_to(file: &mut File, most: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; most as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes.into())
}
