//! Symbol bindings as a loader prints them: which reference, of which object, to the definition of which object.

use crate::files::Disagreement;
use bstr::ByteSlice;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A reference: the object that makes it, and the symbol with its version in brackets.
type Reference = (PathBuf, String);

/// Which object defines what each reference is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    targets: BTreeMap<Reference, BTreeSet<PathBuf>>,
}

impl Bindings {
    /// Reads the lines of `LD_DEBUG=bindings`, as in ``binding file A [0] to B [0]: normal symbol `s' [V]``, and those
    /// of `LD_WARN`. The file itself appears as `file`, by whatever name it was called.
    pub(super) fn read(file: &Path, stdout: &[u8], stderr: &[u8]) -> Bindings {
        let mut bindings = Bindings::default();
        let mut known: HashMap<Vec<u8>, PathBuf> = HashMap::new();
        let mut real = |name: &[u8]| known.entry(name.to_vec()).or_insert_with(|| real_path(file, name)).clone();
        for line in stdout.lines().chain(stderr.lines()) {
            if let Some((from, to, symbol)) = binding(line) {
                bindings.targets.entry((real(from), symbol)).or_default().insert(real(to));
            } else if let Some((symbol, from)) = undefined(line) {
                bindings.targets.entry((real(from), symbol)).or_default();
            }
        }
        bindings
    }

    /// The same for a bundle whose program is `file`: objects by the names that they have in it.
    pub(crate) fn of_names(file: &Path, stdout: &[u8], stderr: &[u8]) -> Bindings {
        let name = |path: PathBuf| path.file_name().map_or_else(PathBuf::new, PathBuf::from);
        let read = Bindings::read(file, stdout, stderr).renamed(file, Path::new("/"));
        let targets = read
            .targets
            .into_iter()
            .map(|((object, symbol), targets)| ((name(object), symbol), targets.into_iter().map(name).collect()));
        Bindings { targets: targets.collect() }
    }

    /// How many references were reported.
    #[must_use]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether none was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The same, with one file under another path: to compare a copy with its original.
    #[must_use]
    pub fn renamed(self, from: &Path, to: &Path) -> Bindings {
        let rename = |path: PathBuf| if path == from { to.to_path_buf() } else { path };
        let rename_all = |targets: BTreeSet<PathBuf>| targets.into_iter().map(rename).collect();
        let targets =
            self.targets.into_iter().map(|((object, symbol), targets)| ((rename(object), symbol), rename_all(targets)));
        Bindings { targets: targets.collect() }
    }

    /// Checks bindings that were computed: each symbol of an object, with its version in brackets, and the object that
    /// defines it. Returns how many there were.
    ///
    /// # Errors
    /// The first symbol that the loader binds to another object.
    pub fn confirm(
        &self,
        computed: impl IntoIterator<Item = ((PathBuf, String), PathBuf)>,
    ) -> Result<usize, Disagreement> {
        let mut all: BTreeMap<Reference, BTreeSet<PathBuf>> = BTreeMap::new();
        for (reference, to) in computed {
            all.entry(reference).or_default().insert(to);
        }
        let nothing = BTreeSet::new();
        for (reference, computed) in &all {
            let told = self.targets.get(reference).unwrap_or(&nothing);
            if told != computed {
                return Err(wrong(reference, told, computed));
            }
        }
        Ok(all.len())
    }

