//! What programs are known to open after their start, put into an image by the evidence that `doctor` asks for it with: roots of
//! certificates, zones of time, the name service, charsets, locales, the library that unwinds a stack, a folder for temporary files.

use super::planner::{Planner, closure};
use super::{Because, Included, Source, Surroundings};
use crate::ImageError;
use crate::doctor::{Known, LackKind, Need, Objects, Subject, needs_of, spellings, unwinder_of};
use crate::root::GuestRoot;
use crate::tree::{Content, Entry};
use bstr::BString;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_resolve::unwinder::UNWINDER;
use underpin_resolve::{LibcVersion, LoaderKind};

/// What is put into an image for a need, and can be left out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provision {
    /// Roots of certificates.
    CaRoots,
    /// Zones of time.
    Zoneinfo,
    /// /etc/nsswitch.conf, and modules of a glibc before 2.34.
    NameService,
    /// Charset modules of glibc.
    Charsets,
    /// The locale that the image's variables name.
    Locale,
    /// The library that glibc opens to unwind a stack.
    Unwinder,
}

/// Where this machine may have its roots of certificates, and where most programs look for them.
const ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";
const ZONES: &str = "/usr/share/zoneinfo";
const SERVICES: &str = "/etc/nsswitch.conf";
/// Host names are looked for in /etc/hosts, which engines write, before a server is asked.
const SERVICES_TEXT: &[u8] = b"passwd: files\ngroup: files\nhosts: files dns\n";
const LOCALES: &str = "/usr/lib/locale";

/// Adds to a machine what ends its programs if it is missing: what glibc unwinds a stack with. A sentence where there is none.
pub(super) fn complete(planner: &mut Planner<'_>, programs: &[PathBuf]) -> Result<(), ImageError> {
    let facts = Facts::new(planner, programs, &|subject| unwinder_of(subject).into_iter().collect())?;
    let mut provider = Provider { planner, surroundings: &Surroundings::default(), libc: facts.libc };
    for need in &facts.needs {
        provider.serve(need)?;
        if !need.is_weak && !provider.has_unwinder() {
            let why = words("it", need);
            let remark = format!(
                "{UNWINDER} is not in the image, and glibc aborts a program without it ({why}): add it (recipe libgcc; Debian: libgcc-s1)"
            );
            provider.planner.remarks.push(remark);
        }
    }
    Ok(())
}

/// Adds what the programs and the included files need, unless it is there or left out. The files that were searched for it.
pub(super) fn provide(
    planner: &mut Planner<'_>,
    programs: &[PathBuf],
    surroundings: &Surroundings,
) -> Result<Known, ImageError> {
    let facts = Facts::new(planner, programs, &needs_of)?;
    let mut provider = Provider { planner, surroundings, libc: facts.libc };
    for need in &facts.needs {
        provider.serve(need)?;
    }
    provider.temporary()?;
    Ok(facts.known)
}

/// What the files of an image say.
#[derive(Default)]
struct Facts {
    needs: Vec<Need>,
    libc: Libc,
    known: Known,
}

/// The glibc of the programs.
#[derive(Default)]
struct Libc {
    /// libc.so.6.
    library: Option<PathBuf>,
    version: Option<LibcVersion>,
    /// Where its loader looks without being told to.
    folders: Vec<PathBuf>,
}

