//! What a bundled program's launcher receives: the head of its data, field by field as `underpin-sys/launcher/head.rs`
//! reads it, and the launcher's own image.

use super::BundleError;
use underpin_elf::{Elf, Machine, SegmentKind};

/// The text before the distance from the entry code to the head; its last character is the version of this layout.
const PARAMS: &[u8; 16] = b"underpin-bundle3";

/// The text before the size of the code that the loader's system calls jump to.
const HOOKS: &[u8; 16] = b"underpin-hooks-1";

/// A launcher's image, as it will be in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    bytes: Vec<u8>,
    entry: u64,
    params: usize,
    machine: Machine,
}

impl Launcher {
    /// Lays an ELF image out as it will be in memory.
    ///
    /// # Errors
    /// [`BundleError::Launcher`] if it is not a launcher of this layout.
    pub fn new(image: &[u8]) -> Result<Launcher, BundleError> {
        let elf = Elf::read(image).map_err(|error| BundleError::Launcher(error.to_string()))?;
        let bad = |what: &str| BundleError::Launcher(what.to_owned());
        let end = elf.loads().map(|load| load.vaddr.0.saturating_add(load.memory_size)).max().unwrap_or(0);
        if end > 1 << 20 {
            return Err(bad("larger than a launcher is"));
        }
        let mut bytes = vec![0; usize::try_from(end).unwrap_or(0)];
        for load in elf.loads().filter(|load| !load.flags.write) {
            let (from, to, size) = (as_usize(load.offset.0), as_usize(load.vaddr.0), as_usize(load.file_size));
            let source = image.get(from..).and_then(|rest| rest.get(..size)).ok_or_else(|| bad("cut short"))?;
            let target = bytes.get_mut(to..).and_then(|rest| rest.get_mut(..size)).ok_or_else(|| bad("overlong"))?;
            target.copy_from_slice(source);
        }
        let mut places = bytes.windows(PARAMS.len()).enumerate().filter(|(_, window)| *window == PARAMS);
        let (Some((params, _)), None) = (places.next(), places.next()) else {
            return Err(bad("of another version than this bundler"));
        };
        Ok(Launcher { entry: elf.entry.0, params: params + PARAMS.len(), machine: elf.ident.machine, bytes })
    }

    /// The machine that it is for.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Its size in memory, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The code that the loader's system calls jump to (`underpin-sys`, `launcher/hooks.rs`); its table of names follows
    /// it. `None` if the machine has none.
    pub(super) fn hooks(&self) -> Option<&[u8]> {
        let start = self.bytes.windows(HOOKS.len()).position(|window| window == HOOKS)? + HOOKS.len();
        let size = u64::from_le_bytes(*self.bytes.get(start..)?.first_chunk()?);
        self.bytes.get(start + 16..)?.get(..as_usize(size))
    }

    /// Its entry point, from its start.
    pub(super) fn entry(&self) -> u64 {
        self.entry
    }

    /// The image with the distance from its start to the head written into it.
    pub(super) fn pointed_at(&self, head: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        // The launcher adds the distance to the address of the text before this word.
        let distance = head.wrapping_sub((self.params - PARAMS.len()) as u64);
        if let Some(place) = bytes.get_mut(self.params..self.params + 8) {
            place.copy_from_slice(&distance.to_le_bytes());
        }
        bytes
    }
}

/// A number from the file as an index; one that does not fit becomes an index beyond any file.
pub(super) fn as_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Whether a program has the PT_INTERP and PT_DYNAMIC that a launcher replaces.
pub(super) fn is_dynamic_program(elf: &Elf) -> bool {
    elf.interpreter.is_some() && elf.segment(SegmentKind::Dynamic).is_some()
}

/// The head; the launcher's source documents each field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub own_address: u64,
    pub entry: u64,
    pub headers: u64,
    pub header_count: u64,
    pub form: u64,
    pub up: u64,
    pub loader: u64,
    pub loader_size: u64,
    pub interpreter: u64,
    pub dynamic: u64,
    pub strings: u64,
    pub objects: u64,
    pub object_count: u64,
    pub search_slot: u64,
    pub search: u64,
    pub room: u64,
    pub room_size: u64,
    pub charsets_of: u64,
    pub charsets: u64,
    pub functions: [u64; 4],
    pub fixups: u64,
    pub fixup_count: u64,
    pub preinit: u64,
    pub hooks: u64,
    pub hooks_size: u64,
}

impl Head {
    /// Its size in bytes: the fields, and three words that the launcher writes.
    pub const SIZE: u64 = 31 * 8;
    /// The offset of the last of those words, which DT_PREINIT_ARRAY points to.
    pub const PREINIT: u64 = Head::SIZE - 8;

    /// The bytes, in the byte order that all machines with a launcher use.
    pub fn bytes(&self) -> Vec<u8> {
        let fields = [
            self.own_address,
            self.entry,
            self.headers,
            self.header_count,
            self.form,
            self.up,
            self.loader,
            self.loader_size,
            self.interpreter,
            self.dynamic,
            self.strings,
            self.objects,
            self.object_count,
            self.search_slot,
            self.search,
            self.room,
            self.room_size,
            self.charsets_of,
            self.charsets,
        ];
        let written_by_the_launcher = [0, 0, 0];
        let last = [self.fixups, self.fixup_count, self.preinit, self.hooks, self.hooks_size];
        fields
            .into_iter()
            .chain(self.functions)
            .chain(last)
            .chain(written_by_the_launcher)
            .flat_map(u64::to_le_bytes)
            .collect()
    }
}
