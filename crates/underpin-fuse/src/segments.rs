//! The ELF header and the program headers.

use crate::layout::{KNOWN, Layout};
use crate::object::Object;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_NOTE: u32 = 4;
const PT_TLS: u32 = 7;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PT_GNU_STACK: u32 = 0x6474_e551;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const PT_GNU_PROPERTY: u32 = 0x6474_e553;

const READ: u32 = 4;
const WRITE: u32 = 2;
const EXECUTE: u32 = 1;

const ET_DYN: u16 = 3;
/// Sizes of the ELF header, a program header and a section header.
const SIZES: [u16; 3] = [64, 56, 64];

/// One program header.
#[derive(Clone, Copy, Default)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

/// What is not a member's, as far as the layout does not say where it lies.
pub(crate) struct Own {
    /// The address behind the last table.
    pub tables: u64,
    /// The table of unwind information: address and size.
    pub frames: (u64, u64),
    /// The size of the note.
    pub note: u64,
}

/// Writes both into the first bytes of the file; what points to section headers is written with those.
pub(crate) fn write(out: &mut [u8], objects: &[Object], layout: &Layout, own: &Own) {
    let mut segments = of_members(objects, layout);
    segments.extend(of_file(layout, own));
    // The layout has counted on the most there can be: the others are PT_NULL.
    segments.resize(layout.segments as usize, Segment::default());
    let mut head = Vec::with_capacity(layout.head as usize);
    // 64 bits, little-endian, version 1, System V.
    head.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    for half in [ET_DYN, layout.processor.number(), 1, 0] {
        head.extend(half.to_le_bytes());
    }
    // No entry point; the program headers follow; no section headers so far, no flags.
    head.extend([0; 8]);
    head.extend(u64::from(SIZES[0]).to_le_bytes());
    head.extend([0; 12]);
    for half in [SIZES[0], SIZES[1], layout.segments as u16, SIZES[2], 0, 0] {
        head.extend(half.to_le_bytes());
    }
    for segment in segments {
        head.extend(segment.kind.to_le_bytes());
        head.extend(segment.flags.to_le_bytes());
        let Segment { offset, address, file_size, memory_size, align, .. } = segment;
        for word in [offset, address, address, file_size, memory_size, align] {
            head.extend(word.to_le_bytes());
        }
    }
    out[..head.len()].copy_from_slice(&head);
}

/// The first page, and the segments of members, moved.
fn of_members(objects: &[Object], layout: &Layout) -> Vec<Segment> {
    let first = part(PT_LOAD, READ, 0, 0, layout.head, layout.page);
    let loads = layout.members.iter().flat_map(|place| {
        let loads = objects[place.object].loads().into_iter();
        let joined = place.joined.map(|joined| joined.start);
        // The writable segment, which is the last one, begins where the one before it does.
        loads.filter(move |load| joined != Some(load.vaddr.0)).map(move |load| {
            let flag = |set: bool, flag: u32| if set { flag } else { 0 };
            let before = joined.filter(|_| load.flags.write).map_or(0, |start| load.vaddr.0 - start);
            Segment {
                kind: PT_LOAD,
                flags: flag(load.flags.read, READ) | flag(load.flags.write, WRITE) | flag(load.flags.execute, EXECUTE),
                offset: place.file_of(&load) - before,
                address: load.vaddr.0.wrapping_add(place.base) - before,
                file_size: load.file_size + before,
                memory_size: load.memory_size + before,
                align: layout.page,
            }
        })
    });
    std::iter::once(first).chain(loads).collect()
}

/// What is new: data, code and tables, and what points into them.
fn of_file(layout: &Layout, own: &Own) -> Vec<Segment> {
    let (data, offset, size) = layout.data;
    let in_data = |address: u64| address - data + offset;
    let in_tables = |address: u64| address - layout.tables.0 + layout.tables.1;
    let note = layout.head - own.note;
    let known = layout.known().map_or(0, |_| KNOWN);
    let mut all = vec![
        Segment { memory_size: size + known, ..part(PT_LOAD, READ | WRITE, offset, data, size, layout.page) },
        part(PT_LOAD, READ | EXECUTE, layout.code.1, layout.code.0, layout.code_size, layout.page),
        part(PT_LOAD, READ, layout.tables.1, layout.tables.0, own.tables - layout.tables.0, layout.page),
        part(PT_DYNAMIC, READ | WRITE, in_data(layout.dynamic), layout.dynamic, layout.dynamic_size, 8),
    ];
    if layout.tls_memory > 0 {
        let image = part(PT_TLS, READ, offset, layout.tls_address, layout.tls_file, layout.tls_align);
        all.push(Segment { memory_size: layout.tls_memory, ..image });
    }
    if layout.property.1 > 0 {
        all.push(part(PT_GNU_PROPERTY, READ, layout.property.0, layout.property.0, layout.property.1, 8));
    }
    all.extend([
        part(PT_NOTE, READ, note, note, own.note, 4),
        part(PT_GNU_EH_FRAME, READ, in_tables(own.frames.0), own.frames.0, own.frames.1, 4),
        part(PT_GNU_STACK, READ | WRITE, 0, 0, 0, 16),
        part(PT_GNU_RELRO, READ, offset, data, size, 1),
    ]);
    all
}

/// A segment that is as long in memory as in the file.
fn part(kind: u32, flags: u32, offset: u64, address: u64, size: u64, align: u64) -> Segment {
    Segment { kind, flags, offset, address, file_size: size, memory_size: size, align }
}
