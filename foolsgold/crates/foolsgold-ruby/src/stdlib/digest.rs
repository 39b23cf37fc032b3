//! Digests, keyed digests and Base64, using well-kept crates.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD, URL_SAFE};

/// A digest that Ruby's `Digest` and `OpenSSL::Digest` have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Algorithm {
    /// By name, in any case, with or without a hyphen.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        let folded: Vec<u8> = name.iter().filter(|&&byte| byte != b'-').map(u8::to_ascii_uppercase).collect();
        Some(match folded.as_slice() {
            b"MD5" => Self::Md5,
            b"SHA1" => Self::Sha1,
            b"SHA256" | b"SHA2" => Self::Sha256,
            b"SHA384" => Self::Sha384,
            b"SHA512" => Self::Sha512,
            _ => return None,
        })
    }

    /// The block size in bytes, to which a key is cut or filled.
    #[must_use]
    pub fn block_length(self) -> usize {
        match self {
            Self::Md5 | Self::Sha1 | Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 => 128,
        }
    }

    /// The digest of several pieces, one after the other.
    #[must_use]
    pub fn digest(self, pieces: &[&[u8]]) -> Vec<u8> {
        fn of<D: sha2::Digest>(pieces: &[&[u8]]) -> Vec<u8> {
            pieces.iter().fold(D::new(), |digest, piece| digest.chain_update(piece)).finalize().to_vec()
        }
        match self {
            Self::Md5 => of::<md5::Md5>(pieces),
            Self::Sha1 => of::<sha1::Sha1>(pieces),
            Self::Sha256 => of::<sha2::Sha256>(pieces),
            Self::Sha384 => of::<sha2::Sha384>(pieces),
            Self::Sha512 => of::<sha2::Sha512>(pieces),
        }
    }

    /// The keyed digest of RFC 2104.
    #[must_use]
    pub fn hmac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        let mut block = if key.len() > self.block_length() { self.digest(&[key]) } else { key.to_vec() };
        block.resize(self.block_length(), 0);
        let pad = |with: u8| block.iter().map(|byte| byte ^ with).collect::<Vec<_>>();
        let inner = self.digest(&[&pad(0x36), text]);
        self.digest(&[&pad(0x5c), &inner])
    }
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|half| char::from(DIGITS[usize::from(half)])).collect()
}

/// Base64 with padding, on one line.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Base64 with a line feed after every 60 characters and at the end: `Base64.encode64`.
#[must_use]
pub fn base64_lines(bytes: &[u8]) -> String {
    bytes.chunks(45).map(|line| STANDARD.encode(line) + "\n").collect()
}

/// Base64 with `-` and `_`.
#[must_use]
pub fn base64_url(bytes: &[u8], padding: bool) -> String {
    let mut text = URL_SAFE.encode(bytes);
    if !padding {
        text.truncate(text.trim_end_matches('=').len());
    }
    text
}

/// `Base64.strict_decode64`: nothing but the alphabet and padding, and zeros in unused bits.
#[must_use]
pub fn base64_decode_strict(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// `Base64.decode64`: characters outside the alphabet are skipped, the first padding ends it.
#[must_use]
pub fn base64_decode_lenient(text: &[u8]) -> Vec<u8> {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
    let member = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut kept = Vec::with_capacity(text.len());
    for byte in text {
        // Padding counts only where it is allowed: after two or three characters of a group.
        if *byte == b'=' && kept.len() % 4 >= 2 {
            break;
        }
        if member(byte) {
            kept.push(*byte);
        }
    }
    if kept.len() % 4 == 1 {
        kept.pop();
    }
    engine.decode(&kept).unwrap_or_default()
}

/// `Base64.urlsafe_decode64`: padding may be missing; `None` if it is malformed.
#[must_use]
pub fn base64_url_decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain: Vec<u8> = text
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        })
        .collect();
    if !plain.ends_with(b"=") {
        plain.resize(plain.len().next_multiple_of(4), b'=');
    }
    base64_decode_strict(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdlib::oracle::ruby;
    use proptest::prelude::*;
    use serde_json::json;
    use underpin_test_support::need;

    #[test]
    fn digests_are_those_of_cruby() {
        need!("ruby");
        let texts = ["".to_owned(), "abc".to_owned(), "é".repeat(100), "x".repeat(1000)];
        for name in ["MD5", "SHA1", "SHA256", "SHA384", "SHA512"] {
            let algorithm = Algorithm::named(name.as_bytes()).unwrap();
            let ours: Vec<_> = texts
                .iter()
                .map(|text| {
                    let text = text.as_bytes();
                    (
                        hex(&algorithm.digest(&[text])),
                        hex(&algorithm.hmac(b"key", text)),
                        hex(&algorithm.hmac(&text.repeat(2), b"t")),
                    )
                })
                .collect();
            let theirs = format!(
                "INPUT.map {{ |t| [Digest::{name}.hexdigest(t), OpenSSL::HMAC.hexdigest('{name}', 'key', t), OpenSSL::HMAC.hexdigest('{name}', t * 2, 't')] }}"
            );
            assert_eq!(ruby(&theirs, &json!(texts)), json!(ours), "{name}");
        }
        assert_eq!(Algorithm::named(b"whirlpool"), None);
    }

    #[test]
    fn base64_is_that_of_cruby() {
        need!("ruby");
        let texts = ["", "a", "ab", "abc", "é?>~", &"long ".repeat(30)];
        let ours: Vec<_> = texts
            .iter()
            .map(|text| {
                (
                    base64(text.as_bytes()),
                    base64_lines(text.as_bytes()),
                    base64_url(text.as_bytes(), true),
                    base64_url(text.as_bytes(), false),
                )
            })
            .collect();
        let theirs = "INPUT.map { |t| [Base64.strict_encode64(t), Base64.encode64(t), Base64.urlsafe_encode64(t), Base64.urlsafe_encode64(t, padding: false)] }";
        assert_eq!(ruby(theirs, &json!(texts)), json!(ours));

        let coded = [
            "YQ==", "YQ", "YWI=", "YW\nJj", "Y*W-J_j", "YQ==YQ==", "=YQ", "Y", "YR==", "????", "Pz8_", "Pz8-", "YWJj=",
        ];
        let ours: Vec<_> = coded
            .iter()
            .map(|text| {
                let text = text.as_bytes();
                (
                    hex(&base64_decode_lenient(text)),
                    base64_decode_strict(text).map(|b| hex(&b)),
                    base64_url_decode(text).map(|b| hex(&b)),
                )
            })
            .collect();
        let theirs = "h = ->(s) { s.unpack1('H*') }\nINPUT.map { |t| [h[Base64.decode64(t)], (h[Base64.strict_decode64(t)] rescue nil), (h[Base64.urlsafe_decode64(t)] rescue nil)] }";
        assert_eq!(ruby(theirs, &json!(coded)), json!(ours));
    }

    proptest! {
        #[test]
        fn base64_comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(base64_decode_strict(base64(&bytes).as_bytes()), Some(bytes.clone()));
            prop_assert_eq!(base64_decode_lenient(base64_lines(&bytes).as_bytes()), bytes.clone());
            prop_assert_eq!(base64_url_decode(base64_url(&bytes, false).as_bytes()), Some(bytes));
        }
    }
}
