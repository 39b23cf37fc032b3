//! Sysroots: ld.so.cache, its absence, and the ld.so.conf that no loader reads, /etc/ld.so.preload, capability entries of the cache.
//!
//! Each fixture is a small system with this machine's loader and libc in it. `ldconfig -r` writes its cache; the judge
//! is the loader inside a chroot, which only root can enter.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use bstr::BString;
use common::strace::{first_difference, predicted_calls, read_log};
use common::{Listing, listing, modelled, read_trace};
use std::path::Path;
use std::process::Command;
use underpin_elf::IsaLevel;
use underpin_resolve::{
    Closure, Depth, Environment, FindingKind, HostRoot, LoaderKind, Outcome, Processor, Resolver, Severity,
};
use underpin_test_support::{Fixture, Output, need, skip};

const LDCONFIG: &str = "/sbin/ldconfig";

/// A sysroot with this machine's C library.
struct Sysroot {
    fixture: Fixture,
    loader: String,
}

impl Sysroot {
    fn new() -> Sysroot {
        let fixture = Fixture::new();
        let closure = modelled(Path::new("/bin/sh"), Environment::empty()).unwrap();
        assert_eq!(closure.loader.kind, LoaderKind::Glibc);
        for object in &closure.objects[1..] {
            let path = object.path.to_string();
            let inside = path.trim_start_matches('/');
            fixture.mkdir(inside.rsplit_once('/').unwrap().0);
            std::fs::copy(&path, fixture.join(inside)).unwrap();
        }
        fixture.mkdir("etc");
        fixture.write("p.c", "int main(void) { return 0; }\n");
        // chroot(1) has a loader itself, which would answer in the place of the one inside; a static program has none.
        let enter = "#include <unistd.h>\nint main(int argc, char **argv) {\n\
             return argc < 3 || chroot(argv[1]) || chdir(\"/\") || execv(argv[2], argv + 2); }\n";
        fixture.write("enter.c", enter);
        fixture.cc(["-static", "-o", "enter", "enter.c"]);
        Sysroot { fixture, loader: closure.loader.path.to_string() }
    }

    /// `PATH` is that of the library, its file name the soname.
    fn library(&self, path: &str, needs: &[&str]) {
        let (folder, name) = path.rsplit_once('/').unwrap();
        self.fixture.mkdir(folder);
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        self.fixture.write("l.c", format!("int v_{letters} = 1;\n"));
        let soname = format!("-Wl,-soname,{name}");
        let fixed = ["-shared", "-fPIC", "-o", path, "l.c", &soname, "-Wl,--no-as-needed"];
        self.fixture.cc([&fixed, needs].concat());
    }

