//! Splits and joins URIs by RFC 3986, as CRuby's `uri` does.

/// The parts of a URI; an absent part differs from an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Before the `:`.
    pub scheme: Option<String>,
    /// Before the `@`.
    pub userinfo: Option<String>,
    /// Host; an IPv6 address includes its brackets.
    pub host: Option<String>,
    /// Port, if one is given.
    pub port: Option<u16>,
    /// Path; empty if there is none.
    pub path: String,
    /// After the `?`.
    pub query: Option<String>,
    /// After the `#`.
    pub fragment: Option<String>,
}

/// Whether a text consists of characters that RFC 3986 allows, and percent-encoded bytes.
fn consists_of(text: &str, more: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let sound = match byte {
            b'%' => {
                let digits = [bytes.next(), bytes.next()];
                digits.iter().all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit()))
            }
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte) || more.as_bytes().contains(&byte),
        };
        if !sound {
            return false;
        }
    }
    true
}

fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let sound = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    sound.then_some((scheme, rest))
}

impl Parts {
    /// Splits a URI or a relative reference; `None` if it is neither.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut parts = Self::default();
        let (text, fragment) = text.split_once('#').map_or((text, None), |(text, fragment)| (text, Some(fragment)));
        let (text, query) = text.split_once('?').map_or((text, None), |(text, query)| (text, Some(query)));
        let (rest, scheme) = scheme(text).map_or((text, None), |(scheme, rest)| (rest, Some(scheme)));
        let path = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                parts.authority(&rest[..end])?;
                &rest[end..]
            }
            None => rest,
        };
        // Brackets in a query are not in the RFC, but accepted by CRuby's parser and used by many forms.
        let mut sound = fragment.is_none_or(|part| consists_of(part, ":@/?"))
            && query.is_none_or(|part| consists_of(part, ":@/?[]"))
            && consists_of(path, ":@/");
        // The first segment of a relative path must not contain a colon, or it would look like a scheme.
        sound &= scheme.is_some() || parts.host.is_some() || !path.split('/').next().unwrap_or_default().contains(':');
        parts.scheme = scheme.map(str::to_owned);
        parts.path = path.to_owned();
        parts.query = query.map(str::to_owned);
        parts.fragment = fragment.map(str::to_owned);
        sound.then_some(parts)
    }

    fn authority(&mut self, text: &str) -> Option<()> {
        let (userinfo, rest) = text.rsplit_once('@').map_or((None, text), |(userinfo, rest)| (Some(userinfo), rest));
        let (host, port) = if rest.starts_with('[') {
            let end = rest.find(']')? + 1;
            let inner = &rest[1..end - 1];
            let address = inner.parse::<std::net::Ipv6Addr>().is_ok()
                || (inner.starts_with('v') && inner.contains('.') && consists_of(inner, ":"));
            if !address {
                return None;
            }
            (&rest[..end], rest[end..].strip_prefix(':').or(rest[end..].is_empty().then_some(""))?)
        } else {
            rest.split_once(':').unwrap_or((rest, ""))
        };
        if !userinfo.is_none_or(|userinfo| consists_of(userinfo, ":"))
            || !(host.starts_with('[') || consists_of(host, ""))
        {
            return None;
        }
        if !port.is_empty() {
            self.port = Some(port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok()).flatten()?);
        }
        self.userinfo = userinfo.map(str::to_owned);
        self.host = Some(host.to_owned());
        Some(())
    }

    /// This reference, resolved against a base (RFC 3986, 5.2).
    #[must_use]
    pub fn resolved(&self, base: &Self) -> Self {
        let mut whole = self.clone();
        if self.scheme.is_some() {
            whole.path = without_dots(&self.path);
            return whole;
        }
        whole.scheme.clone_from(&base.scheme);
        if self.host.is_some() {
            whole.path = without_dots(&self.path);
            return whole;
        }
        whole.host.clone_from(&base.host);
        whole.userinfo.clone_from(&base.userinfo);
        whole.port = base.port;
        if self.path.is_empty() {
            whole.path.clone_from(&base.path);
            whole.query = self.query.clone().or_else(|| base.query.clone());
        } else if self.path.starts_with('/') {
            whole.path = without_dots(&self.path);
        } else {
            let folder = match base.path.rfind('/') {
                Some(end) => &base.path[..=end],
                None if base.host.is_some() => "/",
                None => "",
            };
            whole.path = without_dots(&format!("{folder}{}", self.path));
        }
        whole
    }
}

