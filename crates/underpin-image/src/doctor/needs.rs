//! What programs open after their start, concluded from what they import and from the texts in them. No image is looked at
//! here: `image build` adds files by the same evidence.

use super::{Evidence, LackKind, Object};
use bstr::{BStr, BString};
use std::rc::Rc;
use underpin_resolve::LibcVersion;
use underpin_resolve::unwinder::{BACKTRACE, UNWINDING};

/// A program with the objects that its loader maps, itself first.
pub struct Subject<'a> {
    /// Where it is.
    pub program: &'a BString,
    /// What is mapped.
    pub objects: &'a [Rc<Object>],
    /// Whether its C library is glibc, mapped or linked in.
    pub is_glibc: bool,
    /// Of the C library, if it is known.
    pub version: Option<LibcVersion>,
}

impl<'a> Subject<'a> {
    /// Its objects without the C library's and the compiler's.
    fn own(&self) -> Vec<&'a Object> {
        self.objects.iter().map(Rc::as_ref).filter(|object| !object.is_runtime()).collect()
    }
}

/// Something that a program opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is about.
    pub kind: LackKind,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// Files or folders any of which serves, if the program names them.
    pub paths: Vec<BString>,
    /// That it lacks is no finding by itself: a variable has to ask for it (TZ, LANG), or what calls for it is a library that
    /// may never be asked, or goes on without.
    pub is_weak: bool,
}

/// Files of certificates that programs have compiled in (Debian, Fedora, Alpine, OpenSUSE, FreeBSD).
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Takes the certificates of the system (SSL_CTX_load_verify_locations(3), X509_STORE_set_default_paths(3)).
const OPENSSL_SYSTEM: [&str; 6] = [
    "SSL_CTX_set_default_verify_paths",
    "SSL_CTX_set_default_verify_store",
    "SSL_CTX_set_default_verify_file",
    "SSL_CTX_set_default_verify_dir",
    "X509_STORE_set_default_paths",
    "X509_STORE_set_default_paths_ex",
];
const OPENSSL_NAMED: [&str; 6] = [
    "SSL_CTX_load_verify_locations",
    "SSL_CTX_load_verify_file",
    "SSL_CTX_load_verify_dir",
    "X509_STORE_load_file",
    "X509_STORE_load_path",
    "X509_STORE_load_locations",
];
/// The folder of certificates that programs have compiled in beside a file, or instead of one.
const FOLDER: &str = "/etc/ssl/certs";
const GNUTLS_SYSTEM: [&str; 2] =
    ["gnutls_certificate_set_x509_system_trust", "gnutls_x509_trust_list_add_system_trust"];
const GNUTLS_NAMED: [&str; 1] = ["gnutls_certificate_set_x509_trust_file"];
const NAMES: [&str; 8] = [
    "getaddrinfo",
    "gethostbyname",
    "gethostbyname_r",
    "gethostbyname2",
    "gethostbyname2_r",
    "gethostbyaddr",
    "gethostbyaddr_r",
    "getaddrinfo_a",
];
const ACCOUNTS: [&str; 4] = ["getpwuid", "getpwuid_r", "getlogin", "cuserid"];
const TEMPORARY: [&str; 5] = ["tmpfile", "tmpfile64", "tmpnam", "tempnam", "tmpnam_r"];
const LOCAL_TIME: [&str; 6] = ["localtime", "localtime_r", "__localtime64_r", "tzset", "mktime", "timelocal"];

/// What a program needs, each kind once.
#[must_use]
pub fn needs_of(subject: &Subject<'_>) -> Vec<Need> {
    let Some(program) = subject.objects.first() else { return Vec::new() };
    let own = subject.own();
    let mut out = Vec::new();
    out.extend(certificates(&own, subject.objects));
    out.extend(zones(program, &own));
    out.extend(temporary(program, &own));
    out.extend(called(LackKind::User, &[program], &ACCOUNTS, false));
    out.extend(go(LackKind::User, program, &["os/user.Current"]));
    if subject.is_glibc {
        out.extend(called(LackKind::NameService, &own, &NAMES, false));
        let charsets = called(LackKind::Charset, &[program], &["iconv_open"], false);
        out.extend(charsets.map(|need| Need { paths: charset_folders(subject.objects), ..need }));
        out.extend(called(LackKind::Locale, &own, &["setlocale", "newlocale"], true));
    }
    out.extend(unwinder_of(subject));
    out
}

/// What glibc opens to unwind a stack, and ends the program without: of all needs the one that only imports show.
#[must_use]
pub fn unwinder_of(subject: &Subject<'_>) -> Option<Need> {
    let program = subject.objects.first().filter(|program| subject.is_glibc && !program.is_static())?;
    let own = subject.own();
    let weak = || called(LackKind::Unwinder, &own, &[UNWINDING.as_slice(), &[BACKTRACE]].concat(), true);
    called(LackKind::Unwinder, &[program], &UNWINDING, false).or_else(weak)
}

/// Where the C library looks for its charset modules: compiled into it.
fn charset_folders(objects: &[Rc<Object>]) -> Vec<BString> {
    let library = objects.iter().filter(|object| object.is_named("libc.so") || object.is_static());
    library.flat_map(|object| object.ending("/gconv").into_iter().map(|(_, text)| text.to_owned())).collect()
}

fn evidence(object: &Object, offset: u64, what: impl Into<String>) -> Evidence {
    Evidence { file: object.path.clone(), offset: Some(offset), what: what.into() }
}