    fn program(&self, path: &str, needs: &[&str], flags: &[&str]) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.fixture.mkdir(folder);
        }
        let fixed = ["-o", path, "p.c", "-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-in-shared-libs"];
        self.fixture.cc([&fixed, flags, needs].concat());
    }

    fn ldconfig(&self, flags: &[&str]) {
        self.fixture.must(LDCONFIG, [&["-r", self.fixture.text(), "-X"], flags].concat());
    }

    fn modelled(&self, path: &str, environment: Environment) -> Closure {
        let root = HostRoot::sysroot(self.fixture.path());
        let resolver = Resolver::new(&root, environment);
        resolver.resolve(path.into(), Depth::Findings).unwrap()
    }

    /// The loader's answer inside the sysroot.
    fn judged(&self, path: &str, options: &[&str]) -> Listing {
        let mut command = self.fixture.command(self.fixture.join("enter"));
        command.arg(self.fixture.path()).env("LD_TRACE_LOADED_OBJECTS", "1");
        if !options.is_empty() {
            command.arg(&self.loader).args(options);
        }
        command.arg(path);
        let output = Output::of(&mut command);
        let mut listing = read_trace(&output.stdout);
        listing.stopped = output.code != Some(0) && output.stderr.contains("error while loading");
        assert!(!listing.objects.is_empty(), "{command:?}: {}{}", output.stdout, output.stderr);
        listing
    }

    fn agrees(&self, path: &str) -> Closure {
        let closure = self.modelled(path, Environment::empty());
        assert_eq!(listing(&closure), self.judged(path, &[]), "the model (left) and the loader (right)");
        closure
    }

    fn remove_cache(&self) {
        std::fs::remove_file(self.fixture.join("etc/ld.so.cache")).unwrap();
    }

    /// Without a cache too the model must agree with the loader, which finds nothing of what ld.so.conf names. Each
    /// such library is an error that says where it is.
    fn agrees_without_cache(&self, path: &str, cached: &Closure) -> Closure {
        self.remove_cache();
        let closure = self.agrees(path);
        let was_found = |name: &BString| {
            cached.edges.iter().any(|edge| edge.name == *name && matches!(edge.outcome, Outcome::Loaded { .. }))
        };
        let missing = closure.edges.iter().filter(|edge| edge.outcome == Outcome::Missing).map(|edge| &edge.name);
        let missing: Vec<_> = missing.filter(|name| was_found(name)).collect();
        let told = closure.findings.iter().filter_map(|finding| match &finding.kind {
            FindingKind::NotInCache { name, path } => Some((finding.severity, name, path)),
            _ => None,
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told.iter().map(|(_, name, _)| *name).collect::<Vec<_>>(), missing, "{:?}", closure.findings);
        for (severity, name, path) in told {
            assert_eq!(severity, Severity::Error);
            assert!(path.starts_with(b"/opt/") && path.ends_with(name.as_slice()), "{path}");
            assert!(self.fixture.join(path.to_string().trim_start_matches('/')).exists(), "{path}");
        }
        closure
    }

    /// The libraries of the sysroot's own that a program loads.
    fn own(closure: &Closure) -> Vec<String> {
        let paths = closure.objects[1..].iter().map(|object| object.path.to_string());
        paths.filter(|path| path.starts_with("/opt/")).collect()
    }
}

/// Whether this process may enter a chroot; prints the reason if not.
fn is_root() -> bool {
    let root = Output::of(Command::new("id").arg("-u")).stdout.trim() == "0";
    if !root {
        skip("only root can enter a chroot");
    }
    root
}

#[test]
fn what_only_the_configuration_names_is_not_found_without_a_cache() {
    need!("cc", LDCONFIG);
    if !is_root() {
        return;
    }
    let sysroot = Sysroot::new();
    for path in ["opt/one/libx.so.1", "opt/two/libx.so.1", "opt/two/liby.so.10", "opt/two/liby.so.9", "opt/z/libz.so"] {
        sysroot.library(path, &[]);
    }
    sysroot.library("opt/deep/libdeep.so.2", &["opt/z/libz.so"]);
    sysroot.fixture.write("etc/ld.so.conf", "include ld.so.conf.d/*.conf # more\n/opt/two/\n\n  /opt/z\t\n/no/such\n");
    sysroot.fixture.write("etc/ld.so.conf.d/b.conf", "/opt/deep\n");
    sysroot.fixture.write("etc/ld.so.conf.d/a.conf", "# none\n/opt/one\n/opt/deep\n");
    sysroot.fixture.write("etc/ld.so.conf.d/other", "/opt/other\n");
    let needs = ["opt/two/libx.so.1", "opt/two/liby.so.9", "opt/two/liby.so.10", "opt/deep/libdeep.so.2"];
    sysroot.program("opt/bin/p", &needs, &[]);
    for format in ["new", "compat", "old"] {
        sysroot.ldconfig(&["-c", format]);
        let with_cache = sysroot.agrees("/opt/bin/p");
        assert!(with_cache.loader.configuration.is_some());
        let expected = [
            "/opt/one/libx.so.1",
            "/opt/two/liby.so.9",
            "/opt/two/liby.so.10",
            "/opt/deep/libdeep.so.2",
            "/opt/z/libz.so",
        ];
        assert_eq!(Sysroot::own(&with_cache), expected, "{format}");
        let without = sysroot.agrees_without_cache("/opt/bin/p", &with_cache);
        assert!(Sysroot::own(&without).is_empty(), "{format}");
    }
}

