//! The emulator that this system starts programs of another processor with: binfmt_misc of the kernel.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel shows what is registered.
const REGISTERED: &str = "/proc/sys/fs/binfmt_misc";

/// QEMU's user emulator that the kernel would start a file with; `None` if it would start none, or another program.
pub(super) fn registered(file: &[u8]) -> Option<PathBuf> {
    let entries = fs::read_dir(REGISTERED).ok()?.flatten();
    let interpreter = entries.filter_map(|entry| interpreter(&fs::read_to_string(entry.path()).ok()?, file)).next()?;
    // Debian registers a link by whose name it takes its arguments in another form.
    let program = fs::canonicalize(interpreter).ok()?;
    is_qemu(&program).then_some(program)
}

fn is_qemu(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("qemu-"))
}

/// The program of an entry that is enabled and whose magic number the file has.
fn interpreter(entry: &str, file: &[u8]) -> Option<PathBuf> {
    let field = |name: &str| entry.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
    let bytes = |text: &str| -> Option<Vec<u8>> {
        let pairs = (0..text.len() / 2).map(|at| u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok());
        pairs.collect()
    };
    let magic = bytes(field("magic ")?)?;
    let mask = field("mask ").map_or_else(|| Some(vec![0xff; magic.len()]), bytes)?;
    let offset: usize = field("offset ")?.parse().ok()?;
    let start = file.get(offset..offset.checked_add(magic.len())?)?;
    let has_it = start.iter().zip(&magic).zip(&mask).all(|((byte, magic), mask)| byte & mask == magic & mask);
    (entry.starts_with("enabled") && has_it && !magic.is_empty()).then(|| field("interpreter ").map(PathBuf::from))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_taken_if_it_is_enabled_and_the_file_has_its_number() {
        let entry = "enabled\ninterpreter /usr/bin/qemu-aarch64\nflags: OCF\noffset 0\n\
            magic 7f454c460201010000000000000000000200b700\nmask ffffffffffffff00fffffffffffffffffeffffff\n";
        let mut file = b"\x7fELF\x02\x01\x01\x03\0\0\0\0\0\0\0\0\x03\0\xb7\0".to_vec();
        assert_eq!(interpreter(entry, &file), Some("/usr/bin/qemu-aarch64".into()));
        assert_eq!(interpreter(&entry.replace("enabled", "disabled"), &file), None);
        assert_eq!(interpreter(&entry[..60], &file), None);
        file[18] = 62;
        assert_eq!(interpreter(entry, &file), None);
        assert!(is_qemu(Path::new("/usr/bin/qemu-aarch64-static")) && !is_qemu(Path::new("/usr/bin/box64")));
    }
}
