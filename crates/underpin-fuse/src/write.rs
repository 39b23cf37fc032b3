//! The fused file from its parts.

use crate::arrays::Arrays;
use crate::bind::Scope;
use crate::dynamic::{DT_NEEDED, DT_RPATH, DT_SONAME, Dynamic, Link, Loaded, Parts};
use crate::layout::{KNOWN, Layout};
use crate::machine::Read;
use crate::meaning::{Asks, Meaning};
use crate::object::{Malformed, Object, STB_GLOBAL, STT_FUNC, Symbol};
use crate::relocate::{Relocated, Relocator};
use crate::sections::{self, ALLOC, EXECUTE, MemberSections, Section, TLS, WRITE};
use crate::sections::{
    SHT_DYNAMIC, SHT_FINI_ARRAY, SHT_INIT_ARRAY, SHT_NOBITS, SHT_NOTE, SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB, SYMBOL,
};
use crate::tables::{Maker, Tables};
use crate::{
    Closure, Fused, Member, Names, Plan, Refusal, answers, frames, names, note, property, protect, relative, segments,
};
use bstr::{BString, ByteSlice};
use std::collections::{BTreeMap, HashSet};
use underpin_elf::{Notes, SegmentKind};

/// What is requested from outside, and by which name.
struct Requests {
    /// DT_NEEDED of the fused file, without its own old names.
    shared: Vec<BString>,
    /// The old names of members.
    own: Vec<BString>,
    /// Those of them that the file needs, and those that the loader is told when something is opened.
    at_start: Vec<BString>,
    later: Vec<BString>,
    /// DT_NEEDED of the program, the fused file left out.
    program: Vec<BString>,
    /// Names of objects that stay shared, in DT_NEEDED and `vn_file`, and what the fused file has in their places.
    renamed: BTreeMap<BString, BString>,
    /// The same of the program.
    program_renamed: BTreeMap<BString, BString>,
    /// Where to search, the folder of links left out.
    path: Vec<BString>,
}

pub(crate) fn write(closure: &Closure, objects: &[Object], plan: &Plan, names: &Names) -> Result<Fused, Refusal> {
    let requests = requests(closure, objects, plan, names);
    let mut notes = merged(closure, objects, plan);
    let needed = (requests.shared.len() + requests.at_start.len()) as u64;
    let properties = property::of_all(objects, &plan.members);
    let sizes = (properties.len() as u64, note::write(&notes).len() as u64);
    let layout = Layout::new(objects, &plan.members, sizes, (needed, !requests.later.is_empty()));
    let paths: Vec<BString> = closure.objects.iter().map(|member| member.path.clone()).collect();
    let scope = Scope::new(objects, &closure.initialisation);
    let relocator = Relocator { objects, paths: &paths, scope: &scope, layout: &layout };
    let mut relocated = relocator.run()?;
    let insists = relative::permitted(closure, objects, plan, names.only_links);
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
        own: layout.opens().map(opens),
        request: &|name| requests.renamed.get(name.as_bstr()).map_or_else(|| name.to_vec(), |path| path.to_vec()),
        insists,
    };
    let mut tables = maker.make(&relocated.outside);
    let arrays = Arrays::new(closure, objects, &layout, &mut relocated).map_err(malformed)?;
    let frames = frames::collect(objects, &layout).map_err(malformed)?;
    let opened = layout
        .answers
        .filter(|own| own.asked)
        .map(|_| answers::opened(closure, objects, &plan.members))
        .unwrap_or_default();
    let properties = &properties;
    let writer = Writer { closure, objects, layout: &layout, requests: &requests, names, properties, opened: &opened };
    for (note, member) in notes.iter_mut().zip(&plan.members) {
        note.base = layout.place_of(*member).map_or(0, |place| place.base);
    }
    let short = insists.map(|_| relative::take(&mut relocated, |at| writer.offset(at).is_some())).unwrap_or_default();
    let bytes = writer.file(&mut tables, (&mut relocated, short), &arrays, &frames, &notes, members)?;
    let asks = Asks {
        needs: &requests.shared,
        names: &requests.own,
        search: &requests.path,
        opened: &opened,
        later: &requests.later,
    };
    let meaning = Meaning::new(closure, plan, &layout, &relocated.bindings, &tables, &asks);
    let Requests { own: links, program: program_needs, program_renamed: renames, .. } = requests;
    let renames = renames.into_iter().collect();
    Ok(Fused { bytes, links, program_needs, renames, bindings: relocated.bindings, meaning })
}

