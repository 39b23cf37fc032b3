//! Symbols, versions, notes and sections agree with `readelf` on files of this system and of other architectures.

mod common;

use common::{details, read, run_any, sample, system_files};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_elf::{Details, Elf, FileType, LinkFacts, SymbolBinding, SymbolKind, VersionNeed};
use underpin_test_support::need;

/// A sample of this system, the files that the project is measured with, and one C library of each cross package.
fn files() -> Vec<PathBuf> {
    let directories = ["/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
    let mut files = sample(system_files(&directories), 60);
    // Object files have no dynamic symbols: their exports come from .symtab, which these tests do not compare. Whatever they
    // are called: glibc has one that is libmcheck.a.
    files.retain(|path| !read(path).is_ok_and(|elf| elf.ident.file_type == FileType::Relocatable));
    let named = [
        "/usr/bin/git",
        "/usr/bin/emacs-gtk",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-musl-x86_64.so.1",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib32/libc.so.6",
        "/usr/aarch64-linux-gnu/lib/libc.so.6",
        "/usr/arm-linux-gnueabihf/lib/libc.so.6",
        "/usr/riscv64-linux-gnu/lib/libc.so.6",
        "/usr/powerpc64le-linux-gnu/lib/libc.so.6",
        "/usr/s390x-linux-gnu/lib/libc.so.6",
        "/usr/s390x-linux-gnu/lib/libm.so.6",
    ];
    files.extend(named.iter().map(PathBuf::from).filter(|path| path.exists()));
    assert!(files.len() > 40, "too few files to judge by: {}", files.len());
    files
}

fn readelf(option: &str, path: &Path) -> String {
    run_any(Command::new("readelf").arg(option).arg("-W").arg(path))
}

/// `name@version`, `name@@version` for default definitions; binding; type; whether it is defined.
type Symbol = (String, String, String, bool);

fn readelf_symbols(path: &Path) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for line in readelf("--dyn-syms", path).lines() {
        // "141: 0000000000074e80 3169 FUNC GLOBAL DEFAULT 9 name@VERSION (2)"; ppc64 puts "[<localentry>: 8]" in the
        // middle.
        let line = match (line.find("[<"), line.find("] ")) {
            (Some(start), Some(end)) => format!("{}{}", &line[..start], &line[end + 1..]),
            _ => line.to_string(),
        };
        let fields: Vec<&str> = line.split_whitespace().collect();
        let Some(number) = fields.first().and_then(|field| field.strip_suffix(':')) else { continue };
        if number.parse::<u32>().is_err() || fields.len() < 8 {
            continue;
        }
        let (kind, binding, visibility, section) = (fields[3], fields[4], fields[5], fields[6]);
        let skipped = binding == "LOCAL" || matches!(kind, "SECTION" | "FILE");
        let hidden = matches!(visibility, "HIDDEN" | "INTERNAL") && section != "UND";
        if !skipped && !hidden {
            symbols.push((fields[7].to_string(), binding.to_string(), kind.to_string(), section != "UND"));
        }
    }
    symbols.sort();
    symbols
}

fn binding(binding: SymbolBinding) -> String {
    let name = match binding {
        SymbolBinding::Local => "LOCAL",
        SymbolBinding::Global => "GLOBAL",
        SymbolBinding::Weak => "WEAK",
        SymbolBinding::Unique => "UNIQUE",
        SymbolBinding::Other(_) => "?",
    };
    name.to_string()
}

fn kind(kind: SymbolKind) -> String {
    let name = match kind {
        SymbolKind::None => "NOTYPE",
        SymbolKind::Object => "OBJECT",
        SymbolKind::Function => "FUNC",
        SymbolKind::Common => "COMMON",
        SymbolKind::Tls => "TLS",
        SymbolKind::IndirectFunction => "IFUNC",
        _ => "?",
    };
    name.to_string()
}

fn our_symbols(details: &Details) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for import in &details.imports {
        let version = details.version_of(import).map(|need| format!("@{}", need.version)).unwrap_or_default();
        symbols.push((format!("{}{version}", import.name), binding(import.binding), kind(import.kind), false));
    }
    for export in &details.exports {
        let copied = details
            .version_needs
            .iter()
            .find(|need| export.version.is_none() && need.symbols.iter().any(|symbol| symbol.name == export.name));
        let defined = export.version.and_then(|index| details.version_definitions.get(index));
        let version = match (defined, copied) {
            // readelf omits the version of the symbol that represents the version itself.
            (Some(version), _) if version.name == export.name => String::new(),
            (Some(version), _) if export.hidden_version => format!("@{}", version.name),
            (Some(version), _) => format!("@@{}", version.name),
            (None, Some(need)) => format!("@{}", need.version),
            (None, None) => String::new(),
        };
        symbols.push((format!("{}{version}", export.name), binding(export.binding), kind(export.kind), true));
    }
    symbols.sort();
    symbols
}