/// The first object that calls one of these functions.
fn called(kind: LackKind, objects: &[&Object], names: &[&'static str], is_weak: bool) -> Option<Need> {
    let (object, name, offset) =
        objects.iter().find_map(|object| object.calls(names).map(|(name, offset)| (object, name, offset)))?;
    let what = if object.is_static() { format!("{name}(3) is linked in") } else { format!("calls {name}(3)") };
    Some(Need { kind, evidence: vec![evidence(object, offset, what)], paths: Vec::new(), is_weak })
}

/// A function of Go's library, which is linked in only if something calls it.
fn go(kind: LackKind, program: &Object, names: &[&str]) -> Option<Need> {
    if !program.is_go() {
        return None;
    }
    let (name, offset) = names.iter().find_map(|name| Some((name, program.text(name)?)))?;
    let what = format!("Go's {name} is linked in");
    Some(Need { kind, evidence: vec![evidence(program, offset, what)], paths: Vec::new(), is_weak: false })
}

/// Roots of certificates: of OpenSSL, GnuTLS, and what carries a list of usual places (Go, rustls with native roots).
fn certificates(own: &[&Object], all: &[Rc<Object>]) -> Option<Need> {
    let is_library = |object: &Object| ["libssl.", "libcrypto.", "libgnutls."].iter().any(|name| object.is_named(name));
    let (mut found, mut paths) = (Vec::new(), Vec::new());
    for object in own.iter().filter(|object| !is_library(object)) {
        // Found by reading all of a file, so looked for only where a call or a library asks for it.
        let bundle = || {
            let bundle = BUNDLES.iter().find_map(|path| Some((*path, object.text(path)?)));
            bundle.or_else(|| Some((FOLDER, object.whole(FOLDER)?)))
        };
        let system = object.calls(&OPENSSL_SYSTEM).or_else(|| object.calls(&GNUTLS_SYSTEM));
        let named = || object.calls(&OPENSSL_NAMED).or_else(|| object.calls(&GNUTLS_NAMED));
        if let Some((name, offset)) = system.or_else(|| named().filter(|_| bundle().is_some())) {
            found.push(evidence(object, offset, format!("calls {name}")));
        } else if let Some(library) = carried(object) {
            let at = bundle()
                .map(|(path, offset)| (offset, path))
                .or_else(|| Some((object.text("SSL_CERT_FILE")?, "SSL_CERT_FILE")));
            found.extend(at.map(|(offset, text)| evidence(object, offset, format!("{library}: \"{text}\""))));
        }
    }
    if found.is_empty() {
        return None;
    }
    for object in all {
        paths.extend(BUNDLES.iter().filter(|path| object.text(path).is_some()).map(|path| BString::from(*path)));
        for end in ["/cert.pem", "/certs"] {
            for (offset, text) in object.ending(end) {
                found.push(evidence(object, offset, format!("looks in \"{text}\"")));
                paths.push(text.to_owned());
            }
        }
    }
    paths.dedup();
    found.truncate(4);
    Some(Need { kind: LackKind::Certificates, evidence: found, paths, is_weak: false })
}

/// TLS that is linked in and takes the certificates of the system: what it is.
fn carried(object: &Object) -> Option<&'static str> {
    object.text("SSL_CERT_FILE")?;
    let has = |text: &str| object.text(text).is_some();
    if object.is_go() {
        let own_roots = has("golang.org/x/crypto/x509roots");
        return (has("crypto/x509.(*Certificate).Verify") && !own_roots).then_some("Go's crypto/x509");
    }
    if has("rustls") {
        return BUNDLES.iter().any(|path| has(path)).then_some("rustls with the system's certificates");
    }
    has("tls_construct_client_hello").then_some("OpenSSL, linked in")
}

fn zones(program: &Object, own: &[&Object]) -> Option<Need> {
    let folder = "/usr/share/zoneinfo";
    if program.is_go() {
        if program.text("time/tzdata.loadFromEmbeddedTZData").is_some() {
            return None;
        }
        let strong = go(LackKind::TimeZone, program, &["time.LoadLocation"]);
        let weak = || program.text(folder).map(|at| evidence(program, at, format!("Go's time: \"{folder}\"")));
        return strong.or_else(|| {
            Some(Need { kind: LackKind::TimeZone, evidence: vec![weak()?], paths: Vec::new(), is_weak: true })
        });
    }
    // Every static program that knows local time has the folder's name in it, from its C library.
    if !program.is_static()
        && let Some((offset, text)) = program.begins(folder)
    {
        let evidence = vec![evidence(program, offset, format!("\"{text}\""))];
        return Some(Need { kind: LackKind::TimeZone, evidence, paths: Vec::new(), is_weak: false });
    }
    let weak = program.is_static().then(|| program.text(folder)).flatten();
    called(LackKind::TimeZone, own, &LOCAL_TIME, true).or_else(|| {
        let evidence = vec![evidence(program, weak?, format!("\"{folder}\""))];
        Some(Need { kind: LackKind::TimeZone, evidence, paths: Vec::new(), is_weak: true })
    })
}

fn temporary(program: &Object, own: &[&Object]) -> Option<Need> {
    let text = (!program.is_go()).then(|| program.begins("/tmp")).flatten();
    let text = text.filter(|(_, text): &(u64, &BStr)| text.len() == 4 || text[4] == b'/');
    if let Some((offset, text)) = text {
        let evidence = vec![evidence(program, offset, format!("\"{text}\""))];
        return Some(Need { kind: LackKind::Temporary, evidence, paths: Vec::new(), is_weak: false });
    }
    called(LackKind::Temporary, own, &TEMPORARY, false)
        .or_else(|| go(LackKind::Temporary, program, &["os.CreateTemp", "os.MkdirTemp"]))
}
