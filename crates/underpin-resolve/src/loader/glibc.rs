//! What is compiled into glibc's ld.so: directories, `$LIB`, capabilities, the path of the cache.

use super::{Loader, LoaderKind, strings};
use crate::environment::Environment;
use crate::hwcaps;
use crate::libc_version::LibcVersion;
use bstr::{BStr, BString, ByteSlice};
use underpin_elf::{Class, Ident, Machine};

const HWCAP_X86_64: u64 = 1 << 1;
const HWCAP_AVX512_1: u64 = 1 << 2;

pub(super) fn identify(path: &BStr, bytes: &[u8], ident: &Ident, environment: &Environment) -> Loader {
    let version = version(path, bytes);
    let system_directories = system_directories(bytes).unwrap_or_else(|| usual_directories(ident));
    let platform = platform(ident, version, environment);
    let (active_hwcaps, subdirectories) = subdirectories(bytes, ident, version, platform.as_ref(), environment);
    Loader {
        kind: LoaderKind::Glibc,
        version,
        lib_token: lib_token(bytes, &system_directories),
        system_directories,
        platform,
        subdirectories,
        active_hwcaps,
        configuration: Some(
            strings::containing(bytes, b"/ld.so.cache")
                .filter(|text| text.starts_with(b"/"))
                .map_or_else(|| "/etc/ld.so.cache".into(), BString::from),
        ),
        path: path.into(),
        assumed: false,
    }
}

/// From the banner (2.33 on), from a file name such as ld-2.31.so, or at least from the newest symbol version.
fn version(path: &BStr, bytes: &[u8]) -> Option<LibcVersion> {
    let banner = b"release version ";
    if let Some(at) = bytes.find(banner) {
        return LibcVersion::parse(&bytes[at + banner.len()..]);
    }
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if let Some(version) = name.strip_prefix(b"ld-").filter(|rest| rest.starts_with(b"2.")) {
        return LibcVersion::parse(version);
    }
    strings::all_containing(bytes, b"GLIBC_2.")
        .filter_map(|text| LibcVersion::parse(text.strip_prefix(b"GLIBC_")?))
        .max()
}

/// `SYSTEM_DIRS`: consecutive strings that each start and end with a slash; the longest such run.
fn system_directories(bytes: &[u8]) -> Option<Vec<BString>> {
    let is_directory = |text: &[u8]| {
        text.len() > 1
            && text.starts_with(b"/")
            && text.ends_with(b"/")
            && text.iter().all(|byte| (0x20..0x7f).contains(byte))
    };
    let mut best: Vec<BString> = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.find(b"lib") {
        let start = rest[..at].rfind_byte(0).map_or(0, |nul| nul + 1);
        let run: Vec<&[u8]> = rest[start..].split(|&byte| byte == 0).take_while(|text| is_directory(text)).collect();
        let length: usize = run.iter().map(|text| text.len() + 1).sum();
        if run.len() > best.len() {
            best = run.into_iter().map(BString::from).collect();
        }
        rest = &rest[(start + length).max(at + 3).min(rest.len())..];
    }
    (!best.is_empty()).then_some(best)
}

/// Upstream's defaults if the loader's file is not at hand.
fn usual_directories(ident: &Ident) -> Vec<BString> {
    let names: &[&str] = match (ident.class, ident.machine) {
        (Class::Elf64, Machine::X86_64 | Machine::PPC64 | Machine::S390 | Machine::AARCH64) => {
            &["/lib64/", "/usr/lib64/"]
        }
        (Class::Elf64, Machine::RISCV) => &["/lib64/lp64d/", "/usr/lib64/lp64d/"],
        _ => &["/lib/", "/usr/lib/"],
    };
    names.iter().map(|&name| name.into()).collect()
}

/// Debian patches `$LIB` to `lib/TRIPLET`; upstream takes the last component of the library directory.
fn lib_token(bytes: &[u8], directories: &[BString]) -> BString {
    let Some(first) = directories.first() else { return "lib".into() };
    let whole = first.trim_with(|letter| letter == '/');
    if whole.contains(&b'/') && strings::holds(bytes, whole) {
        return whole.into();
    }
    whole.rsplit(|&byte| byte == b'/').next().unwrap_or_default().into()
}

