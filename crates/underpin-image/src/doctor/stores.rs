//! Whether what programs open after their start is in the image.

use super::needs::{Need, Subject, needs_of};
use super::{Evidence, Lack, LackKind, View};
use crate::oci::{FileKind, Files};
use bstr::{BStr, BString, ByteSlice};
use underpin_resolve::unwinder::UNWINDER;
use underpin_resolve::{LibcVersion, Root};

/// From here on the services `files` and `dns` are in libc itself (glibc 2.34, NEWS).
const BUILT_IN: LibcVersion = LibcVersion { major: 2, minor: 34, patch: 0 };
/// No list of accounts or services is longer.
const TEXT: u64 = 16 << 20;

pub(super) fn check(view: &View<'_>, subject: &Subject<'_>) -> Vec<Lack> {
    let mut out: Vec<Lack> = user_of_config(view, subject).into_iter().collect();
    for need in needs_of(subject) {
        let found = match need.kind {
            LackKind::Certificates => certificates(view, &need),
            LackKind::TimeZone => zone(view, &need),
            LackKind::Temporary => temporary(view),
            LackKind::User => account_of_user(view),
            LackKind::NameService => name_service(view, subject),
            LackKind::Charset => charsets(view, &need),
            LackKind::Locale => locale(view),
            LackKind::Unwinder => unwinder(view, &need),
            _ => None,
        };
        if let Some(Told { missing, fix, more }) = found {
            let evidence = more.into_iter().chain(need.evidence).collect();
            out.push(Lack { kind: need.kind, programs: vec![subject.program.clone()], missing, evidence, fix });
        }
    }
    out
}

/// What is missing, what to do, and what else shows it.
struct Told {
    missing: String,
    fix: String,
    more: Option<Evidence>,
}

fn told(missing: impl Into<String>, fix: impl Into<String>) -> Told {
    Told { missing: missing.into(), fix: fix.into(), more: None }
}

fn configuration(what: String) -> Option<Evidence> {
    Some(Evidence { file: BString::default(), offset: None, what })
}

/// A file that is not empty, or a folder with something in it that can be opened.
fn serves(view: &View<'_>, path: &BStr) -> bool {
    match view.image.files.find(path) {
        Ok((_, node)) => match &node.kind {
            FileKind::Regular(bytes) => bytes.size() > 0,
            FileKind::Directory => view.image.files.names(path).unwrap_or_default().iter().any(|name| {
                let inside: BString = [path.as_bytes(), b"/", name.as_slice()].concat().into();
                view.image
                    .files
                    .find(inside.as_ref())
                    .is_ok_and(|(_, node)| matches!(&node.kind, FileKind::Regular(bytes) if bytes.size() > 0))
            }),
            _ => false,
        },
        Err(_) => false,
    }
}

fn certificates(view: &View<'_>, need: &Need) -> Option<Told> {
    let usual = "/etc/ssl/certs/ca-certificates.crt";
    let set: Vec<(&str, &BStr)> = ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"]
        .into_iter()
        .filter_map(|name| Some((name, view.variable(name)?)))
        .collect();
    if set.iter().any(|(_, path)| serves(view, path)) || need.paths.iter().any(|path| serves(view, path.as_ref())) {
        return None;
    }
    if let Some((name, path)) = set.first() {
        let more = configuration(format!("{name}={path}"));
        let missing = format!("{path}, roots of certificates: no TLS server can be verified");
        return Some(Told { more, ..told(missing, format!("add {path}, or remove {name}")) });
    }
    let place = need.paths.iter().find(|path| **path == usual).or(need.paths.first());
    let place = place.map_or_else(|| usual.to_owned(), ToString::to_string);
    let place = if place.ends_with("/certs") {
        format!("{place}/ca-certificates.crt, with `openssl rehash {place}`")
    } else {
        place
    };
    let fix = format!("add roots of certificates (Debian: {usual} of ca-certificates) as {place}");
    Some(told("roots of certificates: no TLS server can be verified", fix))
}

