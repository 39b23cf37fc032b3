//! The target of a resolution: the variables that loaders read, the processor, secure-execution mode.

use crate::hwcaps::Processor;
use bstr::BString;

/// The target that a program is resolved for.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// LD_LIBRARY_PATH.
    pub library_path: Option<BString>,
    /// LD_PRELOAD.
    pub preload: Option<BString>,
    /// GLIBC_TUNABLES: `glibc.cpu.hwcap_mask` narrows the legacy subdirectories of glibc <= 2.36.
    pub tunables: Option<BString>,
    /// Secure-execution mode (AT_SECURE): as for a set-user-ID program.
    pub secure: bool,
    /// The processor that chooses hwcaps subdirectories and `$PLATFORM`.
    pub processor: Processor,
}

impl Environment {
    /// No variables, this machine's processor.
    #[must_use]
    pub fn empty() -> Environment {
        Environment::default()
    }

    /// The variables of this process.
    #[must_use]
    pub fn inherited() -> Environment {
        let mut environment = Environment::empty();
        for name in ["LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES"] {
            if let Some(value) = std::env::var_os(name) {
                environment.set(name.as_bytes(), std::os::unix::ffi::OsStringExt::into_vec(value).into());
            }
        }
        environment
    }

    /// Sets one variable; names that no loader's search reads are ignored. Returns whether the name is used.
    pub fn set(&mut self, name: &[u8], value: BString) -> bool {
        let slot = match name {
            b"LD_LIBRARY_PATH" => &mut self.library_path,
            b"LD_PRELOAD" => &mut self.preload,
            b"GLIBC_TUNABLES" => &mut self.tunables,
            _ => return false,
        };
        *slot = Some(value);
        true
    }

    /// LD_LIBRARY_PATH as far as a loader honours it.
    pub(crate) fn effective_library_path(&self) -> Option<&BString> {
        self.library_path.as_ref().filter(|value| !self.secure && !value.is_empty())
    }

    /// The mask of `glibc.cpu.hwcap_mask`, if it is set (a decimal, octal or hexadecimal number).
    pub(crate) fn hwcap_mask(&self) -> Option<u64> {
        if self.secure {
            return None;
        }
        let tunables = self.tunables.as_ref()?;
        tunables
            .split(|&byte| byte == b':')
            .filter_map(|pair| pair.strip_prefix(b"glibc.cpu.hwcap_mask="))
            .filter_map(number)
            .next_back()
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(&text[1..], 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hwcap_mask_is_read_as_strtoul_reads_it() {
        for (text, value) in [("0", 0), ("0x10", 16), ("010", 8), ("7", 7)] {
            let mut environment = Environment::empty();
            environment.set(b"GLIBC_TUNABLES", format!("glibc.malloc.check=3:glibc.cpu.hwcap_mask={text}").into());
            assert_eq!(environment.hwcap_mask(), Some(value), "{text}");
        }
    }

    #[test]
    fn secure_execution_ignores_the_library_path() {
        let mut environment = Environment::empty();
        environment.set(b"LD_LIBRARY_PATH", "/opt".into());
        environment.secure = true;
        assert_eq!(environment.effective_library_path(), None);
    }
}
