//! The version of a C library.

use serde::Serialize;
use std::fmt;

/// A version of a C library, such as 2.36 or 1.2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibcVersion {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number, 0 if there is none.
    pub patch: u32,
}

impl LibcVersion {
    /// Reads `2.36`, `1.2.3` or the start of a longer text such as `2.36-9`.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<LibcVersion> {
        let mut numbers = text.split(|&byte| byte == b'.').map(|part| {
            let digits = &part[..part.iter().take_while(|byte| byte.is_ascii_digit()).count()];
            std::str::from_utf8(digits).ok()?.parse::<u32>().ok()
        });
        Some(LibcVersion {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next().flatten().unwrap_or(0),
        })
    }
}

impl fmt::Display for LibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

impl Serialize for LibcVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