    /// Checks that a file that many members were merged into stands for each of them: every reference of another object
    /// leads to what it led to, or to the file if that was a member, and what the file asks of others it gets from where
    /// a member got it. What was bound inside the file the loader does not tell: [`Bindings::confirm`]. The file may stand
    /// for dlopen, and passes it on to glibc's dlmopen (underpin-fuse, `names`). Returns how many references were compared.
    ///
    /// # Errors
    /// The first one that is bound to something else.
    pub fn same_as_merged(
        &self,
        before: &Bindings,
        members: &BTreeSet<PathBuf>,
        file: &Path,
    ) -> Result<usize, Disagreement> {
        let merged = |path: &PathBuf| if members.contains(path) { file.to_path_buf() } else { path.clone() };
        let mut expected: BTreeMap<Reference, BTreeSet<PathBuf>> = BTreeMap::new();
        for ((from, symbol), targets) in &before.targets {
            expected.entry((merged(from), symbol.clone())).or_default().extend(targets.iter().map(merged));
        }
        let own = (file.to_path_buf(), "dlmopen".to_owned());
        if let Some(glibc) = self.targets.get(&own).filter(|targets| targets.iter().all(|path| is_glibc(path))) {
            expected.entry(own).or_default().extend(glibc.iter().cloned());
            let taken = expected.iter_mut().filter(|((_, symbol), _)| symbol.split(' ').next() == Some("dlopen"));
            let passed = taken.filter(|(_, then)| !then.is_empty() && then.iter().all(|path| is_glibc(path)));
            passed.for_each(|(_, then)| *then = BTreeSet::from([file.to_path_buf()]));
        }
        let nothing = BTreeSet::new();
        let outside = || expected.iter().filter(|((from, _), _)| from != file);
        for (reference, then) in outside() {
            let now = self.targets.get(reference).unwrap_or(&nothing);
            if now != then {
                return Err(wrong(reference, then, now));
            }
        }
        for (reference, now) in &self.targets {
            let then = expected.get(reference).unwrap_or(&nothing);
            if !now.is_subset(then) {
                return Err(wrong(reference, then, now));
            }
        }
        Ok(outside().count() + self.targets.keys().filter(|(from, _)| from == file).count())
    }

    /// Checks that every reference that there was is bound to the same object as before; more objects may be there.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn includes(&self, before: &Bindings) -> Result<(), Disagreement> {
        let nothing = BTreeSet::new();
        let now = |reference| self.targets.get(reference).unwrap_or(&nothing);
        match before.targets.iter().find(|(reference, then)| now(reference) != *then) {
            Some((reference, then)) => Err(wrong(reference, then, now(reference))),
            None => Ok(()),
        }
    }

    /// Checks that every reference is bound to the same object as before.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn same_as(&self, before: &Bindings) -> Result<(), Disagreement> {
        let nothing = BTreeSet::new();
        let references: BTreeSet<&Reference> = self.targets.keys().chain(before.targets.keys()).collect();
        for reference in references {
            let (then, now) = (before.targets.get(reference), self.targets.get(reference));
            if then != now {
                return Err(wrong(reference, then.unwrap_or(&nothing), now.unwrap_or(&nothing)));
            }
        }
        Ok(())
    }
}

/// Whether a file is the one in which glibc has dlopen: libc.so.6, before 2.34 libdl.so.2, which may be links to a file with
/// the version in its name.
fn is_glibc(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    ["libc.so.", "libc-2.", "libdl.so.", "libdl-2."].into_iter().any(|start| name.starts_with(start.as_bytes()))
}

fn wrong(reference: &Reference, then: &BTreeSet<PathBuf>, now: &BTreeSet<PathBuf>) -> Disagreement {
    let show = |targets: &BTreeSet<PathBuf>| match targets.is_empty() {
        true => "nothing".to_owned(),
        false => targets.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
    };
    Disagreement::Symbol {
        symbol: reference.1.clone(),
        from: reference.0.display().to_string(),
        before: show(then),
        now: show(now),
    }
}

