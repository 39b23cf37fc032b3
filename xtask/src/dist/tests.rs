//! Packages of a program that is only a few bytes: their names, their contents, and that they are the same each time.

use super::*;
use std::os::unix::fs::PermissionsExt;

/// A folder with a program that says something about its place; removed at the end.
struct Built(PathBuf);

impl Built {
    fn new(name: &str, mode: u32) -> Built {
        let folder = run::scratch(&format!("dist-{name}")).unwrap();
        let program = folder.join("program");
        fs::write(&program, b"\x7fELF of some bytes").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        Built(folder)
    }

    /// All packages of a product, by name.
    fn packages(&self, product: Product) -> Vec<(Kind, PathBuf)> {
        let program = self.0.join("program");
        let release = Release { product, processor: Processor::Aarch64, program: &program, date: 1_700_000_000 };
        release.packages_with(&run::workspace(), "{}\n", &self.0).unwrap()
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_same_program_gives_the_same_packages_wherever_they_are_made() {
    let (one, other) = (Built::new("one", 0o755), Built::new("another-place", 0o700));
    for product in PRODUCTS {
        for ((_, path), (_, again)) in one.packages(product).iter().zip(other.packages(product)) {
            assert_eq!(path.file_name(), again.file_name());
            assert!(fs::read(path).unwrap() == fs::read(&again).unwrap(), "{}", path.display());
        }
    }
}

/// The judges are dpkg-deb, tar and Python's reader of wheels.
#[test]
fn every_package_has_the_version_of_the_workspace() {
    let manifest = fs::read_to_string(run::workspace().join("Cargo.toml")).unwrap();
    let version = manifest.split_once("[workspace.package]\nversion = \"").unwrap().1.split('"').next().unwrap();
    let built = Built::new("version", 0o755);
    for product in PRODUCTS {
        for (kind, path) in built.packages(product) {
            let (file, name) = (path.display().to_string(), product.name);
            match kind {
                Kind::Tarball => {
                    let first = output("tar", &["-tzf", &file]).lines().next().unwrap().to_owned();
                    assert_eq!(first, format!("{name}-{version}-aarch64-linux/"));
                }
                Kind::Debian => {
                    let said =
                        output("dpkg-deb", &["--show", "--showformat=${Package} ${Version} ${Architecture}", &file]);
                    assert_eq!(said, format!("{name} {version} arm64"));
                }
                Kind::Wheel => {
                    let script = "import sys, zipfile, email\nz = zipfile.ZipFile(sys.argv[1])\n\
                                  m = email.message_from_bytes(z.read([n for n in z.namelist() if n.endswith('/METADATA')][0]))\n\
                                  print(m['Name'], m['Version'])";
                    assert_eq!(output("python3", &["-c", script, &file]).trim(), format!("{name} {version}"));
                    assert!(file.contains(&format!("/{name}-{version}-py3-none-")), "{file}");
                }
            }
        }
    }
}

#[test]
fn every_man_page_has_the_version_of_the_workspace() {
    for product in PRODUCTS {
        let folder = run::workspace().join(product.documents).join("man");
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let title = text.lines().find(|line| line.starts_with(".TH ")).unwrap();
            let source = format!("\"{} {VERSION}\"", product.name);
            assert!(title.contains(&source), "{}: {title}; run `cargo xtask docs`", path.display());
        }
    }
}

#[test]
fn the_changelogs_fit_the_version_of_the_workspace() {
    for product in PRODUCTS {
        let path = run::workspace().join(product.folder).join("CHANGELOG.md");
        fits(&fs::read_to_string(&path).unwrap(), VERSION, None)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

#[test]
fn a_tagged_commit_is_released_by_its_changelog_and_version() {
    let (unreleased, released) = ("# C\n\n## Unreleased\n\n## 0.1.0 - 2026-12-01\n", "# C\n\n## 0.2.0 - 2027-01-01\n");
    assert!(fits("# C\n\n## Unreleased\n", "0.1.0", None).is_ok(), "nothing was released so far");
    assert!(fits(unreleased, "0.2.0", None).is_ok());
    assert!(fits(unreleased, "0.1.0", None).unwrap_err().to_string().contains("0.1.0 is released"));
    assert!(fits(released, "0.2.0", Some("v0.2.0")).is_ok() && fits(released, "0.2.0", None).is_ok());
    assert!(fits(released, "0.3.0", None).is_err(), "the newest release is another one");
    assert!(fits(released, "0.2.0", Some("v0.3.0")).is_err(), "the tag is another one");
    assert!(fits(unreleased, "0.2.0", Some("v0.2.0")).unwrap_err().to_string().contains("Unreleased"));
}