#[test]
fn a_system_directory_against_one_of_the_configuration() {
    need!("cc", LDCONFIG);
    if !is_root() {
        return;
    }
    let sysroot = Sysroot::new();
    for path in ["opt/one/libx.so.1", "usr/lib/libx.so.1", "lib/liby.so.1"] {
        sysroot.library(path, &[]);
    }
    sysroot.fixture.write("etc/ld.so.conf", "/opt/one\n");
    sysroot.program("opt/bin/p", &["opt/one/libx.so.1", "lib/liby.so.1"], &[]);
    sysroot.program("opt/bin/q", &["opt/one/libx.so.1", "lib/liby.so.1"], &["-Wl,-z,nodefaultlib"]);
    sysroot.ldconfig(&[]);
    sysroot.agrees("/opt/bin/q");
    let cached = sysroot.agrees("/opt/bin/p");
    let without = sysroot.agrees_without_cache("/opt/bin/p", &cached);
    // The default directories count now.
    assert_ne!(listing(&without), listing(&cached));
}

#[test]
fn patterns_of_include_lines() {
    need!("cc", LDCONFIG);
    if !is_root() {
        return;
    }
    let sysroot = Sysroot::new();
    let mut needs = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        let path = format!("opt/{name}/lib{name}.so");
        sysroot.library(&path, &[]);
        sysroot.fixture.write(format!("etc/conf/{name}.list"), format!("/opt/{name}\n"));
        needs.push(path);
    }
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    sysroot.program("opt/bin/p", &needs, &[]);
    for pattern in ["conf/?.list", "/etc/conf/[a-c].list", "conf/[!ab].list", "co*/[de].list", "conf/a.list conf/e*"] {
        sysroot.fixture.write("etc/ld.so.conf", format!("include {pattern}\n"));
        sysroot.ldconfig(&[]);
        // Which files the patterns name is seen in what ldconfig found.
        let cached = sysroot.agrees("/opt/bin/p");
        sysroot.agrees_without_cache("/opt/bin/p", &cached);
    }
}

#[test]
fn preloads_of_the_system() {
    need!("cc", LDCONFIG);
    if !is_root() {
        return;
    }
    let sysroot = Sysroot::new();
    for path in ["opt/a/libpre1.so", "opt/a/libpre2.so", "opt/a/libpre3.so", "opt/a/libpre4.so", "opt/a/libdep.so"] {
        sysroot.library(path, &[]);
    }
    sysroot.fixture.write("etc/ld.so.conf", "/opt/a\n");
    sysroot.program("opt/bin/p", &["opt/a/libdep.so"], &[]);
    sysroot.ldconfig(&[]);
    let texts = [
        "/opt/a/libpre1.so\n",
        "# /opt/a/libpre1.so\n/opt/a/libpre2.so:libpre1.so # libpre3.so\n\tlibpre4.so  libpre3.so",
        "/opt/a/missing.so libpre2.so\n",
        "libdep.so\n",
        "libpre1.so\r\nlibpre2.so\r\nlibpre3.so\n",
        "\n\n",
        "",
        "#",
        "etc/ld.so.conf /etc/ld.so.conf\n",
    ];
    for text in texts {
        sysroot.fixture.write("etc/ld.so.preload", text);
        println!("{text:?}");
        sysroot.agrees("/opt/bin/p");
        let mut environment = Environment::empty();
        environment.set(b"LD_PRELOAD", "libpre3.so:/opt/a/libpre2.so".into());
        let closure = sysroot.modelled("/opt/bin/p", environment);
        let judge = sysroot.judged("/opt/bin/p", &["--preload", "libpre3.so:/opt/a/libpre2.so"]);
        assert_eq!(listing(&closure), judge);
    }
}

#[test]
fn calls_of_a_preload_of_the_system() {
    need!("cc", "strace", LDCONFIG);
    if !is_root() {
        return;
    }
    let sysroot = Sysroot::new();
    for path in ["opt/a/libpre1.so", "opt/a/libpre2.so", "opt/a/libdep.so"] {
        sysroot.library(path, &[]);
    }
    sysroot.fixture.write("etc/ld.so.conf", "/opt/a\n");
    sysroot.program("opt/bin/p", &["opt/a/libdep.so"], &[]);
    sysroot.program("opt/bin/q", &["opt/a/libdep.so"], &["-Wl,-rpath,/opt/none:/opt/a"]);
    let compare = |path: &str| {
        let root = HostRoot::sysroot(sysroot.fixture.path());
        let resolver = Resolver::new(&root, Environment::empty()).with_sequence(true);
        let model = predicted_calls(Path::new(path), resolver.resolve(path.into(), Depth::Load).unwrap());
        sysroot.fixture.must("strace", ["-s", "4096", "-o", "log", "./enter", sysroot.fixture.text(), path]);
        let seen = read_log(&std::fs::read_to_string(sysroot.fixture.join("log")).unwrap());
        let difference = first_difference(&model, &seen);
        assert_eq!(difference, None, "{path}\nmodel {model:#?}\nstrace {seen:#?}");
        println!("{path}: {} calls", model.len());
    };
    for text in [None, Some(""), Some("# none\n"), Some("libpre1.so /opt/a/libpre2.so:libdep.so\n")] {
        if let Some(text) = text {
            sysroot.fixture.write("etc/ld.so.preload", text);
        }
        compare("/opt/bin/q");
        sysroot.ldconfig(&[]);
        compare("/opt/bin/p");
        compare("/opt/bin/q");
        sysroot.remove_cache();
    }
}

