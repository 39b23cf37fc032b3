//! The objects on board: what they need, what they export, and that they are what their digest says.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use underpin_malloc::{AllocatorKind, Object, allocator, companion, on_board};
use underpin_test_support::{Fixture, Output, need};

/// Whether a list of `nm` has a symbol.
fn contains(listed: &str, name: &str) -> bool {
    listed.lines().any(|line| line.split_whitespace().last() == Some(name))
}

fn objects() -> Vec<Object> {
    let mut objects: Vec<Object> = on_board().iter().filter_map(|allocator| allocator.object.ok()).collect();
    objects.push(*companion());
    objects
}

fn written(dir: &Fixture, object: &Object) -> std::path::PathBuf {
    dir.write(format!("{}.so", object.name), object.bytes)
}

/// Names of dynamic symbols without their versions, as `nm` lists them.
fn symbols(dir: &Fixture, which: &str, file: &Path) -> String {
    let listed = dir.must("nm", ["-D", which, "--without-symbol-versions", file.to_str().expect("a UTF-8 path")]);
    listed.lines().map(|line| format!("{}\n", line.split('@').next().unwrap_or(line))).collect()
}

#[test]
fn jemalloc_and_mimalloc_are_on_board() {
    // snmalloc needs a C++20 compiler at build time, and is left out if there was none.
    for kind in [AllocatorKind::Jemalloc, AllocatorKind::Mimalloc] {
        let carried = allocator(kind).expect("listed");
        assert!(carried.object.is_ok(), "{carried:?}");
        assert!(carried.options.len() > 20, "{:?}", carried.options);
    }
}

#[test]
fn the_digest_is_that_of_the_bytes() {
    for object in objects() {
        let digest: String = Sha256::digest(object.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, object.sha256, "{}", object.name);
    }
}

/// What is built elsewhere or later from the same sources has the same bytes, and no path of a home directory.
#[test]
fn no_object_tells_where_or_when_it_was_built() {
    // `__TIME__` is 23:59:59 (C11, 6.10.8.1).
    let is_time = |text: &str| {
        text.len() == 8
            && text.bytes().enumerate().all(|(at, b)| if at % 3 == 2 { b == b':' } else { b.is_ascii_digit() })
    };
    for object in objects() {
        let text = String::from_utf8_lossy(object.bytes);
        let told = text.split('\0').find(|text| {
            let places = [env!("CARGO_MANIFEST_DIR"), env!("CARGO_TARGET_TMPDIR"), "/registry/src/"];
            is_time(text) || places.iter().any(|place| text.contains(place))
        });
        assert_eq!(told, None, "{}", object.name);
    }
}

#[test]
fn an_object_belongs_to_no_c_library() {
    need!("readelf");
    let dir = Fixture::new();
    for object in objects() {
        let path = written(&dir, &object);
        let text = dir.must("readelf", ["-dW", "-VW", path.to_str().unwrap()]);
        assert!(text.contains("No version information found"), "{}: {text}", object.name);
        let needed: Vec<&str> = text.lines().filter(|line| line.contains("(NEEDED)")).collect();
        assert_eq!(needed.len(), 1, "{needed:?}");
        assert!(needed[0].contains("[libc.so.6]"), "{needed:?}");
    }
}

#[test]
fn what_an_object_asks_for_both_c_libraries_have() {
    const MUSL: &str = "/lib/ld-musl-x86_64.so.1";
    need!("nm", MUSL, "cc");
    let dir = Fixture::new();
    let glibc = Output::of(dir.command("cc").arg("-print-file-name=libc.so.6")).stdout;
    let libraries = [Path::new(MUSL), Path::new(glibc.trim())];
    for library in libraries {
        let defined = symbols(&dir, "--defined-only", library);
        for object in objects() {
            let path = written(&dir, &object);
            let listed = symbols(&dir, "--undefined-only", &path);
            // `w` may stay unresolved.
            for line in listed.lines().filter(|line| line.trim_start().starts_with("U ")) {
                let name = line.split_whitespace().last().unwrap();
                assert!(contains(&defined, name), "{} asks for {name}, not in {}", object.name, library.display());
            }
        }
    }
}

