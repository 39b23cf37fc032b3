//! What is compiled into musl's loader (musl ldso/dynlink.c).

use super::{Loader, LoaderKind, strings};
use crate::libc_version::LibcVersion;
use bstr::{BStr, BString, ByteSlice};

const DEFAULT_PATH: &[u8] = b"/lib:/usr/local/lib:/usr/lib";

/// By its file name, or by the banner that it prints when run alone.
pub(super) fn is_musl(path: &BStr, bytes: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.starts_with(b"ld-musl-") || bytes.find(b"musl libc (").is_some()
}

pub(super) fn identify(path: &BStr, bytes: &[u8]) -> Loader {
    let version = version(bytes);
    let path_list = strings::all_containing(bytes, b":/")
        .find(|text| text.split(|&byte| byte == b':').all(|entry| entry.starts_with(b"/")))
        .unwrap_or(DEFAULT_PATH);
    Loader {
        kind: LoaderKind::Musl,
        version,
        system_directories: path_list.split(|&byte| byte == b':').map(BString::from).collect(),
        configuration: Some(path_file(path, bytes)),
        path: path.into(),
        subdirectories: vec![BString::default()],
        ..Loader::none()
    }
}

/// `__libc_version`: the only string of the form 1.2.3.
fn version(bytes: &[u8]) -> Option<LibcVersion> {
    ["1.", "0."].iter().find_map(|start| {
        strings::all_containing(bytes, start.as_bytes()).find_map(|text| {
            let shaped = text.len() < 12
                && text.starts_with(start.as_bytes())
                && text.iter().filter(|&&byte| byte == b'.').count() == 2
                && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
            if shaped { LibcVersion::parse(text) } else { None }
        })
    })
}

/// `<prefix>/etc/ld-musl-$ARCH.path`, where the prefix is the parent of the loader's directory.
fn path_file(path: &BStr, bytes: &[u8]) -> BString {
    let tail = strings::containing(bytes, b"/etc/ld-musl-")
        .and_then(|text| text.find(b"/etc/ld-musl-").map(|at| text[at..].to_vec()))
        .unwrap_or_else(|| {
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            let architecture = name.strip_prefix(b"ld-musl-").and_then(|rest| rest.split(|&byte| byte == b'.').next());
            [b"/etc/ld-musl-", architecture.unwrap_or(b"x86_64"), b".path"].concat()
        });
    let mut file: Vec<u8> = if path.starts_with(b"/") {
        let directory = path.rfind_byte(b'/').unwrap_or(0);
        let parent = path[..directory].rfind_byte(b'/').unwrap_or(0);
        path[..parent].to_vec()
    } else {
        Vec::new()
    };
    file.extend(tail);
    file.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_file_stands_beside_the_loaders_directory() {
        assert_eq!(path_file("/lib/ld-musl-x86_64.so.1".into(), b""), "/etc/ld-musl-x86_64.path");
        assert_eq!(path_file("/opt/musl/lib/ld-musl-aarch64.so.1".into(), b""), "/opt/musl/etc/ld-musl-aarch64.path");
    }

    #[test]
    fn version_and_path_are_read_from_the_bytes() {
        let bytes = b"\0musl libc (x86_64)\nVersion %s\n\x001.2.3\0/opt/lib:/lib\0%.*s/etc/ld-musl-x86_64.path\0";
        let loader = identify("/lib/ld-musl-x86_64.so.1".into(), bytes);
        assert_eq!(loader.version.unwrap().to_string(), "1.2.3");
        assert_eq!(loader.system_directories, ["/opt/lib", "/lib"]);
    }
}
