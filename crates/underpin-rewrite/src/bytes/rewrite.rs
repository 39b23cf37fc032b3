//! A rewrite as data: patches inside the file, bytes after its end, where each string is, what it costs at load.

use crate::edits::Strategy;
use bstr::BString;
use serde::Serialize;
use underpin_elf::FileOffset;

/// Bytes of the file that change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where in the file.
    pub offset: FileOffset,
    /// The new bytes, which replace as many old ones.
    pub bytes: Vec<u8>,
}

/// A string and its new place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedString {
    /// The string, without its NUL.
    pub text: BString,
    /// Where it is in the rewritten file.
    pub offset: FileOffset,
    /// The kind of place.
    pub strategy: Strategy,
}

/// What a rewritten file costs more than the original, each time it is loaded, or as long as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadCost {
    /// Bytes by which the file grows, record included.
    pub file_bytes: u64,
    /// Bytes by which the mapped part grows.
    pub mapped_bytes: u64,
    /// Additional PT_LOAD segments.
    pub segments: u32,
    /// Additional mmap calls (negative if zeros no longer need a mapping of their own).
    pub mmap_calls: i32,
    /// Additional pread64 calls, for a program header table outside the first 832 bytes.
    pub read_calls: u32,
}

/// A disadvantage of a rewritten file compared with the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caution {
    /// The program header table no longer follows the file header directly, in a file without a section table: strip
    /// and objcopy refuse such a file, patchelf breaks it.
    TableMoved,
    /// The file has no section table: strip and objcopy would not keep the names (they refuse most such files anyway).
    Unregistered,
    /// A kernel before 5.18 computes the address of the moved program header table wrongly and cannot start it
    /// (`fs/binfmt_elf.c`, AT_PHDR).
    NeedsKernel5_18,
}

/// The bytes of a rewrite, before any file is touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// Size of the file that it is for, in bytes.
    pub original_size: u64,
    /// This many of its bytes stay where they are, except for the patches; `appended` replaces the rest.
    pub kept: u64,
    /// Changed bytes inside the kept part, ascending, never overlapping.
    pub patches: Vec<Patch>,
    /// Bytes after the kept part.
    pub appended: Vec<u8>,
    /// The new strings.
    pub placed: Vec<PlacedString>,
    /// What it costs.
    pub cost: LoadCost,
    /// What else to know before it is applied.
    pub cautions: Vec<Caution>,
}

impl Patch {
    /// The file offset after its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.0.saturating_add(self.bytes.len() as u64)
    }
}

impl Rewrite {
    /// Whether the file already is as requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patches.is_empty() && self.appended.is_empty()
    }

    /// The rewritten file. `original` must be the bytes that the rewrite was planned for.
    #[must_use]
    pub fn apply(&self, original: &[u8]) -> Vec<u8> {
        let kept = usize::try_from(self.kept).unwrap_or(usize::MAX).min(original.len());
        let mut bytes = Vec::with_capacity(kept.saturating_add(self.appended.len()));
        bytes.extend_from_slice(original.get(..kept).unwrap_or(original));
        for patch in &self.patches {
            let start = usize::try_from(patch.offset.0).unwrap_or(usize::MAX);
            if let Some(place) = bytes.get_mut(start..).and_then(|rest| rest.get_mut(..patch.bytes.len())) {
                place.copy_from_slice(&patch.bytes);
            }
        }
        bytes.extend_from_slice(&self.appended);
        bytes
    }
}
