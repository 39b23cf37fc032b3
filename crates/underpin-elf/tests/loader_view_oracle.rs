//! The loader's view agrees with `readelf -dlW` on the files of this system and on files of other architectures.

mod common;

use common::{read, run_any, sample, system_files};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_elf::{Elf, SegmentKind};
use underpin_test_support::{Fixture, need};

/// What readelf prints about one file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    needed: Vec<String>,
    soname: Option<String>,
    rpath: Option<String>,
    runpath: Option<String>,
    interpreter: Option<String>,
    /// Type, offset, vaddr, file size, memory size, flags, align.
    segments: Vec<String>,
    /// Whether it has a dynamic section, PIE, BIND_NOW (or NOW), NODEFLIB, DT_TEXTREL, DT_RELR.
    facts: [bool; 6],
}

fn bracketed(line: &str) -> String {
    let start = line.find('[').map_or(0, |at| at + 1);
    line[start..line.rfind(']').unwrap_or(line.len())].to_string()
}

fn readelf_files(files: &[PathBuf]) -> BTreeMap<PathBuf, Said> {
    let mut all = BTreeMap::new();
    for chunk in files.chunks(100) {
        // A second, missing file makes readelf print "File:" headers even for a single one.
        let text = run_any(Command::new("readelf").arg("-dlW").args(chunk).arg("/nonexistent"));
        let mut parts = text.split("\nFile: ").skip(1).peekable();
        assert!(parts.peek().is_some(), "readelf printed no file header:\n{text}");
        for part in parts {
            let name = part.lines().next().unwrap_or_default();
            all.insert(PathBuf::from(name), parse_readelf(part));
        }
    }
    all
}

fn parse_readelf(text: &str) -> Said {
    let mut said = Said::default();
    let mut in_segments = false;
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("Program Headers:") {
            in_segments = true;
        } else if line.trim().is_empty() {
            in_segments = false;
        } else if let Some(rest) = line.trim().strip_prefix("[Requesting program interpreter: ") {
            said.interpreter = Some(rest.trim_end_matches(']').to_string());
        } else if in_segments && fields.len() > 6 && fields[1].starts_with("0x") {
            let flags = fields[6..fields.len() - 1].join("");
            let align = fields[fields.len() - 1];
            said.segments.push(format!("{} {} {} {} {flags} {align}", fields[1], fields[2], fields[4], fields[5]));
        } else if line.starts_with("Dynamic section at offset") {
            said.facts[0] = true;
        } else if fields.len() > 2 && fields[0].starts_with("0x") && fields[1].starts_with('(') {
            dynamic_entry(&mut said, fields[1], line);
        }
    }
    said
}

fn dynamic_entry(said: &mut Said, tag: &str, line: &str) {
    let value = line.split(')').nth(1).unwrap_or_default();
    match tag {
        "(NEEDED)" => said.needed.push(bracketed(line)),
        "(SONAME)" => said.soname = Some(bracketed(line)),
        "(RPATH)" => said.rpath = Some(bracketed(line)),
        "(RUNPATH)" => said.runpath = Some(bracketed(line)),
        "(FLAGS)" => {
            said.facts[2] |= value.contains("BIND_NOW");
            said.facts[4] |= value.contains("TEXTREL");
        }
        "(FLAGS_1)" => {
            said.facts[1] |= value.split_whitespace().any(|flag| flag == "PIE");
            said.facts[2] |= value.split_whitespace().any(|flag| flag == "NOW");
            said.facts[3] |= value.split_whitespace().any(|flag| flag == "NODEFLIB");
        }
        "(BIND_NOW)" => said.facts[2] = true,
        "(TEXTREL)" => said.facts[4] = true,
        "(RELR)" => said.facts[5] = true,
        _ => {}
    }
}

fn hex(value: u64) -> String {
    format!("{value:#x}")
}