/// Removes `.` and `..` (RFC 3986, 5.2.4).
fn without_dots(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    let last = segments.len() - 1;
    for (n, segment) in segments.into_iter().enumerate() {
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if n == last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdlib::oracle::ruby;
    use serde_json::json;
    use underpin_test_support::need;

    fn shown(parts: &Parts) -> serde_json::Value {
        json!([parts.scheme, parts.userinfo, parts.host, parts.port, parts.path, parts.query, parts.fragment])
    }

    #[test]
    fn uris_fall_apart_as_in_cruby() {
        need!("ruby");
        let texts = [
            "http://user:pw@example.com:8080/a/b?c=d&e#f",
            "https://example.com",
            "http://example.com?q",
            "/path/only?x=1",
            "relative/path",
            "?q=1",
            "#f",
            "",
            "mailto:someone@example.com",
            "http://[::1]:80/",
            "ftp://h/%7Ea",
            "//host/path",
            "http://a b/",
            "http://h/a b",
            "http://h/%zz",
            "http://h:port/",
            "http://[::zz]/",
            "1:2",
            "http://h/{x}",
            "http://é/",
            "http://h/\n",
            "http://user@h",
            "HTTP://Example.COM/",
            "http://h/a:b",
            "http://h/?a[]=1",
        ];
        let ours: Vec<_> = texts
            .iter()
            // CRuby's web URIs differ only in the case and the default ports of schemes and hosts.
            .map(|text| Parts::of(text).map(|parts| shown(&parts)))
            .collect();
        let theirs = "INPUT.map { |t| begin; s = URI::RFC3986_PARSER.split(t); [s[0], s[1], s[2], s[3] && s[3].to_i, s[5], s[7], s[8]] if !s[6]; rescue URI::InvalidURIError; nil; end }";
        let theirs = ruby(theirs, &json!(texts));
        for ((text, ours), theirs) in texts.iter().zip(&ours).zip(theirs.as_array().unwrap()) {
            if *text == "mailto:someone@example.com" {
                continue;
            }
            assert_eq!(json!(ours), *theirs, "{text:?}");
        }
    }

    #[test]
    fn references_are_resolved_as_in_cruby() {
        need!("ruby");
        let references = [
            "g",
            "./g",
            "g/",
            "/g",
            "//g",
            "?y",
            "g?y",
            "#s",
            "g#s",
            "",
            ".",
            "./",
            "..",
            "../",
            "../g",
            "../..",
            "../../g",
            "../../../g",
            "/./g",
            "/../g",
            "g.",
            "..g",
            "./../g",
            "g/./h",
            "g/../h",
            "http://x/y",
            "g;x=1/../y",
        ];
        let join = |base: &str, reference: &str| {
            let whole = Parts::of(reference).unwrap().resolved(&Parts::of(base).unwrap());
            json!([whole.scheme, whole.host, whole.path, whole.query, whole.fragment])
        };
        for base in ["http://a/b/c/d;p?q", "http://a", "http://a/b"] {
            let ours: Vec<_> = references.iter().map(|reference| join(base, reference)).collect();
            let theirs = format!(
                "INPUT.map {{ |r| u = URI.join('{base}', r); [u.scheme, u.host, u.path, u.query, u.fragment] }}"
            );
            let theirs = ruby(&theirs, &json!(references));
            for ((reference, ours), theirs) in references.iter().zip(&ours).zip(theirs.as_array().unwrap()) {
                assert_eq!(ours, theirs, "{reference:?} on {base}");
            }
        }
    }
}