/// The function at an address that stands for the process's dlopen, as a symbol. Any section will do, but not none: an
/// absolute symbol would not move with the file.
fn opens<'a>(at: u64) -> Symbol<'a> {
    let info = STB_GLOBAL << 4 | STT_FUNC;
    Symbol { name: names::OPEN, info, other: 0, section: 1, value: at, size: 0, version: None }
}

fn requests(closure: &Closure, objects: &[Object], plan: &Plan, names: &Names) -> Requests {
    let is_member = |index: usize| plan.members.contains(&index);
    let mut own: Vec<BString> = Vec::new();
    for &member in &plan.members {
        own.extend(closure.objects[member].names.iter().filter(|name| !name.contains(&b'/')).cloned());
    }
    own.sort();
    own.dedup();
    let wanted = wanted(closure, plan);
    let path = if names.only_links { Vec::new() } else { search_path(closure, objects, plan, &wanted) };
    let dynamic = objects[0].elf.dynamic.as_ref();
    let program_searches = dynamic.is_some_and(|dynamic| dynamic.runpath.is_some() || dynamic.rpath.is_some());
    let mut shared: Vec<BString> = Vec::new();
    let (mut renamed, mut program_renamed) = (BTreeMap::new(), BTreeMap::new());
    for index in (1..objects.len()).filter(|&index| !is_member(index)) {
        let object = &closure.objects[index];
        let to = |searches| requested_by_path(object, searches, names).then(|| object.path.clone());
        let paths = |path: BString| object.names.iter().map(move |name| (name.clone(), path.clone()));
        program_renamed.extend(to(program_searches).into_iter().flat_map(paths));
        if wanted.contains(&index)
            // The name that others use, from the object's own names: the first one requested.
            && let Some(name) = object.names.first()
        {
            let path = to(!path.is_empty());
            shared.push(path.clone().unwrap_or_else(|| name.clone()));
            renamed.extend(path.into_iter().flat_map(paths));
        }
    }
    let program = objects[0].needed.iter().map(|name| BString::from(*name)).filter(|name| !own.contains(name));
    let program = program.map(|name| program_renamed.get(&name).unwrap_or(&name).clone()).collect();
    let (later, at_start) = names::divide(closure, objects, plan, &own);
    Requests { shared, own, at_start, later, program, renamed, program_renamed, path }
}

/// What members need, and what that needs where it stays shared: requested in the order of the closure, each comes where it
/// came before in the scope, and none searches for another.
fn wanted(closure: &Closure, plan: &Plan) -> HashSet<usize> {
    let mut wanted = HashSet::new();
    let mut open = plan.members.clone();
    while let Some(index) = open.pop() {
        for &needed in &closure.objects[index].needs {
            if wanted.insert(needed) && !plan.members.contains(&needed) {
                open.push(needed);
            }
        }
    }
    wanted
}

/// Whether a library that stays shared is requested by its path, so that no start searches for it: where a search path of a
/// file led to it, or would be gone through in vain before the loader's own folders. What a policy keeps shared (drivers)
/// is found there by its name, as before, because a machine has its own. A bundle moves.
fn requested_by_path(object: &Member, searches: bool, names: &Names) -> bool {
    let found = object.by_path || (searches && object.keep.is_none());
    found && !object.is_loader && !names.only_links && object.path.starts_with(b"/")
}

/// Where members would have searched: the folders of shared libraries that they need and a path led to, and the lists of
/// members, for what they open while they run.
fn search_path(closure: &Closure, objects: &[Object], plan: &Plan, wanted: &HashSet<usize>) -> Vec<BString> {
    let folder = |path: &BString| path.rfind_byte(b'/').map_or_else(|| BString::from("."), |end| path[..end].into());
    let shared = plan.kept.iter().filter(|kept| wanted.contains(&kept.object));
    let shared = shared.map(|kept| &closure.objects[kept.object]).filter(|kept| kept.by_path);
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

struct Writer<'w, 'a> {
    closure: &'w Closure<'a>,
    objects: &'w [Object<'a>],
    layout: &'w Layout,
    requests: &'w Requests,
    names: &'w Names,
    /// The note of properties, empty if there is none.
    properties: &'w [u8],
    /// The members that are opened by their path, under these names.
    opened: &'w [(usize, BString)],
}