#[test]
fn an_allocator_exports_the_whole_family() {
    need!("nm");
    let dir = Fixture::new();
    for carried in on_board() {
        let Ok(object) = carried.object else { continue };
        let exported = symbols(&dir, "--defined-only", &written(&dir, &object));
        for name in ["malloc", "calloc", "realloc", "free", "aligned_alloc", "memalign", "posix_memalign"] {
            assert!(contains(&exported, name), "{} lacks {name}:\n{exported}", object.name);
        }
        assert!(contains(&exported, "malloc_usable_size"), "{}", object.name);
        for local in ["gettid", "strerror_r", "atexit", "pthread_atfork"] {
            assert!(!contains(&exported, local), "{} exports {local}", object.name);
        }
    }
}

#[test]
fn one_object_serves_glibc_and_musl() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write(
        "threads.c",
        r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
static void *work(void *unused) {
    void *kept[300];
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 300; i++) { kept[i] = malloc(16 + (i * 37) % 9000); memset(kept[i], i, 16); }
        for (int i = 0; i < 300; i++) free(kept[i]);
    }
    return unused;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    void *aligned = 0;
    if (posix_memalign(&aligned, 4096, 100) || (unsigned long)aligned % 4096) return 2;
    free(aligned);
    puts("done");
}
"#,
    );
    let flags = ["-O1", "-fno-builtin", "threads.c", "-pthread", "-o"];
    dir.cc(flags.iter().chain(&["glibc"]));
    dir.musl_cc(flags.iter().chain(&["musl"]));
    for object in objects() {
        let path = written(&dir, &object);
        for program in ["glibc", "musl"] {
            let output = Output::of(dir.command(dir.join(program)).env("LD_PRELOAD", &path));
            assert_eq!(
                (output.code, output.stdout.trim()),
                (Some(0), "done"),
                "{} {program}: {}",
                object.name,
                output.stderr
            );
            assert_eq!(output.stderr, "", "{} {program}", object.name);
        }
    }
}

/// POSIX: each of the family fails with ENOMEM, `posix_memalign` by its answer, a bad alignment with EINVAL.
#[test]
fn memory_that_cannot_be_had_is_told_by_errno_as_the_c_library_tells_it() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write(
        "errno.c",
        r#"
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#define TELL(call) errno = 0; got = (call); printf("%s: %d %d\n", #call, got != 0, errno)
int main(void) {
    volatile size_t big = SIZE_MAX, huge = SIZE_MAX / 4, half = (size_t)1 << 33, page = 4096, odd = 24;
    void *got, *old = malloc(10);
    TELL(malloc(big)); TELL(malloc(huge)); TELL(calloc(half, half)); TELL(calloc(1, huge));
    TELL(realloc(0, big)); TELL(realloc(old, huge)); TELL(reallocarray(0, half, half)); TELL(reallocarray(old, huge, 1));
    TELL(aligned_alloc(page, huge)); TELL(memalign(page, huge));
#ifdef __GLIBC__
    TELL(valloc(huge)); TELL(pvalloc(huge));
#else
    TELL(aligned_alloc(odd, odd));
#endif
    void *kept = old;
    int answer = posix_memalign(&kept, page, huge);
    printf("posix_memalign: %d %d\n", answer, kept == old);
    printf("posix_memalign: %d\n", posix_memalign(&kept, odd, 1));
    free(old);
    struct rlimit limit = { (rlim_t)3 << 30, (rlim_t)3 << 30 };
    setrlimit(RLIMIT_AS, &limit);
    long blocks = 0;
    errno = 0;
    while (blocks < 100000 && malloc(1 << 20)) blocks++;
    printf("the end of memory: %d\n", errno);
}
"#,
    );
    let flags = ["-O1", "-fno-builtin", "-w", "errno.c", "-o"];
    dir.cc(flags.iter().chain(&["glibc"]));
    dir.musl_cc(flags.iter().chain(&["musl"]));
    for program in ["glibc", "musl"] {
        let own = Output::of(&mut dir.command(dir.join(program)));
        assert!(own.stdout.contains("the end of memory: 12"), "{}", own.stdout);
        for carried in on_board() {
            let Ok(object) = carried.object else { continue };
            let output = Output::of(dir.command(dir.join(program)).env("LD_PRELOAD", written(&dir, &object)));
            assert_eq!(output.stdout, own.stdout, "{program} on {}: {}", object.name, output.stderr);
        }
    }
}

