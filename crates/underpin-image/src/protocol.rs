//! What host and guest say to each other over the virtio port: one request, then frames until the end.
//!
//! Everything is little-endian, as both processors are. The request: its size, then the working directory, the arguments, the
//! environment and the files to send, each list with its length in front, each text with its size, in which a NUL byte at
//! its end is counted. A frame: channel, three zeroes, size, payload. The other side is `guest/init.c`.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// What the guest is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The command: a path in the image, or a name that is looked for in its PATH.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub directory: OsString,
    /// Files that are sent when it has ended.
    pub files: Vec<OsString>,
}

impl Request {
    /// As it goes over the port.
    #[must_use]
    pub fn encoded(&self) -> Vec<u8> {
        let mut body = Vec::new();
        text(&mut body, self.directory.as_bytes());
        list(&mut body, self.arguments.iter().map(|word| word.as_bytes().to_vec()));
        let variable = |(name, value): &(OsString, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        list(&mut body, self.environment.iter().map(variable));
        list(&mut body, self.files.iter().map(|path| path.as_bytes().to_vec()));
        let mut all = (body.len() as u32).to_le_bytes().to_vec();
        all.extend(body);
        all
    }
}

fn list(body: &mut Vec<u8>, texts: impl ExactSizeIterator<Item = Vec<u8>>) {
    body.extend((texts.len() as u32).to_le_bytes());
    texts.for_each(|bytes| text(body, &bytes));
}

fn text(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend((bytes.len() as u32 + 1).to_le_bytes());
    body.extend(bytes);
    body.push(0);
}

/// How the command ended and what the guest's kernel accounted to it and to the children that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// As wait4(2) gives it.
    pub status: i32,
    /// Why the command could not be started; 0: it was.
    pub exec_errno: i32,
    /// From before the fork to after the end, by the guest's clock.
    pub wall_us: u64,
    /// Time in user space.
    pub user_us: u64,
    /// Time in the kernel.
    pub system_us: u64,
    /// Most memory that was resident.
    pub max_rss_kib: u64,
    /// Page faults without input from a disk.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
}

/// One message of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The guest is up and waits for the request.
    Hello,
    /// Standard output of the command.
    Out(Vec<u8>),
    /// Standard error of the command.
    Err(Vec<u8>),
    /// The command has ended.
    Status(Status),
    /// A file begins: its place in the request, its mode, and an error number if it cannot be sent.
    FileBegin {
        /// Which of the request's files.
        index: u32,
        /// `st_mode`.
        mode: u32,
        /// 0, or why there is no content.
        error: i32,
    },
    /// Bytes of the file that began last.
    FileData(Vec<u8>),
    /// That file has ended, with the error number of the last read.
    FileEnd {
        /// 0, or why there is no more.
        error: i32,
    },
    /// Nothing more comes.
    End,
}

/// A payload is at most what the guest reads at once.
const LARGEST: usize = 1 << 16;
const HEAD: usize = 8;

/// Takes frames out of a stream that comes in pieces.
#[derive(Debug, Default)]
pub struct Frames {
    pending: Vec<u8>,
}

impl Frames {
    /// Adds what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole frame, if there is one.
    ///
    /// # Errors
    /// If the bytes are not what the guest's program sends: with the reason.
    pub fn take(&mut self) -> Result<Option<Frame>, String> {
        let Some(head) = self.pending.first_chunk::<HEAD>() else { return Ok(None) };
        let [channel, a, b, c, size @ ..] = *head;
        let size = u32::from_le_bytes(size) as usize;
        if [a, b, c] != [0; 3] || size > LARGEST {
            return Err(format!("a frame cannot begin with {head:02x?}"));
        }
        if self.pending.len() < HEAD + size {
            return Ok(None);
        }
        let payload = self.pending[HEAD..HEAD + size].to_vec();
        self.pending.drain(..HEAD + size);
        frame(channel, payload).map(Some)
    }
}

fn frame(channel: u8, payload: Vec<u8>) -> Result<Frame, String> {
    let number = |at: usize| -> Result<u32, String> {
        let bytes = payload.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes).ok_or_else(|| format!("a frame of channel {channel} is cut off"))
    };
    Ok(match channel {
        0 => Frame::Hello,
        1 => Frame::Out(payload),
        2 => Frame::Err(payload),
        3 => Frame::Status(serde_json::from_slice(&payload).map_err(|error| format!("the status: {error}"))?),
        4 => Frame::FileBegin { index: number(0)?, mode: number(4)?, error: number(8)? as i32 },
        5 => Frame::FileData(payload),
        6 => Frame::FileEnd { error: number(0)? as i32 },
        7 => Frame::End,
        other => return Err(format!("no channel has the number {other}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(channel: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![channel, 0, 0, 0];
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn frames_are_whole_however_the_stream_is_cut() {
        let stream = [
            sent(0, b"{}\n"),
            sent(1, b"out"),
            sent(2, b""),
            sent(4, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]),
            sent(7, b""),
        ]
        .concat();
        let expected = [
            Frame::Hello,
            Frame::Out(b"out".to_vec()),
            Frame::Err(Vec::new()),
            Frame::FileBegin { index: 1, mode: 2, error: 3 },
            Frame::End,
        ];
        for size in 1..=stream.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for piece in stream.chunks(size) {
                frames.push(piece);
                while let Some(frame) = frames.take().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, expected, "pieces of {size}");
        }
    }

    #[test]
    fn what_no_guest_sends_is_an_error_and_not_a_wait() {
        for bytes in
            [sent(8, b""), sent(6, b"123"), sent(3, b"{}"), vec![1, 9, 0, 0, 0, 0, 0, 0], vec![1, 0, 0, 0, 1, 0, 1, 0]]
        {
            let mut frames = Frames::default();
            frames.push(&bytes);
            assert!(frames.take().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_request_has_every_text_with_its_size_and_end() {
        let request = Request {
            arguments: vec!["a".into()],
            environment: vec![("B".into(), "c".into())],
            directory: "/".into(),
            files: Vec::new(),
        };
        let expected = [
            &[32, 0, 0, 0, 2, 0, 0, 0][..],
            b"/\0",
            &[1, 0, 0, 0, 2, 0, 0, 0],
            b"a\0",
            &[1, 0, 0, 0, 4, 0, 0, 0],
            b"B=c\0",
            &[0; 4],
        ];
        assert_eq!(request.encoded(), expected.concat());
    }
}