impl Writer<'_, '_> {
    fn file(
        &self,
        tables: &mut Tables,
        (relocated, short): (&mut Relocated, Vec<u8>),
        arrays: &Arrays,
        frames: &[(u64, u64)],
        notes: &[note::Merged],
        members: MemberSections,
    ) -> Result<Vec<u8>, Refusal> {
        let layout = self.layout;
        let mut dynamic = self.named(tables);
        let mut loaded = Loaded::new(layout, members.sections.clone());
        let note = note::write(notes).len() as u64;
        loaded.list.push(Section::allocated(b".note.underpin", SHT_NOTE, layout.head - note, layout.head - note, note));
        if let (at, size @ 1..) = layout.property {
            let section = Section::allocated(b".note.gnu.property", SHT_NOTE, at, at, size);
            loaded.list.push(Section { align: 8, ..section });
        }
        let dynstr = loaded.add_lookup(&mut dynamic, tables);
        loaded.add_relative(&mut dynamic, short);
        loaded.add_relocations(&mut dynamic, relocated, layout.processor, dynstr - 1);
        let too_far = || Refusal::Program { path: self.names.soname.clone(), why: "larger than 2 GiB".to_owned() };
        let frames = frames::bytes(frames, loaded.parts.at).ok_or_else(too_far)?;
        let frames = loaded.put(b".eh_frame_hdr", SHT_PROGBITS, Link::default(), frames);
        let ranges = protect::ranges(self.objects, layout, loaded.parts.at).ok_or_else(too_far)?;
        let ranges = loaded.put(b".rodata.relro", SHT_PROGBITS, Link::default(), ranges);
        let code = self.code(&mut loaded, ranges.0)?;
        dynamic.add_start(layout, arrays, relocated);
        let marks = layout.members.iter().map(|place| self.objects[place.object].marks.as_slice());
        layout.processor.marks(marks).into_iter().for_each(|tag| dynamic.add(tag, 0));
        let Loaded { parts, mut list } = loaded;
        self.data_sections(arrays, dynstr, &mut list);
        let mut out = self.body(relocated, notes, &parts, &dynamic, &code)?;
        segments::write(&mut out, self.objects, layout, &segments::Own { tables: parts.at, frames, note });
        self.sections(&mut out, list, &members);
        Ok(out)
    }

    /// The code of the file's own; what it reads goes to the tables. `ranges` is where the list of what becomes read-only is.
    fn code(&self, loaded: &mut Loaded, ranges: u64) -> Result<Vec<u8>, Refusal> {
        let (layout, processor) = (self.layout, self.layout.processor);
        let mut code = processor.protect(layout.code.0, ranges);
        let Some(own) = layout.answers else { return Ok(code) };
        let mut read = Read { slots: own.slots, ..Read::default() };
        if own.asked {
            let table = answers::table(self.closure, self.objects, layout, self.opened, loaded.parts.at);
            let table = table.map_err(|(object, error)| {
                let path = self.closure.objects[object].path.clone();
                Refusal::Malformed { path, error }
            })?;
            read.table = loaded.put(b".rodata.members", SHT_PROGBITS, Link::default(), table).0;
        }
        if let Some(known) = own.known {
            let names = names::table(&self.requests.later);
            read.names = loaded.put(b".rodata.names", SHT_PROGBITS, Link::default(), names).0;
            read.known = known;
        }
        code.resize((own.code - layout.code.0) as usize, 0);
        code.extend(processor.answers(own.code, &read));
        Ok(code)
    }

    /// The entries that say what else to load, the file's own name, and where to search.
    fn named(&self, tables: &mut Tables) -> Dynamic {
        let mut dynamic = Dynamic::default();
        for name in self.requests.shared.iter().chain(&self.requests.at_start) {
            dynamic.add(DT_NEEDED, u64::from(tables.intern(name)));
        }
        dynamic.add(DT_SONAME, u64::from(tables.intern(&self.names.soname)));
        let mut path = self.names.links.clone();
        self.requests.path.iter().for_each(|entry| path.extend([b":", entry.as_slice()].concat()));
        dynamic.add(DT_RPATH, u64::from(tables.intern(&path)));
        dynamic
    }

