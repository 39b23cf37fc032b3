//! `Host: example.org:8080`, checked and split; the last one is cached, since most requests name the same host.

use std::sync::{Arc, Mutex, PoisonError};

/// The last host that was named.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    last: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    named: Vec<u8>,
    default: u16,
    host: Arc<str>,
    port: u16,
}

impl Hosts {
    /// Host and port; the default port if it names none. `None` if it is not a valid host.
    pub(super) fn find(&self, named: &[u8], default: u16) -> Option<(Arc<str>, u16)> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*last
            && known.named == named
            && known.default == default
        {
            return Some((Arc::clone(&known.host), known.port));
        }
        let (host, port) = split(named, default)?;
        let host: Arc<str> = host.into();
        *last = Some(Known { named: named.to_vec(), default, host: Arc::clone(&host), port });
        Some((host, port))
    }
}

/// Host and port (RFC 3986, section 3.2, without user information).
fn split(named: &[u8], default: u16) -> Option<(&str, u16)> {
    let named = std::str::from_utf8(named).ok()?;
    let end = if named.starts_with('[') { named.find(']')? + 1 } else { named.find(':').unwrap_or(named.len()) };
    let (host, port) = named.split_at(end);
    let is_address = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
    let is_name =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte));
    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if !inside.map_or_else(|| is_name(host), is_address) || host.is_empty() || inside.is_some_and(str::is_empty) {
        return None;
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => default,
        None => return None,
        Some("") => default,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
    };
    Some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_split_from_its_port() {
        for (named, host, port) in [
            ("example.org", "example.org", 80),
            ("example.org:8080", "example.org", 8080),
            ("example.org:", "example.org", 80),
            ("127.0.0.1:1", "127.0.0.1", 1),
            ("[::1]:99", "[::1]", 99),
            ("[::1]", "[::1]", 80),
            ("under_score", "under_score", 80),
        ] {
            assert_eq!(split(named.as_bytes(), 80), Some((host, port)), "{named}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for named in [
            "a b", "a/b", "a@b", "a:b", "a:99999", "a:+1", ":80", "[]", "[::1", "[::1]x", "a\u{e9}", "<a>", "a\"b",
            "[a@b]",
        ] {
            assert_eq!(split(named.as_bytes(), 80), None, "{named}");
        }
    }

    #[test]
    fn the_last_host_is_remembered_with_its_default_port() {
        let hosts = Hosts::default();
        let first = hosts.find(b"a", 80).unwrap();
        assert!(Arc::ptr_eq(&first.0, &hosts.find(b"a", 80).unwrap().0));
        assert_eq!(hosts.find(b"a", 443).unwrap().1, 443);
        assert_eq!(hosts.find(b"a b", 80), None);
    }
}