#[test]
fn dynamic_symbols_are_those_of_readelf() {
    need!("readelf");
    let mut compared = 0;
    for path in files() {
        let (ours, said) = (our_symbols(&details(&path)), readelf_symbols(&path));
        compared += ours.len();
        if let Some((ours, said)) = ours.iter().zip(&said).find(|(ours, said)| ours != said) {
            panic!("{}: {ours:?} here, {said:?} for readelf", path.display());
        }
        assert_eq!(ours.len(), said.len(), "{}", path.display());
    }
    assert!(compared > 10_000, "{compared} symbols only");
}

/// Needs as "file version flags", definitions as "name flags", in file order.
fn readelf_versions(path: &Path) -> (Vec<String>, Vec<String>) {
    let (mut needs, mut definitions) = (Vec::new(), Vec::new());
    let mut file = String::new();
    for line in readelf("-V", path).lines() {
        let value = |key: &str| {
            let rest = &line[line.find(key)? + key.len()..];
            Some(rest.split("  ").next()?.trim().to_string())
        };
        if let Some(name) = value("File: ") {
            file = name;
        } else if let (Some(name), Some(flags)) = (value("Name: "), value("Flags: ")) {
            if line.contains("Rev: ") {
                definitions.push(format!("{name} {flags}"));
            } else {
                needs.push(format!("{file} {name} {flags}"));
            }
        }
    }
    (needs, definitions)
}

#[test]
fn versions_are_those_of_readelf() {
    need!("readelf");
    let flags = |base, weak| match (base, weak) {
        (true, _) => "BASE",
        (_, true) => "WEAK",
        _ => "none",
    };
    let (mut needs, mut definitions) = (0, 0);
    for path in files() {
        let details = details(&path);
        let need = |need: &VersionNeed| format!("{} {} {}", need.file, need.version, flags(false, need.weak_flag));
        let ours: Vec<String> = details.version_needs.iter().map(need).collect();
        let defined: Vec<String> = details
            .version_definitions
            .iter()
            .map(|version| format!("{} {}", version.name, flags(version.base, version.weak_flag)))
            .collect();
        needs += ours.len();
        definitions += defined.len();
        assert_eq!((ours, defined), readelf_versions(&path), "{}", path.display());
    }
    assert!(needs > 100 && definitions > 100, "{needs} needs, {definitions} definitions");
}

#[test]
fn every_versioned_import_is_listed_under_its_need() {
    for path in files() {
        let details = details(&path);
        let listed: usize = details.version_needs.iter().map(|need| need.symbols.len()).sum();
        let imports = details.imports.iter().filter(|import| import.version.is_some()).count();
        assert!(listed >= imports, "{}: {listed} listed, {imports} imported", path.display());
    }
}

/// Build id, ABI tag, ISA needed, features, probes: in readelf's wording.
fn readelf_notes(path: &Path) -> Vec<String> {
    let mut said = Vec::new();
    let text = readelf("-n", path);
    for line in text.lines() {
        for key in ["Build ID: ", "OS: ", "x86 ISA needed: ", "x86 feature: ", "AArch64 feature: ", "Location: "] {
            if let Some(at) = line.find(key) {
                let value = line[at..].split("Properties:").next().unwrap_or_default();
                said.push(value.split("\t").next().unwrap_or_default().trim().to_string());
            }
        }
    }
    said.sort();
    said.dedup();
    said
}

fn our_notes(details: &Details) -> Vec<String> {
    let notes = &details.notes;
    let mut said = Vec::new();
    said.extend(notes.build_id.as_ref().map(|id| format!("Build ID: {id}")));
    said.extend(notes.abi.map(|abi| {
        let (major, minor, patch) = abi.kernel;
        format!("OS: {:?}, ABI: {major}.{minor}.{patch}", abi.os)
    }));
    said.extend(notes.properties.x86_isa_needed.map(|levels| {
        let names = ["x86-64-baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4"];
        let set: Vec<&str> = (0..4).filter(|bit| levels.0 & (1 << bit) != 0).map(|bit| names[bit]).collect();
        format!("x86 ISA needed: {}", set.join(", "))
    }));
    let both = |first: bool, second: bool, names: [&str; 2]| {
        let set: Vec<&str> =
            [(first, names[0]), (second, names[1])].into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect();
        set.join(", ")
    };
    let x86 = both(notes.properties.ibt, notes.properties.shadow_stack, ["IBT", "SHSTK"]);
    let arm = both(notes.properties.bti, notes.properties.pac, ["BTI", "PAC"]);
    said.extend((!x86.is_empty()).then(|| format!("x86 feature: {x86}")));
    said.extend((!arm.is_empty()).then(|| format!("AArch64 feature: {arm}")));
    let width = 16;
    said.extend(notes.probes.iter().map(|probe| {
        let (pc, base, semaphore) = (probe.pc.0, probe.base.0, probe.semaphore.0);
        format!("Location: 0x{pc:0width$x}, Base: 0x{base:0width$x}, Semaphore: 0x{semaphore:0width$x}")
    }));
    said.sort();
    said.dedup();
    said
}