const LEVELS: [IsaLevel; 4] = [IsaLevel::Baseline, IsaLevel::V2, IsaLevel::V3, IsaLevel::V4];

/// `--glibc-hwcaps-mask` makes this processor one of a lower level.
#[test]
fn capability_entries_of_the_cache_on_processors_of_each_level() {
    need!("cc", LDCONFIG);
    if !is_root() {
        return;
    }
    let sysroot = Sysroot::new();
    let variants: [&[&str]; 5] = [&["v2", "v3", "v4"], &["v2"], &["v3"], &["v2", "v4"], &[]];
    let mut needs = Vec::new();
    for (index, levels) in variants.iter().enumerate() {
        for level in *levels {
            sysroot.library(&format!("opt/h/glibc-hwcaps/x86-64-{level}/libh{index}.so"), &[]);
        }
        needs.push(format!("opt/h/libh{index}.so"));
        sysroot.library(&needs[index], &[]);
    }
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    sysroot.fixture.write("etc/ld.so.conf", "/opt/h\n");
    sysroot.program("opt/bin/p", &needs, &[]);
    sysroot.program("opt/bin/q", &needs, &["-Wl,-rpath,/opt/h"]);
    sysroot.ldconfig(&[]);
    let native = Processor::native().level;
    let levels = || LEVELS.into_iter().enumerate().filter(|(_, level)| *level <= native);
    let check = |paths: &[&str]| {
        for (index, level) in levels() {
            let names = ["x86-64-v2", "x86-64-v3", "x86-64-v4"];
            let mask = if index == 0 { "none".to_owned() } else { names[..index].join(":") };
            let environment = || Environment { processor: Processor::of_level(level), ..Environment::empty() };
            for path in paths {
                let closure = sysroot.modelled(path, environment());
                let judge = sysroot.judged(path, &["--glibc-hwcaps-mask", &mask]);
                assert_eq!(listing(&closure), judge, "{path} on {level:?}");
                // The first library has a copy for every level, the fourth none for v3.
                let own = Sysroot::own(&closure);
                let best = if index == 0 { String::new() } else { format!("/glibc-hwcaps/{}", names[index - 1]) };
                assert_eq!(own[0], format!("/opt/h{best}/libh0.so"), "{path} on {level:?}");
            }
        }
    };
    check(&["/opt/bin/p", "/opt/bin/q"]);
    sysroot.remove_cache();
    check(&["/opt/bin/q"]);
}

#[test]
fn legacy_capability_entries_of_the_cache() {
    need!("cc", LDCONFIG);
    if !is_root() {
        return;
    }
    let sysroot = Sysroot::new();
    let folders = ["tls", "haswell", "x86_64", "avx512_1", "xeon_phi", "tls/x86_64", "haswell/x86_64"];
    let mut needs = Vec::new();
    for (index, folder) in folders.iter().enumerate() {
        sysroot.library(&format!("opt/h/{folder}/libh{index}.so"), &[]);
        needs.push(format!("opt/h/libh{index}.so"));
        sysroot.library(&needs[index], &[]);
    }
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    sysroot.fixture.write("etc/ld.so.conf", "/opt/h\n");
    sysroot.program("opt/bin/p", &needs, &[]);
    for format in ["new", "compat", "old"] {
        sysroot.ldconfig(&["-c", format]);
        println!("{format}: {:?}", Sysroot::own(&sysroot.agrees("/opt/bin/p")));
    }
}
