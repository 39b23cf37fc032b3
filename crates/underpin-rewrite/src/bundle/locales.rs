//! The locales that setlocale(3) finds in a bundle: `C.UTF-8`, which programs fall back to, and those that the user
//! names.
//!
//! They are in `lib/locale`, beside a library of underpin's that points glibc there if the machine has no locale of the
//! requested name (`underpin-sys`, `locales/main.rs`).

use super::model::{Form, IncludedBecause, Item, Wish, read_error};
use super::notice::{NoLocale, Notice};
use super::scan::{self, is_libc};
use super::taken::Taken;
use super::{BundleError, locale_archive};
use bstr::{BStr, BString, ByteSlice};
use underpin_elf::{Elf, Machine};
use underpin_resolve::root::FileKind;
use underpin_resolve::{Closure, LoaderKind, Root};

/// The name for locales in `--exclude`.
const LOCALES: &str = "locale";

/// The locale that is included by default.
const DEFAULT: &str = "C.UTF-8";

/// Functions that load a locale.
const USES: &[&[u8]] = &[b"setlocale", b"newlocale", b"__newlocale"];

/// What underpin's library imports from libc.so.6; before glibc 2.34 two of them are in libdl.so.2.
const WANTS: [&str; 5] = ["dladdr", "dlsym", "getenv", "setenv", "unsetenv"];

/// The file name of underpin's library, and its soname.
const LIBRARY: &str = "libunderpin-locale.so";

/// Where glibc looks if libc.so.6 contains no such path.
const DIRECTORY: &str = "/usr/lib/locale";

/// Larger archives are ignored: Debian's archive of all locales has 220 MB.
const ARCHIVE_LIMIT: u64 = 1 << 30;
const LIBC_LIMIT: u64 = 1 << 28;

/// Whether a locale's name says that its charset is UTF-8.
pub(super) fn is_utf8(name: &BString) -> bool {
    codeset(name.as_ref()).1.as_deref() == Some(b"utf8")
}

/// A name split in two: without its codeset, and the codeset as glibc compares it, letters and digits in lower case
/// (glibc `intl/l10nflist.c`, `_nl_normalize_codeset`).
fn codeset(name: &BStr) -> (Vec<u8>, Option<Vec<u8>>) {
    let (rest, modifier) =
        name.split_once_str("@").map_or((name.as_bytes(), None), |(rest, after)| (rest, Some(after)));
    let (language, codeset) = rest.split_once_str(".").map_or((rest, None), |(before, after)| (before, Some(after)));
    let modifier = modifier.map_or_else(Vec::new, |modifier| [b"@", modifier].concat());
    let letters = |codeset: &[u8]| {
        codeset.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
    };
    ([language, &modifier].concat(), codeset.map(letters))
}

