//! An answer, as its source makes it: the server itself, a file or an application.

use super::file_body::FileBody;
use bytes::Bytes;
use foolsgold_core::work::{Aborted, Response, ResponseBody};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Where the bytes of an answer come from.
#[derive(Debug)]
pub(super) enum Source {
    /// There are none, or none left.
    Empty,
    /// All of them.
    Whole(Bytes),
    /// From the application, as it makes them.
    Coming(mpsc::Receiver<Result<Bytes, Aborted>>),
    /// From a file.
    File(Box<FileBody>),
}

impl Source {
    /// Its length if it is known.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Source::Empty => Some(0),
            Source::Whole(bytes) => Some(bytes.len() as u64),
            Source::Coming(_) => None,
            Source::File(file) => Some(file.left()),
        }
    }
}

/// An answer before it is adapted to its request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) source: Source,
}

impl Answer {
    /// A sentence for people.
    pub(super) fn text(status: StatusCode, sentence: &'static str) -> Answer {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        Answer { status, headers, source: Source::Whole(Bytes::from_static(sentence.as_bytes())) }
    }

    /// The same, and the connection is closed.
    pub(super) fn last(status: StatusCode, sentence: &'static str) -> Answer {
        Answer::text(status, sentence).and_close()
    }

    /// Closes the connection after it; an HTTP/2 answer cannot announce that.
    pub(super) fn and_close(mut self) -> Answer {
        self.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        self
    }

    /// Splits an application's response into the answer and the file that it named instead of a body.
    pub(super) fn from_response(response: Response) -> (Answer, Option<PathBuf>) {
        let (source, file) = match response.body {
            ResponseBody::Whole(bytes) => (Source::Whole(bytes), None),
            ResponseBody::Coming(receiver) => (Source::Coming(receiver), None),
            ResponseBody::File(path) => (Source::Empty, Some(path)),
        };
        (Answer { status: response.status, headers: response.headers, source }, file)
    }
}
