//! The fused file from its parts.

use crate::bind::Scope;
use crate::layout::{DYNAMIC_ENTRIES, Layout, PAGE, up};
use crate::object::{Malformed, Object};
use crate::relocate::{IRELATIVE, NewReloc, RELATIVE, Relocated, Relocator, TPOFF};
use crate::sections::{self, ALLOC, EXECUTE, MemberSections, Section, TLS, WRITE};
use crate::tables::{Maker, Tables};
use crate::{Closure, Fused, Names, Plan, Refusal, frames, note};
use bstr::{BString, ByteSlice};
use std::collections::{HashMap, HashSet};
use underpin_elf::{Notes, SegmentKind};

const DF_BIND_NOW: u64 = 8;
const DF_STATIC_TLS: u64 = 0x10;
const DF_1_NOW: u64 = 1;
const DF_1_NODELETE: u64 = 8;

/// The parts of the segment of tables: address, file offset and content of each.
#[derive(Default)]
struct Parts {
    parts: Vec<(u64, u64, Vec<u8>)>,
    at: u64,
    file: u64,
}

impl Parts {
    /// Takes a table and says where it lies.
    fn add(&mut self, bytes: Vec<u8>) -> (u64, u64) {
        let (address, size) = (self.at, bytes.len() as u64);
        self.parts.push((address, self.file, bytes));
        self.at = up(self.at + size, 16);
        self.file = up(self.file + size, 16);
        (address, size)
    }
}

/// What is requested from outside, and by which name.
struct Requests {
    /// DT_NEEDED of the fused file, without its own old names.
    shared: Vec<BString>,
    /// The old names of members.
    own: Vec<BString>,
    program: Vec<BString>,
    /// Where to search, the folder of links left out.
    path: Vec<BString>,
}

pub(crate) fn write(closure: &Closure, objects: &[Object], plan: &Plan, names: &Names) -> Result<Fused, Refusal> {
    let requests = requests(closure, objects, plan);
    let mut notes = merged(closure, objects, plan);
    let needed = (requests.shared.len() + requests.own.len()) as u64;
    let layout = Layout::new(objects, &plan.members, note::write(&notes).len() as u64, needed);
    let paths: Vec<BString> = closure.objects.iter().map(|member| member.path.clone()).collect();
    let scope = Scope::new(objects, &closure.initialisation);
    let relocator = Relocator { objects, paths: &paths, scope: &scope, layout: &layout };
    let mut relocated = relocator.run()?;
    let malformed = |(object, error): (usize, Malformed)| Refusal::Malformed { path: paths[object].clone(), error };
    let members = MemberSections::new(objects, &layout, &paths);
    let names_of_members: HashSet<&[u8]> = requests.own.iter().map(|name| name.as_slice()).collect();
    let maker = Maker {
        objects,
        scope: &scope,
        layout: &layout,
        soname: &names.soname,
        section: &|object, at| members.index(object, at),
        is_member: &|name| names_of_members.contains(name),
        request: &|name| name.to_vec(),
    };
    let mut tables = maker.make(&relocated.outside);
    let arrays = Arrays::new(closure, objects, &layout, &mut relocated).map_err(malformed)?;
    let frames = frames::collect(objects, &layout).map_err(malformed)?;
    let writer = Writer { objects, layout: &layout, requests: &requests, names };
    for (note, member) in notes.iter_mut().zip(&plan.members) {
        note.base = layout.place_of(*member).map_or(0, |place| place.base);
    }
    let bytes = writer.file(&mut tables, &mut relocated, &arrays, &frames, &notes, members)?;
    Ok(Fused {
        bytes,
        links: requests.own.clone(),
        program_needs: requests.program.clone(),
        bindings: relocated.bindings,
    })
}

fn requests(closure: &Closure, objects: &[Object], plan: &Plan) -> Requests {
    let is_member = |index: usize| plan.members.contains(&index);
    let mut own: Vec<BString> = Vec::new();
    for &member in &plan.members {
        own.extend(closure.objects[member].names.iter().filter(|name| !name.contains(&b'/')).cloned());
    }
    own.sort();
    own.dedup();
    let wanted: HashSet<usize> =
        plan.members.iter().flat_map(|&member| closure.objects[member].needs.clone()).collect();
    // The name that others use, from the object's own names: the first one requested.
    let mut shared: Vec<BString> = Vec::new();
    for index in 1..objects.len() {
        if wanted.contains(&index)
            && !is_member(index)
            && let Some(name) = closure.objects[index].names.first()
        {
            shared.push(name.clone());
        }
    }
    let program = objects[0]
        .needed
        .iter()
        .filter(|name| !own.iter().any(|own| own == **name))
        .map(|name| BString::from(*name))
        .collect();
    Requests { shared, own, program, path: search_path(closure, objects, plan) }
}