/// Includes all locales. Returns a notice if a program that sets a locale will miss one.
pub(super) fn take(
    taken: &mut Taken,
    root: &dyn Root,
    closure: &Closure,
    (machine, wish): (Machine, &Wish<'_>),
) -> Result<Option<Notice>, BundleError> {
    let refuse = |reason: &str| match wish.locales.first() {
        Some(name) => Err(BundleError::NoLocale { name: name.clone(), reason: reason.to_owned() }),
        None => Ok(()),
    };
    let libc = closure.objects.iter().find(|object| is_libc(object));
    let Some(libc) = libc.filter(|_| closure.loader.kind == LoaderKind::Glibc) else {
        refuse("only programs of glibc have locales of that kind")?;
        return Ok(None);
    };
    let uses = |object: &&underpin_resolve::Object| {
        !is_libc(object) && !scan::imports(root, object.path.as_ref(), USES).is_empty()
    };
    if wish.locales.is_empty() && closure.objects.iter().find(uses).is_none() {
        return Ok(None);
    }
    if wish.form == Form::File {
        refuse("a locale is a directory of files, and one file has none; leave --file out")?;
        return Ok(Some(Notice::NoLocales { reason: NoLocale::OneFile }));
    }
    if wish.exclude.iter().any(|pattern| pattern.covers(LOCALES.into(), None, LOCALES.into())) {
        refuse("--exclude locale leaves it out")?;
        return Ok(Some(Notice::NoLocales { reason: NoLocale::Excluded }));
    }
    let bytes = root.read(libc.path.as_ref(), LIBC_LIMIT).map_err(|error| read_error(libc.path.as_ref(), error))?;
    let complete = Elf::read(&bytes[..]).is_ok_and(|elf| scan::functions(&bytes, &elf, WANTS).is_some());
    let Some(library) = (wish.locale_library)(machine).filter(|_| complete) else {
        refuse("glibc before 2.34 cannot be led to a locale in a bundle")?;
        return Ok(Some(Notice::NoLocales { reason: NoLocale::OldLibrary }));
    };
    let directory = directory(&bytes);
    let before = taken.items.len();
    let has_default = one(taken, root, &directory, DEFAULT.into());
    for name in &wish.locales {
        if !one(taken, root, &directory, name.as_ref()) {
            let reason = format!("no such locale in {directory}; `locale -a` shows the names, localedef(1) makes one");
            return Err(BundleError::NoLocale { name: name.clone(), reason });
        }
    }
    if taken.items.len() > before {
        insert(taken, library);
    }
    Ok((!has_default).then_some(Notice::NoLocales { reason: NoLocale::NotHere { directory } }))
}

/// The C library's directory of locales, taken from the path of the archive in its bytes.
fn directory(libc: &[u8]) -> BString {
    const ARCHIVE: &[u8] = b"/locale-archive\0";
    let end = libc.find(ARCHIVE);
    let text = end.and_then(|end| Some(&libc[libc[..end].rfind_byte(0)? + 1..end]));
    text.filter(|text| text.starts_with(b"/")).map_or_else(|| DIRECTORY.into(), BString::from)
}

/// Includes one locale: from its own directory, else from the archive. `false` if neither has it.
fn one(taken: &mut Taken, root: &dyn Root, directory: &BString, wanted: &BStr) -> bool {
    let meant = |name: &BStr| name == wanted || codeset(name) == codeset(wanted);
    let mut names = root.list(directory.as_ref()).unwrap_or_default();
    names.sort();
    let in_directory = |name: &BString| {
        let path = BString::from([directory.as_slice(), b"/", name, b"/LC_CTYPE"].concat());
        meant(name.as_ref()) && root.stat(path.as_ref()).is_ok_and(|meta| meta.kind == FileKind::Regular)
    };
    if let Some(name) = names.into_iter().find(in_directory) {
        let path = BString::from([directory.as_slice(), b"/", &name].concat());
        let to = BString::from([b"lib/locale/", name.as_slice()].concat());
        files(taken, root, (&path, &to), &name);
        return true;
    }
    let path = BString::from([directory.as_slice(), b"/locale-archive"].concat());
    let archive = root.read(path.as_ref(), ARCHIVE_LIMIT).unwrap_or_default();
    let Some(found) = locale_archive::find(&archive, meant) else { return false };
    for (file, bytes) in found.files {
        let place = BString::from([b"lib/locale/", found.name.as_slice(), b"/", file.as_bytes()].concat());
        let reason = IncludedBecause::Locale { name: found.name.clone() };
        add(
            taken,
            Item { content: Some(bytes.to_vec()), ..Item::file(path.clone(), place, reason, bytes.len() as u64) },
        );
    }
    true
}

/// Includes the files of a directory and of its immediate subdirectories (`LC_MESSAGES`).
fn files(taken: &mut Taken, root: &dyn Root, (from, to): (&BString, &BString), locale: &BString) {
    let mut names = root.list(from.as_ref()).unwrap_or_default();
    names.retain(|name| name.starts_with(b"LC_") || name.starts_with(b"SYS_LC_"));
    names.sort();
    for name in names {
        let path = BString::from([from.as_slice(), b"/", &name].concat());
        let place = BString::from([to.as_slice(), b"/", &name].concat());
        match root.stat(path.as_ref()) {
            Ok(meta) if meta.kind == FileKind::Directory => files(taken, root, (&path, &place), locale),
            Ok(meta) if meta.kind == FileKind::Regular => {
                add(taken, Item::file(path, place, IncludedBecause::Locale { name: locale.clone() }, meta.size));
            }
            _ => {}
        }
    }
}

fn add(taken: &mut Taken, item: Item) {
    if !taken.items.iter().any(|other| other.place == item.place) {
        taken.items.push(item);
    }
}

/// Adds underpin's library in front of the closure: its functions come before those of the C library.
fn insert(taken: &mut Taken, library: &'static [u8]) {
    let place = BString::from(format!("lib/{LIBRARY}"));
    let item = Item::file(BString::default(), place, IncludedBecause::LocaleLibrary, library.len() as u64);
    let item = Item { name: Some(LIBRARY.into()), is_soname: true, content: Some(library.to_vec()), ..item };
    let first = taken.items.iter().position(|item| item.reason != IncludedBecause::Program).unwrap_or(0);
    taken.items.insert(first, item);
}

#[cfg(test)]
mod tests {
    use super::{codeset, directory};

    #[test]
    fn names_are_compared_as_glibc_compares_them() {
        assert_eq!(codeset("de_DE.UTF-8@euro".into()), codeset("de_DE.utf8@euro".into()));
        assert_ne!(codeset("de_DE.UTF-8".into()), codeset("de_DE".into()));
        assert_ne!(codeset("de_DE@euro".into()), codeset("de_DE".into()));
        assert_eq!(codeset("de_DE.ISO-8859-1".into()), codeset("de_DE.iso88591".into()));
    }

    #[test]
    fn the_directory_is_the_text_in_the_c_library() {
        assert_eq!(directory(b"x\0/gnu/store/glibc/lib/locale/locale-archive\0y"), "/gnu/store/glibc/lib/locale");
        assert_eq!(directory(b"nothing"), "/usr/lib/locale");
    }
}