fn zone(view: &View<'_>, need: &Need) -> Option<Told> {
    let folder = view.variable("TZDIR").map_or_else(|| "/usr/share/zoneinfo".to_owned(), ToString::to_string);
    let Some(value) = view.variable("TZ") else {
        let there = need.is_weak || view.has(&folder) || view.has("/etc/localtime");
        return (!there).then(|| told(format!("{folder}: no zone of time can be read"), "add it (Debian: tzdata)"));
    };
    let name = value.strip_prefix(b":").unwrap_or(value).as_bstr();
    // A rule such as CET-1CEST has digits and no slash; UTC needs no file.
    let is_rule = !name.contains(&b'/') && (name.iter().any(u8::is_ascii_digit) || name == "UTC" || name == "GMT");
    if is_rule {
        return None;
    }
    let path = if name.starts_with(b"/") { name.to_string() } else { format!("{folder}/{name}") };
    if view.has(&path) {
        return None;
    }
    let more = configuration(format!("TZ={value}"));
    Some(Told {
        more,
        ..told(format!("{path}: the time is shown in UTC"), format!("add {path} (Debian: tzdata), or unset TZ"))
    })
}

fn temporary(view: &View<'_>) -> Option<Told> {
    let folder = view.variable("TMPDIR").unwrap_or("/tmp".into());
    let fix = format!("add a folder {folder} of mode 1777, or mount one when it is started");
    let Ok((_, node)) = view.image.files.find(folder) else {
        return Some(told(format!("{folder}: temporary files cannot be made"), fix));
    };
    if !matches!(node.kind, FileKind::Directory) {
        return Some(told(format!("{folder} is not a folder: temporary files cannot be made"), fix));
    }
    let user = view.user();
    let is_own = user.is_some_and(|user| user == node.uid) && node.mode & 0o300 == 0o300;
    if user == Some(0) || is_own || node.mode & 0o1003 == 0o1003 {
        return None;
    }
    let mode = format!("{:04o}", node.mode);
    let more = Some(Evidence { file: folder.into(), offset: None, what: format!("mode {mode}, owner {}", node.uid) });
    let missing = if node.mode & 0o003 == 0o003 {
        format!("{folder} has mode {mode}: users can remove each other's files")
    } else {
        format!("{folder} has mode {mode}: the user cannot make temporary files in it")
    };
    Some(Told { more, ..told(missing, format!("chmod 1777 {folder}")) })
}

/// The fields of an account: by name, or by its number in the third field.
pub(crate) fn account(files: &Files, path: &str, name: &[u8]) -> Option<Vec<BString>> {
    let text = files.read(path.into(), TEXT).ok()?;
    let rows = text.lines().map(|line| line.split(|byte| *byte == b':').map(BString::from).collect::<Vec<_>>());
    let is_number = name.iter().all(u8::is_ascii_digit);
    let matches = |row: &Vec<BString>| row.get(if is_number { 2 } else { 0 }).is_some_and(|field| field == name);
    rows.into_iter().find(matches)
}

/// A name in the configuration: an engine looks it up before anything starts.
fn user_of_config(view: &View<'_>, subject: &Subject<'_>) -> Option<Lack> {
    let user = view.image.config.as_ref().map_or("", |config| config.user.as_str());
    let (name, group) = user.split_once(':').unwrap_or((user, ""));
    let unknown = |name: &str, file: &str| {
        let is_name = !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit());
        is_name && account(&view.image.files, file, name.as_bytes()).is_none()
    };
    let (what, file) = if unknown(name, "/etc/passwd") {
        (name, "/etc/passwd")
    } else if unknown(group, "/etc/group") {
        (group, "/etc/group")
    } else {
        return None;
    };
    Some(Lack {
        kind: LackKind::User,
        programs: vec![subject.program.clone()],
        missing: format!("`{what}` is not in {file}: engines refuse to start the image"),
        evidence: configuration(format!("User {user}")).into_iter().collect(),
        fix: format!("add a line for {what} to {file}, or give the user as a number"),
    })
}

fn account_of_user(view: &View<'_>) -> Option<Told> {
    // Of a bare root file system nobody knows as whom it is started.
    let user = view.image.config.as_ref().and_then(|_| view.user())?;
    if account(&view.image.files, "/etc/passwd", user.to_string().as_bytes()).is_some() {
        return None;
    }
    let line = if user == 0 {
        "root:x:0:0:root:/root:/sbin/nologin".to_owned()
    } else {
        format!("app:x:{user}:{user}::/:/sbin/nologin")
    };
    Some(told(
        format!("/etc/passwd has no line for user {user}: the program finds no name and no home"),
        format!("add `{line}` to /etc/passwd"),
    ))
}

