//! What a workspace uses of the files around it: path dependencies, patches, vendored sources, members and read-me files beside
//! it. A copy of the workspace is below a folder of its own under its whole old path, and links there lead to the rest.

use super::copy::normal;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files in which cargo reads paths.
const MANIFEST: &str = "Cargo.toml";
const CONFIGURATIONS: [&str; 2] = ["config.toml", "config"];
/// A larger workspace is not searched completely.
const MOST: usize = 50_000;

/// The place of a path in the copy.
pub fn mirrored(mirror: &Path, path: &Path) -> PathBuf {
    mirror.join(path.strip_prefix("/").unwrap_or(path))
}

/// Links that keep relative paths out of a workspace valid: name and target.
pub fn links(root: &Path, mirror: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut wanted = BTreeSet::new();
    let mut texts = texts_below(root);
    let mut seen = BTreeSet::new();
    while let Some(file) = texts.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        for path in outward(&file).into_iter().filter(|path| !path.starts_with(root)) {
            texts.push(path.join(MANIFEST));
            // A package of another workspace inherits from the manifest above it.
            texts.extend(
                path.ancestors().skip(1).filter(|above| !root.starts_with(above)).map(|above| above.join(MANIFEST)),
            );
            wanted.insert(path);
        }
    }
    wanted.extend(around(root));
    for manifest in seen.into_iter().filter(|file| !file.starts_with(root) && file.is_file()) {
        wanted.insert(manifest);
    }
    // Of a folder above the workspace, its entries except the one that the copy replaces.
    let above: Vec<PathBuf> = wanted.iter().filter(|path| root.starts_with(path)).cloned().collect();
    for path in above {
        wanted.remove(&path);
        wanted.extend(entries(&path).filter(|entry| !root.starts_with(entry)));
    }
    let covered = |path: &Path| path.ancestors().skip(1).any(|above| wanted.contains(above));
    let outermost = wanted.iter().filter(|path| !covered(path));
    outermost.map(|path| (mirrored(mirror, path), path.clone())).collect()
}

/// In a repository sources may include any file of it; of other folders only what is named.
fn around(root: &Path) -> Vec<PathBuf> {
    let Some(top) = root.ancestors().find(|folder| folder.join(".git").exists()) else { return Vec::new() };
    let above = root.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    // Configurations above are passed to cargo by name.
    let kept = |entry: &PathBuf| !root.starts_with(entry) && !entry.ends_with(".cargo") && !entry.ends_with(".git");
    above.flat_map(|folder| entries(folder).filter(kept).collect::<Vec<_>>()).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The manifests and configurations below a folder.
fn texts_below(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders, mut count) = (Vec::new(), vec![root.to_owned()], 0_usize);
    while let Some(folder) = folders.pop() {
        if folder.ends_with(".cargo") {
            found.extend(CONFIGURATIONS.map(|name| folder.join(name)));
            continue;
        }
        found.push(folder.join(MANIFEST));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            count = count.saturating_add(1);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && count < MOST && entry.file_name() != ".git" && entry.file_name() != "target" {
                folders.push(entry.path());
            }
        }
    }
    found
}

/// The files and folders that strings with a `..` in them lead to.
fn outward(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut folder = file.parent().unwrap_or(Path::new("/"));
    // Paths of a configuration begin beside its `.cargo`.
    if folder.ends_with(".cargo") {
        folder = folder.parent().unwrap_or(folder);
    }
    let strings = text.lines().flat_map(|line| line.split(['"', '\'']).skip(1).step_by(2));
    let leading = strings.filter(|string| Path::new(string).components().any(|part| part.as_os_str() == ".."));
    // Members may be a pattern: the part before it is enough.
    let before = leading.map(|string| string.split(['*', '?', '[']).next().unwrap_or_default());
    before.map(|string| normal(&folder.join(string))).filter(|path| path.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_manifests_name_outside_and_what_these_name_in_turn_is_linked_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let put = |name: &str, text: &str| {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        };
        put(
            "home/ws/Cargo.toml",
            "[dependencies]\none = { path = \"../one\" }\n[patch.crates-io]\nlog = {path='../../log'}\n",
        );
        put("home/ws/inner/Cargo.toml", "readme = \"../../README.md\"\nown = { path = \"../other\" }\n");
        put("home/ws/.cargo/config.toml", "[source.v]\ndirectory = \"../vendor\"\n");
        put("home/one/Cargo.toml", "[dependencies]\nthree = { path = \"../three/deep\" }\n");
        put("home/three/deep/Cargo.toml", "version.workspace = true\n");
        put("home/three/Cargo.toml", "[workspace]\n");
        put("log/Cargo.toml", "");
        put("home/README.md", "");
        put("home/vendor/x/Cargo.toml", "");
        put("home/secret/Cargo.toml", "");
        let mirror = Path::new("/m");
        let expected = ["home/README.md", "home/one", "home/three/Cargo.toml", "home/three/deep", "home/vendor", "log"];
        let expected: Vec<PathBuf> = expected.map(at).to_vec();
        let links = links(&at("home/ws"), mirror);
        assert_eq!(links.iter().map(|(_, to)| to.clone()).collect::<Vec<_>>(), expected);
        assert!(links.iter().all(|(name, to)| *name == mirrored(mirror, to)));
        // In a repository all of it.
        fs::create_dir(at("home/.git")).unwrap();
        assert!(super::links(&at("home/ws"), mirror).iter().any(|(_, to)| *to == at("home/secret")));
    }
}
