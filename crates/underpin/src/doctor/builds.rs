//! What `underpin build` can build here: per processor and C library the compilers it would use, or what to install.

use super::{Host, good, missing};
use std::path::Path;
use underpin_build::toolchain::{Finder, Needs, Toolchains};
use underpin_build::{CLibrary, Goal, Processor, Spec, SpecText};
use underpin_report::document::doctor::{DoctorItem, Topic};

/// The languages, each with what a project in it needs.
const LANGUAGES: [(&str, Needs); 3] = [
    ("C", Needs { rust: false, c: true, cxx: false }),
    ("C++", Needs { rust: false, c: false, cxx: true }),
    ("Rust", Needs { rust: true, c: false, cxx: false }),
];

/// One fact for each processor and C library. Starts compilers with `--version` and the like.
pub(super) fn targets(host: &Host) -> Vec<DoctorItem> {
    let finder = Finder { path: host.program_dirs.clone(), root: host.root.clone(), folder: host.root.clone() };
    let found = Toolchains::find(&finder).with_rust(&finder);
    let libraries = [CLibrary::Musl, CLibrary::Glibc(None)];
    let pairs = Processor::ALL.into_iter().flat_map(|processor| libraries.map(|libc| (processor, libc)));
    pairs.filter_map(|(processor, libc)| target(&found, processor, libc)).collect()
}

/// What would build for one processor and C library.
fn target(found: &Toolchains, processor: Processor, libc: CLibrary) -> Option<DoctorItem> {
    let text = SpecText { libc, linkage: None, allocator: None, overlay: None };
    let spec: Spec = text.complete(processor, Goal::Memory, |_| underpin_build::Allocator::System).ok()?;
    let name = format!("{processor} {}", if libc == CLibrary::Musl { "musl" } else { "glibc" });
    let mut can: Vec<(String, Vec<&str>)> = Vec::new();
    let mut lacks = Vec::new();
    for (language, needs) in LANGUAGES {
        match found.choose(&spec, None, needs, Path::new("/")) {
            Ok(chosen) => {
                // Rust links with the C compiler; its own name is enough here.
                let rust = chosen.rust.map(|choice| format!("rustc {}", choice.rust.version));
                let words = rust.unwrap_or(chosen.words);
                match can.iter_mut().find(|(known, _)| *known == words) {
                    Some((_, languages)) => languages.push(language),
                    None => can.push((words, vec![language])),
                }
            }
            Err(refused) => lacks.push((language, refused)),
        }
    }
    let listed: Vec<String> =
        can.iter().map(|(words, languages)| format!("{}: {words}", languages.join(", "))).collect();
    let value = if listed.is_empty() { "nothing builds for it".to_owned() } else { listed.join("; ") };
    let Some((_, first)) = lacks.first() else { return Some(good(Topic::Builds, &name, value)) };
    let languages: Vec<&str> = lacks.iter().map(|(language, _)| *language).collect();
    let effect = format!("no programs in {} are built for it", languages.join(", "));
    Some(missing(Topic::Builds, &name, value, &effect, Some(first.command.clone())))
}
