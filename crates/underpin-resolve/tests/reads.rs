//! How little of a file is read: listings are made thousands of times, so their cost must not grow.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use bstr::{BStr, BString, ByteSlice};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::sync::{Arc, Mutex};
use underpin_elf::Source;
use underpin_resolve::root::{Meta, Opened};
use underpin_resolve::{Depth, Environment, FindingKind, HostRoot, PathError, Resolver, Root};
use underpin_test_support::{Fixture, need};

/// What was read of each path.
type Reads = Arc<Mutex<BTreeMap<BString, Vec<Range<u64>>>>>;

/// This machine's files, with a record of every read.
struct Noted {
    host: HostRoot,
    reads: Reads,
}

struct NotedSource {
    path: BString,
    bytes: Arc<dyn Source + Send + Sync>,
    reads: Reads,
}

impl Source for NotedSource {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let range = offset..offset + buf.len() as u64;
        self.reads.lock().unwrap().entry(self.path.clone()).or_default().push(range);
        self.bytes.read_exact_at(offset, buf)
    }
}

impl Root for Noted {
    fn open(&self, path: &BStr) -> Result<Opened, PathError> {
        let Opened { meta, source } = self.host.open(path)?;
        let source = NotedSource { path: path.into(), bytes: source, reads: Arc::clone(&self.reads) };
        Ok(Opened { meta, source: Arc::new(source) })
    }

    fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        self.host.stat(path)
    }

    fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        self.host.real_path(path)
    }

    fn read_link(&self, path: &BStr) -> Option<BString> {
        self.host.read_link(path)
    }

    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        self.host.list(directory)
    }

    fn current_directory(&self) -> BString {
        self.host.current_directory()
    }
}

/// A library of 5,000 functions that needs versions of glibc 2.34, dlopen among them, and a program that needs it.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let mut code = String::from("#include <dlfcn.h>\n#include <pthread.h>\n");
    for number in 0..5_000 {
        writeln!(code, "int a_function_of_a_large_library_{number:04}(void) {{ return {number}; }}").unwrap();
    }
    code += "void *use(void) { pthread_t t; pthread_create(&t, 0, 0, 0); return dlopen(\"x\", RTLD_NOW); }\n";
    fixture.write("large.c", code);
    fixture.write("main.c", "void *use(void); int main(void) { return use() == 0; }\n");
    fixture.cc(["-shared", "-fPIC", "-o", "liblarge.so", "large.c", "-Wl,-soname,liblarge.so"]);
    fixture.cc(["-o", "p", "main.c", "liblarge.so", "-Wl,-rpath,$ORIGIN"]);
    fixture
}

/// What a resolution reads of the large library, and whether it finds that dlopen is imported.
fn read_of_large(fixture: &Fixture, depth: Depth) -> (Vec<Range<u64>>, bool) {
    let root = Noted { host: HostRoot::new(), reads: Reads::default() };
    let path = fixture.join("p");
    let closure =
        Resolver::new(&root, Environment::empty()).resolve(path.as_os_str().as_bytes().into(), depth).unwrap();
    let large = closure.objects.iter().position(|object| object.path.ends_with_str("liblarge.so")).unwrap();
    let is_told = |finding: &underpin_resolve::Finding| {
        finding.kind == FindingKind::ImportsDlopen && finding.object.is_some_and(|object| object.0 == large)
    };
    let reads = root.reads.lock().unwrap().get(&closure.objects[large].path).cloned().unwrap_or_default();
    (reads, closure.findings.iter().any(is_told))
}

/// Where a section is in the large library, according to readelf.
fn section(fixture: &Fixture, name: &str) -> Range<u64> {
    let output = Command::new("readelf").args(["-SW"]).arg(fixture.join("liblarge.so")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.split_whitespace().any(|word| word == name)).unwrap();
    let fields: Vec<&str> = line.split(']').nth(1).unwrap().split_whitespace().collect();
    let number = |index: usize| u64::from_str_radix(fields[index], 16).unwrap();
    number(3)..number(3) + number(4)
}

/// Bytes of a section that were read.
fn within(reads: &[Range<u64>], section: &Range<u64>) -> u64 {
    reads.iter().map(|read| read.end.min(section.end).saturating_sub(read.start.max(section.start))).sum()
}

#[test]
fn a_list_reads_no_symbols_and_few_strings() {
    need!("readelf");
    let fixture = fixture();
    let (reads, _) = read_of_large(&fixture, Depth::Load);
    let (symbols, strings) = (section(&fixture, ".dynsym"), section(&fixture, ".dynstr"));
    assert!(symbols.end - symbols.start > 100_000 && strings.end - strings.start > 100_000);
    assert_eq!(within(&reads, &symbols), 0, "{reads:?}");
    assert!(within(&reads, &strings) <= 16 << 10, "{reads:?} of {strings:?}");
    assert!(reads.len() <= 5, "head, dynamic section, its strings, versions: {reads:?}");
}

#[test]
fn the_findings_read_no_symbol_that_cannot_be_dlopen() {
    need!("readelf");
    let fixture = fixture();
    let (reads, is_told) = read_of_large(&fixture, Depth::Findings);
    assert!(is_told, "the library imports dlopen");
    let read = within(&reads, &section(&fixture, ".dynsym")) + within(&reads, &section(&fixture, ".dynstr"));
    assert!(read <= 32 << 10, "{read} bytes of symbols and their names: {reads:?}");
}
