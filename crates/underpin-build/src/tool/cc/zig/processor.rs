//! The names of processors as `zig cc` knows them. It writes them with `_`, takes `-` for "without the feature", and has no
//! architectures of Arm (`armv8.2-a`), which it takes for processors.

/// What GCC and clang call otherwise.
const OTHER_NAMES: [(&str, &str); 3] =
    [("core-avx2", "haswell"), ("core-avx-i", "ivybridge"), ("corei7-avx", "sandybridge")];

/// Extensions of Arm (GCC manual, AArch64 options) that LLVM names otherwise than with `_` for `-`.
const ARM_EXTENSIONS: [(&str, &str); 6] = [
    ("fp", "fp_armv8"),
    ("fp16", "fullfp16"),
    ("memtag", "mte"),
    ("profile", "spe"),
    ("rdma", "rdm"),
    ("simd", "neon"),
];

/// The value of `-march` or `-mcpu` as zig takes it; `None` if it is what zig does by itself.
pub(super) fn of(value: &str) -> Option<String> {
    // The general-purpose set, which zig's baseline is.
    if matches!(value, "rv64gc" | "rv64imafdc") {
        return None;
    }
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(name, _)| *name == value) {
        return Some((*name).to_owned());
    }
    let mut parts = value.split('+');
    let first = parts.next().unwrap_or_default();
    let (name, is_arm) = match first.strip_prefix("armv") {
        // armv8.2-a is v8_2a, armv9-a is v9a.
        Some(version) => (format!("generic+v{}", version.replace('.', "_").replace('-', "")), true),
        None => (first.replace('-', "_"), first.contains("cortex") || first.contains("neoverse")),
    };
    let extensions = parts.map(|part| match part.strip_prefix("no").filter(|_| is_arm) {
        Some(without) => format!("-{}", extension(without)),
        None => format!("+{}", extension(part)),
    });
    Some(std::iter::once(name).chain(extensions).collect())
}

fn extension(name: &str) -> String {
    let known = ARM_EXTENSIONS.iter().find(|(known, _)| *known == name);
    known.map_or_else(|| name.replace('-', "_"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_processor_has_the_name_that_zig_knows() {
        for (given, zigs) in [
            ("x86-64-v3", "x86_64_v3"),
            ("skylake-avx512", "skylake_avx512"),
            ("znver3", "znver3"),
            ("haswell+aes", "haswell+aes"),
            ("native", "native"),
            ("core-avx2", "haswell"),
            ("armv8-a", "generic+v8a"),
            ("armv8.2-a+crypto+nofp16", "generic+v8_2a+crypto-fullfp16"),
            ("cortex-a72+crc", "cortex_a72+crc"),
            ("neoverse-n1", "neoverse_n1"),
        ] {
            assert_eq!(of(given).as_deref(), Some(zigs), "{given}");
        }
        assert_eq!(of("rv64gc"), None);
    }
}
