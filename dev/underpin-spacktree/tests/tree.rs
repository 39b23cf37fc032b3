//! A tree of real programs, judged by the loader: it starts, it loads what the originals load, and nothing from outside.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_elf::{Details, Elf};
use underpin_resolve::{Depth, Environment, HostRoot, Resolver};
use underpin_spacktree::{Layout, Site, Tree, build};
use underpin_test_support::{Fixture, Output, need, traced_objects};

fn tree_of(fixture: &Fixture, programs: &[&str], layout: Layout) -> Tree {
    let programs: Vec<PathBuf> = programs.iter().map(PathBuf::from).collect();
    build(&Site::at(fixture.path()), &programs, layout).unwrap()
}

fn traced_paths(program: &Path) -> Vec<PathBuf> {
    traced_objects(program, &[]).unwrap().into_iter().map(|object| object.path.expect("a found object")).collect()
}

/// The build-id, or the name if there is none: what stays the same when a file is copied.
fn content(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let elf = Elf::read(bytes.as_slice()).unwrap();
    let details = Details::read(bytes.as_slice(), &elf).unwrap();
    match details.notes.build_id {
        Some(id) => id.to_string(),
        None => path.canonicalize().unwrap().file_name().unwrap().to_string_lossy().into_owned(),
    }
}

fn contents(program: &Path) -> Vec<String> {
    let mut contents: Vec<String> = traced_paths(program).iter().map(|path| content(path)).collect();
    contents.sort();
    contents
}

#[test]
fn a_program_of_the_tree_loads_the_same_contents_and_only_from_inside() {
    need!("emacs-gtk", "ffmpeg", "git", "python3", "readelf");
    let originals = ["/usr/bin/emacs-gtk", "/usr/bin/ffmpeg", "/usr/bin/git", "/usr/bin/python3"];
    let fixture = Fixture::new();
    let tree = tree_of(&fixture, &originals, Layout::SPACK);
    assert_eq!(tree.programs.len(), originals.len());
    for (program, original) in tree.programs.iter().zip(originals) {
        let paths = traced_paths(program);
        let outside: Vec<&PathBuf> = paths.iter().filter(|path| !path.starts_with(fixture.path())).collect();
        assert!(outside.is_empty(), "{original} loads from outside: {outside:?}");
        assert_eq!(contents(program), contents(Path::new(original)), "{original}");
    }
}

#[test]
fn a_program_of_the_tree_says_what_the_original_says() {
    need!("ffmpeg", "git");
    let fixture = Fixture::new();
    let said = |program: &Path, argument| Output::of(fixture.command(program).arg(argument));
    for (name, layout) in [("spack", Layout::SPACK), ("system", SYSTEM_GLIBC), ("nix", NIX)] {
        let programs = ["/usr/bin/ffmpeg".into(), "/usr/bin/git".into()];
        let tree = build(&Site::at(fixture.join(name)), &programs, layout).unwrap();
        for ((original, copy), argument) in programs.iter().zip(&tree.programs).zip(["-version", "--version"]) {
            let (original, copy) = (said(original, argument), said(copy, argument));
            assert_eq!((copy.code, &copy.stdout), (original.code, &original.stdout), "{name}: {}", copy.stderr);
        }
    }
}

/// The C library where Spack finds it.
const SYSTEM_GLIBC: Layout = Layout { own_glibc: false, ..Layout::SPACK };

/// As Nix lays programs out, with the C library in a prefix as well.
const NIX: Layout = Layout { own_glibc: true, direct_runpath: true };

#[test]
fn the_resolver_and_the_loader_agree_on_the_tree() {
    need!("emacs-gtk", "git", "readelf");
    let fixture = Fixture::new();
    let tree = tree_of(&fixture, &["/usr/bin/emacs-gtk", "/usr/bin/git"], Layout::SPACK);
    let root = HostRoot::new();
    let resolver = Resolver::new(&root, Environment::empty());
    for program in &tree.programs {
        let closure = resolver.resolve(program.as_os_str().as_bytes().into(), Depth::Load).unwrap();
        let modelled: Vec<String> = closure.objects[1..].iter().map(|object| object.path.to_string()).collect();
        let loaded: Vec<String> = traced_paths(program).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(modelled, loaded, "{}", program.display());
    }
}

#[test]
fn the_search_path_is_depth_first_by_name_with_lib_before_lib64() {
    need!("cc", "readelf");
    let sources = Fixture::new();
    for name in ["d", "z", "b"] {
        sources.write(format!("{name}.c"), format!("int {name}(void){{return 1;}}"));
    }
    let text = sources.text().to_owned();
    let (here, rpath) = (format!("-L{text}"), format!("-Wl,--no-as-needed,-rpath,{text}"));
    sources.cc(["-shared", "-fPIC", "-o", "libd.so", "d.c"]);
    sources.cc(["-shared", "-fPIC", "-o", "libz9.so", "z.c"]);
    sources.cc(["-shared", "-fPIC", "-o", "libb.so", "b.c", &here, &rpath, "-ld"]);
    sources.write("main.c", "int main(void){return 0;}");
    sources.cc(["-o", "main", "main.c", &here, &rpath, "-lz9", "-lb"]);

    let fixture = Fixture::new();
    let program = sources.join("main").display().to_string();
    let tree = tree_of(&fixture, &[&program], SYSTEM_GLIBC);
    let dynamic = sources.must("readelf", ["-dW", tree.programs[0].to_str().unwrap()]);
    let line = dynamic.lines().find(|line| line.contains("(RPATH)")).expect("a DT_RPATH");
    let path = line.split_once('[').unwrap().1.trim_end_matches(']');
    let short: Vec<String> = path.split(':').map(|folder| short(folder, fixture.path())).collect();
    let prefixes = ["main", "libb", "libd", "libz9"];
    let expected = ["main/lib", "main/lib64"].map(str::to_owned).into_iter();
    let rest =
        ["lib", "lib64"].iter().flat_map(|folder| prefixes[1..].iter().map(move |name| format!("{name}/{folder}")));
    assert_eq!(short, expected.chain(rest).collect::<Vec<_>>());
}

