//! The root file system on a disk or a card, and the initramfs that finds it there.

use super::files::Files;
use super::{ManifestEntry, ManifestFile, Material, Sums, content_sum, manifest_entry};
use crate::plan::{Because, Plan};
use crate::store::hex;
use crate::target::Format;
use crate::write::{Place, device_tree, ext4, fat, mbr};
use crate::{Content, Entry, ImageError, Kind, Tree, init};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names in the image's folder.
pub(super) const ROOT: &str = "root.ext4";
pub(super) const CARD: &str = "sd.img";
pub(super) const DEVICE_TREE: &str = "emulator.dtb";

const MIB: u64 = 1 << 20;
/// Where the first partition begins, as every tool has it.
const FIRST: u64 = MIB;
/// What the board's own loader reads.
pub(super) const BOARD_TREE: &str = "bcm2711-rpi-4-b.dtb";
const CONFIGURATION: &str = "arm_64bit=1\nenable_uart=1\nkernel=vmlinuz\ninitramfs initramfs.cpio followkernel\n\
                             device_tree=bcm2711-rpi-4-b.dtb\n";

/// The disk of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestDisk {
    /// Its file.
    #[serde(flatten)]
    pub file: ManifestFile,
    /// `ext4` or `sd`.
    pub format: String,
    /// By which the guest finds its root.
    pub uuid: String,
    /// What is in the root file system, except directories.
    pub entries: Vec<ManifestEntry>,
    /// What is in the boot partition of a card.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boot: Vec<ManifestEntry>,
}

/// An identifier that is that of the content: two images that differ can be in one machine.
pub(super) fn uuid(key: &str) -> [u8; 16] {
    let sum = Sha256::digest(["root ", key].concat());
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&sum[..16]);
    uuid[6] = 0x80 | uuid[6] & 0x0f;
    uuid[8] = 0x80 | uuid[8] & 0x3f;
    uuid
}

