//! Where everything lies: members whole, one behind the other; then what is written at start, a few bytes of code, and
//! the tables, whose size is known last.

use crate::answers::{self, Question, SLOTS};
use crate::machine::Processor;
use crate::object::Object;
use underpin_elf::{Segment, SegmentKind};

/// Entries of the new dynamic section, DT_NEEDED left out.
pub(crate) const DYNAMIC_ENTRIES: u64 = 32;

/// Where one member lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Index in the closure.
    pub object: usize,
    /// What its addresses are moved by.
    pub base: u64,
    /// Where its file starts in the fused file.
    pub file: u64,
    /// Where its thread-local block starts in the merged one.
    pub tls: u64,
    /// Whether its read-only data and its writable data are one segment.
    pub joined: Option<Joined>,
}

impl Place {
    /// Where the content of a segment starts in the fused file.
    pub fn file_of(&self, load: &Segment) -> u64 {
        let moved = self.joined.filter(|_| load.flags.write).map_or(0, |joined| joined.moved);
        self.file + load.offset.0 + moved
    }
}

/// Read-only data that is mapped together with the writable data behind it, and protected together with what is
/// read-only after relocation: one call of mmap less for each member. Of 98 in Emacs and 187 in ffmpeg that is noticeable.
/// It is written to by nobody in between, because relocations of read-only segments keep a library out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joined {
    /// The address of the read-only segment in the member.
    pub start: u64,
    /// How much farther back in the fused file the writable data lies than in the member's: addresses and offsets of one
    /// segment keep their distance, and linkers let one page of the file be the end of one and the start of the other.
    pub moved: u64,
}

impl Joined {
    /// Decides for a member: its last two segments, if the file does not grow by more than a page.
    fn of(facts: &Object) -> Option<Joined> {
        let loads = facts.loads();
        let [.., data, written] = loads.as_slice() else { return None };
        let relro = facts.segment(SegmentKind::Relro)?;
        let (page, only_read) = (facts.processor.page(), data.flags.read && !data.flags.write && !data.flags.execute);
        let protected = relro.vaddr == written.vaddr && (relro.vaddr.0 + relro.memory_size).is_multiple_of(page);
        let distance = |load: &Segment| load.vaddr.0.wrapping_sub(load.offset.0);
        let moved = distance(written).wrapping_sub(distance(data));
        let gap = written.vaddr.0.checked_sub(data.vaddr.0 + data.memory_size)?;
        let near = moved <= Self::MOST && gap <= Self::MOST + page && data.file_size == data.memory_size;
        let fits = only_read && written.flags.write && !written.flags.execute && protected && near;
        fits.then_some(Joined { start: data.vaddr.0, moved })
    }

    /// A page of x86-64. Segments of other processors are farther apart, and the file would grow by that for each member.
    const MOST: u64 = 4096;
}

/// The functions that answer members and the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    /// Where they are.
    pub code: u64,
    /// Where glibc's are written to.
    pub slots: u64,
    /// Whether a member asks for its path.
    pub asked: bool,
    /// The word that says that the loader knows all names, if it is told some when something is opened.
    pub known: Option<u64>,
}

/// The size of that word in bytes.
pub(crate) const KNOWN: u64 = 8;

/// The fused file, without the sizes of its tables.
#[derive(Debug)]
pub(crate) struct Layout {
    pub processor: Processor,
    /// The alignment of segments.
    pub page: u64,
    pub members: Vec<Place>,
    by_object: Vec<Option<usize>>,
    /// Number of program headers.
    pub segments: u64,
    /// Where the properties of the file are: offset and size, which may be 0.
    pub property: (u64, u64),
    /// Size of the first segment: headers, properties and the note.
    pub head: u64,
    /// The merged image of thread-local variables; the start of the writable segment.
    pub tls_address: u64,
    pub tls_file: u64,
    pub tls_memory: u64,
    pub tls_align: u64,
    pub dynamic: u64,
    pub dynamic_size: u64,
    pub init_array: u64,
    pub fini_array: u64,
    /// The writable segment: address, offset, size.
    pub data: (u64, u64, u64),
    /// The segment of code.
    pub code: (u64, u64),
    pub code_size: u64,
    /// What members hear of glibc, if one asks.
    pub answers: Option<Answers>,
    /// The segment of tables.
    pub tables: (u64, u64),
}

pub(crate) fn up(value: u64, to: u64) -> u64 {
    value.next_multiple_of(to)
}