    fn data_sections(&self, arrays: &Arrays, dynstr: u32, list: &mut Vec<Section>) {
        let layout = self.layout;
        let place = |address: u64| address - layout.data.0 + layout.data.1;
        let mut add = |name: &[u8], kind, flags, address, size, entry, link| {
            if size > 0 {
                let plain = Section::allocated(name, kind, address, place(address), size);
                list.push(Section { flags: ALLOC | WRITE | flags, entry, link, ..plain });
            }
        };
        let zeros = layout.tls_memory - layout.tls_file;
        add(b".tdata", SHT_PROGBITS, TLS, layout.tls_address, layout.tls_file, 0, 0);
        add(b".tbss", SHT_NOBITS, TLS, layout.tls_address + layout.tls_file, zeros, 0, 0);
        add(b".dynamic", SHT_DYNAMIC, 0, layout.dynamic, layout.dynamic_size, 16, dynstr);
        add(b".init_array", SHT_INIT_ARRAY, 0, layout.init_array, arrays.init_size(), 8, 0);
        add(b".fini_array", SHT_FINI_ARRAY, 0, layout.fini_array, arrays.fini_size(), 8, 0);
        // Up to the end of the page: what a tool writes anew must still fill the segment that becomes read-only.
        let end = layout.fini_array + arrays.fini_size();
        add(b".data.rel.ro", SHT_PROGBITS, 0, end, layout.data.0 + layout.data.2 - end, 0, 0);
        if let Some(known) = layout.known() {
            add(b".bss", SHT_NOBITS, 0, known, KNOWN, 0, 0);
        }
        let code = Section::allocated(b".text", SHT_PROGBITS, layout.code.0, layout.code.1, layout.code_size);
        list.push(Section { flags: ALLOC | EXECUTE, ..code });
    }

    fn body(
        &self,
        relocated: &Relocated,
        notes: &[note::Merged],
        parts: &Parts,
        dynamic: &Dynamic,
        code: &[u8],
    ) -> Result<Vec<u8>, Refusal> {
        let layout = self.layout;
        let mut out = vec![0u8; parts.file as usize];
        let mut put = |at: u64, bytes: &[u8]| out[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        let note = note::write(notes);
        put(layout.head - note.len() as u64, &note);
        put(layout.property.0, self.properties);
        for place in &layout.members {
            for load in self.objects[place.object].loads() {
                if let Ok(content) = self.objects[place.object].memory(load.vaddr.0, load.file_size) {
                    put(place.file_of(&load), content);
                }
            }
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
        put(layout.dynamic - layout.data.0 + layout.data.1, dynamic.bytes());
        put(layout.code.1, code);
        for (at, bytes) in &parts.parts {
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
        let at = address.wrapping_sub(place.base);
        let mut loads = self.objects[place.object].loads().into_iter();
        let load = loads.find(|load| at >= load.vaddr.0 && at - load.vaddr.0 < load.file_size)?;
        Some(place.file_of(&load) + at - load.vaddr.0)
    }

    /// What no loader reads: the symbol table, names, section headers.
    fn sections(&self, out: &mut Vec<u8>, mut list: Vec<Section>, members: &MemberSections) {
        let (symbols, strings) = sections::symbols(self.objects, self.layout, members);
        let mut loose = |out: &mut Vec<u8>, name: &[u8], kind, entry, bytes: &[u8]| {
            out.resize(out.len().next_multiple_of(16), 0);
            let (offset, size, link) = (out.len() as u64, bytes.len() as u64, list.len() as u32 + 2);
            out.extend_from_slice(bytes);
            let section = Section { entry, align: 8, flags: 0, ..Section::allocated(name, kind, 0, offset, size) };
            let count = size / SYMBOL;
            let (link, info) = if kind == SHT_SYMTAB { (link, count as u32) } else { (0, 0) };
            list.push(Section { link, info, ..section });
        };
        loose(out, b".symtab", SHT_SYMTAB, SYMBOL, &symbols);
        loose(out, b".strtab", SHT_STRTAB, 0, &strings);
        let own = Section { flags: 0, ..Section::allocated(b".shstrtab", SHT_STRTAB, 0, 0, 0) };
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