/// AT_PLATFORM of the machine, as overridden by glibc <= 2.36 on Intel processors, and by 2.37 on alike.
fn platform(ident: &Ident, version: Option<LibcVersion>, environment: &Environment) -> Option<BString> {
    let name = match (ident.machine, ident.class) {
        (Machine::X86_64, _)
            if version.is_none_or(|version| version >= LibcVersion { major: 2, minor: 26, patch: 0 }) =>
        {
            environment.processor.legacy_platform()
        }
        (Machine::X86_64, _) => "x86_64",
        (Machine::I386, _) => "i686",
        (Machine::AARCH64, _) => "aarch64",
        (Machine::ARM, _) => "v7l",
        _ => return None,
    };
    Some(name.into())
}

/// Bits that glibc <= 2.36 has in `dl_hwcap & dl_hwcap_mask`, and their names.
fn legacy_capabilities(ident: &Ident, environment: &Environment) -> Vec<(u64, &'static [u8])> {
    let present: Vec<(u64, &'static [u8])> = match (ident.machine, ident.class) {
        (Machine::X86_64, _) => {
            let mut list: Vec<(u64, &'static [u8])> = vec![(HWCAP_X86_64, b"x86_64")];
            if environment.processor.intel && environment.processor.avx512_1 {
                list.push((HWCAP_AVX512_1, b"avx512_1"));
            }
            list
        }
        (Machine::I386, _) => vec![(1, b"sse2")],
        _ => Vec::new(),
    };
    let mask = environment.hwcap_mask().unwrap_or(u64::MAX);
    present.into_iter().filter(|(bit, _)| bit & mask != 0).collect()
}

/// The bits of [`legacy_capabilities`], for the cache.
pub(crate) fn legacy_bits(ident: &Ident, loader: &Loader, environment: &Environment) -> u64 {
    if !hwcaps::has_legacy_set(loader.version) {
        return 0;
    }
    legacy_capabilities(ident, environment).iter().map(|(bit, _)| bit).sum()
}

/// The bit of the platform in the cache (`_dl_string_platform`).
pub(crate) fn platform_bit(platform: Option<&BString>) -> Option<u64> {
    let names: [&[u8]; 4] = [b"i586", b"i686", b"haswell", b"xeon_phi"];
    let platform = platform?;
    names.iter().position(|name| *name == platform.as_slice()).map(|index| 1 << (48 + index))
}

fn subdirectories(
    bytes: &[u8],
    ident: &Ident,
    version: Option<LibcVersion>,
    platform: Option<&BString>,
    environment: &Environment,
) -> (Vec<BString>, Vec<BString>) {
    let named = version.is_none_or(|version| (version.major, version.minor) >= (2, 33));
    let compiled_in: Vec<BString> = if named && ident.machine == Machine::X86_64 {
        strings::containing(bytes, b"x86-64-v3:x86-64-v2")
            .unwrap_or(b"x86-64-v4:x86-64-v3:x86-64-v2")
            .split(|&byte| byte == b':')
            .map(BString::from)
            .collect()
    } else {
        Vec::new()
    };
    let active = hwcaps::active_names(&compiled_in, environment.processor);
    let mut list: Vec<BString> = active.iter().map(|name| format!("glibc-hwcaps/{name}/").into()).collect();
    if hwcaps::has_legacy_set(version) {
        let capabilities = legacy_capabilities(ident, environment);
        let mut strings: Vec<&[u8]> = capabilities.iter().map(|(_, name)| *name).collect();
        strings.extend(platform.map(|name| name.as_slice()));
        strings.push(b"tls");
        list.extend(hwcaps::power_set(&strings));
    } else {
        list.push(BString::default());
    }
    (active, list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_directories_is_found_among_other_strings() {
        let bytes =
            b"\0libc.so.6\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0/proc/self/exe\0";
        let found = system_directories(bytes).unwrap();
        assert_eq!(found, ["/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/", "/lib/", "/usr/lib/"]);
    }

    #[test]
    fn a_single_prefix_is_found() {
        let found = system_directories(b"\0x\0/nix/store/abc-glibc-2.40/lib/\0y\0").unwrap();
        assert_eq!(found, ["/nix/store/abc-glibc-2.40/lib/"]);
    }

    #[test]
    fn the_version_of_an_old_loader_is_in_its_file_name() {
        assert_eq!(version("/lib/x86_64-linux-gnu/ld-2.31.so".into(), b"").unwrap().minor, 31);
    }
}