/// `/tree/NAME-HASH/lib` without the tree and the hash.
fn short(folder: &str, tree: &Path) -> String {
    let inside = Path::new(folder).strip_prefix(tree).unwrap().to_str().unwrap();
    let (prefix, folder) = inside.split_once('/').unwrap();
    let (name, hash) = prefix.rsplit_once('-').unwrap();
    assert_eq!(hash.len(), 32, "{prefix}");
    format!("{name}/{folder}")
}

#[test]
fn a_tree_for_another_place_names_that_place_only() {
    need!("git", "readelf");
    let fixture = Fixture::new();
    let site = Site { folder: fixture.join("written"), named: "/where/it/will/be".into() };
    let tree = build(&site, &["/usr/bin/git".into()], Layout::SPACK).unwrap();
    for file in tree.programs.iter().chain(&tree.libraries) {
        let file = file.to_str().unwrap();
        let said = fixture.must("readelf", ["-dlW", file]);
        assert!(said.contains("[/where/it/will/be/"), "{file} has no search path:\n{said}");
        assert!(!said.contains(fixture.text()), "{file} names the folder in which it was written:\n{said}");
    }
    let headers = fixture.must("readelf", ["-lW", tree.programs[0].to_str().unwrap()]);
    assert!(headers.contains("interpreter: /where/it/will/be/libc-"), "{headers}");
}

#[test]
fn each_file_is_copied_once_and_bears_its_other_names_as_links() {
    need!("git", "python3");
    let fixture = Fixture::new();
    let tree = tree_of(&fixture, &["/usr/bin/git", "/usr/bin/python3", "/usr/bin/git"], Layout::SPACK);
    assert_eq!(tree.programs.len(), 2);
    let mut copies = BTreeMap::new();
    for (_, origin) in &tree.origins {
        *copies.entry(origin).or_insert(0) += 1;
    }
    assert!(copies.values().all(|&count| count == 1), "{copies:?}");
    let libz = tree.libraries.iter().find(|path| path.to_string_lossy().contains("/libz-")).expect("libz");
    assert_eq!(libz.with_file_name("libz.so.1").canonicalize().unwrap(), *libz);
}

/// Segments that are loaded, and those of them whose zeros pass the last page of their content: what decides how many
/// mmap calls an object takes.
fn loads(path: &Path) -> (usize, usize) {
    let elf = Elf::read(fs::read(path).unwrap().as_slice()).unwrap();
    let pages = |end: u64| end.div_ceil(4096);
    let zeros =
        elf.loads().filter(|load| pages(load.vaddr.0 + load.memory_size) > pages(load.vaddr.0 + load.file_size));
    (elf.loads().count(), zeros.count())
}

#[test]
fn nearly_every_object_is_mapped_with_as_many_calls_as_its_original() {
    need!("emacs-gtk", "ffmpeg");
    let fixture = Fixture::new();
    let tree = tree_of(&fixture, &["/usr/bin/emacs-gtk", "/usr/bin/ffmpeg"], Layout::SPACK);
    let others: Vec<&PathBuf> =
        tree.origins.iter().filter(|(copy, origin)| loads(copy) != loads(origin)).map(|(copy, _)| copy).collect();
    assert!(others.len() * 20 <= tree.origins.len(), "{} of {}: {others:?}", others.len(), tree.origins.len());
    assert!(others.iter().all(|copy| tree.with_segment.contains(copy)), "{others:?}");
}

#[test]
fn the_command_prints_where_the_programs_are() {
    need!("git");
    let fixture = Fixture::new();
    let output = Output::of(
        Command::new(env!("CARGO_BIN_EXE_underpin-spacktree")).arg("--folder").arg(fixture.path()).arg("/usr/bin/git"),
    );
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let program = PathBuf::from(output.stdout.trim());
    assert!(program.starts_with(fixture.path()) && program.is_file(), "{}", output.stdout);
    assert_eq!(Output::of(fixture.command(program).arg("--version")).code, Some(0));
}

#[test]
fn a_name_with_a_slash_is_searched_in_the_tree() {
    need!("cc", "readelf");
    let sources = Fixture::new();
    sources.mkdir("near");
    sources.write("a.c", "int a(void){return 42;}");
    sources.cc(["-shared", "-fPIC", "-o", "near/liba.so", "-Wl,-soname,$ORIGIN/near/liba.so", "a.c"]);
    sources.write("main.c", "int a(void); int main(void){return a();}");
    sources.cc(["-o", "main", "main.c", "-Lnear", "-la"]);
    let fixture = Fixture::new();
    let tree = tree_of(&fixture, &[sources.join("main").to_str().unwrap()], SYSTEM_GLIBC);
    assert_eq!(Output::of(&mut fixture.command(&tree.programs[0])).code, Some(42));
    assert!(traced_paths(&tree.programs[0]).iter().any(|path| path.starts_with(fixture.path())));
}
