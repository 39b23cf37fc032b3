//! Tarballs and Debian packages. Their tools write the same bytes for the same files if order, owners, dates and the
//! compressor's header are fixed.

use super::{Product, Release, VERSION};
use crate::run;
use anyhow::{Context, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that becomes a package: files with their modes.
struct Stage(PathBuf);

impl Stage {
    fn new() -> anyhow::Result<Stage> {
        // Tests make several at a time.
        static MADE: AtomicUsize = AtomicUsize::new(0);
        Ok(Stage(run::scratch(&format!("dist-stage-{}", MADE.fetch_add(1, Ordering::Relaxed)))?))
    }

    fn put(&self, to: &str, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
        let path = self.0.join(to);
        let folder = path.parent().context("a file in a folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(mode))?)
    }

    fn copy(&self, from: &Path, to: &str, mode: u32) -> anyhow::Result<()> {
        self.put(to, &fs::read(from).with_context(|| format!("cannot read {}", from.display()))?, mode)
    }

    /// The program under the name by which cargo finds it as `cargo underpin`.
    fn link_for_cargo(&self, product: Product, folder: &str) -> anyhow::Result<()> {
        if product.name != "underpin" {
            return Ok(());
        }
        let path = self.0.join(folder).join("cargo-underpin");
        std::os::unix::fs::symlink(product.name, &path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Replaces files by `FILE.gz`.
    fn compress(&self, files: &[String]) -> anyhow::Result<()> {
        let files: Vec<String> = files.iter().map(|file| self.0.join(file).display().to_string()).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        run::must("gzip", &[&["--no-name", "--best"], &files[..]].concat())
    }

    /// Makes folders readable by all users, whatever the umask.
    fn open_folders(&self) -> anyhow::Result<()> {
        run::must("find", &[&self.0.display().to_string(), "-type", "d", "-exec", "chmod", "755", "{}", "+"])
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The man pages and completions of a product: where they are, and their names.
fn documents(sources: &Path, product: Product, kind: &str) -> anyhow::Result<Vec<PathBuf>> {
    let folder = sources.join(product.documents).join(kind);
    let entries = fs::read_dir(&folder).with_context(|| format!("{}: run `cargo xtask docs`", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `NAME-VERSION-PROCESSOR-linux.tar.gz` with one folder of that name in it.
pub fn tarball(sources: &Path, release: &Release<'_>, list: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let product = release.product;
    let name = format!("{}-{VERSION}-{}-linux", product.name, release.processor.of_kernel());
    let stage = Stage::new()?;
    let below = |file: &str| format!("{name}/{file}");
    stage.copy(release.program, &below(product.name), 0o755)?;
    stage.link_for_cargo(product, &name)?;
    for file in ["README.md", "CHANGELOG.md"] {
        stage.copy(&sources.join(product.folder).join(file), &below(file), 0o644)?;
    }
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        stage.copy(&sources.join(file), &below(file), 0o644)?;
    }
    for kind in ["man", "completions"] {
        for file in documents(sources, product, kind)? {
            stage.copy(&file, &below(&format!("{kind}/{}", file_name(&file))), 0o644)?;
        }
    }
    stage.put(&below(&format!("{}.spdx.json", product.name)), list.as_bytes(), 0o644)?;
    stage.open_folders()?;
    let path = folder.join(format!("{name}.tar.gz"));
    let script = "tar --create --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@\"$1\" \
                  --directory=\"$2\" \"$3\" | gzip --no-name --best >\"$4\"";
    let (date, from, to) = (release.date.to_string(), stage.0.display().to_string(), path.display().to_string());
    run::must("bash", &["-o", "pipefail", "-c", script, "bash", &date, &from, &name, &to])?;
    Ok(path)
}

/// `NAME_VERSION_ARCHITECTURE.deb`: no dependency, no script.
pub fn debian(sources: &Path, release: &Release<'_>, list: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let product = release.product;
    let stage = Stage::new()?;
    stage.copy(release.program, &format!("usr/bin/{}", product.name), 0o755)?;
    stage.link_for_cargo(product, "usr/bin")?;
    let mut compressed = Vec::new();
    for page in documents(sources, product, "man")? {
        let place = format!("usr/share/man/man1/{}", file_name(&page));
        stage.copy(&page, &place, 0o644)?;
        compressed.push(place);
    }
    for file in documents(sources, product, "completions")? {
        if let Some(place) = completion(&file_name(&file), product.name) {
            stage.copy(&file, &place, 0o644)?;
        }
    }
    let papers = format!("usr/share/doc/{}", product.name);
    let changes = format!("{papers}/changelog");
    stage.copy(&sources.join(product.folder).join("CHANGELOG.md"), &changes, 0o644)?;
    compressed.push(changes);
    stage.compress(&compressed)?;
    stage.put(&format!("{papers}/{}.spdx.json", product.name), list.as_bytes(), 0o644)?;
    let licence = format!(
        "{} is yours under the MIT licence or version 2.0 of the Apache licence, as you like.\n\n{}\nThe Apache licence is \
         in /usr/share/common-licenses/Apache-2.0.\n",
        product.name,
        fs::read_to_string(sources.join("LICENSE-MIT"))?
    );
    stage.put(&format!("{papers}/copyright"), licence.as_bytes(), 0o644)?;
    let bytes = fs::metadata(release.program)?.len();
    let control = format!(
        "Package: {}\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: The underpin authors <underpin@localhost>\n\
         Installed-Size: {}\nSection: devel\nPriority: optional\nDescription: {}\n This is one static program; it needs no \
         library of the system.\n",
        product.name,
        release.processor.of_debian(),
        bytes.div_ceil(1024),
        product.summary
    );
    stage.put("DEBIAN/control", control.as_bytes(), 0o644)?;
    stage.open_folders()?;
    let path = folder.join(format!("{}_{VERSION}_{}.deb", product.name, release.processor.of_debian()));
    let mut command = Command::new("dpkg-deb");
    command.args(["--root-owner-group", "-Zxz", "--build"]).arg(&stage.0).arg(&path);
    // It is the date of every file in the package (dpkg-deb(1)).
    let output =
        command.env("SOURCE_DATE_EPOCH", release.date.to_string()).output().context("cannot start dpkg-deb")?;
    if !output.status.success() {
        bail!("dpkg-deb: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(path)
}

/// Where Debian's shells look for a completion; `None` for shells without a place of their own.
fn completion(file: &str, program: &str) -> Option<String> {
    match Path::new(file).extension().and_then(|name| name.to_str()) {
        Some("bash") => Some(format!("usr/share/bash-completion/completions/{program}")),
        Some("fish") => Some(format!("usr/share/fish/vendor_completions.d/{program}.fish")),
        None => Some(format!("usr/share/zsh/vendor-completions/{file}")),
        _ => None,
    }
}