/// The names that a program may free by, and the ones that it may allocate by, are of one allocator.
#[test]
fn what_one_name_of_the_family_allocates_every_name_frees() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "family.c",
        r#"
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern void *pvalloc(size_t);
extern void cfree(void *) __attribute__((weak)), free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
int main(void) {
    void *blocks[] = { malloc(33), calloc(3, 11), realloc(0, 33), reallocarray(0, 3, 11), aligned_alloc(64, 128),
                       memalign(256, 33), valloc(33), pvalloc(33), 0 };
    if (posix_memalign(&blocks[8], 4096, 33)) return 1;
    for (int i = 0; i < 9; i++) {
        if (!blocks[i] || malloc_usable_size(blocks[i]) < 33) return 2 + i;
        memset(blocks[i], 1, 33);
    }
    if ((uintptr_t)blocks[4] % 64 || (uintptr_t)blocks[5] % 256 || (uintptr_t)blocks[6] % 4096) return 20;
    if ((uintptr_t)blocks[7] % 4096 || malloc_usable_size(blocks[7]) < 4096 || (uintptr_t)blocks[8] % 4096) return 21;
    for (int i = 0; i < 9; i++) blocks[i] = realloc(blocks[i], 5000);
    if (cfree) cfree(blocks[0]); else free(blocks[0]);
    if (free_sized) free_sized(blocks[1], 5000); else free(blocks[1]);
    if (free_aligned_sized) free_aligned_sized(blocks[2], 16, 5000); else free(blocks[2]);
    for (int i = 3; i < 9; i++) free(blocks[i]);
    puts("done");
}
"#,
    );
    dir.cc(["-O1", "-fno-builtin", "-w", "family.c", "-o", "family"]);
    let object = allocator(AllocatorKind::Mimalloc).and_then(|carried| carried.object.ok()).expect("on board");
    let output = Output::of(dir.command(dir.join("family")).env("LD_PRELOAD", written(&dir, &object)));
    assert_eq!((output.code, output.stdout.trim()), (Some(0), "done"), "{}", output.stderr);
}

#[test]
fn mimalloc_has_no_huge_pages_even_where_the_kernel_gives_them_out_unasked() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "huge.c",
        r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    void *kept[200];
    for (int i = 0; i < 200; i++) memset(kept[i] = malloc(50000), 1, 50000);
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    int advised = 0, refused = 0;
    unsigned long from = 0, to = 0, first, last, block = (unsigned long)kept[199];
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2) from = first, to = last;
        if (strncmp(line, "VmFlags:", 8)) continue;
        advised += strstr(line, " hg") != NULL;
        refused += from <= block && block < to && strstr(line, " nh");
    }
    printf("%d %d\n", advised, refused);
}
"#,
    );
    dir.cc(["-O1", "-fno-builtin", "huge.c", "-o", "huge"]);
    let object = allocator(AllocatorKind::Mimalloc).and_then(|carried| carried.object.ok()).expect("on board");
    let output = Output::of(dir.command(dir.join("huge")).env("LD_PRELOAD", written(&dir, &object)));
    // A kernel without them knows no such advice.
    let refused = usize::from(Path::new("/sys/kernel/mm/transparent_hugepage").exists());
    assert_eq!(output.stdout.trim(), format!("0 {refused}"), "{}", output.stderr);
}

