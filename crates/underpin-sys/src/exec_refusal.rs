//! Why the kernel does not execute a file, with what can be done about it. execve(2) gives one error number for several
//! causes; the file tells them apart.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a program cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecRefusal {
    /// The file is there, but its loader or the interpreter of its `#!` line is not.
    #[error("the loader or `#!` interpreter that it names does not exist; `underpin tree {}` names it", .0.display())]
    NoInterpreter(PathBuf),
    /// An ELF file for another processor.
    #[error(
        "a program for {theirs}, and this machine is {}; run it on such a machine, or under `qemu-{theirs}`",
        std::env::consts::ARCH
    )]
    OtherProcessor {
        /// The processor, as QEMU calls it.
        theirs: &'static str,
    },
    /// Neither a program nor a script.
    #[error("neither a program of this machine nor a script with a `#!` line; name its interpreter before it")]
    UnknownFormat,
    /// A directory.
    #[error("a directory; name a program in it")]
    Directory,
    /// A directory on the way to the file cannot be searched.
    #[error("a directory above it is closed to this user; `namei -l {}` shows which", .0.display())]
    ClosedDirectory(PathBuf),
    /// No execute permission at all.
    #[error("not executable (`chmod +x` makes it so; or name its interpreter before it)")]
    NoPermission,
    /// Execute permission for others only.
    #[error("not executable by this user; try with `sudo`, or have its mode changed")]
    OtherUsers,
    /// Its file system allows no execution.
    #[error("its file system is mounted `noexec`; copy it to another one")]
    NoExecMount,
    /// Any other error number of execve(2).
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Other(i32),
}

impl ExecRefusal {
    /// What `errno` means for the file at `path`.
    #[must_use]
    pub fn of(path: &Path, errno: i32) -> ExecRefusal {
        match errno {
            libc::ENOENT => ExecRefusal::NoInterpreter(path.to_owned()),
            libc::ENOEXEC => processor(path)
                .filter(|theirs| *theirs != std::env::consts::ARCH)
                .map_or(ExecRefusal::UnknownFormat, |theirs| ExecRefusal::OtherProcessor { theirs }),
            libc::EISDIR => ExecRefusal::Directory,
            libc::EACCES => permission(path),
            _ => ExecRefusal::Other(errno),
        }
    }
}

/// Which of the causes of EACCES it is.
fn permission(path: &Path) -> ExecRefusal {
    let Ok(metadata) = fs::metadata(path) else { return ExecRefusal::ClosedDirectory(path.to_owned()) };
    if metadata.is_dir() {
        ExecRefusal::Directory
    } else if metadata.permissions().mode() & 0o111 == 0 {
        ExecRefusal::NoPermission
    } else if is_noexec(path) {
        ExecRefusal::NoExecMount
    } else {
        ExecRefusal::OtherUsers
    }
}

fn is_noexec(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    let mut statistics = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a NUL-terminated string and room for the result, which is read only if the call has filled it.
    unsafe {
        libc::statvfs(path.as_ptr(), statistics.as_mut_ptr()) == 0
            && statistics.assume_init().f_flag & libc::ST_NOEXEC != 0
    }
}

/// The processor of an ELF file as QEMU calls it (`e_machine` of elf(5)); `None` for any other file.
fn processor(path: &Path) -> Option<&'static str> {
    const EI_CLASS: usize = 4;
    const EI_DATA: usize = 5;
    const BIG_ENDIAN: u8 = 2;
    const BITS_64: u8 = 2;
    let mut head = [0; 20];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let (big, wide) = (head[EI_DATA] == BIG_ENDIAN, head[EI_CLASS] == BITS_64);
    let machine = [head[18], head[19]];
    Some(match (if big { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) }, wide) {
        (3, _) => "i386",
        (8, true) => "mips64",
        (8, false) => "mips",
        (20, _) => "ppc",
        (21, _) if big => "ppc64",
        (21, _) => "ppc64le",
        (22, _) => "s390x",
        (40, _) => "arm",
        (62, _) => "x86_64",
        (183, _) => "aarch64",
        (243, true) => "riscv64",
        (243, false) => "riscv32",
        (258, _) => "loongarch64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_processor_is_read_in_the_byte_order_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut header = [0u8; 64];
        header[..4].copy_from_slice(b"\x7fELF");
        (header[4], header[5], header[18], header[19]) = (2, 2, 0, 21);
        fs::write(&path, header).unwrap();
        let is = |theirs| ExecRefusal::OtherProcessor { theirs };
        assert_eq!(ExecRefusal::of(&path, libc::ENOEXEC), is("ppc64"));
        (header[5], header[18], header[19]) = (1, 21, 0);
        fs::write(&path, header).unwrap();
        assert_eq!(ExecRefusal::of(&path, libc::ENOEXEC), is("ppc64le"));
        fs::write(&path, "text").unwrap();
        assert_eq!(ExecRefusal::of(&path, libc::ENOEXEC), ExecRefusal::UnknownFormat);
    }

    #[test]
    fn the_cause_of_a_denial_is_found_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "").unwrap();
        assert_eq!(ExecRefusal::of(&path, libc::EACCES), ExecRefusal::NoPermission);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o711)).unwrap();
        assert_eq!(ExecRefusal::of(&path, libc::EACCES), ExecRefusal::OtherUsers);
        assert_eq!(ExecRefusal::of(dir.path(), libc::EACCES), ExecRefusal::Directory);
    }

    #[test]
    fn a_noexec_mount_is_one_that_the_kernel_lists_so() {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        // Later mounts hide earlier ones at the same place; a name with a blank is written in octal.
        let fields = |line: &str| {
            let mut fields = line.split(' ').skip(1);
            let (place, _, options) = (fields.next()?.to_owned(), fields.next()?, fields.next()?);
            Some((place, options.split(',').any(|option| option == "noexec")))
        };
        let listed: std::collections::HashMap<String, bool> = mounts.lines().filter_map(fields).collect();
        for (place, noexec) in listed.iter().filter(|(place, _)| Path::new(place).exists()) {
            assert_eq!(is_noexec(Path::new(place)), *noexec, "{place}");
        }
    }
}
