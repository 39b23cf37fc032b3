//! The provider's file, put where OpenSSL looks for it, with a configuration that puts it into effect.
//!
//! `openssl fipsinstall -self_test_onload` writes no mark of a passed self-test, so that the test runs each time the module is loaded,
//! on the machine that loads it, and not only once here.

use crate::ImageError;
use crate::plan::{Because, Included, Source};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_sys::{Limits, RunEnd, Spawn, Streams, find_program};

/// Debian's package of it.
pub const PACKAGE: &str = "openssl-provider-fips";
/// The name that the file has everywhere.
const MODULE: &str = "fips.so";
/// The self-test takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// A provider whose self-test passed on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// What it calls itself.
    pub name: String,
    /// Its version, as it says.
    pub version: String,
    /// The module, its configuration and OpenSSL's, where OpenSSL looks for them.
    pub files: Vec<Included>,
}

/// Has this machine's OpenSSL test the module and write its configuration.
///
/// # Errors
/// If there is no OpenSSL 3, or the self-test fails, or the module cannot be put into effect.
pub fn set_up(module: &Path, scratch: &Path) -> Result<Provider, ImageError> {
    let tool = Openssl::find(module)?;
    let places = tool.places()?;
    let staged = scratch.join(MODULE);
    fs::copy(module, &staged).map_err(ImageError::io(module))?;
    let written = scratch.join("fipsmodule.cnf");
    let words: [&OsStr; 8] = [
        "fipsinstall".as_ref(),
        "-module".as_ref(),
        staged.as_ref(),
        "-out".as_ref(),
        written.as_ref(),
        "-provider_name".as_ref(),
        "fips".as_ref(),
        "-self_test_onload".as_ref(),
    ];
    tool.run(&words, &[], "its self-test")?;
    let installed = fs::read(&written).map_err(ImageError::io(&written))?;
    let trial = scratch.join("openssl.cnf");
    fs::write(&trial, configuration(&written)).map_err(ImageError::io(&trial))?;
    let environment: [(&str, &OsStr); 2] =
        [("OPENSSL_CONF", trial.as_os_str()), ("OPENSSL_MODULES", scratch.as_os_str())];
    let listed = tool.run(&["list".as_ref(), "-providers".as_ref()], &environment, "the list of providers")?;
    let (name, version) = active(&listed).ok_or_else(|| tool.failed("it does not become active".to_owned()))?;
    let configuration_of_module = places.settings.join("fipsmodule.cnf");
    let what = |what: &str| Because::Included { what: format!("{name} {version}: {what}") };
    let bytes = |text: Vec<u8>| Source::Bytes(text.into());
    let files = vec![
        Included {
            from: Source::Host(module.to_owned()),
            to: places.modules.join(MODULE),
            because: what("the module"),
        },
        Included {
            from: bytes(installed),
            to: configuration_of_module.clone(),
            because: what("written by fipsinstall"),
        },
        Included {
            from: bytes(configuration(&configuration_of_module).into_bytes()),
            to: places.settings.join("openssl.cnf"),
            because: what("activates it, and lets nothing else be used"),
        },
    ];
    Ok(Provider { name, version, files })
}

/// OpenSSL's settings: the provider and what encodes keys, nothing else, and for every algorithm that it be the provider's.
fn configuration(module: &Path) -> String {
    format!(
        "# Put here by `underpin image build --fips`.\n\
         config_diagnostics = 1\n\
         openssl_conf = openssl_init\n\
         .include {}\n\n\
         [openssl_init]\n\
         providers = provider_sect\n\
         alg_section = algorithm_sect\n\n\
         [provider_sect]\n\
         fips = fips_sect\n\
         base = base_sect\n\n\
         [base_sect]\n\
         activate = 1\n\n\
         [algorithm_sect]\n\
         default_properties = fips=yes\n",
        module.display()
    )
}

/// Name and version of the provider `fips`, if the list says that it is active.
fn active(listed: &str) -> Option<(String, String)> {
    let lines = listed.lines().skip_while(|line| line.trim() != "fips" || !line.starts_with("  ")).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| line.starts_with("    ")).collect();
    let field = |name: &str| lines.iter().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
    let is_active = field("status") == Some("active");
    Some((field("name")?.to_owned(), field("version")?.to_owned())).filter(|_| is_active)
}

/// Where OpenSSL looks.
#[derive(Debug, PartialEq, Eq)]
struct Places {
    settings: PathBuf,
    modules: PathBuf,
}