/// Where members would have searched: the folders of shared libraries that a path led to, and the lists of members, for
/// what they open while they run.
fn search_path(closure: &Closure, objects: &[Object], plan: &Plan) -> Vec<BString> {
    let folder = |path: &BString| path.rfind_byte(b'/').map_or_else(|| BString::from("."), |end| path[..end].into());
    let shared = plan.kept.iter().map(|kept| &closure.objects[kept.object]).filter(|kept| kept.by_path);
    let mut all: Vec<BString> = shared.map(|kept| folder(&kept.path)).collect();
    for &member in &plan.members {
        let Some(dynamic) = &objects[member].elf.dynamic else { continue };
        let lists = dynamic.runpath.as_ref().or(dynamic.rpath.as_ref());
        let origin = folder(&closure.objects[member].path);
        all.extend(
            lists
                .into_iter()
                .flat_map(|list| list.split_str(b":"))
                .map(|entry| BString::from(entry.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))),
        );
    }
    let mut seen = HashSet::new();
    all.retain(|entry| !entry.is_empty() && seen.insert(entry.clone()));
    all
}

/// The members for the note; where they lie is not known yet.
fn merged(closure: &Closure, objects: &[Object], plan: &Plan) -> Vec<note::Merged> {
    let one = |&index: &usize| {
        let (member, elf) = (&closure.objects[index], &objects[index].elf);
        let build_id = Notes::read(member.bytes, elf).ok().and_then(|notes| notes.build_id);
        note::Merged {
            path: member.path.clone(),
            soname: elf.dynamic.as_ref().and_then(|dynamic| dynamic.soname.clone()).unwrap_or_default(),
            build_id: build_id.map(|id| id.to_string()).unwrap_or_default(),
            size: member.bytes.len() as u64,
            modified: member.modified,
            base: 0,
        }
    };
    plan.members.iter().map(one).collect()
}

/// Initialisers and finalisers, as addresses of the fused file.
#[derive(Default)]
struct Arrays {
    init: Vec<NewReloc>,
    fini: Vec<NewReloc>,
}

impl Arrays {
    fn new(
        closure: &Closure,
        objects: &[Object],
        layout: &Layout,
        relocated: &mut Relocated,
    ) -> Result<Arrays, (usize, Malformed)> {
        let mut at: HashMap<u64, NewReloc> = HashMap::new();
        let ranges: Vec<(u64, u64)> = layout
            .members
            .iter()
            .flat_map(|place| {
                let facts = &objects[place.object];
                [facts.init_array, facts.fini_array]
                    .map(|(start, size)| (start + place.base, start + place.base + size))
            })
            .filter(|(start, end)| start < end)
            .collect();
        let mut sorted = ranges.clone();
        sorted.sort_unstable();
        for reloc in &relocated.relocs {
            let place = sorted.partition_point(|(start, _)| *start <= reloc.at);
            if place > 0 && reloc.at < sorted[place - 1].1 {
                at.insert(reloc.at, *reloc);
            }
        }
        let mut arrays = Arrays::default();
        // First of all, before any constructor: what was written while relocating becomes read-only.
        arrays.init.push(relative(0, layout.code.0));
        for place in closure.initialisation.iter().filter_map(|&object| layout.place_of(object)) {
            let facts = &objects[place.object];
            let entries = |(start, size): (u64, u64)| -> Vec<NewReloc> {
                (0..size / 8).filter_map(|index| at.get(&(start + place.base + index * 8)).copied()).collect()
            };
            arrays.init.extend(facts.init.map(|init| relative(0, init + place.base)));
            arrays.init.extend(entries(facts.init_array));
            // Finalisers run from the back.
            arrays.fini.extend(facts.fini.map(|fini| relative(0, fini + place.base)));
            arrays.fini.extend(entries(facts.fini_array));
        }
        for (list, start) in [(&mut arrays.init, layout.init_array), (&mut arrays.fini, layout.fini_array)] {
            for (index, reloc) in list.iter_mut().enumerate() {
                reloc.at = start + index as u64 * 8;
                relocated.relocs.push(*reloc);
            }
        }
        Ok(arrays)
    }
}

