//! Paths compiled into the objects of a bundle, found in their read-only texts: plug-ins, data, certificates.
//!
//! A text is evidence that an object may look there, not proof that it does. So nothing is included because of one:
//! what exists on this machine is reported, with its size and the option that includes it.

use super::model::{IncludedBecause, Item, file_name};
use super::{plugins, scan};
use bstr::{BStr, BString, ByteSlice};
use std::collections::BTreeMap;
use underpin_elf::Elf;
use underpin_resolve::root::FileKind;
use underpin_resolve::{Closure, Root};

/// What an object's texts contain.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Absolute paths, each once, sorted; colon-separated lists are split.
    pub paths: Vec<BString>,
    /// Words that look like names of variables for paths.
    pub variables: Vec<BString>,
}

/// Something on this machine that objects name by a path compiled into them.
#[derive(Debug)]
pub(super) struct Compiled {
    pub path: BString,
    /// Objects with that text, and variables that they name.
    pub by: Vec<BString>,
    pub variables: Vec<BString>,
    pub found: Found,
}

/// What is below a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Bytes of all its files.
    pub size: u64,
    /// Shared objects among them.
    pub objects: u64,
}

/// Texts longer than this are not paths (`PATH_MAX`).
const LONGEST: usize = 4096;
/// How many files below one directory are looked at, and how deep.
const FILES: usize = 20_000;
const DEPTH: usize = 8;

/// Suffixes of the names of variables for paths.
const LEADS: [&[u8]; 7] = [b"_PATH", b"_DIR", b"_HOME", b"_LIB", b"_ROOT", b"_FILE", b"_PREFIX"];

/// Where programs have files of their own. Other places belong to the machine: its configuration, its state.
const OWN: [&[u8]; 7] = [
    b"/usr/lib/",
    b"/usr/lib64/",
    b"/usr/libexec/",
    b"/usr/share/",
    b"/usr/local/lib/",
    b"/usr/local/share/",
    b"/opt/",
];

/// Directories that many programs share, which no single one owns.
const SHARED: [&[u8]; 22] = [
    b"X11",
    b"applications",
    b"bug",
    b"debug",
    b"doc",
    b"doc-base",
    b"file",
    b"fonts",
    b"gconv",
    b"i18n",
    b"icons",
    b"info",
    b"lintian",
    b"locale",
    b"man",
    b"menu",
    b"metainfo",
    b"mime",
    b"pixmaps",
    b"sounds",
    b"themes",
    b"zoneinfo",
];

/// Suffixes of paths to CA certificates.
const CERTIFICATES: [&[u8]; 7] = [
    b"/ssl/certs",
    b"/tls/certs",
    b"/ca-certificates.crt",
    b"/ca-bundle.crt",
    b"/tls-ca-bundle.pem",
    b"/cert.pem",
    b"/ca-certificates",
];

/// Whether a path is one where CA certificates are looked for.
pub(super) fn is_certificates(path: &BStr) -> bool {
    CERTIFICATES.iter().any(|end| path.ends_with(end))
}

/// Reads the texts of an object. A file that cannot be read has none.
pub(super) fn of(root: &dyn Root, path: &BStr) -> Texts {
    let mut texts = Texts::default();
    let Ok(opened) = root.open(path) else { return texts };
    let Ok(elf) = Elf::read(&*opened.source) else { return texts };
    for load in elf.loads().filter(|load| !load.flags.write) {
        let size = load.file_size.min(opened.source.len().saturating_sub(load.offset.0));
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        if opened.source.read_exact_at(load.offset.0, &mut bytes).is_ok() {
            for text in bytes.split_str(b"\0").filter(|text| text.len() <= LONGEST) {
                texts.add(text);
            }
        }
    }
    texts.paths.sort();
    texts.paths.dedup();
    texts.variables.sort();
    texts.variables.dedup();
    texts
}

impl Texts {
    fn add(&mut self, text: &[u8]) {
        if text.starts_with(b"/") {
            let printable = |part: &&[u8]| part.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'%');
            let parts = text.split_str(":").filter(|part| part.starts_with(b"/")).filter(printable);
            let trimmed = parts.map(|part| part.trim_end_with(|letter| letter == '/'));
            self.paths.extend(trimmed.filter(|part| !part.is_empty()).map(BString::from));
        } else if LEADS.iter().any(|end| text.ends_with(end))
            && text.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
        {
            self.variables.push(text.into());
        }
    }
}

/// The objects of a bundle whose texts count, with their texts: not the C library and its loader, which name the
/// machine's own places, and not underpin's libraries.
pub(super) fn of_items(root: &dyn Root, closure: &Closure, items: &[Item]) -> Vec<(BString, Texts)> {
    let libc = closure.objects.iter().find(|object| scan::is_libc(object)).map(|object| &object.path);
    let counts = |item: &&Item| match item.reason {
        IncludedBecause::Loader
        | IncludedBecause::Charset
        | IncludedBecause::Locale { .. }
        | IncludedBecause::Merged { .. }
        | IncludedBecause::LocaleLibrary => false,
        IncludedBecause::Included { .. } => item.name.is_some() || item.source.ends_with(b".so"),
        _ => libc != Some(&item.source),
    };
    let texts = |item: &Item| (BString::from(file_name(item.source.as_ref())), of(root, item.source.as_ref()));
    items.iter().filter(counts).map(texts).collect()
}