#[test]
fn notes_are_those_of_readelf() {
    need!("readelf");
    let mut compared = 0;
    for path in files() {
        let ours = our_notes(&details(&path));
        compared += ours.len();
        assert_eq!(ours, readelf_notes(&path), "{}", path.display());
    }
    assert!(compared > 100, "{compared} notes only");
}

#[test]
fn sections_are_those_of_readelf() {
    need!("readelf");
    for path in files() {
        let mut said = Vec::new();
        for line in readelf("-S", &path).lines() {
            let Some((number, rest)) = line.trim().strip_prefix('[').and_then(|line| line.split_once(']')) else {
                continue;
            };
            let fields: Vec<&str> = rest.split_whitespace().collect();
            if number.trim().parse::<u32>().is_ok_and(|number| number > 0) && fields.len() > 5 {
                let value = |text: &str| u64::from_str_radix(text, 16).expect("readelf prints hexadecimal numbers");
                said.push((fields[0].to_string(), value(fields[2]), value(fields[3]), value(fields[4])));
            }
        }
        let details = details(&path);
        assert!(details.defects.is_empty(), "{}: {:?}", path.display(), details.defects);
        let ours: Vec<_> = details
            .sections
            .iter()
            .skip(1)
            .map(|section| (section.name.to_string(), section.vaddr.0, section.offset.0, section.size))
            .collect();
        assert_eq!(ours, said, "{}", path.display());
    }
}

#[test]
fn without_a_section_table_the_symbols_are_the_same() {
    for path in files().into_iter().step_by(5) {
        let mut bytes = std::fs::read(&path).expect("a file of this system can be read");
        let with = our_symbols(&details(&path));
        let range = if bytes[4] == 2 { 40..48 } else { 32..36 };
        bytes[range].fill(0);
        let elf = Elf::read(&bytes).expect("loaders need no sections");
        let details = Details::read(&bytes, &elf).expect("loaders need no sections");
        assert!(details.sections.is_empty());
        if elf.dynamic.is_some() {
            assert_eq!(our_symbols(&details), with, "{}", path.display());
        }
    }
}

#[test]
fn the_facts_for_a_closure_are_those_of_the_deep_read() {
    let wanted: [&[u8]; 3] = [b"malloc", b"dlopen", b"no_such_function"];
    let mut found = 0;
    for path in files() {
        let (source, details) = (common::open(&path), details(&path));
        let elf = Elf::read(&source).expect("it was read before");
        let facts = LinkFacts::read(&source, &elf, &wanted, |_| true).expect("it was read before");
        let bare = |need: &VersionNeed| VersionNeed { symbols: Vec::new(), ..need.clone() };
        assert_eq!(
            facts.version_needs,
            details.version_needs.iter().map(bare).collect::<Vec<_>>(),
            "{}",
            path.display()
        );
        assert_eq!(facts.version_definitions, details.version_definitions, "{}", path.display());
        for name in wanted {
            let imported = details.imports.iter().any(|import| import.name == name);
            found += usize::from(imported);
            assert_eq!(facts.imports.iter().any(|import| import == name), imported, "{}", path.display());
        }
    }
    assert!(found > 10, "{found} imports only");
}

#[test]
fn imports_under_a_version_are_those_of_the_deep_read() {
    let wanted: [&[u8]; 3] = [b"dlopen", b"pthread_create", b"stdout"];
    let of_libc = |need: &VersionNeed| need.file == "libc.so.6" && need.version != "GLIBC_2.4";
    let mut found = 0;
    for path in files() {
        let (source, details) = (common::open(&path), details(&path));
        let elf = Elf::read(&source).expect("it was read before");
        let facts = LinkFacts::versions(&source, &elf).expect("it was read before");
        for name in wanted {
            let expected = details.imports.iter().any(|import| {
                import.name == name && import.version.is_some_and(|need| of_libc(&details.version_needs[need]))
            });
            found += usize::from(expected);
            let ours = facts.imports_under(&source, &elf, &[name], of_libc).expect("it was read before");
            assert_eq!(ours, expected, "{} in {}", String::from_utf8_lossy(name), path.display());
        }
    }
    assert!(found > 10, "{found} imports only");
}