fn relative(at: u64, to: u64) -> NewReloc {
    NewReloc { at, kind: RELATIVE, outside: None, addend: to.cast_signed() }
}

struct Writer<'w, 'a> {
    objects: &'w [Object<'a>],
    layout: &'w Layout,
    requests: &'w Requests,
    names: &'w Names,
}

impl Writer<'_, '_> {
    fn file(
        &self,
        tables: &mut Tables,
        relocated: &mut Relocated,
        arrays: &Arrays,
        frames: &[(u64, u64)],
        notes: &[note::Merged],
        members: MemberSections,
    ) -> Result<Vec<u8>, Refusal> {
        let layout = self.layout;
        let mut dynamic = Dynamic::default();
        for name in self.requests.shared.iter().chain(&self.requests.own) {
            dynamic.add(1, u64::from(tables.intern(name)));
        }
        dynamic.add(14, u64::from(tables.intern(&self.names.soname)));
        let mut path = self.names.links.clone();
        self.requests.path.iter().for_each(|entry| path.extend([b":", entry.as_slice()].concat()));
        dynamic.add(15, u64::from(tables.intern(&path)));
        let mut parts = Parts { at: layout.tables.0, file: layout.tables.1, ..Parts::default() };
        let mut list = members.sections.clone();
        let head_note = note::write(notes);
        list.push(plain(
            b".note.underpin",
            7,
            layout.head - head_note.len() as u64,
            layout.head - head_note.len() as u64,
            head_note.len() as u64,
        ));
        let dynsym_index = list.len() as u32 + 1;
        let (rela, relative_count) = relocations(relocated);
        let mut put = |parts: &mut Parts, name: &[u8], kind: u32, entry: u64, link: u32, info: u32, bytes: Vec<u8>| {
            let file = parts.file;
            let (address, size) = parts.add(bytes);
            let section = Section { link, info, entry, ..plain(name, kind, address, file, size) };
            list.push(section);
            (address, size)
        };
        let symbols = put(&mut parts, b".dynsym", 11, 24, dynsym_index + 1, 1, std::mem::take(&mut tables.symbols));
        let strings = put(&mut parts, b".dynstr", 3, 0, 0, 0, std::mem::take(&mut tables.strings));
        let hash = put(&mut parts, b".gnu.hash", 0x6fff_fff6, 0, dynsym_index, 0, std::mem::take(&mut tables.hash));
        let versym =
            put(&mut parts, b".gnu.version", 0x6fff_ffff, 2, dynsym_index, 0, std::mem::take(&mut tables.versym));
        let (definitions, count) = std::mem::take(&mut tables.verdef);
        let verdef = put(&mut parts, b".gnu.version_d", 0x6fff_fffd, 0, dynsym_index + 1, count as u32, definitions);
        dynamic.add(0x6fff_fffc, verdef.0);
        dynamic.add(0x6fff_fffd, count);
        let (needs, count) = std::mem::take(&mut tables.verneed);
        if count > 0 {
            let verneed = put(&mut parts, b".gnu.version_r", 0x6fff_fffe, 0, dynsym_index + 1, count as u32, needs);
            dynamic.add(0x6fff_fffe, verneed.0);
            dynamic.add(0x6fff_ffff, count);
        }
        let rela = put(&mut parts, b".rela.dyn", 4, 24, dynsym_index, 0, rela);
        let too_far = || Refusal::Program { path: self.names.soname.clone(), why: "larger than 2 GiB".to_owned() };
        let frame_table = frames::bytes(frames, parts.at).ok_or_else(too_far)?;
        let frame_table = put(&mut parts, b".eh_frame_hdr", 1, 0, 0, 0, frame_table);
        let protect = self.protected(parts.at).ok_or_else(too_far)?;
        let protect = put(&mut parts, b".rodata.relro", 1, 0, 0, 0, protect);
        for (tag, value) in [
            (5, strings.0),
            (10, strings.1),
            (6, symbols.0),
            (11, 24),
            (0x6fff_fef5, hash.0),
            (0x6fff_fff0, versym.0),
            (7, rela.0),
            (8, rela.1),
            (9, 24),
            (0x6fff_fff9, relative_count),
            (25, layout.init_array),
            (27, arrays.init.len() as u64 * 8),
            (30, DF_BIND_NOW | if self.static_tls(relocated) { DF_STATIC_TLS } else { 0 }),
            (0x6fff_fffb, DF_1_NOW | DF_1_NODELETE),
        ] {
            dynamic.add(tag, value);
        }
        if !arrays.fini.is_empty() {
            dynamic.add(26, layout.fini_array);
            dynamic.add(28, arrays.fini.len() as u64 * 8);
        }
        self.data_sections(arrays, dynsym_index + 1, &mut list);
        let mut out = self.body(relocated, notes, &parts, &dynamic, protect.0)?;
        self.headers(&mut out, &parts, frame_table, head_note.len() as u64);
        self.sections(&mut out, list, &members);
        Ok(out)
    }

