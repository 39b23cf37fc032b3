//! What the C library and the objects of a closure open later, as far as files show it: name services, what unwinds a
//! stack, libraries declared in `.note.dlopen`, charset modules.

use super::model::{Form, IncludedBecause, Item, Wish, file_name};
use super::scan::{self, is_libc};
use super::taken::Taken;
use super::{BundleError, locales};
use bstr::{BStr, BString, ByteSlice};
use underpin_resolve::root::FileKind;
use underpin_resolve::unwinder::{BACKTRACE, UNWINDER, UNWINDING};
use underpin_resolve::{Closure, FindingKind, LibcVersion, LoaderKind, Resolver, Root};

/// Functions that ask name services (nss(5)).
const NAME_SERVICE: &[&[u8]] = &[
    b"getpwnam",
    b"getpwnam_r",
    b"getpwuid",
    b"getpwuid_r",
    b"getpwent",
    b"getgrnam",
    b"getgrnam_r",
    b"getgrgid",
    b"getgrgid_r",
    b"getgrent",
    b"getgrouplist",
    b"initgroups",
    b"getaddrinfo",
    b"getnameinfo",
    b"gethostbyname",
    b"gethostbyname_r",
    b"gethostbyname2_r",
    b"gethostbyaddr",
    b"gethostbyaddr_r",
    b"getservbyname",
    b"getservbyname_r",
    b"getprotobyname",
];

/// Databases of nsswitch.conf(5) that those functions look into.
const DATABASES: &[&[u8]] = &[b"passwd", b"group", b"initgroups", b"shadow", b"hosts", b"services", b"protocols"];

/// A larger nsswitch.conf is ignored.
const CONFIGURATION_LIMIT: u64 = 1 << 20;

/// glibc since 2.34 has the services `files` and `dns` in libc.so.6 (its NEWS).
const BUILT_IN_SINCE: LibcVersion = LibcVersion { major: 2, minor: 34, patch: 0 };

/// For whom and where is looked.
#[derive(Clone, Copy)]
struct Search<'a> {
    resolver: &'a Resolver<'a>,
    root: &'a dyn Root,
    closure: &'a Closure,
    wish: &'a Wish<'a>,
    directories: &'a [BString],
}

impl Search<'_> {
    /// Where a library is that is opened by this name; `None` if it is nowhere or the user leaves it out.
    fn find(&self, name: &BStr) -> Option<BString> {
        let is_excluded = self.wish.exclude.iter().any(|pattern| pattern.covers(name, None, name));
        if is_excluded { None } else { locate(self.root, self.directories, name) }
    }
}

/// Includes all of it.
pub(super) fn take(
    taken: &mut Taken,
    resolver: &Resolver<'_>,
    root: &dyn Root,
    closure: &Closure,
    wish: &Wish<'_>,
) -> Result<(), BundleError> {
    let search = Search { resolver, root, closure, wish, directories: &directories(closure) };
    if closure.loader.kind == LoaderKind::Glibc {
        name_services(taken, &search)?;
        unwinder(taken, &search)?;
        if wish.form == Form::Directory {
            charsets(taken, root, closure, wish);
        }
    }
    declared(taken, &search)
}