impl Layout {
    /// `needed`: the number of DT_NEEDED; `tells`: whether the loader is told names when something is opened.
    pub fn new(
        objects: &[Object],
        members: &[usize],
        (property, note): (u64, u64),
        (needed, tells): (u64, bool),
    ) -> Layout {
        let mut layout = Layout::empty(objects);
        let page = layout.page;
        let segments = |facts: &Object| facts.loads().len() - usize::from(Joined::of(facts).is_some());
        let loads: usize = members.iter().map(|&member| segments(&objects[member])).sum();
        layout.segments = loads as u64 + 11;
        layout.property = (up(64 + 56 * layout.segments, 16), property);
        layout.head = layout.property.0 + property + note;
        let (mut address, mut file) = (up(layout.head, page), up(layout.head, page));
        for &object in members {
            let facts = &objects[object];
            let loads = facts.loads();
            let low = loads.iter().map(|load| load.vaddr.0).min().unwrap_or(0) / page * page;
            let high = loads.iter().map(|load| load.vaddr.0 + load.memory_size).max().unwrap_or(0);
            let tls = layout.place_tls(facts);
            let place = Place { object, base: address - low, file, tls, joined: Joined::of(facts) };
            layout.by_object[object] = Some(layout.members.len());
            layout.members.push(place);
            address = up(address + high - low, page);
            file = up(loads.iter().map(|load| place.file_of(load) + load.file_size).max().unwrap_or(file), page);
        }
        let arrays: u64 =
            members.iter().map(|&member| &objects[member]).map(|o| o.init_array.1 + o.fini_array.1 + 32).sum::<u64>();
        layout.tls_address = up(address, layout.tls_align.max(page));
        layout.dynamic = up(layout.tls_address + layout.tls_file, 16);
        layout.dynamic_size = (DYNAMIC_ENTRIES + needed) * 16;
        layout.init_array = layout.dynamic + layout.dynamic_size;
        layout.fini_array = layout.init_array + arrays + 16;
        let slots = layout.fini_array + arrays + 16;
        let end = up(slots + SLOTS, page);
        layout.data = (layout.tls_address, file, end - layout.tls_address);
        // What is written to later has a page of its own: those before it become read-only.
        let known = tells.then_some(end);
        let end = if tells { end + page } else { end };
        layout.code = (end, file + layout.data.2);
        layout.code_size = layout.processor.protect_size();
        let asked = members.iter().any(|&member| answers::asks(&objects[member]));
        if asked || tells {
            let code = up(end + layout.code_size, 16);
            layout.code_size = code + layout.processor.answers_size() - end;
            layout.answers = Some(Answers { code, slots, asked, known });
        }
        layout.tables = (end + page, layout.code.1 + page);
        layout
    }

    fn empty(objects: &[Object]) -> Layout {
        // The program has decided for all: the loader takes no library for another processor.
        let processor = objects[0].processor;
        Layout {
            processor,
            page: processor.page(),
            members: Vec::new(),
            by_object: vec![None; objects.len()],
            segments: 0,
            property: (0, 0),
            head: 0,
            tls_address: 0,
            tls_file: 0,
            tls_memory: 0,
            tls_align: 1,
            dynamic: 0,
            dynamic_size: 0,
            init_array: 0,
            fini_array: 0,
            data: (0, 0, 0),
            code: (0, 0),
            code_size: 0,
            answers: None,
            tables: (0, 0),
        }
    }

    /// What a member's reference to a function of glibc leads to instead.
    pub fn answer(&self, name: &[u8]) -> Option<(Question, u64)> {
        let question = Question::of(name)?;
        let answers = self.answers.filter(|answers| answers.asked)?;
        Some((question, answers.code + self.processor.answer(question)))
    }

    /// Where the function is that stands for the process's dlopen, if the loader is told names when something is opened.
    pub fn opens(&self) -> Option<u64> {
        let answers = self.answers.filter(|answers| answers.known.is_some())?;
        Some(answers.code + self.processor.opens())
    }

    /// Where the word is that says that the loader knows all names, if it is told some later.
    pub fn known(&self) -> Option<u64> {
        self.answers?.known
    }

    pub fn place_of(&self, object: usize) -> Option<&Place> {
        self.by_object.get(object).copied().flatten().and_then(|place| self.members.get(place))
    }

    fn place_tls(&mut self, facts: &Object) -> u64 {
        let Some(tls) = facts.segment(SegmentKind::Tls) else { return 0 };
        let align = tls.align.max(1);
        // The block keeps its own distance from an aligned address (`l_tls_firstbyte_offset`).
        let start = up(self.tls_memory, align) + tls.vaddr.0 % align;
        self.tls_align = self.tls_align.max(align);
        if tls.file_size > 0 {
            self.tls_file = start + tls.file_size;
        }
        self.tls_memory = start + tls.memory_size;
        start
    }
}