    fn data_sections(&self, arrays: &Arrays, dynstr: u32, list: &mut Vec<Section>) {
        let layout = self.layout;
        let place = |address: u64| address - layout.data.0 + layout.data.1;
        let mut add = |name: &[u8], kind, flags, address, size, entry, link| {
            if size > 0 {
                let plain = plain(name, kind, address, place(address), size);
                list.push(Section { flags: ALLOC | WRITE | flags, entry, link, ..plain });
            }
        };
        let zeros = layout.tls_memory - layout.tls_file;
        add(b".tdata", 1, TLS, layout.tls_address, layout.tls_file, 0, 0);
        add(b".tbss", 8, TLS, layout.tls_address + layout.tls_file, zeros, 0, 0);
        add(b".dynamic", 6, 0, layout.dynamic, layout.dynamic_size, 16, dynstr);
        add(b".init_array", 14, 0, layout.init_array, arrays.init.len() as u64 * 8, 8, 0);
        add(b".fini_array", 15, 0, layout.fini_array, arrays.fini.len() as u64 * 8, 8, 0);
        // Up to the end of the page: what a tool writes anew must still fill the segment that becomes read-only.
        let end = layout.fini_array + arrays.fini.len() as u64 * 8;
        add(b".data.rel.ro", 1, 0, end, layout.data.0 + layout.data.2 - end, 0, 0);
        let code = plain(b".text", 1, layout.code.0, layout.code.1, STUB.len() as u64);
        list.push(Section { flags: ALLOC | EXECUTE, ..code });
    }

    fn static_tls(&self, relocated: &Relocated) -> bool {
        relocated.relocs.iter().any(|reloc| reloc.kind == TPOFF)
    }

    /// The list of what becomes read-only after relocation: distances from the list, and sizes.
    fn protected(&self, at: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for place in &self.layout.members {
            let Some(relro) = self.objects[place.object].segment(SegmentKind::Relro) else { continue };
            let start = (relro.vaddr.0 + place.base) / PAGE * PAGE;
            let end = (relro.vaddr.0 + place.base + relro.memory_size) / PAGE * PAGE;
            if start < end {
                out.extend(i32::try_from(start.wrapping_sub(at).cast_signed()).ok()?.to_le_bytes());
                out.extend(u32::try_from(end - start).ok()?.to_le_bytes());
            }
        }
        out.extend([0; 8]);
        Some(out)
    }