impl Facts {
    fn new(
        planner: &Planner<'_>,
        programs: &[PathBuf],
        look: &dyn Fn(&Subject<'_>) -> Vec<Need>,
    ) -> Result<Facts, ImageError> {
        let root = GuestRoot { tree: &planner.tree, host: None };
        let objects = Objects::new(&root, Known::default());
        let mut facts = Facts::default();
        let mut is_glibc = false;
        for place in programs {
            let closure = closure(&planner.tree, None, place)?;
            let mapped: Vec<_> =
                closure.objects.iter().filter_map(|object| objects.get(object.path.as_ref())).collect();
            let first = mapped.first().is_some_and(|program| program.is_static_glibc());
            is_glibc = closure.loader.kind == LoaderKind::Glibc || first;
            if closure.loader.kind == LoaderKind::Glibc {
                let library = closure.objects.iter().find(|object| object.path.ends_with(b"/libc.so.6"));
                facts.libc = Libc {
                    library: library.map(|object| place_of(&object.path)),
                    version: closure.loader.version,
                    folders: closure.loader.system_directories.iter().map(|path| place_of(path)).collect(),
                };
            }
            let version = closure.loader.version;
            facts.take(look(&Subject { program: &closure.program, objects: &mapped, is_glibc, version }));
        }
        // A module alone shows most of what it opens; where certificates are is in the libraries that it calls.
        for path in &planner.included {
            let name: BString = path.as_os_str().as_bytes().into();
            let Some(module) = objects.get(name.as_ref()) else { continue };
            let version = facts.libc.version;
            let of = |objects: &[_]| look(&Subject { program: &name, objects, is_glibc, version });
            let mut needs = of(&[module]);
            if needs.iter().any(|need| need.kind == LackKind::Certificates) {
                let closure = closure(&planner.tree, None, path)?;
                let all: Vec<_> =
                    closure.objects.iter().filter_map(|object| objects.get(object.path.as_ref())).collect();
                needs = of(&all);
            }
            objects.forget(name.as_ref());
            facts.take(needs);
        }
        facts.known = objects.known();
        Ok(facts)
    }

    /// Each kind once, the stronger of two; certificates with all the places that are looked at.
    fn take(&mut self, needs: Vec<Need>) {
        for need in needs {
            match self.needs.iter_mut().find(|known| known.kind == need.kind) {
                Some(known) if need.kind == LackKind::Certificates => {
                    let new = need.paths.into_iter().filter(|path| !known.paths.contains(path));
                    known.paths.extend(new.collect::<Vec<_>>());
                }
                Some(known) if known.is_weak && !need.is_weak => *known = need,
                Some(_) => {}
                None => self.needs.push(need),
            }
        }
    }
}

impl Libc {
    fn folder(&self) -> Option<&Path> {
        self.library.as_deref().and_then(Path::parent)
    }
}

struct Provider<'p, 'a> {
    planner: &'p mut Planner<'a>,
    surroundings: &'p Surroundings,
    libc: Libc,
}

impl Provider<'_, '_> {
    fn serve(&mut self, need: &Need) -> Result<(), ImageError> {
        let (provision, what) = match need.kind {
            LackKind::Certificates => (Provision::CaRoots, "roots of certificates"),
            LackKind::TimeZone => (Provision::Zoneinfo, "zones of time"),
            LackKind::NameService => (Provision::NameService, "the name service"),
            LackKind::Charset => (Provision::Charsets, "charset modules"),
            LackKind::Locale => (Provision::Locale, "the locale that is set"),
            LackKind::Unwinder => (Provision::Unwinder, "what glibc unwinds a stack with"),
            _ => return Ok(()),
        };
        if self.surroundings.without.contains(&provision) {
            return Ok(());
        }
        let because = Because::Opened { need: words(what, need) };
        match provision {
            Provision::CaRoots => self.certificates(need, &because),
            Provision::Zoneinfo => self.zones(need, because),
            Provision::NameService => self.name_service(&because),
            Provision::Charsets => self.charsets(need, because),
            Provision::Locale => self.locale(because),
            Provision::Unwinder => self.unwinder(because),
        }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.surroundings.environment.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// One file, and links to it from where else programs look: OpenSSL's own folder is another on every distribution.
    fn certificates(&mut self, need: &Need, because: &Because) -> Result<(), ImageError> {
        let places: Vec<PathBuf> = need.paths.iter().map(|path| place_of(path)).collect();
        let is_set =
            ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"].iter().any(|name| self.variable(name).is_some());
        if is_set || places.iter().any(|place| self.planner.is_there(place)) {
            return Ok(());
        }
        let is_folder = |place: &&PathBuf| place.ends_with("certs");
        let here = std::iter::once(Path::new(ROOTS))
            .chain(places.iter().filter(|place| !is_folder(place)).map(PathBuf::as_path));
        let is_whole = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0);
        let Some(host) = here.map(|path| self.planner.on_host(path)).find(is_whole) else { return Ok(()) };
        let host = host.canonicalize().map_err(ImageError::io(&host))?;
        self.planner.add(Path::new(ROOTS), Entry::file(Content::host(host)?, 0o644), because.clone())?;
        let folder = Path::new(ROOTS).parent().unwrap_or(Path::new("/"));
        let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) = places.iter().partition(is_folder);
        let folders = if files.is_empty() { folders } else { Vec::new() };
        let links = files
            .into_iter()
            .map(|place| (place, Path::new(ROOTS)))
            .chain(folders.into_iter().map(|place| (place, folder)));
        for (place, target) in links {
            if !self.planner.is_there(place) {
                self.planner.add(place, Entry::symlink(target), because.clone())?;
            }
        }
        Ok(())
    }

