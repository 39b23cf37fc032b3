//! How each allocator is compiled, and with which settings.

use crate::Source;
use crate::tools::{COMMON, Failure, Tools, copy_folder, include, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An allocator on board. The names are those of `AllocatorKind` in src/lib.rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    Jemalloc,
    Mimalloc,
    Snmalloc,
}

/// What an allocator is tuned for. The names are those of `Goal` in src/linkable.rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Speed,
    Balanced,
}

impl Goal {
    pub const ALL: [Goal; 2] = [Goal::Speed, Goal::Balanced];
}

impl Recipe {
    pub const ALL: [Recipe; 3] = [Recipe::Jemalloc, Recipe::Mimalloc, Recipe::Snmalloc];

    pub fn name(self) -> &'static str {
        match self {
            Recipe::Jemalloc => "jemalloc",
            Recipe::Mimalloc => "mimalloc",
            Recipe::Snmalloc => "snmalloc",
        }
    }

    /// The crate whose sources it is built from.
    pub fn package(self) -> &'static str {
        match self {
            Recipe::Jemalloc => "tikv-jemalloc-sys",
            Recipe::Mimalloc => "libmimalloc-sys",
            Recipe::Snmalloc => "snmalloc-sys",
        }
    }

    /// snmalloc needs a C++20 compiler, which not every machine has that can build Rust.
    pub fn may_be_absent(self) -> bool {
        self == Recipe::Snmalloc
    }

    /// What was chosen at build time, in words for the user.
    pub fn settings(self, tools: &Tools) -> &'static str {
        match self {
            Recipe::Jemalloc if tools.large_pages() => {
                "a background thread gives unused memory back after a second (background_thread:false: no such thread); \
                 built for pages of up to 64 kB"
            }
            Recipe::Jemalloc => {
                "a background thread gives unused memory back after a second (background_thread:false: no such thread)"
            }
            Recipe::Mimalloc => {
                "pages of 128 kB, full ones left to themselves; no transparent huge pages; gives unused \
                 memory back as it goes on allocating, or at once with purge_delay=0"
            }
            Recipe::Snmalloc => "as released, without its checks",
        }
    }

    /// The same for the object to link in.
    pub fn linkable_settings(self, tools: &Tools, goal: Goal) -> String {
        let decay = match goal {
            Goal::Speed => "gives unused memory back after ten seconds",
            Goal::Balanced => "gives unused memory back after a second",
        };
        match (self, goal) {
            (Recipe::Jemalloc, _) if tools.large_pages() => format!("{decay}; built for pages of up to 64 kB"),
            (Recipe::Jemalloc, _) => decay.to_owned(),
            (Recipe::Mimalloc, Goal::Speed) => {
                format!("purge_delay=1000, {MIMALLOC_LINKED} 128 MiB of addresses at a time; huge pages beyond 16 MiB")
            }
            (Recipe::Mimalloc, Goal::Balanced) => {
                format!("purge_delay=10, {MIMALLOC_LINKED} 32 MiB of addresses at a time; no transparent huge pages")
            }
            (Recipe::Snmalloc, _) => "as released, without its checks".to_owned(),
        }
    }

    pub fn upstream_version(self, folder: &Path, package: &str) -> Result<String, Failure> {
        match self {
            // 0.7.1+5.3.1-0-g81034ce…: the crate's own version, then that of jemalloc.
            Recipe::Jemalloc => {
                let upstream = package.split_once('+').map(|(_, upstream)| upstream);
                let number = upstream.and_then(|text| text.split('-').next());
                number.map(str::to_owned).ok_or_else(|| Failure(format!("no jemalloc version in {package}")))
            }
            Recipe::Mimalloc => mimalloc_version(&mimalloc(folder).join("include/mimalloc.h")),
            Recipe::Snmalloc => Ok(package.to_owned()),
        }
    }

    /// The names of its options, as its own source lists them.
    pub fn options(self, folder: &Path) -> Result<Vec<String>, Failure> {
        let (file, openings): (PathBuf, &[&str]) = match self {
            Recipe::Jemalloc => (folder.join("jemalloc/src/conf.c"), &["CONF_HANDLE_", "CONF_MATCH("]),
            Recipe::Mimalloc => (mimalloc(folder).join("src/options.c"), &["MI_OPTION(", "MI_OPTION_LEGACY("]),
            Recipe::Snmalloc => return Ok(Vec::new()),
        };
        let text = fs::read_to_string(&file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
        let code: String =
            text.lines().filter(|line| !line.contains("#define")).flat_map(|line| [line, "\n"]).collect();
        let mut names: Vec<String> = openings
            .iter()
            .flat_map(|opening| code.split(opening).skip(1))
            .filter_map(|rest| if self == Recipe::Jemalloc { quoted(rest) } else { word(rest) })
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'))
            .filter(|name| !name.starts_with("deprecated_"))
            .collect();
        names.sort();
        names.dedup();
        if names.len() < 10 {
            Err(Failure(format!("{}: its options are not where they were", file.display())))
        } else {
            Ok(names)
        }
    }

    /// The object to preload.
    pub fn build(self, tools: &Tools, source: &Source) -> Result<PathBuf, Failure> {
        let mut parts = self.parts(tools, source, &Tuning::PRELOADED)?;
        parts.push(tools.compile_c("compat.c", "compat.o", &[])?);
        tools.link(&tools.out.join(format!("{}.so", self.name())), &parts, "allocator.map")
    }

    /// The object to link in. Goals with the same settings have the same object.
    pub fn build_linkable(self, tools: &Tools, source: &Source, goal: Goal) -> Result<PathBuf, Failure> {
        let tuning = Tuning::of(goal);
        let object = tools.out.join(match self {
            Recipe::Snmalloc => "snmalloc-linkable.o".to_owned(),
            Recipe::Jemalloc | Recipe::Mimalloc => format!("{}-linkable-{}.o", self.name(), tuning.name),
        });
        if !tools.is_first(&object) {
            return Ok(object);
        }
        let mut parts = self.parts(tools, source, tuning)?;
        parts.push(tools.compile_c("compat.c", "compat-linked.o", &["LINKED".to_owned()])?);
        tools.merge(&object, &parts, "linkable.keep")
    }

    fn parts(self, tools: &Tools, source: &Source, tuning: &Tuning) -> Result<Vec<PathBuf>, Failure> {
        Ok(match self {
            Recipe::Jemalloc => vec![build_jemalloc(tools, source)?, jemalloc_conf(tools, tuning)?],
            Recipe::Mimalloc => vec![build_mimalloc(tools, &source.folder, tuning)?],
            Recipe::Snmalloc => vec![build_snmalloc(tools, &source.folder)?],
        })
    }
}

