//! mimalloc: what underpin changes in its sources, and how it is compiled.

use crate::tools::{COMMON, Failure, Tools, copy_folder, include, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What mimalloc is built with for one purpose.
pub struct Settings {
    options: &'static [Replacement],
    /// The bits of a chunk's map, as a power of two: with 7, chunks of 16 MB are reserved two at a time, and blocks above
    /// that are the kernel's; with 9, as released, four times as much.
    chunk_shift: u32,
    /// It starts with the first block that the program asks for, not with the program.
    at_first_use: bool,
    /// Much that is free goes back when it is freed, not after a delay. Then blocks above 128 kB are pages of their own, too: as
    /// released those of one size, up to 1 MB, share pages of 8 MB, of which each size in use touches one (32 blocks of 250 kB to
    /// 1 MB: 86 MB, and 35 so; glibc 26). To take and free one costs 0.4 us, as much as one or two page faults.
    much_goes_back_at_once: bool,
    huge_pages: HugePages,
}

impl Settings {
    pub const PRELOADED: Settings = Settings {
        options: &[KEEP_NO_FULL_PAGES],
        chunk_shift: 9,
        at_first_use: false,
        much_goes_back_at_once: false,
        huge_pages: HugePages { beyond_mib: None, none_unasked: true },
    };

    pub const SPEED: Settings = Settings {
        options: &[KEEP_NO_FULL_PAGES, RESERVE_LITTLE],
        chunk_shift: 9,
        at_first_use: true,
        much_goes_back_at_once: false,
        huge_pages: HugePages { beyond_mib: Some(16), none_unasked: false },
    };

    pub const BALANCED: Settings = Settings {
        options: &[KEEP_NO_FULL_PAGES, RESERVE_LITTLE, GIVE_BACK_SOON],
        chunk_shift: 7,
        at_first_use: true,
        much_goes_back_at_once: true,
        huge_pages: HugePages { beyond_mib: None, none_unasked: true },
    };
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
/// record of statistics. Large zeros go behind those of the program and of the C library; of the main thread's two heaps, which are
/// large, only the first part is stored to in most programs, so that each begins a page.
const FEW_PAGES_AT_THE_START: [(&str, &[Replacement]); 4] = [
    (
        "init.c",
        &[
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
                "UNDERPIN_BEHIND UNDERPIN_PAGE mi_theap_t theap_main;\n\nstatic const mi_theap_t underpin_unused_main = {",
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
            ("mi_decl_cache_align mi_heap_t heap_main\n", "UNDERPIN_BEHIND UNDERPIN_PAGE mi_heap_t heap_main\n"),
        ],
    ),
    (
        "options.c",
        &[
            ("static char out_buf[", "UNDERPIN_BEHIND static char out_buf["),
            // Nothing was said, which is the rule: a line's end would still be stored to it.
            (
                "  if (out==NULL) return;\n  // claim",
                "  if (out==NULL || (!no_more_buf && mi_atomic_load_relaxed(&out_len)==0)) return;\n  // claim",
            ),
        ],
    ),
    ("heap.c", &[("(mi_theap_t*)&_mi_theap_empty_wrong", "underpin_no_heap()")]),
    ("page.c", &[("theap==&_mi_theap_empty_wrong", "underpin_is_no_heap(theap)")]),
];

/// The main thread's heap is a static one, which upstream takes for initialised: it has no option but the released ones.
/// With two full pages kept at hand, one block that comes and goes beside them takes and frees a page each time, which is
/// kept only if it is alone in its size (4 KiB: 221 ns, and 12 so).
const MAIN_THREAD_HAS_OPTIONS: Replacement = (
    "    mi_theap_main_init();\n    mi_subproc_main_init();\n",
    "    mi_theap_main_init();\n    _mi_theap_options_init(&theap_main);\n    mi_subproc_main_init();\n",
);

/// `native/mimalloc.c` decides on what they tell it. Of a page that is freed they tell what its blocks can have touched.
const TELL_WHAT_IS_FREE: [Replacement; 4] = [
    ("  // claimed it!\n", "  underpin_taken(arena, slice_index, slice_count);\n"),
    ("arenas_expire > now)) return;\n", "arenas_expire > now || underpin_may_wait(now - arenas_expire))) return;\n"),
    (
        "  // unregister page\n  _mi_page_map_unregister(page);\n  if (page->memid.memkind == MI_MEM_ARENA) {\n",
        "  const size_t underpin_block = mi_page_block_size(page), underpin_used = page->capacity * underpin_block;\n  \
         const size_t underpin_slices = mi_page_full_size(page);\n  \
         mi_subproc_t* const underpin_process =\n    \
         page->memid.memkind == MI_MEM_ARENA ? page->memid.mem.arena.arena->subproc : NULL;\n  \
         _mi_page_map_unregister(page);\n  if (page->memid.memkind == MI_MEM_ARENA) {\n",
    ),
    (
        "  _mi_arenas_free( mi_page_slice_start(page), mi_page_full_size(page), page->memid);\n}\n",
        "  _mi_arenas_free( mi_page_slice_start(page), mi_page_full_size(page), page->memid);\n  \
         if (underpin_process != NULL) underpin_freed(underpin_process, underpin_slices, underpin_used, underpin_block);\n}\n",
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

/// As released each large block begins where its slices do, at a multiple of 128 kB, so that what stands at one place of several
/// blocks is in one set of a processor's cache, which has room for 8 to 16 lines: 64 vectors that grow side by side to 160 kB took
/// 1.2 to 1.35 times as long (Intel's family 6, model 207). jemalloc and glibc do not align them either.
const BLOCKS_IN_DIFFERENT_SETS: [(&str, Replacement); 2] = [
    (
        "arena.c",
        (
            "  // commit first block?\n  size_t commit_size = 0;\n",
            "  if (!os_align) block_start = underpin_start(block_start, block_size, page_noguard_size, slice_start);\n\n  \
             // commit first block?\n  size_t commit_size = 0;\n",
        ),
    ),
    // Then such a block is aligned to pages only where that was asked for.
    (
        "alloc-aligned.c",
        (
            "(alignment==MI_PAGE_OSPAGE_BLOCK_ALIGN2 && (bsize",
            "(alignment==MI_PAGE_OSPAGE_BLOCK_ALIGN2 && bsize < UNDERPIN_LARGE && (bsize",
        ),
    ),
];

/// As released each growth of a large block is a copy: to 100 MB in steps of 64 kB it took 16 times as long as with glibc, which
/// grows into what is free behind a block or asks the kernel to move its pages; and where a program grew to 1.5 MB and freed it, again
/// and again, each time was page faults (1250 us, and 40 so; glibc 10). What is asked for as zeros is left to upstream, which does not
/// clear what lies behind a block.
const GROW_WITHOUT_A_COPY: [(&str, Replacement); 3] = [
    (
        "alloc.c",
        (
            "  void* newp = mi_theap_umalloc(theap,newsize,usable_post);\n  if mi_likely(newp != NULL) {\n    if (zero",
            "  const bool underpin_grows = p != NULL && !zero && newsize > size;\n  \
             void* newp = underpin_grows ? underpin_grown(theap, (mi_page_t*)page, p, size, newsize) : NULL;\n  \
             if (newp != NULL) {\n    \
             if (usable_post != NULL) *usable_post = mi_page_usable_block_size(_mi_ptr_page(newp));\n    \
             return newp;\n  }\n  \
             const size_t underpin_ahead = underpin_grows ? underpin_room(size, newsize) : newsize;\n  \
             newp = mi_theap_umalloc(theap, underpin_ahead, usable_post);\n  \
             if (newp == NULL && underpin_ahead != newsize) newp = mi_theap_umalloc(theap, newsize, usable_post);\n  \
             if mi_likely(newp != NULL) {\n    if (zero",
        ),
    ),
    (
        "arena.c",
        (
            "  if (!mi_bbitmap_try_find_and_clearN(arena->slices_free, tseq, slice_count, &slice_index)) return NULL;\n",
            "  if (!underpin_claimed(arena, &slice_index, slice_count, tseq)) return NULL;\n",
        ),
    ),
    (
        "arena.c",
        (
            "      !os_align &&                                                   // not large alignment\n",
            "      !os_align && !underpin_alone() &&\n",
        ),
    ),
];

/// Two full pages of each size are kept at hand as released; see [`SLICE_SHIFT`].
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

/// The version that is built, in the crate's folder.
pub fn sources(folder: &Path) -> PathBuf {
    folder.join("c_src/mimalloc/v3")
}

/// `#define MI_MALLOC_VERSION 30302` is 3.3.2.
pub fn version(folder: &Path) -> Result<String, Failure> {
    let header = sources(folder).join("include/mimalloc.h");
    let text = fs::read_to_string(&header).map_err(|error| Failure(format!("{}: {error}", header.display())))?;
    let line = text.lines().find_map(|line| line.strip_prefix("#define MI_MALLOC_VERSION"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u32>().ok());
    let number = number.ok_or_else(|| Failure(format!("{}: no MI_MALLOC_VERSION", header.display())))?;
    Ok(format!("{}.{}.{}", number / 10000, number / 100 % 100, number % 100))
}

/// mimalloc 3 as released has pages of 64 kB and keeps two full ones of each size at hand. Where blocks of many sizes come
/// and go it then spends its time on looking for pages with room: 1.36 times the processor time of mimalloc 2.0.
/// With pages of 128 kB and none kept it needs less than that, and no more memory (docs/bench/mimalloc.md).
const SLICE_SHIFT: u32 = 17;
/// In words for the user, before the bytes of addresses that are reserved at a time.
pub const LINKED: &str = "pages of 128 kB, full ones left to themselves; reserves";

/// A copy of the sources with what is changed for one purpose.
fn changed(tools: &Tools, sources: &Path, name: &str, settings: &Settings) -> Result<PathBuf, Failure> {
    let copy = tools.out.join(format!("mimalloc-{name}"));
    // What another version left behind must not be compiled.
    let _ = fs::remove_dir_all(&copy);
    copy_folder(sources, &copy)?;
    let change = |file: &str, replacements: &[Replacement]| replace_once(&copy.join(file), replacements);
    change("options.c", settings.options)?;
    change("init.c", &[MAIN_THREAD_HAS_OPTIONS])?;
    change("prim/unix/prim.c", &[OWN_HUGE_PAGES])?;
    BLOCKS_IN_DIFFERENT_SETS.iter().try_for_each(|&(file, replacement)| change(file, &[replacement]))?;
    GROW_WITHOUT_A_COPY.iter().try_for_each(|&(file, replacement)| change(file, &[replacement]))?;
    if settings.at_first_use {
        change("init.c", &START_AT_FIRST_USE)?;
        FEW_PAGES_AT_THE_START.iter().try_for_each(|(file, replacements)| change(file, replacements))?;
        change("page-map.c", &NULL_HAS_NO_PAGE)?;
    }
    if settings.much_goes_back_at_once {
        change("arena.c", &TELL_WHAT_IS_FREE)?;
        change("arena.c", &GIVE_BACK_A_PART)?;
        change("prim/unix/prim.c", &WITHDRAW_LARGE_PIECES)?;
    }
    Ok(copy)
}

/// The object, of the crate in a folder.
pub fn build(tools: &Tools, folder: &Path, name: &str, settings: &Settings) -> Result<PathBuf, Failure> {
    let folder = sources(folder);
    let sources = changed(tools, &folder.join("src"), name, settings)?;
    let object = tools.out.join(format!("mimalloc-{name}.o"));
    let mut command = Command::new(&tools.cc);
    command.args(COMMON).args(tools.machine_flags()).args(["-std=gnu11", "-O3"]);
    let defines = ["NDEBUG", "MI_BUILD_RELEASE", "MI_SHARED_LIB", "MI_SHARED_LIB_EXPORT"];
    command.args(defines.map(|name| format!("-D{name}"))).arg("-DMI_NO_THP=1");
    command.args(settings.huge_pages.defines());
    command.arg(format!("-DMI_ARENA_SLICE_SHIFT={SLICE_SHIFT}"));
    command.arg(format!("-DMI_BCHUNK_BITS_SHIFT={}", settings.chunk_shift));
    if settings.at_first_use {
        command.args(["-DAT_FIRST_USE", "-DMI_PRIM_HAS_PROCESS_ATTACH"]);
    }
    if settings.much_goes_back_at_once {
        command.args(["-DMUCH_GOES_BACK_AT_ONCE", "-DMI_ENABLE_LARGE_PAGES=0"]);
    }
    command.arg(include(&folder.join("include"))).arg(include(&sources));
    // It can say when it was compiled, which would be other bytes each time.
    command.args(["-D__DATE__=\"unknown\"", "-D__TIME__=\"unknown\""]);
    let mapped = [(folder.as_path(), "mimalloc"), (&sources, "mimalloc/src"), (&tools.manifest, "underpin-allocators")];
    command.args(mapped.map(|(folder, name)| Tools::mapped(folder, name)));
    run(command.arg("-c").arg("-o").arg(&object).arg(tools.native("mimalloc.c")))?;
    Ok(object)
}
