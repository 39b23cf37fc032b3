//! Dynamic string tokens: `$ORIGIN`, `$LIB`, `$PLATFORM` (glibc elf/dl-load.c `is_dst`, `_dl_dst_substitute`).
//!
//! musl knows `$ORIGIN` only and discards the whole path at any other `$`; its rule is in `musl`.

use bstr::{BStr, BString, ByteSlice};

/// What the tokens of one object stand for.
pub(crate) struct TokenValues<'a> {
    /// Directory of the object; `None` if it cannot be known.
    pub origin: Option<&'a BStr>,
    /// `$LIB`.
    pub lib: &'a BStr,
    /// `$PLATFORM`.
    pub platform: Option<&'a BStr>,
    /// In secure-execution mode, for the main program: the trusted directories, each with a trailing slash.
    pub trusted: Option<&'a [BString]>,
    /// Secure-execution mode.
    pub secure: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Origin,
    Platform,
    Lib,
}

const TOKENS: [(Token, &[u8]); 3] = [(Token::Origin, b"ORIGIN"), (Token::Platform, b"PLATFORM"), (Token::Lib, b"LIB")];

/// The token that starts right after a `$`, and its length without the `$`.
fn token(after: &[u8]) -> Option<(Token, usize)> {
    let curly = after.first() == Some(&b'{');
    let body = &after[usize::from(curly)..];
    TOKENS.iter().find_map(|(token, name)| {
        let next = body.strip_prefix(*name)?.first();
        let ends = if curly {
            next == Some(&b'}')
        } else {
            next.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        };
        ends.then_some((*token, name.len() + if curly { 2 } else { 0 }))
    })
}

/// Whether any known token occurs (`_dl_dst_count`).
pub(crate) fn contains_token(text: &[u8]) -> bool {
    text.iter().enumerate().any(|(at, byte)| *byte == b'$' && token(&text[at + 1..]).is_some())
}

/// Replaces every known token; `None` if the path must be discarded.
pub(crate) fn substitute(text: &[u8], values: &TokenValues<'_>) -> Option<BString> {
    let mut result = BString::default();
    let mut check_trust = false;
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'$' {
            result.push(text[at]);
            at += 1;
            continue;
        }
        let Some((token, length)) = token(&text[at + 1..]) else {
            result.push(b'$');
            at += 1;
            continue;
        };
        let after = at + 1 + length;
        let value = match token {
            Token::Origin => {
                let alone = at == 0 && matches!(text.get(after), None | Some(b'/'));
                check_trust = values.trusted.is_some();
                values.origin.filter(|_| !values.secure || alone)
            }
            Token::Platform => values.platform,
            Token::Lib => Some(values.lib),
        };
        result.extend_from_slice(value?);
        at = after;
    }
    match values.trusted {
        Some(trusted) if check_trust && !is_trusted(&result, trusted) => None,
        _ => Some(result),
    }
}

/// `is_trusted_path_normalize`: after normalisation the path must start with a system directory.
fn is_trusted(path: &[u8], trusted: &[BString]) -> bool {
    if path.is_empty() {
        return false;
    }
    let mut normal: Vec<u8> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let cut = normal.rfind_byte(b'/').unwrap_or(0);
                normal.truncate(cut);
            }
            name => {
                normal.push(b'/');
                normal.extend_from_slice(name);
            }
        }
    }
    normal.push(b'/');
    trusted.iter().any(|directory| normal.starts_with(directory))
}

/// The directory part of a path as glibc's `_dl_new_object` cuts it.
pub(crate) fn directory_of(path: &[u8]) -> BString {
    match path.rfind_byte(b'/') {
        None => ".".into(),
        Some(0) => "/".into(),
        Some(slash) => path[..slash].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(secure: bool, trusted: Option<&[BString]>) -> TokenValues<'_> {
        TokenValues {
            origin: Some("/opt/app".into()),
            lib: "lib64".into(),
            platform: Some("haswell".into()),
            trusted,
            secure,
        }
    }

    fn plain(text: &str) -> Option<String> {
        substitute(text.as_bytes(), &values(false, None)).map(|value| value.to_string())
    }

    #[test]
    fn both_spellings_are_replaced() {
        assert_eq!(plain("$ORIGIN/../$LIB").unwrap(), "/opt/app/../lib64");
        assert_eq!(plain("${ORIGIN}x/${PLATFORM}").unwrap(), "/opt/appx/haswell");
    }

    #[test]
    fn the_longest_identifier_counts_and_unknown_ones_stay() {
        assert_eq!(plain("$ORIGINAL/$LIBS/$LIB_/$").unwrap(), "$ORIGINAL/$LIBS/$LIB_/$");
        assert_eq!(plain("${ORIGIN/$HOME").unwrap(), "${ORIGIN/$HOME");
        assert!(!contains_token(b"$ORIGINAL"));
    }

    #[test]
    fn a_token_without_a_value_discards_the_path() {
        let nothing = TokenValues { origin: None, platform: None, ..values(false, None) };
        assert_eq!(substitute(b"/x/$PLATFORM", &nothing), None);
    }

    #[test]
    fn secure_execution_wants_origin_first_and_trusted() {
        let trusted = [BString::from("/usr/lib/")];
        let usr = TokenValues { origin: Some("/usr/lib/app".into()), ..values(true, Some(&trusted)) };
        assert_eq!(substitute(b"$ORIGIN/../x", &usr).unwrap(), "/usr/lib/app/../x");
        assert_eq!(substitute(b"/x/$ORIGIN", &usr), None);
        assert_eq!(substitute(b"$ORIGIN/../../../etc", &usr), None);
        assert_eq!(substitute(b"$ORIGIN", &values(true, Some(&trusted))), None);
    }
}