/// The string literal in the arguments that follow.
fn quoted(rest: &str) -> Option<String> {
    let arguments = &rest[..rest.find([')', ';'])?];
    let mut parts = arguments.split('"');
    parts.next()?;
    parts.next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The first argument.
fn word(rest: &str) -> Option<String> {
    rest.split([',', ')']).next().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// What the allocators are built with for one purpose; a user's `MALLOC_CONF` or `MIMALLOC_...` counts before it.
struct Tuning {
    name: &'static str,
    jemalloc: &'static str,
    mimalloc: &'static [Replacement],
    /// The bits of a chunk's map, as a power of two: with 7, chunks of 16 MB are reserved two at a time, and blocks above
    /// that are the kernel's; with 9, as released, four times as much.
    mimalloc_chunk_shift: u32,
    /// mimalloc starts with the first block that the program asks for, not with the program.
    at_first_use: bool,
    /// Much that is free goes back when it is freed, not after a delay.
    much_goes_back_at_once: bool,
    huge_pages: HugePages,
}

/// Which pages of a heap are to be huge ones. MI_NO_THP is always set: as released mimalloc asks for all of them or for none.
#[derive(Clone, Copy)]
struct HugePages {
    /// From so many MiB of heap on they are asked for.
    beyond_mib: Option<u32>,
    /// Before that there are none, even where the kernel gives them out unasked.
    none_unasked: bool,
}

impl HugePages {
    /// What `native/mimalloc.c` knows it by.
    fn defines(self) -> Vec<String> {
        let beyond = self.beyond_mib.map_or_else(|| "SIZE_MAX".to_owned(), |mib| format!("((size_t){mib} << 20)"));
        let unasked = self.none_unasked.then(|| "-DNONE_UNASKED".to_owned());
        unasked.into_iter().chain([format!("-DUSUAL_PAGES={beyond}")]).collect()
    }
}

/// A text that stands once in a source, and what takes its place. Where it is an option's default, the variable of that
/// name still sets it.
type Replacement = (&'static str, &'static str);

fn replace_once(path: &Path, replacements: &[Replacement]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    let mut text = fs::read_to_string(path).map_err(failed)?;
    for (before, after) in replacements {
        if text.matches(before).count() != 1 {
            return Err(Failure(format!("{}: `{before}` is not where it was", path.display())));
        }
        text = text.replace(before, after);
    }
    fs::write(path, text).map_err(failed)
}

/// As released mimalloc starts in a constructor, which costs a program that allocates nothing as much as the rest of its
/// start (100 of 250 us: docs/bench/build.md). `native/mimalloc.c` says what these keep true.
const START_AT_FIRST_USE: [Replacement; 4] = [
    ("tld_main.thread_id = _mi_prim_thread_id();", "tld_main.thread_id = underpin_main_thread();"),
    ("    _mi_theap_default_set(&theap_main);\n  }\n}", "    _mi_theap_default_set(_mi_theap_default());\n  }\n}"),
    ("    mi_process_init_once();\n", "    mi_process_init_once();\n    underpin_process_is_ready();\n"),
    // It finds out what nothing reads, by CPUID, each of which a virtual machine's host answers in 10 us.
    ("  mi_detect_cpu_features();\n", ""),
];

/// What a program pays for mimalloc before it asks for a block is pages: those that are relocated where a program can be loaded
/// anywhere, and those of zeros that lie between what is stored to at the start. As released each of three empty heaps is written
/// out, 8 KB with 130 pointers to the same empty page. One is enough: of it the main thread's is made with the first block, and
/// the one that says that a heap could not be made with the first that could not (`native/mimalloc.c`). Nothing reads a fourth
/// record of statistics. Large zeros go behind those of the program and of the C library.
const FEW_PAGES_AT_THE_START: [Replacement; 7] = [
    (
        "mi_decl_cache_align const mi_theap_t _mi_theap_empty = {",
        "UNDERPIN_RELOCATED mi_decl_cache_align const mi_theap_t _mi_theap_empty = {",
    ),
    (
        "mi_decl_cache_align const mi_theap_t _mi_theap_empty_wrong = {",
        "static const mi_theap_t underpin_unused_wrong = {",
    ),
    (
        "mi_decl_cache_align mi_theap_t theap_main = {",
        "UNDERPIN_BEHIND mi_decl_cache_align mi_theap_t theap_main;\n\nstatic const mi_theap_t underpin_unused_main = {",
    ),
    (
        "    heap_main.theaps = &theap_main;\n",
        "    heap_main.theaps = underpin_make_main(&theap_main, &tld_main, &heap_main);\n",
    ),
    ("mi_stats_t _mi_stats_main = {", "static const mi_stats_t underpin_unused_stats = {"),
    (
        "static mi_decl_cache_align mi_subproc_t subproc_main\n",
        "UNDERPIN_BEHIND static mi_decl_cache_align mi_subproc_t subproc_main\n",
    ),
    ("mi_decl_cache_align mi_heap_t heap_main\n", "UNDERPIN_BEHIND mi_decl_cache_align mi_heap_t heap_main\n"),
];

/// The main thread's heap is a static one, which upstream takes for initialised: it has no option but the released ones.
/// With two full pages kept at hand, one block that comes and goes beside them takes and frees a page each time, which is
/// kept only if it is alone in its size (4 KiB: 221 ns, and 12 so).
const MAIN_THREAD_HAS_OPTIONS: Replacement = (
    "    mi_theap_main_init();\n    mi_subproc_main_init();\n",
    "    mi_theap_main_init();\n    _mi_theap_options_init(&theap_main);\n    mi_subproc_main_init();\n",
);

/// `native/mimalloc.c` decides on what they tell it. Of a page that is freed they tell what its blocks can have touched.
const TELL_WHAT_IS_FREE: [Replacement; 3] = [
    ("  // claimed it!\n", "  underpin_taken(mi_size_of_slices(slice_count));\n"),
    (
        "  // unregister page\n  _mi_page_map_unregister(page);\n  if (page->memid.memkind == MI_MEM_ARENA) {\n",
        "  const size_t underpin_block = mi_page_block_size(page), underpin_used = page->capacity * underpin_block;\n  \
         mi_subproc_t* const underpin_process =\n    \
         page->memid.memkind == MI_MEM_ARENA ? page->memid.mem.arena.arena->subproc : NULL;\n  \
         _mi_page_map_unregister(page);\n  if (page->memid.memkind == MI_MEM_ARENA) {\n",
    ),
    (
        "  _mi_arenas_free( mi_page_slice_start(page), mi_page_full_size(page), page->memid);\n}\n",
        "  _mi_arenas_free( mi_page_slice_start(page), mi_page_full_size(page), page->memid);\n  \
         if (underpin_process != NULL) underpin_freed(underpin_process, underpin_used, underpin_block);\n}\n",
    ),
];

/// A part of what is free can go back, and the rest later.
const GIVE_BACK_A_PART: [Replacement; 2] = [
    (
        "  // try to purge: first claim the free blocks\n",
        "  slice_count = underpin_part(arena, slice_index, slice_count);\n",
    ),
    ("  return true; // continue\n", "  return underpin_goes_on(mi_size_of_slices(slice_count));\n"),
];

/// Where the kernel gives out huge pages unasked (`always` in /sys/kernel/mm/transparent_hugepage/enabled, as in Debian's own
/// kernels), the first block of a program took 2 MiB, and what was given back in small pieces came back with the next touch.
/// MI_NO_THP alone only leaves out that mimalloc asks for them. Its other way, `allow_thp=0`, is a setting of the whole
/// process, which its children inherit.
///
/// In a heap of 190 MiB of small blocks they save a fifth of the time, though (jaq: 0.61 s instead of 0.79), so the goal of speed
/// has them beyond 16 MiB. The others have not: khugepaged makes a whole huge page of what a heap keeps in 2 MiB, however
/// little (max_ptes_none of Linux' Documentation/admin-guide/mm/transhuge.rst), and memory that was given back is back.
const OWN_HUGE_PAGES: Replacement = (
    "    p = unix_mmap_prim_aligned(addr, size, try_alignment, protect_flags, flags, fd);\n    #if !defined(MI_NO_THP)\n",
    "    p = unix_mmap_prim_aligned(addr, size, try_alignment, protect_flags, flags, fd);\n    \
     if (p != NULL) underpin_huge_pages(p, size);\n    #if !defined(MI_NO_THP)\n",
);

/// Upstream gives the memory back and keeps its addresses as they are, ready to be stored to.
const WITHDRAW_LARGE_PIECES: [Replacement; 2] = [
    (
        "    // decommit: use MADV_DONTNEED as it decreases rss immediately (unlike MADV_FREE)\n",
        "    if (underpin_withdraws(start, size)) { *needs_recommit = true; return 0; }\n",
    ),
    (
        "  int err = mprotect(start, size, (PROT_READ | PROT_WRITE));\n",
        "  underpin_offers(size);\n  int err = mprotect(start, size, (PROT_READ | PROT_WRITE));\n",
    ),
];

/// `free(NULL)` looks up the page of address 0, also before the first allocation and while another thread makes it: until
/// the map is complete, with that page in it, there is one that has no other.
const NULL_HAS_NO_PAGE: [Replacement; 8] = [
    (
        "mi_decl_cache_align _Atomic(mi_submap_t)* _mi_page_map;",
        "static mi_page_t* underpin_no_page[1];\n\
         static _Atomic(mi_submap_t) underpin_no_pages[1] = { underpin_no_page };\n\
         mi_decl_cache_align _Atomic(mi_submap_t)* _mi_page_map = underpin_no_pages;",
    ),
    (
        "  _mi_page_map = (_Atomic(mi_page_t**)*)_mi_os_alloc_aligned(",
        "  _Atomic(mi_page_t**)* const map = (_Atomic(mi_page_t**)*)_mi_os_alloc_aligned(",
    ),
    ("if (_mi_page_map==NULL) {", "if (map==NULL) {"),
    ("_mi_memzero_aligned(_mi_page_map, page_map_size);", "_mi_memzero_aligned(map, page_map_size);"),
    ("(mi_page_t**)((uint8_t*)_mi_page_map + page_map_size);", "(mi_page_t**)((uint8_t*)map + page_map_size);"),
    (
        "  mi_submap_t nullsub = NULL;\n  if (!mi_page_map_ensure_committed(0,&nullsub)) {\n    \
         mi_page_map_cannot_commit();\n    return false;\n  }\n  \
         mi_atomic_store_ptr_release(mi_page_t*, &_mi_page_map[0], sub0);\n",
        "  if (!mi_page_map_memid.initially_committed) {\n    \
         if (!_mi_os_commit(map, MI_PAGE_MAP_ENTRIES_PER_CBIT * sizeof(mi_submap_t), NULL)) {\n      \
         mi_page_map_cannot_commit();\n      return false;\n    }\n    \
         mi_atomic_or_acq_rel(&mi_page_map_commit, MI_ZU(1));\n  }\n  \
         mi_atomic_store_ptr_release(mi_page_t*, &map[0], sub0);\n  \
         __atomic_store_n(&_mi_page_map, map, __ATOMIC_RELEASE);\n",
    ),
    // If there was no memory for the map at first, it is tried again, as upstream does.
    (
        "  if mi_unlikely(_mi_page_map == NULL) {\n    if (!_mi_page_map_init()) return false;\n  }\n  \
         mi_assert(_mi_page_map!=NULL);\n  size_t   slice_count;\n  size_t   sub_idx;\n",
        "  if mi_unlikely(_mi_page_map == underpin_no_pages) {\n    \
         if (!_mi_page_map_init()) return false;\n  }\n  size_t   slice_count;\n  size_t   sub_idx;\n",
    ),
    (
        "  if (_mi_page_map == NULL) return;\n  mi_lock_done(&mi_page_map_lock);",
        "  if (_mi_page_map == underpin_no_pages) return;\n  mi_lock_done(&mi_page_map_lock);",
    ),
];

/// Two full pages of each size are kept at hand as released; see [`MIMALLOC_SLICE_SHIFT`].
const KEEP_NO_FULL_PAGES: Replacement = (
    "{ 2,   MI_OPTION_UNINIT, MI_OPTION(page_full_retain) }",
    "{ 0,   MI_OPTION_UNINIT, MI_OPTION(page_full_retain) }",
);

/// As released, 1 GiB of addresses is reserved at the first call, and counts wherever addresses are limited or promised
/// memory is counted (`ulimit -v`, `vm.overcommit_memory=2`). Less costs nothing (docs/bench/broker.md). What is reserved
/// is a multiple of a chunk, and two at least: a chunk has as many bits as its map, each for a slice.
const RESERVE_LITTLE: Replacement = (
    "{ MI_DEFAULT_ARENA_RESERVE, MI_OPTION_UNINIT, MI_OPTION(arena_reserve) }",
    "{ 32768, MI_OPTION_UNINIT, MI_OPTION(arena_reserve) }",
);

/// Unused memory goes back after 10 ms, not after a second: the peak of four threads' bursts is that of glibc, not twice it.
const GIVE_BACK_SOON: Replacement = (
    "{ 1000,MI_OPTION_UNINIT, MI_OPTION_LEGACY(purge_delay,reset_delay) }",
    "{ 10,MI_OPTION_UNINIT, MI_OPTION_LEGACY(purge_delay,reset_delay) }",
);

impl Tuning {
    /// As released jemalloc looks for memory to give back only when it is called, and not before ten seconds have passed:
    /// a service that has become idle keeps all that it ever had. (docs/bench/ruby.md has the figures of both.)
    const PRELOADED: Tuning = Tuning {
        name: "preloaded",
        jemalloc: "background_thread:true,dirty_decay_ms:1000",
        mimalloc: &[KEEP_NO_FULL_PAGES],
        mimalloc_chunk_shift: 9,
        at_first_use: false,
        much_goes_back_at_once: false,
        huge_pages: HugePages { beyond_mib: None, none_unasked: true },
    };

    fn of(goal: Goal) -> &'static Tuning {
        const SPEED: Tuning = Tuning {
            name: "speed",
            jemalloc: "",
            mimalloc: &[KEEP_NO_FULL_PAGES, RESERVE_LITTLE],
            mimalloc_chunk_shift: 9,
            at_first_use: true,
            much_goes_back_at_once: false,
            huge_pages: HugePages { beyond_mib: Some(16), none_unasked: false },
        };
        const BALANCED: Tuning = Tuning {
            name: "balanced",
            jemalloc: "dirty_decay_ms:1000",
            mimalloc: &[KEEP_NO_FULL_PAGES, RESERVE_LITTLE, GIVE_BACK_SOON],
            mimalloc_chunk_shift: 7,
            at_first_use: true,
            much_goes_back_at_once: true,
            huge_pages: HugePages { beyond_mib: None, none_unasked: true },
        };
        match goal {
            Goal::Speed => &SPEED,
            Goal::Balanced => &BALANCED,
        }
    }
}

/// The settings as an object of their own: jemalloc itself is compiled once for all of them.
fn jemalloc_conf(tools: &Tools, tuning: &Tuning) -> Result<PathBuf, Failure> {
    let define = format!("CONF=\"{}\"", tuning.jemalloc);
    tools.compile_c("jemalloc-conf.c", &format!("jemalloc-conf-{}.o", tuning.name), &[define])
}

/// Has jemalloc read its settings from `underpin_malloc_conf` instead of from a text in its code.
fn open_conf(folder: &Path) -> Result<(), Failure> {
    let path = folder.join("include/jemalloc/internal/jemalloc_internal_defs.h");
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(&path).map_err(failed)?;
    const DEFINED: &str = "#define JEMALLOC_CONFIG_MALLOC_CONF \"\"";
    if text.matches(DEFINED).count() != 1 {
        return Err(Failure(format!("{}: JEMALLOC_CONFIG_MALLOC_CONF is not where it was", path.display())));
    }
    let opened = "extern const char underpin_malloc_conf[] __attribute__((visibility(\"hidden\")));\n\
                  #define JEMALLOC_CONFIG_MALLOC_CONF underpin_malloc_conf";
    fs::write(&path, text.replace(DEFINED, opened)).map_err(failed)
}

fn build_jemalloc(tools: &Tools, source: &Source) -> Result<PathBuf, Failure> {
    let folder = tools.out.join("jemalloc");
    let mut flags: Vec<&str> = COMMON.to_vec();
    flags.extend(tools.machine_flags());
    let mapped = Tools::mapped(&folder, "jemalloc");
    flags.extend(["-O3", &mapped]);
    let mut configure = Command::new("sh");
    configure.current_dir(&folder).env("CC", &tools.cc).env("CFLAGS", flags.join(" ")).env_remove("MALLOC_CONF");
    configure.args(["configure", "--disable-cxx", "--disable-doc", "--disable-shared"]);
    configure.arg(format!("--with-version={}-0-g{}", source.version, "0".repeat(40)));
    if tools.large_pages() {
        configure.arg("--with-lg-page=16");
    }
    if tools.cross {
        configure.arg(format!("--host={}-linux-gnu", tools.arch));
    }
    let archive = folder.join("lib/libjemalloc_pic.a");
    let made_with = format!("open conf\n{}\n{configure:?}\n{}", source.folder.display(), tools.compiler_version());
    if archive.exists() && fs::read_to_string(tools.out.join("jemalloc.stamp")).is_ok_and(|text| text == made_with) {
        return Ok(archive);
    }
    // A folder of another build, or of an interrupted one, is worth nothing.
    let _ = fs::remove_dir_all(&folder);
    copy_folder(&source.folder.join("jemalloc"), &folder)?;
    copy_folder(&source.folder.join("configure"), &folder)?;
    run(&mut configure)?;
    open_conf(&folder)?;
    let mut make = Command::new("make");
    make.current_dir(&folder).arg("lib/libjemalloc_pic.a");
    if let Some(flags) = std::env::var_os("CARGO_MAKEFLAGS") {
        make.env("MAKEFLAGS", flags);
    }
    run(&mut make)?;
    tools.write("jemalloc.stamp", &made_with)?;
    Ok(archive)
}

fn mimalloc(folder: &Path) -> PathBuf {
    folder.join("c_src/mimalloc/v3")
}

/// `#define MI_MALLOC_VERSION 30302` is 3.3.2.
fn mimalloc_version(header: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(header).map_err(|error| Failure(format!("{}: {error}", header.display())))?;
    let line = text.lines().find_map(|line| line.strip_prefix("#define MI_MALLOC_VERSION"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u32>().ok());
    let number = number.ok_or_else(|| Failure(format!("{}: no MI_MALLOC_VERSION", header.display())))?;
    Ok(format!("{}.{}.{}", number / 10000, number / 100 % 100, number % 100))
}

/// mimalloc 3 as released has pages of 64 kB and keeps two full ones of each size at hand. Where blocks of many sizes come
/// and go it then spends its time on looking for pages with room: 1.36 times the processor time of mimalloc 2.0.
/// With pages of 128 kB and none kept it needs less than that, and no more memory (docs/bench/mimalloc.md).
const MIMALLOC_SLICE_SHIFT: u32 = 17;
const MIMALLOC_LINKED: &str = "pages of 128 kB, full ones left to themselves; reserves";

fn build_mimalloc(tools: &Tools, folder: &Path, tuning: &Tuning) -> Result<PathBuf, Failure> {
    let folder = mimalloc(folder);
    let sources = tools.out.join(format!("mimalloc-{}", tuning.name));
    // What another version left behind must not be compiled.
    let _ = fs::remove_dir_all(&sources);
    copy_folder(&folder.join("src"), &sources)?;
    replace_once(&sources.join("options.c"), tuning.mimalloc)?;
    replace_once(&sources.join("init.c"), &[MAIN_THREAD_HAS_OPTIONS])?;
    replace_once(&sources.join("prim/unix/prim.c"), &[OWN_HUGE_PAGES])?;
    if tuning.at_first_use {
        replace_once(&sources.join("init.c"), &START_AT_FIRST_USE)?;
        replace_once(&sources.join("init.c"), &FEW_PAGES_AT_THE_START)?;
        replace_once(&sources.join("options.c"), &[("static char out_buf[", "UNDERPIN_BEHIND static char out_buf[")])?;
        replace_once(&sources.join("heap.c"), &[("(mi_theap_t*)&_mi_theap_empty_wrong", "underpin_no_heap()")])?;
        replace_once(&sources.join("page.c"), &[("theap==&_mi_theap_empty_wrong", "underpin_is_no_heap(theap)")])?;
        replace_once(&sources.join("page-map.c"), &NULL_HAS_NO_PAGE)?;
    }
    if tuning.much_goes_back_at_once {
        replace_once(&sources.join("arena.c"), &TELL_WHAT_IS_FREE)?;
        replace_once(&sources.join("arena.c"), &GIVE_BACK_A_PART)?;
        replace_once(&sources.join("prim/unix/prim.c"), &WITHDRAW_LARGE_PIECES)?;
    }
    let object = tools.out.join(format!("mimalloc-{}.o", tuning.name));
    let mut command = Command::new(&tools.cc);
    command.args(COMMON).args(tools.machine_flags()).args(["-std=gnu11", "-O3"]);
    let defines = ["NDEBUG", "MI_BUILD_RELEASE", "MI_SHARED_LIB", "MI_SHARED_LIB_EXPORT"];
    command.args(defines.map(|name| format!("-D{name}"))).arg("-DMI_NO_THP=1");
    command.args(tuning.huge_pages.defines());
    command.arg(format!("-DMI_ARENA_SLICE_SHIFT={MIMALLOC_SLICE_SHIFT}"));
    command.arg(format!("-DMI_BCHUNK_BITS_SHIFT={}", tuning.mimalloc_chunk_shift));
    if tuning.at_first_use {
        command.args(["-DAT_FIRST_USE", "-DMI_PRIM_HAS_PROCESS_ATTACH"]);
    }
    if tuning.much_goes_back_at_once {
        command.arg("-DMUCH_GOES_BACK_AT_ONCE");
    }
    command.arg(include(&folder.join("include"))).arg(include(&sources));
    // It can say when it was compiled, which would be other bytes each time.
    command.args(["-D__DATE__=\"unknown\"", "-D__TIME__=\"unknown\""]);
    let mapped = [(folder.as_path(), "mimalloc"), (&sources, "mimalloc/src"), (&tools.manifest, "underpin-allocators")];
    command.args(mapped.map(|(folder, name)| Tools::mapped(folder, name)));
    run(command.arg("-c").arg("-o").arg(&object).arg(tools.native("mimalloc.c")))?;
    Ok(object)
}

fn build_snmalloc(tools: &Tools, folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder.join("upstream/src");
    let object = tools.out.join("snmalloc.o");
    let mut command = Command::new(&tools.cxx);
    command.args(COMMON).args(tools.machine_flags()).args(["-std=c++20", "-O3"]);
    if tools.arch == "x86_64" {
        command.arg("-mcx16");
    }
    // Nothing of a C++ library is needed: no exceptions, its own small standard library, and the end of a thread is
    // told by pthreads, since musl has no __cxa_thread_atexit_impl.
    command.args(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-gnu-unique", "-DNDEBUG"]);
    let defines = [
        "SNMALLOC_USE_PTHREAD_DESTRUCTORS",
        "SNMALLOC_USE_SELF_VENDORED_STL=1",
        "SNMALLOC_USE_WAIT_ON_ADDRESS=1",
        "SNMALLOC_PLATFORM_HAS_GETENTROPY",
        "SNMALLOC_HAS_LINUX_FUTEX_H",
        "SNMALLOC_HAS_LINUX_RANDOM_H",
        "SNMALLOC_CHECK_LOADS=false",
        "SNMALLOC_PAGEID=false",
        "SNMALLOC_EXPORT=__attribute__((visibility(\"default\")))",
    ];
    command.args(defines.map(|define| format!("-D{define}"))).arg(include(&folder));
    command.arg(Tools::mapped(&folder, "snmalloc"));
    run(command.arg("-c").arg("-o").arg(&object).arg(folder.join("snmalloc/override/malloc.cc")))?;
    Ok(object)
}
