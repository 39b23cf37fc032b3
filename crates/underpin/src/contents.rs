//! What a merged library or a bundle consists of, for those who pass it on: an SPDX list, and the licence files of its
//! packages.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_image::installed::{Installed, owners};
use underpin_image::spdx::{List, NOTHING};

/// A larger licence file is none.
const LIMIT: u64 = 8 << 20;
const WHOLE: &str = "SPDXRef-whole";

/// One file inside.
pub struct Part {
    /// Its path below the root.
    pub path: PathBuf,
    /// What is known of it besides.
    pub comment: String,
}

/// The files inside, and the packages that they are from.
pub struct Contents {
    root: PathBuf,
    parts: Vec<Part>,
    packages: BTreeMap<PathBuf, Installed>,
}

impl Contents {
    /// Looks up which package of the machine below a root each file is from (dpkg's database; other machines have none).
    pub fn of(root: Option<&Path>, parts: Vec<Part>) -> Contents {
        let root = root.unwrap_or(Path::new("/")).to_owned();
        let files: Vec<PathBuf> = parts.iter().map(|part| real(&root, &part.path)).collect();
        Contents { packages: owners(&root, &files), root, parts }
    }

    /// The list: the whole contains packages, and each file is in the package that it is from.
    pub fn spdx(&self, name: &str, sum: Option<&[u8]>) -> Value {
        let mut list = List::default();
        let digest = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        list.push(WHOLE, name, None, NOTHING, sum.map(digest).as_deref(), json!({ "packageFileName": name }));
        list.relate("SPDXRef-DOCUMENT", "DESCRIBES", WHOLE);
        let mut known: BTreeMap<&Installed, String> = BTreeMap::new();
        let mut newest = 0;
        for part in &self.parts {
            let real = real(&self.root, &part.path);
            let file = below(&self.root, &real);
            newest = newest.max(modified(&file));
            let owner = self.packages.get(&real);
            let owner =
                owner.map(|package| known.entry(package).or_insert_with(|| list.installed(package, WHOLE)).clone());
            let called = part.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let id = list.id(&["file", &called]);
            let more = json!({
                "packageFileName": part.path.display().to_string(), "primaryPackagePurpose": "FILE", "comment": part.comment,
            });
            let sum = fs::read(&file).ok().map(|bytes| digest(&bytes));
            list.push(&id, &called, None, NOTHING, sum.as_deref(), more);
            list.relate(WHOLE, "CONTAINS", &id);
            if let Some(owner) = owner {
                list.relate(&owner, "CONTAINS", &id);
            }
        }
        list.document(name, newest)
    }

    /// The licence files of the packages: where each goes, and its bytes.
    pub fn licences(&self) -> Vec<(String, Vec<u8>)> {
        let names: std::collections::BTreeSet<&String> = self.packages.values().map(|package| &package.name).collect();
        let read = |name: &String| {
            let file = below(&self.root, Path::new("/usr/share/doc")).join(name).join("copyright");
            let small = fs::metadata(&file).is_ok_and(|data| data.is_file() && data.len() <= LIMIT);
            Some((format!("licences/{name}/copyright"), small.then(|| fs::read(&file).ok())??))
        };
        names.into_iter().filter_map(read).collect()
    }
}

/// A path with symbolic links resolved, as below the root.
fn real(root: &Path, path: &Path) -> PathBuf {
    let real = below(root, path).canonicalize().ok();
    let inside =
        real.and_then(|real| real.strip_prefix(root.canonicalize().ok()?).ok().map(|path| Path::new("/").join(path)));
    inside.unwrap_or_else(|| path.to_owned())
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// In seconds since 1970; the list has the time of the newest file, so that the same files give the same list.
fn modified(file: &Path) -> u32 {
    let since = fs::metadata(file).and_then(|data| data.modified()).ok();
    let since = since.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| u32::try_from(since.as_secs()).ok()).unwrap_or(0)
}

/// A path of the resolver's.
pub fn part(path: &[u8], comment: String) -> Part {
    Part { path: PathBuf::from(std::ffi::OsStr::from_bytes(path)), comment }
}
