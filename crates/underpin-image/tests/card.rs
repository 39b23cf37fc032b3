//! A card for a board from stand-ins of its kernel and firmware: the same bytes in another folder, and what its parts hold.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use underpin_image::image::{Image, Material};
use underpin_image::plan::{Around, Plan, Recipe};
use underpin_image::store::{Firmware, Kernel, Package, Parts};
use underpin_image::write::device_tree::Node;
use underpin_image::{Format, Target};
use underpin_resolve::HostRoot;
use underpin_test_support::need;

fn package() -> Package {
    Package {
        name: "firmware".to_owned(),
        version: "1".to_owned(),
        architecture: "arm64".to_owned(),
        suite: "trixie/non-free-firmware".to_owned(),
        sha256: "00".repeat(32),
        source: "firmware 1".to_owned(),
    }
}

/// The smallest tree that is a Raspberry Pi's.
fn device_tree() -> Vec<u8> {
    let node = |name: &str, nodes: Vec<Node>| Node { name: name.to_owned(), properties: Vec::new(), nodes };
    let uart = node("serial@7e201000", vec![node("bluetooth", Vec::new())]);
    let parts = vec![uart, node("mmc@7e300000", Vec::new()), node("hdmi@7ef00700", Vec::new())];
    node("", vec![node("chosen", Vec::new()), node("soc", parts)]).bytes()
}

fn built(folder: &Path) -> Image {
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        fs::write(folder.join(name), bytes).unwrap();
        folder.join(name)
    };
    let program = common::static_program(Target::Rpi4, "int main(void){return 0;}", folder);
    let recipe = Recipe {
        target: Target::Rpi4,
        around: Around::Machine,
        programs: vec![program],
        added: Vec::new(),
        included: Vec::new(),
        sysroot: None,
        time: 1_700_000_000,
    };
    let plan = Plan::new(&recipe, &HostRoot::new()).unwrap();
    let kernel = Kernel { path: write("kernel", &[5; 3 << 20]), package: None };
    let names = ["start4.elf", "fixup4.dat", "copyright"];
    let files = names.map(|name| (name, write(name, name.as_bytes()))).to_vec();
    let parts = Parts {
        modules: vec![("ext4", b"module".to_vec().into())],
        device_tree: Some(write("tree.dtb", &device_tree())),
        firmware: Some(Firmware { package: package(), files }),
    };
    let material = Material { kernel: &kernel, parts: &parts, format: Format::Sd, size: None };
    Image::build(&plan, &material, &folder.join("out")).unwrap().image
}

#[test]
fn a_card_is_the_same_bytes_in_another_folder_and_names_its_parts() {
    need!("aarch64-linux-gnu-gcc");
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (built(one.path()), built(two.path()));
    let disk = first.manifest.disk.as_ref().unwrap();
    assert_eq!(disk.file, second.manifest.disk.as_ref().unwrap().file);
    assert!(disk.file.bytes.is_power_of_two());
    let boot: Vec<&str> = disk.boot.iter().map(|entry| entry.path.as_str()).collect();
    for name in ["/start4.elf", "/copyright.txt", "/config.txt", "/vmlinuz", "/initramfs.cpio"] {
        assert!(boot.contains(&name), "{boot:?}");
    }
    assert_eq!(first.manifest.firmware, Some(package()));
    // As the board reads it: the table, then the root's superblock.
    let card = fs::read(first.disk().unwrap()).unwrap();
    assert_eq!(card[510..512], [0x55, 0xaa]);
    let number = |at: usize| u32::from_le_bytes(card[at..at + 4].try_into().unwrap()) as usize * 512;
    let root = number(462 + 8);
    assert_eq!(card[root + 1024 + 56..root + 1024 + 58], [0x53, 0xef]);
    let tree = Node::read(&fs::read(first.device_tree().unwrap()).unwrap()).unwrap();
    let soc = &tree.nodes.iter().find(|node| node.name == "soc").unwrap().nodes;
    assert!(soc[0].nodes.is_empty() && soc[2].properties == [("status".to_owned(), b"disabled\0".to_vec())]);
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    need!("aarch64-linux-gnu-gcc", "mount", "unshare");
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) != 0 {
        underpin_test_support::skip("only root mounts a small file system");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    fs::create_dir(&small).unwrap();
    let mount = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=6m", "none"]).arg(&small).status();
    if !mount.is_ok_and(|status| status.success()) {
        underpin_test_support::skip("no tmpfs can be mounted");
        return;
    }
    let result = std::panic::catch_unwind(|| built(&small));
    let left =
        fs::read_dir(small.join("out")).map(|entries| entries.flatten().map(|entry| entry.file_name()).collect());
    let left: Vec<std::ffi::OsString> = left.unwrap_or_default();
    assert!(std::process::Command::new("umount").arg(&small).status().unwrap().success());
    assert!(result.is_err() && left.iter().all(|name| name == "initramfs.cpio"), "{left:?}");
}