    fn body(
        &self,
        relocated: &Relocated,
        notes: &[note::Merged],
        parts: &Parts,
        dynamic: &Dynamic,
        protect: u64,
    ) -> Result<Vec<u8>, Refusal> {
        let layout = self.layout;
        let mut out = vec![0u8; parts.file as usize];
        let mut put = |at: u64, bytes: &[u8]| out[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        let note = note::write(notes);
        put(layout.head - note.len() as u64, &note);
        for place in &layout.members {
            put(place.file, &self.objects[place.object].bytes[..place.size as usize]);
            if let Some(tls) = self.objects[place.object].segment(SegmentKind::Tls)
                && let Ok(image) = self.objects[place.object].memory(tls.vaddr.0, tls.file_size)
            {
                put(layout.data.1 + place.tls, image);
            }
        }
        for (address, word) in &relocated.words {
            match self.offset(*address) {
                Some(at) => put(at, &word.to_le_bytes()),
                None => {
                    return Err(Refusal::Program {
                        path: self.names.soname.clone(),
                        why: format!("a word without content in the file at {address:#x}"),
                    });
                }
            }
        }
        put(layout.dynamic - layout.data.0 + layout.data.1, &dynamic.0);
        put(layout.code.1, &stub(layout.code.0, protect));
        for (_, at, bytes) in &parts.parts {
            put(*at, bytes);
        }
        Ok(out)
    }

    /// The file offset of an address of the fused file, in a member or the new data.
    fn offset(&self, address: u64) -> Option<u64> {
        let layout = self.layout;
        if let Some(within) = address.checked_sub(layout.data.0).filter(|within| *within < layout.data.2) {
            return Some(layout.data.1 + within);
        }
        let after = layout.members.partition_point(|place| place.base.cast_signed() <= address.cast_signed());
        let place = layout.members.get(after.checked_sub(1)?)?;
        let at = self.objects[place.object].offset(address.wrapping_sub(place.base)).ok()?;
        Some(place.file + at as u64)
    }

    fn headers(&self, out: &mut [u8], parts: &Parts, frames: (u64, u64), note: u64) {
        let layout = self.layout;
        let mut all: Vec<[u64; 8]> = Vec::new();
        // type, flags, offset, address, file size, memory size, alignment
        let mut add = |kind: u64, flags: u64, offset: u64, address: u64, file: u64, memory: u64, align: u64| {
            all.push([kind, flags, offset, address, file, memory, align, 0]);
        };
        add(1, 4, 0, 0, layout.head, layout.head, PAGE);
        for place in &layout.members {
            for load in self.objects[place.object].loads() {
                let flags =
                    u64::from(load.flags.read) * 4 + u64::from(load.flags.write) * 2 + u64::from(load.flags.execute);
                let (offset, address) = (place.file + load.offset.0, load.vaddr.0.wrapping_add(place.base));
                add(1, flags, offset, address, load.file_size, load.memory_size, PAGE);
            }
        }
        let (data, offset, size) = layout.data;
        add(1, 6, offset, data, size, size, PAGE);
        add(1, 5, layout.code.1, layout.code.0, STUB.len() as u64, STUB.len() as u64, PAGE);
        let tables = parts.at - layout.tables.0;
        add(1, 4, layout.tables.1, layout.tables.0, tables, tables, PAGE);
        add(2, 6, layout.dynamic - data + offset, layout.dynamic, layout.dynamic_size, layout.dynamic_size, 8);
        if layout.tls_memory > 0 {
            add(7, 4, offset, layout.tls_address, layout.tls_file, layout.tls_memory, layout.tls_align);
        }
        add(4, 4, layout.head - note, layout.head - note, note, note, 4);
        let frame_offset = frames.0 - layout.tables.0 + layout.tables.1;
        add(0x6474_e550, 4, frame_offset, frames.0, frames.1, frames.1, 4);
        add(0x6474_e551, 6, 0, 0, 0, 0, 16);
        add(0x6474_e552, 4, offset, data, size, size, 1);
        while (all.len() as u64) < layout.segments {
            all.push([0; 8]);
        }
        let mut head = Vec::with_capacity(layout.head as usize);
        head.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        head.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        head.extend([0; 8]);
        head.extend(64u64.to_le_bytes());
        head.extend([0; 12]);
        for half in [64u16, 56, layout.segments as u16, 64, 0, 0] {
            head.extend(half.to_le_bytes());
        }
        for [kind, flags, offset, address, file, memory, align, _] in all {
            head.extend((kind as u32).to_le_bytes());
            head.extend((flags as u32).to_le_bytes());
            for word in [offset, address, address, file, memory, align] {
                head.extend(word.to_le_bytes());
            }
        }
        out[..head.len()].copy_from_slice(&head);
    }

    /// What no loader reads: the symbol table, names, section headers.
    fn sections(&self, out: &mut Vec<u8>, mut list: Vec<Section>, members: &MemberSections) {
        let (symbols, strings) = sections::symbols(self.objects, self.layout, members);
        let mut loose = |out: &mut Vec<u8>, name: &[u8], kind, entry, bytes: &[u8]| {
            out.resize(out.len().next_multiple_of(16), 0);
            let (offset, size, link) = (out.len() as u64, bytes.len() as u64, list.len() as u32 + 2);
            out.extend_from_slice(bytes);
            let section = Section { entry, align: 8, flags: 0, ..plain(name, kind, 0, offset, size) };
            let count = size / 24;
            let (link, info) = if kind == 2 { (link, count as u32) } else { (0, 0) };
            list.push(Section { link, info, ..section });
        };
        loose(out, b".symtab", 2, 24, &symbols);
        loose(out, b".strtab", 3, 0, &strings);
        let own = Section { flags: 0, ..plain(b".shstrtab", 3, 0, 0, 0) };
        list.push(own);
        let (names, _) = sections::headers(&list);
        if let Some(last) = list.last_mut() {
            (last.offset, last.size) = (out.len() as u64, names.len() as u64);
        }
        out.extend_from_slice(&names);
        out.resize(out.len().next_multiple_of(16), 0);
        let (_, headers) = sections::headers(&list);
        let (at, count) = (out.len() as u64, list.len() as u16 + 1);
        out.extend(headers);
        out[40..48].copy_from_slice(&at.to_le_bytes());
        out[60..62].copy_from_slice(&count.to_le_bytes());
        out[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    }
}

fn plain(name: &[u8], kind: u32, address: u64, offset: u64, size: u64) -> Section {
    Section { name: name.into(), kind, flags: ALLOC, address, offset, size, align: 1, ..Section::default() }
}

/// Relative ones first, then look-ups by symbol (the loader remembers its last one), then what functions decide.
fn relocations(relocated: &mut Relocated) -> (Vec<u8>, u64) {
    let order = |reloc: &NewReloc| match reloc.kind {
        RELATIVE => (0, 0, reloc.at),
        IRELATIVE => (2, 0, reloc.at),
        kind => (1, reloc.outside.map_or(0, |outside| outside as u64 * 64 + u64::from(kind)), reloc.at),
    };
    relocated.relocs.sort_by_key(order);
    let mut out = Vec::with_capacity(relocated.relocs.len() * 24);
    for reloc in &relocated.relocs {
        let symbol = reloc.outside.map_or(0, |outside| outside as u64 + 1);
        out.extend(reloc.at.to_le_bytes());
        out.extend((symbol << 32 | u64::from(reloc.kind)).to_le_bytes());
        out.extend(reloc.addend.to_le_bytes());
    }
    let relative = relocated.relocs.iter().filter(|reloc| reloc.kind == RELATIVE).count();
    (out, relative as u64)
}

#[derive(Default)]
struct Dynamic(Vec<u8>);

impl Dynamic {
    fn add(&mut self, tag: u64, value: u64) {
        self.0.extend(tag.to_le_bytes());
        self.0.extend(value.to_le_bytes());
    }
}

/// `mprotect(address, size, PROT_READ)` for each entry of the list, by system calls of its own: no other code has run.
///
/// ```text
///     push rbx
///     lea  rbx, [rip + list]
///     mov  r8, rbx
/// 1:  mov  esi, [rbx + 4]
///     test esi, esi
///     je   2f
///     movsxd rdi, dword ptr [rbx]
///     add  rdi, r8
///     mov  edx, 1
///     mov  eax, 10
///     syscall
///     add  rbx, 8
///     jmp  1b
/// 2:  pop  rbx
///     ret
/// ```
const STUB: [u8; 45] = [
    0x53, 0x48, 0x8d, 0x1d, 0, 0, 0, 0, 0x49, 0x89, 0xd8, 0x8b, 0x73, 0x04, 0x85, 0xf6, 0x74, 0x18, 0x48, 0x63, 0x3b,
    0x4c, 0x01, 0xc7, 0xba, 1, 0, 0, 0, 0xb8, 10, 0, 0, 0, 0x0f, 0x05, 0x48, 0x83, 0xc3, 8, 0xeb, 0xe1, 0x5b, 0xc3,
    0x90,
];

fn stub(at: u64, list: u64) -> [u8; 45] {
    let mut code = STUB;
    let distance = (list.wrapping_sub(at + 8)) as u32;
    code[4..8].copy_from_slice(&distance.to_le_bytes());
    code
}

// The dynamic section is laid out before its entries are known.
const _: () = assert!(DYNAMIC_ENTRIES >= 26);
