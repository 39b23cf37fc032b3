//! Collects notices about what a bundle cannot carry or changes.

use super::model::{Form, IncludedBecause, Item, Wish, file_name};
use super::notice::Notice;
use super::{scan, texts, tree, wrapper};
use bstr::{BString, ByteSlice};
use underpin_elf::{Elf, Machine};
use underpin_resolve::{Closure, FindingKind, LoaderKind, Root};

/// Prefixes of the sonames of libraries that pass their work on to drivers.
const DRIVERS: &[&str] = &[
    "libGL.so",
    "libGLX.so",
    "libEGL.so",
    "libOpenGL.so",
    "libGLESv",
    "libGLdispatch.so",
    "libvulkan.so",
    "libcuda.so",
    "libnvidia-",
    "libOpenCL.so",
    "libva.so",
    "libvdpau.so",
    "libze_loader.so",
    "libamdhip64.so",
    "libgbm.so",
];

/// Collects all notices.
pub(super) fn collect(
    root: &dyn Root,
    closure: &Closure,
    (elf, mapped): (&Elf, bool),
    items: &[Item],
    wish: &Wish<'_>,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let names = || items.iter().filter_map(|item| item.name.clone());
    let drivers: Vec<_> = names().filter(|name| DRIVERS.iter().any(|start| name.starts_with_str(start))).collect();
    if !drivers.is_empty() {
        notices.push(Notice::Drivers { names: drivers });
    }
    let by = openers(closure);
    if !by.is_empty() {
        notices.push(Notice::OpensMore { by });
    }
    if let Ok(opened) = root.open(wish.program.as_ref()) {
        if scan::mentions(&*opened.source, elf, b"/proc/self/exe") {
            notices.push(Notice::OwnFile);
        }
        if opened.meta.secure_execution || opened.meta.set_user_id {
            notices.push(Notice::SetUser);
        }
        notices.extend(payload(&*opened.source, elf));
    }
    let named = named(root, closure, items, wish);
    let known =
        |path: &BString| named.iter().any(|notice| matches!(notice, Notice::Compiled { path: one, .. } if one == path));
    notices.extend(
        data(root, items, wish).into_iter().filter(|notice| !matches!(notice, Notice::Data { path } if known(path))),
    );
    notices.extend(named);
    if wish.form == Form::File {
        notices.extend(of_one_file(root, closure, (elf.ident.machine, mapped), items));
    }
    notices
}

fn openers(closure: &Closure) -> Vec<BString> {
    let declared = |object| {
        let note = |kind: &FindingKind| matches!(kind, FindingKind::DlopenNote { .. });
        closure.findings.iter().any(|finding| finding.object == object && note(&finding.kind))
    };
    let imports = closure.findings.iter().filter(|finding| finding.kind == FindingKind::ImportsDlopen);
    let objects = imports.filter(|finding| !declared(finding.object)).filter_map(|finding| finding.object);
    let paths = objects.filter_map(|id| closure.objects.get(id.0)).map(|object| object.path.as_ref());
    paths.map(|path| file_name(path).into()).collect()
}

/// Bytes after everything that the ELF headers describe.
fn payload(source: &(dyn underpin_elf::Source + Send + Sync), elf: &Elf) -> Option<Notice> {
    let segments = elf.loads().map(|load| load.offset.0.saturating_add(load.file_size)).max().unwrap_or(0);
    let details = underpin_elf::Details::read(source, elf).ok()?;
    let mut header = [0; 64];
    source.read_exact_at(0, &mut header).ok()?;
    let table = u64::from_le_bytes(*header[40..].first_chunk()?);
    let table_end = table + u64::from(u16::from_le_bytes(*header[60..].first_chunk()?)) * 64;
    let in_file = |section: &&underpin_elf::Section| section.kind != underpin_elf::SectionKind::NoBits;
    let sections = details.sections.iter().filter(in_file).map(|section| section.offset.0.saturating_add(section.size));
    let end = sections.max().unwrap_or(0).max(segments).max(table_end);
    let size = source.len().saturating_sub(end);
    (size > 0).then_some(Notice::Payload { size })
}

