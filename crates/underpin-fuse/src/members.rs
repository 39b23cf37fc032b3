//! Who goes in, and who stays shared and why.

use crate::answers::{self, Question};
use crate::machine::Kind;
use crate::object::{Object, Symbol};
use crate::opened::{self, data};
use crate::{Closure, Member, Plan, Refusal};
use bstr::{BString, ByteSlice};
use std::fmt;
use underpin_elf::{FileType, SegmentKind};

/// An object that stays shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its index in the closure.
    pub object: usize,
    /// Why.
    pub because: KeptBecause,
}

/// Why an object stays shared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeptBecause {
    /// glibc's own, which belong to the loader.
    Glibc,
    /// It registers itself with every object, or replaces what others define.
    Runtime,
    /// Of a driver stack that is chosen while the program runs, or writes its own code.
    Driver,
    /// It asks for the next definition after its own (RTLD_NEXT), which has no meaning inside.
    NextDefinition,
    /// It calls this function, which tells which file it is in.
    Asks {
        /// The function.
        function: &'static str,
    },
    /// It reads the list of mappings of its process, which tells which file it is in.
    ReadsMappings,
    /// Its code is written while it is relocated.
    TextRelocations,
    /// A segment is writable and executable, or its stack is.
    WritableCode,
    /// DT_FILTER, DT_AUXILIARY, DT_AUDIT, DT_PREINIT_ARRAY or DF_1_INITFIRST.
    SpecialDynamic,
    /// A relocation of this type.
    Relocation {
        /// `r_type`.
        kind: u32,
    },
    /// Two of its segments share a page.
    SharedPage,
    /// Something may open it by its name and ask for a symbol that an earlier library defines too.
    OpenedByName {
        /// The object that has its name in its data.
        by: usize,
        /// The symbol.
        symbol: BString,
    },
    /// A library that stays shared, and that members need, needs it.
    NeededBy {
        /// That library.
        object: usize,
    },
    /// The caller's reason.
    Policy {
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for KeptBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeptBecause::Glibc => f.write_str("belongs to glibc"),
            KeptBecause::Runtime => f.write_str("a run-time library that must stay one of its own"),
            KeptBecause::Driver => f.write_str("part of a driver stack"),
            KeptBecause::NextDefinition => f.write_str("calls dlsym with RTLD_NEXT"),
            KeptBecause::Asks { function } => write!(f, "calls {function}, which tells its own file"),
            KeptBecause::ReadsMappings => f.write_str("reads /proc/self/maps, which tells its own file"),
            KeptBecause::TextRelocations => f.write_str("has text relocations"),
            KeptBecause::WritableCode => f.write_str("needs memory that is writable and executable"),
            KeptBecause::SpecialDynamic => f.write_str("is a filter, an auditor, or runs before all others"),
            KeptBecause::Relocation { kind } => write!(f, "has relocations of type {kind}"),
            KeptBecause::SharedPage => f.write_str("has two segments on one page"),
            KeptBecause::OpenedByName { symbol, .. } => {
                write!(f, "may be opened by name for its own {symbol}, which another library defines too")
            }
            KeptBecause::NeededBy { .. } => f.write_str("is needed by a library that stays shared"),
            KeptBecause::Policy { reason } => f.write_str(reason),
        }
    }
}

const GLIBC: [&str; 18] = [
    "ld-linux",
    "libc.so.6",
    "libm.so.6",
    "libmvec.so",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
    "libanl.so.1",
    "libnsl.so.1",
    "libnss_",
    "libthread_db.so",
    "libBrokenLocale.so",
    "libc_malloc_debug.so",
    "libmemusage.so",
    "libpcprofile.so",
    "libSegFault.so",
];
const RUNTIME: [&str; 9] = [
    "libgcc_s.so",
    "libasan.so",
    "liblsan.so",
    "libtsan.so",
    "libubsan.so",
    "libhwasan.so",
    "libclang_rt.",
    "libjemalloc.so",
    "libtcmalloc",
];
const DRIVERS: [&str; 14] = [
    "libGL.so",
    "libGLX",
    "libEGL",
    "libOpenGL.so",
    "libGLdispatch.so",
    "libglapi.so",
    "libGLES",
    "libvulkan.so",
    "libcuda",
    "libnvidia",
    "libOpenCL.so",
    "libva.so",
    "libva-",
    "libvdpau.so",
];
/// Functions whose answer depends on which file the caller is in. dl_iterate_phdr is not among them: it lists every
/// object, and serves unwinders and backtraces, which need ranges alone.
const ASKING: [&str; 4] = ["dladdr", "dladdr1", "dlinfo", "dlmopen"];

