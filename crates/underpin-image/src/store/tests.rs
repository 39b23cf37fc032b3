use super::*;
use crate::Target;

fn package() -> Package {
    Package {
        name: "linux-image-1".to_owned(),
        version: "1-1".to_owned(),
        architecture: "amd64".to_owned(),
        suite: "trixie".to_owned(),
        sha256: "00".repeat(32),
        source: "linux 1-1".to_owned(),
    }
}

#[test]
fn what_is_there_needs_no_network_and_what_is_not_is_an_error_offline() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let package = package();
    let result = store.kernel(Target::QemuX86_64, Some(&package), Access::Offline);
    assert!(matches!(result, Err(ImageError::Offline { .. })), "{result:?}");
    let place = folder.path().join("kernels").join(&package.sha256);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("vmlinuz"), "kernel").unwrap();
    let kernel = store.kernel(Target::QemuX86_64, Some(&package), Access::Offline).unwrap();
    assert_eq!((kernel.path, kernel.package), (place.join("vmlinuz"), Some(package)));
}

#[test]
fn what_a_killed_run_left_is_not_taken_for_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    fs::create_dir_all(folder.path().join("incoming")).unwrap();
    fs::write(folder.path().join("incoming/half.deb"), "half").unwrap();
    assert!(fs::read_dir(store.staging().unwrap()).unwrap().next().is_none());
}

#[test]
fn a_file_has_its_name_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("new"), folder.path().join("deep/er/file"));
    fs::write(&from, "whole").unwrap();
    settle(&from, &to).unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"whole");
    assert_eq!(sha256_of(&to).unwrap(), hex(&Sha256::digest(b"whole")));
    assert!(!from.exists());
}
