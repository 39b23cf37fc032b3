//! A wheel around a program: `pip install` puts it on the PATH. The format is that of PEP 427; entries are sorted, dated
//! alike and deflated by one implementation, so that the bytes follow from the sources.

use super::{Release, VERSION};
use anyhow::Context;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;

/// `NAME-VERSION-py3-none-TAGS.whl`.
pub fn write(sources: &Path, release: &Release<'_>, list: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let product = release.product;
    let tags = release.processor.of_wheels();
    let (data, info) = (format!("{}-{VERSION}.data", product.name), format!("{}-{VERSION}.dist-info", product.name));
    let readme = fs::read_to_string(sources.join(product.folder).join("README.md"))?;
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {}\nVersion: {VERSION}\nSummary: {}\nLicense-Expression: MIT OR Apache-2.0\n\
         License-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\nRequires-Python: >=3.7\n\
         Description-Content-Type: text/markdown\n\n{readme}",
        product.name, product.summary
    );
    let mut wheel = "Wheel-Version: 1.0\nGenerator: cargo-xtask-dist\nRoot-Is-Purelib: false\n".to_owned();
    tags.iter().try_for_each(|tag| writeln!(wheel, "Tag: py3-none-{tag}"))?;
    let mut entries: Vec<(String, Vec<u8>, u32)> = vec![
        (format!("{data}/scripts/{}", product.name), fs::read(release.program)?, 0o755),
        (format!("{info}/METADATA"), metadata.into_bytes(), 0o644),
        (format!("{info}/WHEEL"), wheel.into_bytes(), 0o644),
        (format!("{info}/sboms/{}.spdx.json", product.name), list.as_bytes().to_vec(), 0o644),
    ];
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        entries.push((format!("{info}/licenses/{licence}"), fs::read(sources.join(licence))?, 0o644));
    }
    entries.sort();
    let mut record = String::new();
    for (name, bytes, _) in &entries {
        writeln!(record, "{name},sha256={},{}", base64url(&Sha256::digest(bytes)), bytes.len())?;
    }
    writeln!(record, "{info}/RECORD,,")?;
    // The record comes last (PEP 427).
    entries.push((format!("{info}/RECORD"), record.into_bytes(), 0o644));
    let path = folder.join(format!("{}-{VERSION}-py3-none-{}.whl", product.name, tags.join(".")));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut archive = zip::ZipWriter::new(file);
    for (name, bytes, mode) in entries {
        // Without a date an entry has the first one of the format, 1980-01-01, in every build.
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode);
        archive.start_file(name, options)?;
        archive.write_all(&bytes)?;
    }
    archive.finish()?;
    Ok(path)
}

/// Base 64 with the alphabet of URLs, without padding (RFC 4648, 5), as a wheel's record has it.
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, &byte| group << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(group >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648, 10, without their padding.
    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64url(bytes.as_bytes()), text);
        }
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
    }
}
