//! Rust programs that bring an allocator through a crate: with the takeover object it is the linked one that serves
//! Box, Vec, C's malloc and what libc allocates for itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use underpin_malloc::{AllocatorKind, Goal, linkable, takeover};
use underpin_test_support::{Fixture, Output, need, skip_without_target};

/// One program for each crate, by cargo's features.
const MANIFEST: &str = r#"
[package]
name = "brings"
version = "0.1.0"
edition = "2024"
[workspace]
[features]
jemalloc = ["dep:tikv-jemallocator"]
mimalloc = ["dep:mimalloc"]
snmalloc = ["dep:snmalloc-rs"]
[dependencies]
tikv-jemallocator = { version = "0.7", optional = true }
mimalloc = { version = "0.1.52", optional = true, default-features = false, features = ["extended"] }
snmalloc-rs = { version = "0.7", optional = true, default-features = false, features = ["build_cc"] }
libc = "0.2"
"#;

/// mimalloc itself says of each block whether it is its own.
const PROGRAM: &str = r#"
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
#[cfg(feature = "snmalloc")]
#[global_allocator]
static ALLOCATOR: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

unsafe extern "C" {
    #[link_name = "mi_is_in_heap_region"]
    fn is_mimallocs(block: *const u8) -> bool;
    fn getline(line: *mut *mut libc::c_char, size: *mut usize, file: *mut libc::FILE) -> isize;
}

#[repr(align(4096))]
struct Page([u8; 4096]);

fn main() {
    let tell = |name: &str, block: *const u8| println!("{name} {}", unsafe { is_mimallocs(block) });
    let boxed = Box::new([7_u8; 100]);
    tell("Box", boxed.as_ptr());
    let mut vector: Vec<u8> = Vec::with_capacity(50);
    vector.extend((0..200_000).map(|at| at as u8));
    assert!(vector.iter().enumerate().all(|(at, byte)| *byte == at as u8));
    tell("Vec", vector.as_ptr());
    let dirty: Vec<Vec<u8>> = (0..50).map(|_| vec![0xff_u8; 30_000]).collect();
    drop(dirty);
    let mut zeroed = vec![0_u8; 30_000];
    assert!(zeroed.iter().all(|byte| *byte == 0));
    zeroed.shrink_to(10);
    let mut pages: Vec<Page> = Vec::new();
    for round in 0..40 {
        pages.push(Page([round; 4096]));
        assert!(pages.as_ptr() as usize % 4096 == 0);
    }
    assert!(pages.iter().enumerate().all(|(at, page)| page.0.iter().all(|byte| usize::from(*byte) == at)));
    tell("Page", pages[3].0.as_ptr());
    unsafe {
        let block = libc::malloc(100);
        tell("malloc", block.cast());
        libc::free(block);
        let text = libc::strdup(c"some text".as_ptr());
        tell("strdup", text.cast());
        libc::free(text.cast());
        let file = libc::fopen(c"/proc/self/status".as_ptr(), c"r".as_ptr());
        let (mut line, mut size) = (std::ptr::null_mut(), 0);
        assert!(getline(&mut line, &mut size, file) > 0);
        tell("getline", line.cast());
        libc::free(line.cast());
        libc::fclose(file);
        tell("stack", (&raw const size).cast());
    }
}
"#;

fn script(dir: &Fixture, name: &str, text: &str) -> String {
    let path = dir.write(name, format!("#!/bin/bash\n{text}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script");
    path.to_str().expect("a UTF-8 path").to_owned()
}

fn build(dir: &Fixture, brought: &str, linker: &str) -> Output {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let variable = |name: &str| format!("{name}_{}", target.replace('-', "_"));
    // The crates' own allocators are compiled to nothing: a name that is not taken over could not be linked.
    let compiler = script(
        dir,
        "compiler",
        r#"for word; do [ "$word" = -c ] && empty=1; [ "$last" = -o ] && out=$word; last=$word; done
[ "$empty" ] && [ "$out" ] && exec cc -c -x c /dev/null -o "$out"
exec cc "$@""#,
    );
    dir.must("ar", ["rc", "libjemalloc.a"]);
    let mut cargo = Command::new("cargo");
    cargo.current_dir(dir.path()).args(["build", "--target", &target, "--features", brought]);
    cargo.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("brought").join(brought));
    cargo.env(format!("CARGO_TARGET_{}_LINKER", target.replace('-', "_").to_uppercase()), linker);
    cargo.env(variable("CC"), &compiler).env(variable("CXX"), &compiler);
    cargo.env("JEMALLOC_OVERRIDE", dir.join("libjemalloc.a"));
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
    Output::of(&mut cargo)
}

fn serves_all(brought: &str) {
    need!("cargo", "cc", "ar");
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let libraries = Output::of(Command::new("rustc").args(["--print", "target-libdir", "--target", &target])).stdout;
    if !Path::new(libraries.trim()).exists() {
        return skip_without_target(&target);
    }
    let dir = Fixture::new();
    dir.write("Cargo.toml", MANIFEST);
    dir.mkdir("src");
    dir.write("src/main.rs", PROGRAM);
    let allocator = linkable(AllocatorKind::Mimalloc, Goal::Balanced, std::env::consts::ARCH).expect("on board");
    let allocator = dir.write("mimalloc.o", allocator.object.bytes);
    let brings = dir.write("takeover.o", takeover(std::env::consts::ARCH).expect("on board").bytes);
    // Ours come first; and snmalloc's crate asks for GCC's shared library, which a static program cannot have.
    let linker = script(
        &dir,
        "linker",
        &format!(
            "for word; do [ \"$word\" = -lgcc_s ] || words+=(\"$word\"); done\nexec cc '{}' '{}' \"${{words[@]}}\"",
            allocator.display(),
            brings.display()
        ),
    );
    let built = build(&dir, brought, &linker);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let program =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("brought").join(brought).join(&target).join("debug/brings");
    let ran = Output::of(&mut Command::new(program));
    let expected = "Box true\nVec true\nPage true\nmalloc true\nstrdup true\ngetline true\nstack false\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected), "{}", ran.stderr);
}

#[test]
fn a_program_with_tikv_jemallocator_has_the_linked_allocator_alone() {
    serves_all("jemalloc");
}

#[test]
fn a_program_with_the_crate_mimalloc_has_the_linked_allocator_alone() {
    serves_all("mimalloc");
}

#[test]
fn a_program_with_snmalloc_rs_has_the_linked_allocator_alone() {
    serves_all("snmalloc");
}