/// Plug-ins and data that the texts lead to, without what is below another one of them.
pub(super) fn compiled(
    root: &dyn Root,
    closure: &Closure,
    items: &[Item],
    texts: &[(BString, Texts)],
) -> Vec<Compiled> {
    let mut searched = plugins::directories(closure);
    searched.retain(|directory| !directory.is_empty());
    // A library that names its own file, or another of the closure.
    let is_item = |path: &BString| {
        items.iter().any(|item| item.name.as_ref().is_some_and(|name| *name == file_name(path.as_ref())))
    };
    let mut all: BTreeMap<&BString, Compiled> = BTreeMap::new();
    for (by, texts) in texts {
        for path in texts.paths.iter().filter(|path| is_own(path) && !searched.contains(path) && !is_item(path)) {
            let variables = || texts.variables.iter().filter(|name| concerns(name, path, by)).cloned();
            if let Some(known) = all.get_mut(path) {
                known.by.push(by.clone());
                known.variables.extend(variables());
                continue;
            }
            let found = below(root, path);
            if found.size > 0 {
                let (by, variables) = (vec![by.clone()], variables().collect());
                all.insert(path, Compiled { path: path.clone(), by, variables, found });
            }
        }
    }
    let mut kept: Vec<Compiled> = Vec::new();
    for one in all.into_values() {
        let is_in =
            |kept: &Compiled| one.path.strip_prefix(kept.path.as_slice()).is_some_and(|rest| rest.starts_with(b"/"));
        match kept.iter_mut().find(|kept| is_in(kept)) {
            Some(kept) => kept.by.extend(one.by),
            None => kept.push(one),
        }
    }
    for one in &mut kept {
        for list in [&mut one.by, &mut one.variables] {
            list.sort();
            list.dedup();
        }
    }
    kept
}

/// Whether a variable belongs to the object or the path: its first word is part of one of their names, as GS_LIB for
/// libgs.
fn concerns(variable: &BString, path: &BString, by: &BString) -> bool {
    let word = variable.split_str("_").next().unwrap_or_default().to_ascii_lowercase();
    let object = by.split_str(".so").next().unwrap_or_default().to_ascii_lowercase();
    word.len() > 1 && (object.contains_str(&word) || path.to_ascii_lowercase().contains_str(&word))
}

/// Whether a path belongs to one program or library, not to the machine.
fn is_own(path: &BString) -> bool {
    let Some(rest) = OWN.iter().find_map(|start| path.strip_prefix(*start)) else { return false };
    let mut parts = rest.split_str("/");
    let first = parts.next().unwrap_or_default();
    // Directories such as sysusers.d belong to the system manager.
    let of_system = first == b"systemd" || first.ends_with(b".d");
    let of_machine = parts.next().is_none() && first.contains_str("-linux-");
    !(path.contains_str("/../") || of_system || of_machine || SHARED.contains(&first))
}

/// What is at and below a path.
fn below(root: &dyn Root, path: &BString) -> Found {
    let mut found = Found::default();
    let mut pending = vec![(path.clone(), 0)];
    let mut seen = 0;
    while let Some((path, depth)) = pending.pop() {
        let Ok(meta) = root.stat(path.as_ref()) else { continue };
        seen += 1;
        match meta.kind {
            FileKind::Regular => {
                found.size += meta.size;
                found.objects += u64::from(path.ends_with(b".so") || path.contains_str(".so."));
            }
            FileKind::Directory if depth < DEPTH && seen < FILES => {
                let names = root.list(path.as_ref()).unwrap_or_default();
                let names = names.into_iter().filter(|name| name != "." && name != "..");
                pending.extend(names.map(|name| (BString::from([path.as_slice(), b"/", &name].concat()), depth + 1)));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Texts, is_own};

    #[test]
    fn only_paths_of_one_program_count() {
        let own = |path: &str| is_own(&path.into());
        assert!(own("/usr/lib/x86_64-linux-gnu/vlc") && own("/usr/share/vlc") && own("/opt/tool/lib"));
        assert!(
            !own("/usr/lib/x86_64-linux-gnu") && !own("/usr/share/locale") && !own("/etc/app") && !own("/usr/share")
        );
    }

    #[test]
    fn lists_are_taken_apart_and_patterns_are_no_paths() {
        let mut texts = Texts::default();
        for text in ["/usr/share/a/:/usr/share/b", "/usr/share/%s/c", "APP_HOME", "app_home", "a/b", "HOME"] {
            texts.add(text.as_bytes());
        }
        assert_eq!(
            (texts.paths, texts.variables),
            (vec!["/usr/share/a".into(), "/usr/share/b".into()], vec!["APP_HOME".into()])
        );
    }
}