fn written(uuid: &[u8; 16]) -> String {
    let digits = hex(uuid);
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

/// What the kernel unpacks to find the root: the first process, modules in their order, the identifier, and the command of a
/// board that has no host.
pub(super) fn starter(plan: &Plan, material: &Material<'_>, key: &str) -> Result<Tree, ImageError> {
    let processor = plan.target.processor();
    let program = init::program(processor).map_err(|reason| ImageError::NoInit { processor, reason })?;
    let mut tree = Tree::new(plan.time());
    for (name, mode) in [("dev", 0o755), ("proc", 0o555), ("sys", 0o555)] {
        tree.add(name, Entry::directory(mode))?;
    }
    tree.add(init::PATH, Entry::file(program, 0o755))?;
    for (number, (_, content)) in material.parts.modules.iter().enumerate() {
        tree.add(format!(".underpin/modules/{number:02}"), Entry::file(content.clone(), 0o644))?;
    }
    tree.add(".underpin/root", Entry::file(uuid(key).to_vec(), 0o644))?;
    let command = [plan.command.as_os_str().as_bytes(), b"\0"].concat();
    tree.add(".underpin/command", Entry::file(command, 0o644))?;
    Ok(tree)
}

/// Why a file of [`starter`] is there, and what is called so.
pub(super) fn because(path: &Path, material: &Material<'_>) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let module = name.parse().ok().and_then(|number: usize| material.parts.modules.get(number));
    match (module, name) {
        (Some((module, _)), _) => format!("the kernel's module {module}, which finds the disk"),
        (None, "root") => "the identifier of the root file system".to_owned(),
        (None, "command") => "what runs if there is no host".to_owned(),
        _ => Because::Init.to_string(),
    }
}

/// Writes the disk of a plan, or the card around it.
pub(super) fn write(
    plan: &Plan,
    material: &Material<'_>,
    sums: &Sums,
    files: &Files<'_>,
    initramfs: &Path,
) -> Result<ManifestDisk, ImageError> {
    let root = plan.root()?;
    let uuid = uuid(&sums.key);
    let card = material.format == Format::Sd;
    let settings = ext4::Settings { uuid, label: "root", bytes: material.size, journal: card };
    let (file, boot) = if card {
        let boot = boot_files(material, initramfs)?;
        let file = files.write_disk(CARD, |place| card_of(&root, settings, &boot, place))?;
        (file, boot.iter().map(|(name, content)| boot_entry(name, content)).collect::<Result<_, _>>()?)
    } else {
        (files.write_disk(ROOT, |place| ext4::write(&root, &settings, place).map(|_| ()))?, Vec::new())
    };
    let entries = root.entries().filter(|(_, entry)| entry.kind != Kind::Directory);
    let entries = entries.map(|(path, entry)| manifest_entry(plan, path, &entry.kind, sums.of(path)));
    let format = material.format.name().to_owned();
    Ok(ManifestDisk { file, format, uuid: written(&uuid), entries: entries.collect(), boot })
}

/// Firmware, its settings, kernel, device tree and initramfs.
fn boot_files(material: &Material<'_>, initramfs: &Path) -> Result<Vec<(&'static str, Content)>, ImageError> {
    let mut files = Vec::new();
    for (name, path) in material.parts.firmware.iter().flat_map(|firmware| &firmware.files) {
        let name = if *name == "copyright" { "copyright.txt" } else { name };
        files.push((name, Content::host(path)?));
    }
    let command = format!("console=tty0 console=ttyS1,115200 panic=-1 rdinit={} underpin_port=none\n", init::PATH);
    files.push(("config.txt", CONFIGURATION.as_bytes().into()));
    files.push(("cmdline.txt", command.into_bytes().into()));
    files.push(("vmlinuz", Content::host(&material.kernel.path)?));
    if let Some(tree) = &material.parts.device_tree {
        files.push((BOARD_TREE, Content::host(tree)?));
    }
    files.push(("initramfs.cpio", Content::host(initramfs)?));
    Ok(files)
}

fn boot_entry(name: &str, content: &Content) -> Result<ManifestEntry, ImageError> {
    Ok(ManifestEntry {
        path: format!("/{name}"),
        bytes: content.size(),
        sha256: Some(content_sum(content)?),
        from: None,
        because: "the board's loader reads it".to_owned(),
        licence: matches!(name, "start4.elf" | "fixup4.dat").then(|| "see copyright.txt beside it".to_owned()),
        package: None,
    })
}

/// A partition table, the boot partition and the root partition, which takes the rest.
fn card_of(
    root: &Tree,
    settings: ext4::Settings,
    boot: &[(&'static str, Content)],
    place: &Place<'_>,
) -> Result<(), ImageError> {
    let boot_bytes = fat::size(boot.iter().map(|(_, content)| content));
    let start = FIRST + boot_bytes;
    let whole = match settings.bytes {
        Some(whole) => whole,
        // QEMU takes no other sizes of cards.
        None => (start + ext4::size(root, &ext4::Settings { bytes: None, ..settings.clone() })?).next_power_of_two(),
    };
    let room = whole.saturating_sub(start);
    let settings = ext4::Settings { bytes: Some(room), ..settings };
    if let Err(error) = ext4::size(root, &settings) {
        let ImageError::TooSmall { needed, .. } = error else { return Err(error) };
        let needed = (start / MIB + needed).next_power_of_two();
        return Err(ImageError::TooSmall { needed, given: whole / MIB });
    }
    place.file.set_len(place.offset + whole).map_err(ImageError::io(place.path))?;
    let identifier = u32::from_le_bytes([settings.uuid[0], settings.uuid[1], settings.uuid[2], settings.uuid[3]]);
    let partitions = [
        mbr::Partition { kind: mbr::Kind::Boot, start: FIRST, bytes: boot_bytes },
        mbr::Partition { kind: mbr::Kind::Linux, start, bytes: room },
    ];
    mbr::write(place, identifier, partitions)?;
    fat::write(&Place { offset: place.offset + FIRST, ..*place }, boot_bytes, identifier, boot)?;
    ext4::write(root, &settings, &Place { offset: place.offset + start, ..*place })?;
    Ok(())
}

/// The device tree with which QEMU starts the board.
pub(super) fn emulator_tree(path: &Path) -> Result<Vec<u8>, ImageError> {
    let bytes = std::fs::read(path).map_err(ImageError::io(path))?;
    let refused = |reason: &str| ImageError::Malformed {
        path: path.to_owned(),
        offset: 0,
        reason: format!("not the device tree of a Raspberry Pi 4: {reason}"),
    };
    device_tree::for_emulator(&bytes).map_err(refused)
}
