//! Parses what a loader prints when it lists.

use super::{ListedObject, Listing};
use bstr::ByteSlice;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use underpin_resolve::LoaderKind;

/// Reads `NAME => PATH (0xADDRESS)`, `PATH (0xADDRESS)` and `NAME => not found` from the list, the rest from stderr.
pub(super) fn read(kind: LoaderKind, stdout: &[u8], stderr: &[u8]) -> Listing {
    let mut listing = Listing::default();
    let mut lines = stdout.lines();
    if kind == LoaderKind::Musl {
        // musl prints itself first, whether anything needs it or not.
        lines.next();
    }
    for line in lines {
        let line = line.trim();
        let body = line.rfind(b"(0x").map_or(line, |at| line[..at].trim());
        // The kernel's vdso is not a file.
        if body.is_empty() || body.starts_with(b"linux-") || body == b"statically linked" {
            continue;
        }
        match body.split_once_str(" => ") {
            Some((name, b"not found")) => listing.missing.push(text(name)),
            Some((name, path)) => listing.add(name, path),
            // Missing versions are printed among the objects; what is not a path is not an object.
            None if body.contains(&b'/') && line.len() > body.len() => listing.add(body, body),
            None => listing.complaints.push(text(line)),
        }
    }
    for line in stderr.lines().filter(|line| !line.trim().is_empty()) {
        match missing_of_musl(kind, line) {
            Some(name) => listing.missing.push(text(name)),
            None => listing.complaints.push(text(line)),
        }
    }
    listing
}

impl Listing {
    /// One line of the list. musl prints a line for each name; an object counts once.
    fn add(&mut self, name: &[u8], path: &[u8]) {
        let path = Path::new(OsStr::from_bytes(path));
        let status = fs::metadata(path).ok();
        let (device, inode) = status.map_or((0, 0), |status| (status.dev(), status.ino()));
        if inode != 0 && self.objects.iter().any(|object| (object.device, object.inode) == (device, inode)) {
            return;
        }
        self.objects.push(ListedObject {
            name: text(name),
            path: path.into(),
            real_path: fs::canonicalize(path).unwrap_or_else(|_| path.into()),
            device,
            inode,
        });
    }
}

/// `Error loading shared library NAME: REASON (needed by OBJECT)`.
fn missing_of_musl(kind: LoaderKind, line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"Error loading shared library ").filter(|_| kind == LoaderKind::Musl)?;
    rest.split_once_str(": ").map(|(name, _)| name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_glibc_is_read() {
        let list = b"\tlinux-vdso.so.1 (0x7ffd)\n\tlibx.so => not found\n\tlibc.so.6 => /no/such/libc.so.6 (0x7f)\n\
            \t/no/such/abs.so (0x7f)\n";
        let listing = read(LoaderKind::Glibc, list, b"./p: /no/libz.so: version `Z' not found (required by ./p)\n");
        let names: Vec<&str> = listing.objects.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(names, ["libc.so.6", "/no/such/abs.so"]);
        assert_eq!(listing.missing, ["libx.so"]);
        assert_eq!(listing.complaints.len(), 1);
    }

    #[test]
    fn a_list_of_musl_is_read() {
        let list = b"\t/lib/ld-musl-x86_64.so.1 (0x7f)\n\tlibc.so => /lib/ld-musl-x86_64.so.1 (0x7f)\n";
        let errors = b"Error loading shared library libb.so: No such file or directory (needed by ./m)\n\
            Error relocating ./m: bb: symbol not found\n";
        let listing = read(LoaderKind::Musl, list, errors);
        assert_eq!(listing.objects.len(), 1);
        assert_eq!(listing.missing, ["libb.so"]);
        assert_eq!(listing.complaints, ["Error relocating ./m: bb: symbol not found"]);
    }
}
