//! Each package is installed where nothing else is, and its program used as its owner would.

use super::{Kind, Package, Product, VERSION};
use crate::build::Processor;
use crate::run;
use anyhow::{Context, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Installs a package into a root of its own and asks the program something.
pub fn package(package: &Package) -> anyhow::Result<()> {
    let root = run::scratch("dist-tried")?;
    let text = |path: &Path| path.display().to_string();
    match package.kind {
        Kind::Tarball => {
            run::must("tar", &["--strip-components=1", "-xzf", &text(&package.path), "-C", &text(&root)])?;
            in_root(package, &root, &format!("/{}", package.product.name))?;
        }
        Kind::Debian => {
            let admin = root.join("var/lib/dpkg");
            fs::create_dir_all(admin.join("info"))?;
            fs::create_dir_all(admin.join("updates"))?;
            fs::write(admin.join("status"), "")?;
            let log = format!("--log={}", root.join("dpkg.log").display());
            let foreign = ["--force-architecture", "--force-not-root", "--force-bad-path", &log];
            let root = format!("--root={}", text(&root));
            run::must("dpkg", &[&foreign[..], &[&root, "--install", &text(&package.path)]].concat())?;
            in_root(
                package,
                Path::new(root.trim_start_matches("--root=")),
                &format!("/usr/bin/{}", package.product.name),
            )?;
        }
        Kind::Wheel if foreign(package.processor) => record(package)?,
        Kind::Wheel => {
            run::must("python3", &["-m", "venv", &text(&root)])?;
            let pip = text(&root.join("bin/pip"));
            run::must(&pip, &["install", "--quiet", "--no-index", "--no-deps", &text(&package.path)])?;
            let program = root.join("bin").join(package.product.name);
            says_version(&mut Command::new(&program), package.product)?;
            record(package)?;
        }
    }
    Ok(fs::remove_dir_all(&root)?)
}

fn foreign(processor: Processor) -> bool {
    processor.of_kernel() != std::env::consts::ARCH
}

/// Runs the program with the folder as its root directory: no library, no loader, no /proc.
fn in_root(package: &Package, root: &Path, program: &str) -> anyhow::Result<()> {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "chroot"]).arg(root);
    if foreign(package.processor) {
        // The emulator is linked dynamically where it is no static one: from outside it sees the root by its path.
        let mut emulator = Command::new("qemu-aarch64");
        emulator.arg(root.join(program.trim_start_matches('/')));
        return says_version(&mut emulator, package.product);
    }
    command.arg(program);
    says_version(&mut command, package.product)?;
    if package.product.name == "underpin" {
        // The one program there is underpin itself.
        let mut tree = Command::new("unshare");
        tree.args(["--map-root-user", "chroot"]).arg(root).args([program, "check", "--expect", "static,musl", program]);
        let output = tree.output()?;
        if !output.status.success() {
            bail!("{}: {}", package.path.display(), String::from_utf8_lossy(&output.stderr));
        }
    }
    Ok(())
}

fn says_version(command: &mut Command, product: Product) -> anyhow::Result<()> {
    let output = command.arg("--version").output().with_context(|| format!("cannot start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !said.starts_with(&format!("{} {VERSION}", product.name)) {
        bail!("{command:?} says {said:?} {}", String::from_utf8_lossy(&output.stderr));
    }
    println!("{command:?}: {}", said.trim());
    Ok(())
}

/// Python's own reader of wheels finds every entry with its checksum.
fn record(package: &Package) -> anyhow::Result<()> {
    const SCRIPT: &str = "import sys, zipfile, hashlib, base64\n\
        z = zipfile.ZipFile(sys.argv[1])\n\
        assert z.testzip() is None\n\
        names = z.namelist()\n\
        record = [n for n in names if n.endswith('/RECORD')][0]\n\
        rows = [line.rsplit(',', 2) for line in z.read(record).decode().splitlines()]\n\
        assert sorted(r[0] for r in rows) == sorted(names)\n\
        for name, digest, size in rows:\n\
        \x20   data = z.read(name)\n\
        \x20   own = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()\n\
        \x20   assert name == record or (digest == 'sha256=' + own and int(size) == len(data)), name\n";
    run::must("python3", &["-c", SCRIPT, &package.path.display().to_string()])
}
