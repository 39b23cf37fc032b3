//! The files of an image as a folder, and beside it how a runtime starts its process.

use super::Process;
use crate::ImageError;
use crate::oci::{FileKind, Image, Node};
use bstr::{BStr, ByteSlice};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use underpin_resolve::Root;

const ROOT: &str = "rootfs";
const PART: usize = 1 << 16;

/// Writes the bundle of an image into an empty folder of ours: `rootfs` and `config.json`. Devices are left out, since runtimes
/// make their own. With `host_network` the process shares this machine's network; otherwise it has none.
///
/// # Errors
/// If a file cannot be read or written; owners other than ours need root's rights.
pub fn write(image: &Image, process: &Process, host_network: bool, folder: &Path) -> Result<(), ImageError> {
    let root = folder.join(ROOT);
    fs::create_dir(&root).map_err(ImageError::io(&root))?;
    fs::set_permissions(&root, Permissions::from_mode(0o755)).map_err(ImageError::io(&root))?;
    // Names are those of the files themselves, links on the way followed, and a directory comes before what is in it.
    let mut directories: Vec<(PathBuf, u32)> = Vec::new();
    for (path, node) in image.files.iter() {
        let place = root.join(OsStr::from_bytes(path));
        put(image, path, node, &place, &mut directories)?;
    }
    // The last first, so that a directory that may not be written to is closed after what is in it.
    for (place, mode) in directories.into_iter().rev() {
        fs::set_permissions(&place, Permissions::from_mode(mode)).map_err(ImageError::io(&place))?;
    }
    let has_temporary = image.files.find("/tmp".into()).is_ok();
    let config = config(process, host_network, has_temporary);
    let file = folder.join("config.json");
    fs::write(&file, config.to_string()).map_err(ImageError::io(&file))
}

fn put(
    image: &Image,
    path: &BStr,
    node: &Node,
    place: &Path,
    directories: &mut Vec<(PathBuf, u32)>,
) -> Result<(), ImageError> {
    let io = || ImageError::io(place);
    let id = |id: u64| u32::try_from(id).unwrap_or(u32::MAX - 1);
    let (uid, gid) = (id(node.uid), id(node.gid));
    match &node.kind {
        FileKind::Directory => {
            fs::create_dir(place).map_err(io())?;
            chown(place, Some(uid), Some(gid)).map_err(io())?;
            directories.push((place.to_owned(), node.mode));
        }
        FileKind::Symlink(target) => {
            symlink(OsStr::from_bytes(target), place).map_err(io())?;
            lchown(place, Some(uid), Some(gid)).map_err(io())?;
        }
        FileKind::Regular(_) => {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(place).map_err(io())?;
            copy(image, path, file, place)?;
            chown(place, Some(uid), Some(gid)).map_err(io())?;
            fs::set_permissions(place, Permissions::from_mode(node.mode)).map_err(io())?;
        }
        FileKind::Fifo | FileKind::Device => {}
    }
    Ok(())
}

fn copy(image: &Image, path: &BStr, mut file: File, place: &Path) -> Result<(), ImageError> {
    let absolute = [b"/", path.as_bytes()].concat();
    let unreadable =
        |reason: String| ImageError::Container { path: image.path.clone(), reason: format!("/{path}: {reason}") };
    let opened = image.files.open(absolute.as_bstr()).map_err(|error| unreadable(error.to_string()))?;
    let (size, mut done, mut buffer) = (opened.source.len(), 0, vec![0; PART]);
    while done < size {
        let part = usize::try_from(size - done).unwrap_or(PART).min(PART);
        opened.source.read_exact_at(done, &mut buffer[..part]).map_err(|error| unreadable(error.to_string()))?;
        file.write_all(&buffer[..part]).map_err(ImageError::io(place))?;
        done += part as u64;
    }
    Ok(())
}

/// No rights, a root that is read-only, memory as /tmp, and namespaces of its own.
fn config(process: &Process, host_network: bool, has_temporary: bool) -> Value {
    let text = |word: &OsStr| word.to_string_lossy().into_owned();
    let environment = process.environment.iter().map(|(name, value)| format!("{}={}", text(name), text(value)));
    let mut namespaces = vec!["pid", "ipc", "uts", "mount"];
    if !host_network {
        namespaces.push("network");
    }
    let mount = |to: &str, kind: &str, source: &str, options: &[&str]| json!({ "destination": to, "type": kind, "source": source, "options": options });
    let mut mounts = vec![
        mount("/proc", "proc", "proc", &["nosuid", "noexec", "nodev"]),
        mount("/dev", "tmpfs", "tmpfs", &["nosuid", "strictatime", "mode=755", "size=65536k"]),
        mount("/dev/shm", "tmpfs", "shm", &["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
    ];
    if has_temporary {
        mounts.push(mount("/tmp", "tmpfs", "tmpfs", &["nosuid", "nodev", "mode=1777"]));
    }
    let masked = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi"];
    let readonly = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": { "uid": process.uid, "gid": process.gid },
            "args": process.arguments.iter().map(|word| text(word)).collect::<Vec<_>>(),
            "env": environment.collect::<Vec<_>>(),
            "cwd": text(&process.directory),
            "capabilities": { "bounding": [], "effective": [], "permitted": [], "inheritable": [], "ambient": [] },
            "noNewPrivileges": true,
        },
        "root": { "path": ROOT, "readonly": true },
        "hostname": "container",
        "mounts": mounts,
        "linux": {
            "namespaces": namespaces.into_iter().map(|name| json!({ "type": name })).collect::<Vec<_>>(),
            "maskedPaths": masked,
            "readonlyPaths": readonly,
        },
    })
}