/// From what `openssl version -d -m` prints.
fn places(printed: &str) -> Option<Places> {
    let folder = |name: &str| {
        let text = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        let path = PathBuf::from(text.trim().trim_matches('"'));
        path.is_absolute().then_some(path)
    };
    Some(Places { settings: folder("OPENSSLDIR")?, modules: folder("MODULESDIR")? })
}

/// This machine's `openssl`, at work on a module.
struct Openssl<'m> {
    program: PathBuf,
    module: &'m Path,
}

impl Openssl<'_> {
    fn find(module: &Path) -> Result<Openssl<'_>, ImageError> {
        let program = find_program("openssl".as_ref(), std::env::var_os("PATH").as_deref());
        let none = |_| ImageError::Fips {
            path: module.to_owned(),
            reason: "`openssl`, which tests the provider, is not on PATH: install OpenSSL 3".to_owned(),
        };
        Ok(Openssl { program: program.map_err(none)?, module })
    }

    fn failed(&self, reason: String) -> ImageError {
        ImageError::Fips { path: self.module.to_owned(), reason }
    }

    fn places(&self) -> Result<Places, ImageError> {
        let printed = self.run(&["version".as_ref(), "-d".as_ref(), "-m".as_ref()], &[], "its folders")?;
        places(&printed).ok_or_else(|| {
            self.failed(format!("{} names no folder of modules: it must be OpenSSL 3", self.program.display()))
        })
    }

    /// Runs it with nothing of the user's environment, and returns what it printed.
    fn run(&self, words: &[&OsStr], environment: &[(&str, &OsStr)], what: &str) -> Result<String, ImageError> {
        let scratch = |error| ImageError::Io { path: std::env::temp_dir(), source: error };
        let mut printed = tempfile::tempfile().map_err(scratch)?;
        let mut said = tempfile::tempfile().map_err(scratch)?;
        let streams = Streams {
            input: Some(File::open("/dev/null").map_err(ImageError::io("/dev/null"))?.into()),
            output: Some(printed.try_clone().map_err(scratch)?.into()),
            error: Some(said.try_clone().map_err(scratch)?.into()),
        };
        let mut arguments: Vec<OsString> = vec!["openssl".into()];
        arguments.extend(words.iter().map(OsString::from));
        let mut variables: Vec<(OsString, OsString)> = vec![("LC_ALL".into(), "C.UTF-8".into())];
        variables.extend(environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let run =
            Spawn::new(self.program.clone(), &arguments, &variables, streams)?.run(&[], Limits::time(PATIENCE))?;
        match run.end {
            RunEnd::Exited(0) => text(&mut printed).map_err(scratch),
            RunEnd::Interrupted => Err(ImageError::Interrupted),
            _ => {
                let said = text(&mut said).map_err(scratch)?;
                let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it ended without a word");
                Err(self.failed(format!("{}: {what} failed: {}", self.program.display(), line.trim())))
            }
        }
    }
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_provider_that_is_active_counts() {
        let listed = "Providers:\n  base\n    name: OpenSSL Base Provider\n    version: 3.0.19\n    status: active\n  \
                      fips\n    name: OpenSSL FIPS Provider\n    version: 3.5.9\n    status: active\n";
        assert_eq!(active(listed), Some(("OpenSSL FIPS Provider".to_owned(), "3.5.9".to_owned())));
        let (head, tail) = listed.rsplit_once("active").unwrap();
        assert_eq!(active(&format!("{head}inactive{tail}")), None);
        assert_eq!(active(listed.split_once("  fips").unwrap().0), None);
        // The base provider's lines say nothing of another.
        assert_eq!(active("Providers:\n  fips\n  base\n    name: B\n    version: 1\n    status: active\n"), None);
    }

    #[test]
    fn the_folders_are_those_that_openssl_itself_names() {
        let printed = "OPENSSLDIR: \"/usr/lib/ssl\"\nMODULESDIR: \"/usr/lib/x86_64-linux-gnu/ossl-modules\"\n";
        let found = places(printed).unwrap();
        assert_eq!(found.settings, Path::new("/usr/lib/ssl"));
        assert_eq!(found.modules, Path::new("/usr/lib/x86_64-linux-gnu/ossl-modules"));
        assert_eq!(places("OPENSSLDIR: \"/etc/ssl\"\n"), None, "OpenSSL 1.1 has no modules");
    }
}
