//! Hardware-capability subdirectories: which ones a loader searches on a given processor, in which order.
//!
//! glibc >= 2.33 has `glibc-hwcaps/NAME`; up to 2.36 the older power set of `tls`, the platform and the important
//! capabilities comes after them (glibc elf/dl-hwcaps.c); 2.37 dropped it.

use crate::libc_version::LibcVersion;
use bstr::BString;
use std::str::FromStr;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;
use underpin_elf::IsaLevel;

/// The processor, as far as loaders distinguish processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Level of the psABI.
    pub level: IsaLevel,
    /// Made by Intel: glibc <= 2.36 knows the platforms `haswell` and `xeon_phi` only there.
    pub intel: bool,
    /// Has everything that glibc <= 2.36 requires for the platform `haswell`.
    pub haswell: bool,
    /// The platform `xeon_phi` (AVX512CD, ER and PF).
    pub xeon_phi: bool,
    /// The capability `avx512_1` (AVX512CD, BW, DQ and VL, without ER).
    pub avx512_1: bool,
}

impl Default for Processor {
    fn default() -> Processor {
        Processor::native()
    }
}

impl Processor {
    /// The processor of this machine, asked once: in a virtual machine each CPUID takes microseconds.
    #[must_use]
    pub fn native() -> Processor {
        #[cfg(target_arch = "x86_64")]
        {
            static NATIVE: OnceLock<Processor> = OnceLock::new();
            *NATIVE.get_or_init(x86::detect)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            Processor::of_level(IsaLevel::Baseline)
        }
    }

    /// A processor of a level, of no particular vendor.
    #[must_use]
    pub fn of_level(level: IsaLevel) -> Processor {
        Processor {
            level,
            intel: false,
            haswell: level >= IsaLevel::V3,
            xeon_phi: false,
            avx512_1: level >= IsaLevel::V4,
        }
    }

    /// The platform that glibc <= 2.36 puts in the place of AT_PLATFORM (sysdeps/x86/cpu-features.c).
    #[must_use]
    pub fn legacy_platform(self) -> &'static str {
        match self {
            Processor { intel: true, xeon_phi: true, .. } => "xeon_phi",
            Processor { intel: true, haswell: true, .. } => "haswell",
            _ => "x86_64",
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Processor;
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::is_x86_feature_detected as has;
    use underpin_elf::IsaLevel;

    pub(super) fn detect() -> Processor {
        let leaf = __cpuid(0);
        let intel = (leaf.ebx, leaf.edx, leaf.ecx) == (0x756e_6547, 0x4965_6e69, 0x6c65_746e);
        let conflict = has!("avx512cd");
        // Only Xeon Phi has the features tested here.
        let extended = if intel && conflict && leaf.eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        let (prefetch, exponential) = (extended & (1 << 26) != 0, extended & (1 << 27) != 0);
        Processor {
            level: level(),
            intel,
            haswell: has!("avx2") && has!("fma") && bits() && has!("popcnt"),
            xeon_phi: conflict && exponential && prefetch,
            avx512_1: conflict && !exponential && has!("avx512bw") && has!("avx512dq") && has!("avx512vl"),
        }
    }

    fn bits() -> bool {
        has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("movbe")
    }

    fn level() -> IsaLevel {
        let v2 =
            has!("cmpxchg16b") && has!("popcnt") && has!("sse3") && has!("sse4.1") && has!("sse4.2") && has!("ssse3");
        let v3 = v2 && has!("avx") && has!("avx2") && bits() && has!("f16c") && has!("fma");
        let v4 = v3 && has!("avx512f") && has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl");
        match (v2, v3, v4) {
            (_, _, true) => IsaLevel::V4,
            (_, true, _) => IsaLevel::V3,
            (true, ..) => IsaLevel::V2,
            _ => IsaLevel::Baseline,
        }
    }
}

/// Named subdirectories (below `glibc-hwcaps/`) that are active, best first, out of the loader's own list.
pub(crate) fn active_names(compiled_in: &[BString], processor: Processor) -> Vec<BString> {
    compiled_in
        .iter()
        .filter(|name| {
            IsaLevel::from_str(&name.to_string())
                .is_ok_and(|level| level > IsaLevel::Baseline && level <= processor.level)
        })
        .cloned()
        .collect()
}

/// Whether this version still searches the power set of the legacy capabilities.
pub(crate) fn has_legacy_set(version: Option<LibcVersion>) -> bool {
    version.is_none_or(|version| (version.major, version.minor) < (2, 37))
}

/// The power set as `_dl_important_hwcaps` builds it: `strings` in the order capability bits, platform, `tls`.
///
/// The first entry holds all of them, the last is empty; each string is joined from the last element to the first.
pub(crate) fn power_set(strings: &[&[u8]]) -> Vec<BString> {
    let count = strings.len();
    (0..1usize << count)
        .rev()
        .map(|chosen| {
            let mut path = BString::default();
            for index in (0..count).rev().filter(|index| chosen & (1 << index) != 0) {
                path.extend_from_slice(strings[index]);
                path.push(b'/');
            }
            path
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_set_starts_with_everything_and_ends_with_nothing() {
        let set = power_set(&[b"x86_64", b"haswell", b"tls"]);
        let expected = [
            "tls/haswell/x86_64/",
            "tls/haswell/",
            "tls/x86_64/",
            "tls/",
            "haswell/x86_64/",
            "haswell/",
            "x86_64/",
            "",
        ];
        assert_eq!(set, expected);
    }

    #[test]
    fn levels_are_ordered() {
        assert!(IsaLevel::V3 < IsaLevel::V4 && IsaLevel::Baseline < IsaLevel::V2);
        assert_eq!("x86-64-v3".parse(), Ok(IsaLevel::V3));
        assert!("x86-65".parse::<IsaLevel>().is_err());
    }
}