/// Modules of the name service of glibc.
fn name_service(view: &View<'_>, subject: &Subject<'_>) -> Option<Told> {
    let has_module = |service: &str| {
        let name = format!("libnss_{service}.so.2");
        view.image.files.iter().any(|(path, _)| path.ends_with(name.as_bytes()))
    };
    let built_in = subject.version.is_none_or(|version| version >= BUILT_IN);
    let works = |service: &str| (built_in && matches!(service, "files" | "dns")) || has_module(service);
    let text = view.image.files.read("/etc/nsswitch.conf".into(), TEXT).unwrap_or_default();
    let line = text.lines_with_terminator().find(|line| line.trim_start().starts_with(b"hosts:"));
    let Some(line) = line else {
        let missing = ["files", "dns"].into_iter().find(|service| !works(service))?;
        let name = format!("libnss_{missing}.so.2");
        let missing = format!("{name}: glibc before 2.34 looks up no host name without it");
        return Some(told(missing, format!("add {name} and libresolv.so.2 of the image's glibc")));
    };
    let words = line.trim().to_str_lossy().into_owned();
    let services: Vec<&str> =
        words.split_whitespace().skip(1).filter(|word| !word.starts_with('[') && !word.ends_with(']')).collect();
    if services.iter().any(|service| works(service)) {
        return None;
    }
    let offset = text.find(line).map(|at| at as u64);
    let more = Some(Evidence { file: "/etc/nsswitch.conf".into(), offset, what: words.clone() });
    let names: Vec<String> = services.iter().map(|service| format!("libnss_{service}.so.2")).collect();
    let missing = format!("{}: no host name is found", names.join(", "));
    Some(Told { more, ..told(missing, "add the module, or write `hosts: files dns` in /etc/nsswitch.conf") })
}

fn charsets(view: &View<'_>, need: &Need) -> Option<Told> {
    let set = view.variable("GCONV_PATH").is_some_and(|path| serves(view, path));
    let list = |folder: &BString| {
        ["gconv-modules.cache", "gconv-modules"].iter().any(|name| view.has(format!("{folder}/{name}")))
    };
    // A C library in which no folder is found may look in any.
    let anywhere = |path: &BStr| path.ends_with(b"gconv/gconv-modules.cache") || path.ends_with(b"gconv/gconv-modules");
    let unknown = need.paths.is_empty() && view.image.files.iter().any(|(path, _)| anywhere(path));
    if set || unknown || need.paths.iter().any(list) {
        return None;
    }
    let folder = need.paths.first().map_or_else(|| "/usr/lib/TRIPLET/gconv".to_owned(), ToString::to_string);
    Some(told(
        "charset modules of glibc: iconv(3) converts between UTF-8 and ASCII alone",
        format!("add the folder {folder} of the C library's system (Debian: libc6)"),
    ))
}

/// Anywhere: a variable or the loader's cache may lead to any folder.
fn unwinder(view: &View<'_>, need: &Need) -> Option<Told> {
    let name = format!("/{UNWINDER}");
    if need.is_weak || view.image.files.iter().any(|(path, _)| path.ends_with(name.as_bytes())) {
        return None;
    }
    let missing =
        format!("{UNWINDER}: glibc aborts the program where a thread is cancelled or exits by pthread_exit(3)");
    Some(told(missing, format!("add {UNWINDER} beside the C library (Debian: libgcc-s1)")))
}

fn locale(view: &View<'_>) -> Option<Told> {
    let (name, value) =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, view.variable(name)?)))?;
    if value == "C" || value == "POSIX" {
        return None;
    }
    let spelled = spellings(&value.to_str_lossy());
    let folder = view.variable("LOCPATH").map_or_else(|| "/usr/lib/locale".to_owned(), ToString::to_string);
    let archive =
        view.image.files.read(format!("{folder}/locale-archive").as_str().into(), 1 << 30).unwrap_or_default();
    let in_archive = |name: &String| archive.find([name.as_bytes(), &[0]].concat()).is_some();
    if spelled.iter().any(|name| view.has(format!("{folder}/{name}/LC_CTYPE")) || in_archive(name)) {
        return None;
    }
    let more = configuration(format!("{name}={value}"));
    let missing = format!("the locale {value}: setlocale(3) fails, and text is taken for ASCII");
    Some(Told {
        more,
        ..told(
            missing,
            format!("add {folder}/{} (Debian: libc-bin has C.utf8, locales the others), or unset {name}", spelled[0]),
        )
    })
}

/// A locale's name as its folder has it: the charset in lower case without punctuation first (locale(7), `nl_normalize_codeset`).
pub(crate) fn spellings(name: &str) -> Vec<String> {
    let Some((language, rest)) = name.split_once('.') else { return vec![name.to_owned()] };
    let (charset, modifier) =
        rest.split_once('@').map_or((rest, String::new()), |(set, more)| (set, format!("@{more}")));
    let normal: String =
        charset.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    vec![format!("{language}.{normal}{modifier}"), name.to_owned()]
}
