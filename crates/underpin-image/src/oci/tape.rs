//! The entries of a tar that is on the disk: their names and where their bytes are. Long names of GNU and pax are put
//! together; no entry makes this reserve more memory than a name can need.

use super::OciError;
use super::spool::Slice;
use bstr::BString;
use std::path::Path;
use tar::{EntryType, Header, PaxExtensions};
use underpin_elf::Source;

const BLOCK: u64 = 512;
/// More than names and attributes of one file have.
const LONGEST_EXTENSION: u64 = 1 << 20;

/// One entry.
pub(super) struct Member {
    pub name: BString,
    pub link: BString,
    pub kind: EntryType,
    pub mode: u32,
    pub uid: u64,
    pub gid: u64,
    /// Where its header is, for errors.
    pub at: u64,
    /// Where its bytes are.
    pub offset: u64,
    pub size: u64,
}

/// Goes over the entries of a tar.
pub(super) struct Tape<'a> {
    pub slice: &'a Slice,
    pub path: &'a Path,
    pub blob: &'a str,
    at: u64,
    next: Extensions,
}

/// What entries say about the one after them.
#[derive(Default)]
struct Extensions {
    name: Option<BString>,
    link: Option<BString>,
    size: Option<u64>,
    uid: Option<u64>,
    gid: Option<u64>,
    sparse: bool,
}

impl<'a> Tape<'a> {
    pub(super) fn new(slice: &'a Slice, path: &'a Path, blob: &'a str) -> Tape<'a> {
        Tape { slice, path, blob, at: 0, next: Extensions::default() }
    }

    pub(super) fn error(&self, offset: u64, reason: impl Into<String>) -> OciError {
        OciError::Blob { path: self.path.to_owned(), blob: self.blob.to_owned(), offset, reason: reason.into() }
    }

    /// The next entry that is a file of some kind; `None` at the end.
    pub(super) fn member(&mut self) -> Result<Option<Member>, OciError> {
        loop {
            let at = self.at;
            let Some(header) = self.header()? else { return Ok(None) };
            let own_size = self.field(at, header.entry_size())?;
            let kind = header.entry_type();
            let size = if is_extension(kind) { own_size } else { self.next.size.unwrap_or(own_size) };
            let offset = at + BLOCK;
            let end = offset.checked_add(size).filter(|end| *end <= self.slice.size);
            let end = end.ok_or_else(|| self.error(at, format!("its {size} bytes go beyond the end of the tar")))?;
            self.at = end.next_multiple_of(BLOCK);
            if is_extension(kind) {
                self.extension(kind, at, size)?;
                continue;
            }
            let next = std::mem::take(&mut self.next);
            if next.sparse || kind.is_gnu_sparse() {
                return Err(self.error(at, "a sparse file, which no image format has: pack it without --sparse"));
            }
            return Ok(Some(Member {
                name: next.name.unwrap_or_else(|| header.path_bytes().into_owned().into()),
                link: next
                    .link
                    .or_else(|| header.link_name_bytes().map(|link| link.into_owned().into()))
                    .unwrap_or_default(),
                kind,
                mode: self.field(at, header.mode())? & 0o7777,
                uid: next.uid.map_or_else(|| self.field(at, header.uid()), Ok)?,
                gid: next.gid.map_or_else(|| self.field(at, header.gid()), Ok)?,
                at,
                offset,
                size,
            }));
        }
    }

    fn field<T>(&self, at: u64, value: std::io::Result<T>) -> Result<T, OciError> {
        value.map_err(|error| self.error(at, error.to_string()))
    }

    /// The header at the current place, if there is one and its sum is right.
    fn header(&self) -> Result<Option<Header>, OciError> {
        if self.at >= self.slice.size {
            return Ok(None);
        }
        let mut header = Header::new_old();
        let read = self.slice.read_exact_at(self.at, header.as_mut_bytes());
        read.map_err(|_| self.error(self.at, "the tar ends within a header: it is cut off"))?;
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = header.cksum().ok();
        let bytes = header.as_bytes();
        let computed: u32 = bytes[..148].iter().chain(&bytes[156..]).map(|byte| u32::from(*byte)).sum::<u32>() + 8 * 32;
        if sum != Some(computed) {
            return Err(self.error(self.at, "not a header of tar: its checksum is wrong"));
        }
        Ok(Some(header))
    }

    fn extension(&mut self, kind: EntryType, at: u64, size: u64) -> Result<(), OciError> {
        if size > LONGEST_EXTENSION {
            return Err(self.error(at, format!("a name or attributes of {size} bytes: at most 1 MiB is read")));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        self.slice.read_exact_at(at + BLOCK, &mut bytes).map_err(OciError::io(self.path))?;
        let text = |bytes: &[u8]| BString::from(bytes.split(|byte| *byte == 0).next().unwrap_or_default());
        match kind {
            EntryType::GNULongName => self.next.name = Some(text(&bytes)),
            EntryType::GNULongLink => self.next.link = Some(text(&bytes)),
            EntryType::XHeader => self.pax(&bytes, at)?,
            _ => {}
        }
        Ok(())
    }

    fn pax(&mut self, bytes: &[u8], at: u64) -> Result<(), OciError> {
        for record in PaxExtensions::new(bytes) {
            let record = record.map_err(|error| self.error(at, error.to_string()))?;
            let value = record.value_bytes();
            let number = || std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            let wrong = || self.error(at, "a number of its pax header is none");
            match record.key_bytes() {
                b"path" => self.next.name = Some(value.into()),
                b"linkpath" => self.next.link = Some(value.into()),
                b"size" => self.next.size = Some(number().ok_or_else(wrong)?),
                b"uid" => self.next.uid = Some(number().ok_or_else(wrong)?),
                b"gid" => self.next.gid = Some(number().ok_or_else(wrong)?),
                key if key.starts_with(b"GNU.sparse.") => self.next.sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether an entry is about the next one, or about all.
fn is_extension(kind: EntryType) -> bool {
    kind.is_gnu_longname()
        || kind.is_gnu_longlink()
        || kind.is_pax_local_extensions()
        || kind.is_pax_global_extensions()
}