/// Directories below the program's prefix that are named after it and not included.
fn data(root: &dyn Root, items: &[Item], wish: &Wish<'_>) -> Vec<Notice> {
    let program = root.real_path(wish.program.as_ref()).unwrap_or_else(|_| wish.program.clone());
    let mut parts = program.rsplitn_str(3, "/");
    let (Some(name), Some(_), Some(prefix)) = (parts.next(), parts.next(), parts.next()) else { return Vec::new() };
    let mut names: Vec<&[u8]> = vec![name, wish.name.as_slice()];
    // A name followed by a version or variant: emacs-gtk, python3.11.
    names.extend(name.find_byteset(b"-.").map(|end| &name[..end]));
    names.sort_unstable();
    names.dedup();
    let mut notices = Vec::new();
    for below in ["share", "lib", "libexec"] {
        for name in &names {
            let path = BString::from([prefix, b"/", below.as_bytes(), b"/", name].concat());
            let is_directory =
                root.stat(path.as_ref()).is_ok_and(|meta| meta.kind == underpin_resolve::root::FileKind::Directory);
            let taken = items.iter().any(|item| item.source.strip_prefix(path.as_slice()).is_some());
            if is_directory && !taken {
                notices.push(Notice::Data { path });
            }
        }
    }
    notices
}

/// What objects name by compiled-in paths, and what a wrapper script sets.
fn named(root: &dyn Root, closure: &Closure, items: &[Item], wish: &Wish<'_>) -> Vec<Notice> {
    let place_of = |path: &BString| {
        let real = root.real_path(path.as_ref()).unwrap_or_else(|_| path.clone());
        items.iter().find_map(|item| {
            let rest = [path, &real].into_iter().find_map(|path| item.source.strip_prefix(path.as_slice()))?;
            let whole = rest.is_empty() || rest.starts_with(b"/");
            item.place.strip_suffix(rest).filter(|_| whole).map(BString::from)
        })
    };
    let texts = texts::of_items(root, closure, items);
    let mut notices: Vec<Notice> = Vec::new();
    for one in texts::compiled(root, closure, items, &texts) {
        let texts::Compiled { path, by, variables, found } = one;
        let place = place_of(&path);
        notices.push(Notice::Compiled { place, path, by, variables, size: found.size, objects: found.objects });
    }
    for (by, texts) in texts {
        let mut paths = texts.paths;
        paths.retain(|path| texts::is_certificates(path.as_ref()));
        // Existing paths come first: they can be included.
        paths.sort_by_key(|path| root.stat(path.as_ref()).is_err());
        if !paths.is_empty() {
            let place = paths.iter().find_map(place_of);
            let of_certificates = |name: &BString| name.contains_str("CERT") || name.contains_str("CA_");
            let variables = texts.variables.into_iter().filter(of_certificates).collect();
            notices.push(Notice::Certificates { by, paths, variables, place });
        }
    }
    if let Some(wrapper::Wrapper { script, variables }) = wrapper::find(root, wish.program.as_ref()) {
        let program = root.real_path(wish.program.as_ref()).unwrap_or_else(|_| wish.program.clone());
        let place = |(_, value): &(BString, BString)| tree::place(value.as_ref(), program.as_ref());
        notices.push(Notice::Wrapper { places: variables.iter().map(place).collect(), script, variables });
    }
    notices
}

fn of_one_file(root: &dyn Root, closure: &Closure, (machine, mapped): (Machine, bool), items: &[Item]) -> Vec<Notice> {
    let libraries =
        items.iter().filter(|item| !matches!(item.reason, IncludedBecause::Program | IncludedBecause::Loader));
    // Only the launcher for x86-64 maps read-only segments again from the bundle's file: on AArch64 that would lose the
    // loader's PROT_BTI.
    let given_back = machine == Machine::X86_64;
    let memory = Notice::Memory { size: libraries.map(|item| item.size).sum(), given_back };
    let mut notices = if mapped { Vec::new() } else { vec![memory] };
    let converts = |object: &underpin_resolve::Object| {
        let libc = object.soname.as_ref().is_some_and(|soname| soname.starts_with(b"libc.so"));
        !libc && !scan::imports(root, object.path.as_ref(), &[b"iconv_open"]).is_empty()
    };
    if closure.loader.kind == LoaderKind::Glibc && closure.objects.iter().any(converts) {
        notices.push(Notice::NoCharsets);
    }
    notices
}