/// Where a library opened by name would be found: beside the closure's own objects, then where the loader looks.
pub(super) fn directories(closure: &Closure) -> Vec<BString> {
    let mut directories: Vec<BString> = Vec::new();
    let own = closure.objects.iter().skip(1).map(|object| parent(object.path.as_ref()).to_owned());
    for directory in own.chain(closure.loader.system_directories.iter().map(|path| path.to_vec())) {
        let directory = BString::from(directory.trim_end_with(|letter| letter == '/'));
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    directories
}

fn parent(path: &BStr) -> &[u8] {
    path.rsplit_once_str("/").map_or(b".", |(parent, _)| parent)
}

/// The first regular file of that name.
pub(super) fn locate(root: &dyn Root, directories: &[BString], name: &BStr) -> Option<BString> {
    let paths = directories.iter().map(|directory| BString::from([directory.as_slice(), b"/", name].concat()));
    let is_file = |path: &BString| root.stat(path.as_ref()).is_ok_and(|meta| meta.kind == FileKind::Regular);
    paths.into_iter().find(is_file)
}

fn name_services(taken: &mut Taken, search: &Search<'_>) -> Result<(), BundleError> {
    let Search { resolver, root, closure, wish, .. } = *search;
    let asks = |path: &BString| !scan::imports(root, path.as_ref(), NAME_SERVICE).is_empty();
    if !closure.objects.iter().any(|object| !is_libc(object) && asks(&object.path)) {
        return Ok(());
    }
    let text = root.read("/etc/nsswitch.conf".into(), CONFIGURATION_LIMIT).unwrap_or_default();
    let built_in = closure.loader.version.is_none_or(|version| version >= BUILT_IN_SINCE);
    for service in services(&text) {
        if built_in && (service == "files" || service == "dns") {
            continue;
        }
        let name = BString::from([b"libnss_", service.as_slice(), b".so.2"].concat());
        if let Some(path) = search.find(name.as_ref()) {
            taken.library(resolver, path.as_ref(), &IncludedBecause::NameService { service }, wish)?;
        }
    }
    Ok(())
}

fn unwinder(taken: &mut Taken, search: &Search<'_>) -> Result<(), BundleError> {
    let Search { resolver, root, closure, wish, .. } = *search;
    let functions: Vec<&[u8]> = UNWINDING.iter().chain([&BACKTRACE]).map(|name| name.as_bytes()).collect();
    let mut own = closure.objects.iter().filter(|object| !is_libc(object));
    let called = own.find_map(|object| scan::imports(root, object.path.as_ref(), &functions).into_iter().next());
    match called.and_then(|function| Some((function, search.find(UNWINDER.into())?))) {
        Some((function, path)) => taken.library(resolver, path.as_ref(), &IncludedBecause::Unwinder { function }, wish),
        None => Ok(()),
    }
}

/// Services in the order in which they are first named; `files dns` if none is named (glibc `nss/nsswitch.c`).
fn services(text: &[u8]) -> Vec<BString> {
    let mut services: Vec<BString> = Vec::new();
    for line in text.lines() {
        let line = line.split_once_str("#").map_or(line, |(line, _)| line);
        let Some((database, list)) = line.split_once_str(":") else { continue };
        if !DATABASES.contains(&database.trim()) {
            continue;
        }
        let mut in_action = false;
        for word in list.fields() {
            in_action |= word.starts_with(b"[");
            if !in_action && !services.iter().any(|known| known == word) {
                services.push(word.into());
            }
            in_action &= !word.ends_with(b"]");
        }
    }
    if services.is_empty() { vec!["files".into(), "dns".into()] } else { services }
}

fn declared(taken: &mut Taken, search: &Search<'_>) -> Result<(), BundleError> {
    let Search { resolver, root, closure, wish, directories } = *search;
    for finding in &closure.findings {
        let FindingKind::DlopenNote { feature, sonames, .. } = &finding.kind else { continue };
        let by = finding.object.and_then(|id| closure.objects.get(id.0));
        let by = by.map_or_else(BString::default, |object| file_name(object.path.as_ref()).into());
        // Any of the names will do; the program would take the first one that exists.
        let found = sonames.iter().find_map(|name| locate(root, directories, name.as_str().into()));
        if let Some(path) = found {
            let reason = IncludedBecause::Declared { by, feature: feature.clone() };
            taken.library(resolver, path.as_ref(), &reason, wish)?;
        }
    }
    Ok(())
}

/// The name for charset modules in `--exclude`.
const CHARSETS: &str = "gconv";

/// Includes the modules that iconv(3) converts with, if an object of the closure uses it (glibc `iconv/gconv_conf.c`:
/// they are in `gconv` beside the C library, `gconv-modules` and `gconv-modules.d/*.conf` list them).
fn charsets(taken: &mut Taken, root: &dyn Root, closure: &Closure, wish: &Wish<'_>) {
    // A locale with another charset converts with them too.
    let other_charset = wish.locales.iter().any(|name| !locales::is_utf8(name));
    let uses = |path: &BString| other_charset || !scan::imports(root, path.as_ref(), &[b"iconv_open"]).is_empty();
    let excluded = wish.exclude.iter().any(|pattern| pattern.covers(CHARSETS.into(), None, CHARSETS.into()));
    if excluded || !closure.objects.iter().any(|object| !is_libc(object) && uses(&object.path)) {
        return;
    }
    let Some(libc) = closure.objects.iter().find(|object| is_libc(object)) else { return };
    let real = root.real_path(libc.path.as_ref()).unwrap_or_else(|_| libc.path.clone());
    let directory = BString::from([parent(real.as_ref()), b"/gconv"].concat());
    let wanted = |name: &BString| name.ends_with(b".so") || name == "gconv-modules";
    take_files(taken, root, &directory, "lib/gconv", wanted);
    let more = BString::from([directory.as_slice(), b"/gconv-modules.d"].concat());
    take_files(taken, root, &more, "lib/gconv/gconv-modules.d", |name| name.ends_with(b".conf"));
}

fn take_files(taken: &mut Taken, root: &dyn Root, directory: &BString, to: &str, wanted: impl Fn(&BString) -> bool) {
    let mut names = root.list(directory.as_ref()).unwrap_or_default();
    names.retain(wanted);
    names.sort();
    for name in names {
        let source = BString::from([directory.as_slice(), b"/", name.as_slice()].concat());
        let Ok(meta) = root.stat(source.as_ref()) else { continue };
        if meta.kind == FileKind::Regular {
            let place = BString::from([to.as_bytes(), b"/", name.as_slice()].concat());
            taken.items.push(Item::file(source, place, IncludedBecause::Charset, meta.size));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::services;

    #[test]
    fn services_are_words_outside_of_actions_in_the_databases_that_count() {
        let text =
            b"# hosts: nothing\npasswd: files systemd # sss\nhosts: files [NOTFOUND=return !UNAVAIL=continue] dns\n\
                     netgroup: nis\n";
        assert_eq!(services(text), ["files", "systemd", "dns"]);
        assert_eq!(services(b""), ["files", "dns"]);
    }
}