fn ours(elf: &Elf) -> Said {
    let text = |string: &bstr::BString| string.to_string();
    let segments = elf.segments.iter().map(|segment| {
        let flag = |set, letter| if set { letter } else { "" };
        let flags =
            [flag(segment.flags.read, "R"), flag(segment.flags.write, "W"), flag(segment.flags.execute, "E")].concat();
        let numbers = [segment.offset.0, segment.vaddr.0, segment.file_size, segment.memory_size].map(hex);
        format!("{} {flags} {}", numbers.join(" "), hex(segment.align))
    });
    let mut said = Said { segments: segments.collect(), ..Said::default() };
    said.interpreter = elf.interpreter.as_ref().map(text);
    if let Some(dynamic) = &elf.dynamic {
        said.needed = dynamic.needed.iter().map(text).collect();
        said.soname = dynamic.soname.as_ref().map(text);
        said.rpath = dynamic.rpath.as_ref().map(text);
        said.runpath = dynamic.runpath.as_ref().map(text);
        said.facts = [
            true,
            dynamic.flags.pie(),
            dynamic.bind_now,
            dynamic.flags.no_default_lib(),
            dynamic.text_relocations,
            dynamic.relr,
        ];
    }
    said
}

/// readelf pads addresses; both sides are compared without leading zeros.
fn trim_zeros(said: &mut Said) {
    for segment in &mut said.segments {
        let words = segment.split(' ').map(|word| match word.strip_prefix("0x") {
            Some(digits) => format!("0x{}", digits.trim_start_matches('0')),
            None if word == "0" => "0x".to_string(),
            None => word.to_string(),
        });
        *segment = words.collect::<Vec<_>>().join(" ");
    }
}

fn compare(files: &[PathBuf]) -> usize {
    let mut compared = 0;
    for (path, mut said) in readelf_files(files) {
        let mut ours = ours(&read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        trim_zeros(&mut said);
        trim_zeros(&mut ours);
        assert_eq!(ours, said, "{}", path.display());
        compared += 1;
    }
    compared
}

#[test]
fn files_of_this_system_read_as_readelf_reads_them() {
    need!("readelf");
    let directories = ["/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
    let files = sample(system_files(&directories), 400);
    assert!(files.len() > 50, "too few ELF files to judge by: {}", files.len());
    assert_eq!(compare(&files), files.len());
}

#[test]
fn libraries_of_other_architectures_read_as_readelf_reads_them() {
    need!("readelf");
    let triples =
        ["aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu", "powerpc64le-linux-gnu", "s390x-linux-gnu"];
    for triple in triples {
        let directory = format!("/usr/{triple}/lib");
        need!(&directory);
        let files = system_files(&[&directory]);
        assert!(compare(&files) > 10, "{directory} holds too few ELF files");
    }
}

#[test]
fn compiled_foreign_libraries_read_as_readelf_reads_them() {
    need!("readelf", "clang", "ld.lld");
    let triples = [
        "aarch64-linux-gnu",
        "armv7-linux-gnueabihf",
        "riscv64-linux-gnu",
        "powerpc64le-linux-gnu",
        "powerpc64-linux-gnu",
        "powerpc-linux-gnu",
        "i386-linux-gnu",
        "mips-linux-gnu",
    ];
    let fixture = Fixture::new();
    let source = fixture.write("answer.c", "int answer(void) { return 42; }");
    let mut files = Vec::new();
    for triple in triples {
        let target = format!("--target={triple}");
        let soname = format!("-Wl,-soname,lib{triple}.so.1");
        let link = ["-nostdlib", "-shared", "-fPIC", "-fuse-ld=lld", "-Wl,--disable-new-dtags", "-Wl,-z,now"];
        let arguments = [target.as_str(), &soname, "-Wl,-rpath,/opt/lib:$ORIGIN/../lib", "-o", triple];
        fixture.must("clang", arguments.into_iter().chain(link).map(std::ffi::OsStr::new).chain([source.as_os_str()]));
        files.push(fixture.join(triple));
    }
    assert_eq!(compare(&files), triples.len());
    for (triple, path) in triples.iter().zip(&files) {
        let elf = read(path).expect("clang makes readable files");
        assert_eq!(elf.dynamic.and_then(|dynamic| dynamic.soname), Some(format!("lib{triple}.so.1").into()));
    }
}

#[test]
fn an_executable_has_its_interpreter_and_segments() {
    let elf = read(Path::new("/proc/self/exe")).expect("the test itself is a good file");
    assert!(elf.loads().count() >= 2);
    assert!(elf.segment(SegmentKind::Dynamic).is_some());
    assert!(elf.interpreter.is_some_and(|name| name.starts_with(b"/")));
}