fn real_path(file: &Path, name: &[u8]) -> PathBuf {
    let path = Path::new(OsStr::from_bytes(name));
    if path == file || name.is_empty() {
        return file.into();
    }
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

fn binding(line: &[u8]) -> Option<(&[u8], &[u8], String)> {
    let (_, rest) = line.split_once_str("\tbinding file ")?;
    let (from, rest) = rest.split_once_str(" to ")?;
    let (to, symbol) = rest.split_once_str("]: ")?;
    let object = |text: &'_ [u8]| text.rfind(b" [").unwrap_or(text.len());
    let (_, symbol) = symbol.split_once_str("symbol `")?;
    // `name' [VERSION], or `name' alone.
    Some((&from[..object(from)], &to[..object(to)], String::from_utf8_lossy(symbol).replacen('\'', "", 1)))
}

/// The lines of `print_unresolved`: the symbol, a tab, the object in brackets.
fn undefined(line: &[u8]) -> Option<(String, &[u8])> {
    let (_, rest) = line.split_once_str("undefined symbol: ")?;
    let (symbol, object) = rest.split_once_str("\t(")?;
    Some((String::from_utf8_lossy(symbol).trim().to_owned(), object.strip_suffix(b")").unwrap_or(object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_loader_are_read() {
        let errors = b"      42:\tbinding file /p [0] to /no/libx.so [0]: normal symbol `f' [V_1]\n\
            \x20     42:\tbinding file /no/libx.so [0] to /p [0]: normal symbol `g'\n";
        let bindings = Bindings::read(Path::new("/p"), b"undefined symbol: h\t(/p)\n", errors);
        let shown: Vec<String> = bindings.targets.iter().map(|entry| format!("{entry:?}")).collect();
        assert_eq!(
            shown,
            [r#"(("/no/libx.so", "g"), {"/p"})"#, r#"(("/p", "f [V_1]"), {"/no/libx.so"})"#, r#"(("/p", "h"), {})"#]
        );
    }

    #[test]
    fn what_was_computed_is_held_against_the_loader() {
        let read = Bindings::read(Path::new("/p"), b"", b" 1:\tbinding file /p [0] to /a [0]: normal symbol `f' [V]\n");
        let one = |symbol: &str, to: &str| [(("/p".into(), symbol.to_owned()), to.into())];
        assert_eq!(read.confirm(one("f [V]", "/a")), Ok(1));
        assert!(read.confirm(one("f [V]", "/b")).is_err() && read.confirm(one("f", "/a")).is_err());
    }

    #[test]
    fn a_merged_file_stands_for_its_members_and_for_nothing_else() {
        let line = |from: &str, to: &str| format!(" 1:\tbinding file {from} [0] to {to} [0]: normal symbol `f'\n");
        let read = |lines: &[String]| Bindings::read(Path::new("/p"), b"", lines.concat().as_bytes());
        let members = BTreeSet::from([PathBuf::from("/a"), PathBuf::from("/b")]);
        let before = read(&[line("/p", "/a"), line("/a", "/c"), line("/b", "/a"), line("/c", "/b")]);
        let same = |lines: &[String]| read(lines).same_as_merged(&before, &members, Path::new("/f"));
        let (program, inside, other) = (line("/p", "/f"), line("/f", "/c"), line("/c", "/f"));
        assert_eq!(same(&[program.clone(), inside.clone(), other.clone()]), Ok(3));
        assert!(same(&[program.clone(), inside.clone()]).is_err(), "a reference is lost");
        assert!(same(&[line("/p", "/c"), inside, other.clone()]).is_err(), "it leads elsewhere");
        assert!(same(&[program, line("/f", "/d"), other]).is_err(), "no member got it from there");
    }

    #[test]
    fn a_merged_file_may_stand_for_dlopen_if_it_asks_glibc_in_turn() {
        let line = |from: &str, to: &str, symbol: &str| {
            format!(" 1:\tbinding file {from} [0] to {to} [0]: normal symbol `{symbol}\n")
        };
        let read = |lines: &[String]| Bindings::read(Path::new("/p"), b"", lines.concat().as_bytes());
        let members = BTreeSet::from([PathBuf::from("/a")]);
        let (libc, open, on) = ("/libc.so.6", "dlopen' [GLIBC_2.34]", "dlmopen'");
        let before = read(&[line("/p", libc, open), line("/a", libc, open), line("/p", "/a", "f'")]);
        let same = |lines: &[String]| read(lines).same_as_merged(&before, &members, Path::new("/f"));
        let (f, passed) = (line("/p", "/f", "f'"), line("/f", libc, on));
        let all = [f.clone(), passed.clone(), line("/p", "/f", open), line("/f", "/f", open)];
        assert_eq!(same(&all), Ok(4));
        assert!(same(&[f.clone(), line("/p", "/f", open)]).is_err(), "it does not pass it on");
        assert!(same(&[f.clone(), line("/f", "/x", on), line("/p", "/f", open)]).is_err(), "it passes it on elsewhere");
        assert!(same(&[f.clone(), passed.clone(), line("/p", libc, open)]).is_err(), "the program opens past it");
        assert!(same(&[f.clone(), passed, line("/p", "/x", open)]).is_err(), "another file stands for it");
        assert_eq!(same(&[f, line("/p", libc, open)]), Ok(2));
    }

    #[test]
    fn another_target_is_a_disagreement() {
        let line = |to: &str| format!(" 1:\tbinding file /p [0] to {to} [0]: normal symbol `f'\n").into_bytes();
        let read = |to| Bindings::read(Path::new("/p"), b"", &line(to));
        assert_eq!(read("/a").same_as(&read("/a")), Ok(()));
        let error = read("/b").same_as(&read("/a")).unwrap_err();
        assert_eq!(error.to_string(), "symbol f of /p was bound to /a and is bound to /b");
    }
}
