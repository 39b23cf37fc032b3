//! Sizes, durations and networks as people write them: `64MiB`, `1.5s`, `10.0.0.0/8`.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Text that is not a size, duration or network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} `{text}`: expected {example}")]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

/// The number and the unit of `1.5s`.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Size, UnitError> {
        let wrong =
            || UnitError { text: text.to_owned(), what: "size", example: "a number and KiB, MiB or GiB, as in 64MiB" };
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let scale = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1_u64,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            _ => return Err(wrong()),
        };
        let bytes = number * scale as f64;
        // Far below 2^53, so the conversion is exact enough.
        if bytes < 1e15 { Ok(Size(bytes as u64)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n > 0 && n % (1 << 30) == 0 => write!(f, "{}GiB", n >> 30),
            n if n > 0 && n % (1 << 20) == 0 => write!(f, "{}MiB", n >> 20),
            n if n > 0 && n % (1 << 10) == 0 => write!(f, "{}KiB", n >> 10),
            n => write!(f, "{n}"),
        }
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Span, UnitError> {
        let wrong =
            || UnitError { text: text.to_owned(), what: "duration", example: "a number and ms, s, m or h, as in 30s" };
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        // A century is far below the limits of Instant's arithmetic.
        let seconds = number * scale;
        if seconds < 3.2e9 { Ok(Span(Duration::from_secs_f64(seconds))) } else { Err(wrong()) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_millis() > 0 {
            write!(f, "{}ms", self.0.as_millis())
        } else {
            write!(f, "{}s", self.0.as_secs())
        }
    }
}

impl FromStr for Network {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Network, UnitError> {
        let wrong = || UnitError { text: text.to_owned(), what: "network", example: "an address or 10.0.0.0/8" };
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.trim().parse().map_err(|_| wrong()))?;
        if bits <= most { Ok(Network { address, bits }) } else { Err(wrong()) }
    }
}

impl Network {
    /// Whether the address is in this network. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                (u32::from(network) ^ u32::from(address)) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                (u128::from(network) ^ u128::from(address)) & mask == 0
            }
            _ => false,
        }
    }
}

/// A number or a string, either of which TOML may have.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
        match Written::deserialize(from)? {
            Written::Number(bytes) => Ok(Size(bytes)),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Network, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_read_as_written() {
        for (text, bytes) in
            [("0", 0), ("17", 17), ("64KiB", 65536), ("1.5 MiB", 1_572_864), ("2g", 2 << 30), ("1kb", 1000)]
        {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for (text, millis) in [("250ms", 250), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(millis))), "{text}");
        }
        for text in ["", "x", "1.2.3MiB", "-1", "5 apples", "99999999999999999999GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert!("10".parse::<Span>().is_err(), "a duration needs a unit");
    }

    #[test]
    fn an_address_is_of_its_network_only() {
        let inside =
            |network: &str, address: &str| network.parse::<Network>().unwrap().contains(address.parse().unwrap());
        assert!(inside("10.0.0.0/8", "10.255.0.1"));
        assert!(!inside("10.0.0.0/8", "11.0.0.1"));
        assert!(inside("127.0.0.1", "127.0.0.1") && !inside("127.0.0.1", "127.0.0.2"));
        assert!(inside("127.0.0.0/8", "::ffff:127.0.0.1"));
        assert!(inside("0.0.0.0/0", "8.8.8.8") && inside("::/0", "::1") && !inside("::/0", "8.8.8.8"));
        assert!(inside("fe80::/10", "fe80::1") && !inside("fe80::/10", "ff80::1"));
        assert!("10.0.0.0/33".parse::<Network>().is_err() && "10.0.0".parse::<Network>().is_err());
    }
}