/// What a library calls that knows its own folder: to cut the name off a path, or to open modules.
const USES_OF_A_FOLDER: [&[u8]; 7] =
    [b"strrchr", b"memrchr", b"dirname", b"g_path_get_dirname", b"dlopen", b"lt_dlopen", b"g_module_open"];

/// Decides.
pub(crate) fn choose(closure: &Closure, objects: &[Object]) -> Result<Plan, Refusal> {
    let program = &closure.objects[0];
    let refused = |why: &str| Err(Refusal::Program { path: program.path.clone(), why: why.to_owned() });
    if let Some(dynamic) = &objects[0].elf.dynamic {
        if dynamic.audit.is_some() || dynamic.depaudit.is_some() {
            return refused("names an auditor (DT_AUDIT), which must see each library");
        }
        if dynamic.text_relocations && objects[0].elf.ident.file_type != FileType::Executable {
            return refused("has text relocations");
        }
    }
    let is_glibc = |index: usize| is_glibc(&closure.objects[index]);
    let answered = closure.in_place && answers::are_of(objects, &is_glibc);
    let mut kept: Vec<Option<KeptBecause>> = vec![None; objects.len()];
    for (index, object) in objects.iter().enumerate().skip(1) {
        let member = &closure.objects[index];
        let policy = member.keep.clone().map(|reason| KeptBecause::Policy { reason });
        kept[index] = policy
            .or_else(|| by_name(&member.names))
            .or_else(|| by_content(object, answered && answers::is_told(&member.path)));
    }
    let opened = opened::find(closure, objects, &|index| kept[index].is_some());
    opened.into_iter().for_each(|(index, because)| kept[index] = Some(because));
    close(closure, &mut kept);
    let members: Vec<usize> = (1..objects.len()).filter(|&index| kept[index].is_none()).collect();
    if members.len() < 2 {
        return Err(Refusal::NothingToFuse { members: members.len() });
    }
    let kept = kept.into_iter().enumerate();
    let kept = kept.filter_map(|(object, because)| because.map(|because| Kept { object, because })).collect();
    Ok(Plan { members, kept })
}

/// Whether an object is one of glibc's own libraries.
pub(crate) fn is_glibc(member: &Member) -> bool {
    by_name(&member.names) == Some(KeptBecause::Glibc)
}

/// No shared library may both be needed by a member and need one: the order of their constructors would be a cycle.
fn close(closure: &Closure, kept: &mut [Option<KeptBecause>]) {
    loop {
        let mut below = vec![false; kept.len()];
        let mut stack: Vec<usize> = (1..kept.len()).filter(|&index| kept[index].is_none()).collect();
        while let Some(at) = stack.pop() {
            for &need in &closure.objects[at].needs {
                if need != 0 && !std::mem::replace(&mut below[need], true) {
                    stack.push(need);
                }
            }
        }
        let cycle = (1..kept.len()).filter(|&index| kept[index].is_some() && below[index]);
        let pairs = cycle.flat_map(|index| closure.objects[index].needs.iter().map(move |&need| (index, need)));
        let Some((object, need)) = pairs.into_iter().find(|(_, need)| *need != 0 && kept[*need].is_none()) else {
            return;
        };
        kept[need] = Some(KeptBecause::NeededBy { object });
    }
}

fn by_name(names: &[BString]) -> Option<KeptBecause> {
    let any = |list: &[&str]| {
        let file = |name: &BString| name.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
        names.iter().any(|name| list.iter().any(|start| file(name).starts_with(start.as_bytes())))
    };
    match () {
        () if any(&GLIBC) => Some(KeptBecause::Glibc),
        () if any(&RUNTIME) => Some(KeptBecause::Runtime),
        () if any(&DRIVERS) => Some(KeptBecause::Driver),
        () => None,
    }
}