#[test]
fn an_idle_process_on_jemalloc_gives_its_memory_back_unless_the_user_says_otherwise() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write(
        "settings.c",
        r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
int main(void) {
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) = dlsym(RTLD_DEFAULT, "mallctl");
    bool thread = false, runs = false;
    ssize_t decay = 0;
    if (!mallctl || mallctl("opt.background_thread", &thread, &(size_t){sizeof thread}, 0, 0)
        || mallctl("background_thread", &runs, &(size_t){sizeof runs}, 0, 0)
        || mallctl("opt.dirty_decay_ms", &decay, &(size_t){sizeof decay}, 0, 0)) return 1;
    printf("%d %d %zd\n", thread, runs, decay);
}
"#,
    );
    dir.cc(["settings.c", "-o", "glibc"]);
    dir.musl_cc(["settings.c", "-o", "musl"]);
    let carried = allocator(AllocatorKind::Jemalloc).expect("listed");
    assert!(carried.settings.contains("a background thread gives unused memory back"), "{}", carried.settings);
    let object = written(&dir, &carried.object.expect("on board"));
    for (conf, expected) in [("", "1 1 1000"), ("background_thread:false,dirty_decay_ms:7", "0 0 7")] {
        for program in ["glibc", "musl"] {
            let mut command = dir.command(dir.join(program));
            let output = Output::of(command.env("LD_PRELOAD", &object).env("MALLOC_CONF", conf));
            assert_eq!((output.code, output.stdout.trim()), (Some(0), expected), "{program}: {}", output.stderr);
        }
    }
}

#[test]
fn mimalloc_gives_memory_back_at_once_where_the_user_says_so() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "idle.c",
        r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { COUNT = 800, SIZE = 100000 };
int main(void) {
    static void *kept[COUNT];
    for (int i = 0; i < COUNT; i++) memset(kept[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < COUNT; i++) free(kept[i]);
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kilobytes = 0;
    while (fgets(line, sizeof line, file)) sscanf(line, "Rss: %ld kB", &kilobytes);
    puts(kilobytes > COUNT / 2 * (SIZE / 1024) ? "keeps it" : "gives it back");
}
"#,
    );
    dir.cc(["-O1", "-fno-builtin", "idle.c", "-o", "idle"]);
    let carried = allocator(AllocatorKind::Mimalloc).expect("listed");
    assert!(carried.settings.contains("or at once with purge_delay=0"), "{}", carried.settings);
    let object = written(&dir, &carried.object.expect("on board"));
    for (delay, expected) in [("0", "gives it back"), ("1000000", "keeps it")] {
        let mut command = dir.command(dir.join("idle"));
        let output = Output::of(command.env("LD_PRELOAD", &object).env("MIMALLOC_PURGE_DELAY", delay));
        assert_eq!(output.stdout.trim(), expected, "{delay}: {}", output.stderr);
    }
}

#[test]
fn options_are_listed_by_their_names() {
    let options = |kind| allocator(kind).expect("listed").options;
    for name in ["narenas", "dirty_decay_ms", "background_thread", "tcache"] {
        assert!(options(AllocatorKind::Jemalloc).contains(&name), "{name}");
    }
    for name in ["purge_delay", "arena_eager_commit", "show_stats"] {
        assert!(options(AllocatorKind::Mimalloc).contains(&name), "{name}");
    }
    let odd = on_board()
        .iter()
        .flat_map(|carried| carried.options)
        .find(|name| !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'));
    assert_eq!(odd, None);
}

#[test]
fn written_bytes_are_a_shared_object_of_this_machine() {
    let dir = Fixture::new();
    for object in objects() {
        let path = written(&dir, &object);
        let source = underpin_elf::FileSource::new(fs::File::open(path).unwrap()).unwrap();
        let elf = underpin_elf::Elf::read(&source).unwrap();
        assert!(elf.interpreter.is_none() && elf.dynamic.is_some(), "{}", object.name);
    }
}
