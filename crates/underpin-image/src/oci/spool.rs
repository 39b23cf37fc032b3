//! Ranges of files that are already on the disk: what an image is read from. A layer that is compressed is first written out
//! whole to a temporary file without a name, within a limit; nothing is unpacked.

use super::{OciError, layer};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use underpin_elf::Source;

/// Part of an open file.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub file: Arc<File>,
    pub offset: u64,
    pub size: u64,
}

impl Source for Slice {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64).filter(|end| *end <= self.size);
        end.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.file.read_exact_at(buf, self.offset + offset)
    }
}

impl Slice {
    pub(super) fn of(file: File) -> io::Result<Slice> {
        let size = file.metadata()?.len();
        Ok(Slice { file: Arc::new(file), offset: 0, size })
    }

    pub(super) fn part(&self, offset: u64, size: u64) -> Slice {
        Slice { file: self.file.clone(), offset: self.offset + offset, size }
    }

    pub(super) fn reader(&self) -> Reader {
        Reader { slice: self.clone(), at: 0 }
    }

    pub(super) fn digest(&self) -> io::Result<String> {
        let (mut reader, mut hash, mut buffer) = (self.reader(), Sha256::new(), vec![0; 1 << 16]);
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(layer::named(&hash.finalize())),
                read => hash.update(&buffer[..read]),
            }
        }
    }
}

/// Reads a slice from its begin.
pub(super) struct Reader {
    slice: Slice,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.slice.size.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let read = self.slice.file.read_at(&mut buffer[..wanted], self.slice.offset + self.at)?;
        if read == 0 && wanted > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// How bytes are compressed, by their first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

pub(super) fn compression(slice: &Slice) -> io::Result<Compression> {
    let mut magic = [0; 4];
    if slice.size < 4 {
        return Ok(Compression::None);
    }
    slice.read_exact_at(0, &mut magic)?;
    Ok(match magic {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd] => Compression::Zstd,
        // A frame to be skipped may come first (RFC 8878, 3.1.2).
        [low, 0x2a, 0x4d, 0x18] if low & 0xf0 == 0x50 => Compression::Zstd,
        _ => Compression::None,
    })
}

/// The bytes of a blob without compression: itself, or a temporary file of at most `limit` bytes.
pub(super) fn plain(slice: Slice, limit: u64, path: &Path, blob: &str) -> Result<Slice, OciError> {
    let failed =
        |offset: u64, reason: String| OciError::Blob { path: path.to_owned(), blob: blob.to_owned(), offset, reason };
    let reader: Box<dyn Read> = match compression(&slice).map_err(OciError::io(path))? {
        Compression::None => return Ok(slice),
        Compression::Gzip => Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, slice.reader()))),
        Compression::Zstd => Box::new(Frames { slice, at: 0, frame: None }),
    };
    let mut out = BufWriter::new(tempfile::tempfile().map_err(OciError::io(std::env::temp_dir()))?);
    let size = copy(reader, &mut out, limit).map_err(|(at, error)| failed(at, error.to_string()))?;
    if size > limit {
        return Err(failed(limit, format!("it has more than {limit} bytes: more than an image of its size can hold")));
    }
    let file = out.into_inner().map_err(|error| OciError::io(path)(error.into_error()))?;
    Ok(Slice { file: Arc::new(file), offset: 0, size })
}

/// Copies until just beyond a limit; an error comes with what was copied before it.
fn copy(mut from: Box<dyn Read>, to: &mut dyn Write, limit: u64) -> Result<u64, (u64, io::Error)> {
    let (mut buffer, mut done) = (vec![0; 1 << 16], 0);
    while done <= limit {
        let read = from.read(&mut buffer).map_err(|error| (done, error))?;
        if read == 0 {
            break;
        }
        to.write_all(&buffer[..read]).map_err(|error| (done, error))?;
        done += read as u64;
    }
    Ok(done)
}

/// All frames of zstd one after the other, those to be skipped left out (RFC 8878, 3.1.2). The decoder reads a frame and
/// nothing beyond it.
struct Frames {
    slice: Slice,
    at: u64,
    frame: Option<Box<StreamingDecoder<Reader, FrameDecoder>>>,
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(mut frame) = self.frame.take() {
                let read = frame.read(buffer)?;
                if read > 0 {
                    self.frame = Some(frame);
                    return Ok(read);
                }
                self.at = frame.into_inner().at;
            }
            if self.at == self.slice.size {
                return Ok(0);
            }
            self.next()?;
        }
    }
}

impl Frames {
    /// Begins the frame that is next, or goes beyond it.
    fn next(&mut self) -> io::Result<()> {
        let mut word = [0; 4];
        self.slice.read_exact_at(self.at, &mut word)?;
        if u32::from_le_bytes(word) & 0xffff_fff0 == 0x184d_2a50 {
            self.slice.read_exact_at(self.at + 4, &mut word)?;
            self.at += 8 + u64::from(u32::from_le_bytes(word));
            return if self.at <= self.slice.size { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        let reader = Reader { slice: self.slice.clone(), at: self.at };
        let frame = StreamingDecoder::new(reader).map_err(|error| io::Error::other(error.to_string()))?;
        self.frame = Some(Box::new(frame));
        Ok(())
    }
}