/// `answered`: whether it can be told its own path.
fn by_content(object: &Object, answered: bool) -> Option<KeptBecause> {
    let dynamic = object.elf.dynamic.as_ref()?;
    let special = !dynamic.filters.is_empty()
        || !dynamic.auxiliaries.is_empty()
        || dynamic.audit.is_some()
        || dynamic.depaudit.is_some()
        || dynamic.flags.initialise_first()
        || dynamic.flags.pie()
        || object.elf.ident.file_type != FileType::Dynamic;
    if special {
        return Some(KeptBecause::SpecialDynamic);
    }
    if dynamic.text_relocations || object.flags & 4 != 0 {
        return Some(KeptBecause::TextRelocations);
    }
    let stack = object.segment(SegmentKind::Stack).is_none_or(|stack| stack.flags.execute);
    let loads = object.loads();
    if stack || loads.iter().any(|load| load.flags.write && load.flags.execute) {
        return Some(KeptBecause::WritableCode);
    }
    let page = object.processor.page();
    let pages = |pair: &[underpin_elf::Segment]| {
        (pair[0].vaddr.0 + pair[0].memory_size).div_ceil(page) > pair[1].vaddr.0 / page
            || !(pair[1].vaddr.0.wrapping_sub(pair[1].offset.0)).is_multiple_of(page)
    };
    if loads.windows(2).any(pages) {
        return Some(KeptBecause::SharedPage);
    }
    // COPY is for programs alone.
    let foreign = object.relocs.iter().find(|reloc| matches!(reloc.kind, Kind::Other(_) | Kind::Copy));
    if let Some(reloc) = foreign {
        return Some(KeptBecause::Relocation { kind: object.processor.number_of(reloc.kind) });
    }
    let told = |name: &str| answered && Question::of(name.as_bytes()).is_some();
    let mut asking = ASKING.into_iter().filter(|name| !told(name));
    if let Some(function) = asking.find(|name| answers::imports(object, name.as_bytes())) {
        return Some(KeptBecause::Asks { function });
    }
    if finds_its_folder(object) {
        return Some(KeptBecause::ReadsMappings);
    }
    ["dlsym", "dlvsym"].into_iter().any(|name| asks_for_next(object, name)).then_some(KeptBecause::NextDefinition)
}

/// Whether a library may find its own folder in the list of its process's mappings (proc(5)), as libvlccore does, below whose
/// folder the plug-ins are: it has the list's name, and opens files as modules or cuts paths. Others read the list for
/// addresses, which serve as before.
fn finds_its_folder(object: &Object) -> bool {
    let uses = |symbol: &Symbol| !symbol.is_defined() && USES_OF_A_FOLDER.contains(&symbol.name);
    object.symbols.iter().skip(1).any(uses) && data(object).into_iter().any(names_mappings)
}

/// Whether data have the name of a process's list of mappings, or the form of one.
fn names_mappings(bytes: &[u8]) -> bool {
    bytes.find_iter(b"/proc/").any(|at| {
        let rest = &bytes[at + b"/proc/".len()..];
        let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        let (process, file) = name.split_once_str("/").unwrap_or_default();
        (process == b"self" || process.starts_with(b"%")) && file == b"maps"
    })
}

/// Whether code calls a function with the handle RTLD_NEXT.
pub(crate) fn asks_for_next(object: &Object, function: &str) -> bool {
    let names_it =
        |index: usize| index != 0 && object.symbols.get(index).is_some_and(|s| s.name == function.as_bytes());
    let slots: Vec<u64> = object.relocs.iter().filter(|reloc| names_it(reloc.symbol)).map(|reloc| reloc.at).collect();
    if slots.is_empty() {
        return false;
    }
    let loads = object.loads();
    let code = loads.iter().filter(|load| load.flags.execute);
    let code: Vec<(u64, &[u8])> =
        code.filter_map(|load| Some((load.vaddr.0, object.memory(load.vaddr.0, load.file_size).ok()?))).collect();
    object.processor.passes_minus_one(&code, &slots)
}