    /// All zones if the program opens one by its name, or else the one that a variable names.
    fn zones(&mut self, need: &Need, because: Because) -> Result<(), ImageError> {
        if self.variable("TZDIR").is_some() {
            return Ok(());
        }
        let named = self.variable("TZ").map(|value| value.strip_prefix(':').unwrap_or(value).to_owned());
        let place = match named {
            _ if !need.is_weak => PathBuf::from(ZONES),
            Some(name) => Path::new(ZONES).join(name),
            None => return Ok(()),
        };
        if !self.planner.on_host(&place).exists() {
            return Ok(());
        }
        self.include(&place, because)
    }

    fn name_service(&mut self, because: &Because) -> Result<(), ImageError> {
        if !self.planner.is_there(Path::new(SERVICES)) {
            self.planner.add(Path::new(SERVICES), Entry::file(SERVICES_TEXT, 0o644), because.clone())?;
        }
        // From there on these services are in libc itself (glibc 2.34, NEWS).
        let built_in = self.libc.version.is_none_or(|version| (version.major, version.minor) >= (2, 34));
        let folder = self.libc.folder().filter(|_| !built_in).map(Path::to_owned);
        for name in ["libnss_files.so.2", "libnss_dns.so.2"] {
            let Some(module) = folder.as_ref().map(|folder| folder.join(name)) else { continue };
            if self.planner.on_host(&module).exists() {
                self.include(&module, because.clone())?;
            }
        }
        Ok(())
    }

    fn charsets(&mut self, need: &Need, because: Because) -> Result<(), ImageError> {
        let folder = need.paths.first().map(|path| place_of(path));
        match folder.filter(|folder| self.variable("GCONV_PATH").is_none() && self.planner.on_host(folder).exists()) {
            Some(folder) => self.include(&folder, because),
            None => Ok(()),
        }
    }

    fn locale(&mut self, because: Because) -> Result<(), ImageError> {
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| self.variable(name));
        let Some(name) = name.filter(|name| !["C", "POSIX"].contains(name) && self.variable("LOCPATH").is_none())
        else {
            return Ok(());
        };
        let places = spellings(name).into_iter().map(|name| Path::new(LOCALES).join(name));
        let Some(place) = places.into_iter().find(|place| self.planner.on_host(place).exists()) else { return Ok(()) };
        self.include(&place, because)
    }

    /// Where the loader finds it for glibc: beside the C library, or in another of its folders.
    fn unwinder(&mut self, because: Because) -> Result<(), ImageError> {
        let there = self.unwinders().into_iter().find(|place| self.planner.on_host(place).exists());
        match there.filter(|_| !self.has_unwinder()) {
            Some(place) => self.include(&place, because),
            None => Ok(()),
        }
    }

    fn has_unwinder(&self) -> bool {
        self.unwinders().iter().any(|place| self.planner.is_there(place))
    }

    fn unwinders(&self) -> Vec<PathBuf> {
        let folders = self.libc.folder().into_iter().chain(self.libc.folders.iter().map(PathBuf::as_path));
        folders.map(|folder| folder.join(UNWINDER)).collect()
    }

    /// A folder that a variable names.
    fn temporary(&mut self) -> Result<(), ImageError> {
        let Some(folder) = self.variable("TMPDIR").filter(|folder| folder.starts_with('/')).map(PathBuf::from) else {
            return Ok(());
        };
        if folder == Path::new("/tmp") || self.planner.is_there(&folder) {
            return Ok(());
        }
        let because = Because::Opened { need: format!("TMPDIR={}", folder.display()) };
        self.planner.add(&folder, Entry::directory(0o1777), because)
    }

    fn include(&mut self, place: &Path, because: Because) -> Result<(), ImageError> {
        let from = Source::Host(self.planner.on_host(place));
        self.planner.include(&Included { from, to: place.to_owned(), because })?;
        self.planner.close_included()
    }
}

fn place_of(path: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(path))
}

/// What it is, and what shows it.
fn words(what: &str, need: &Need) -> String {
    match need.evidence.first() {
        Some(shown) => match shown.offset {
            Some(offset) => format!("{what}: {} {} (byte {offset})", shown.file, shown.what),
            None => format!("{what}: {} {}", shown.file, shown.what),
        },
        None => what.to_owned(),
    }
}
