//! Files with cryptography of their own, found by the numbers that an algorithm cannot do without: tables and constants that its
//! standard fixes. That none is found proves nothing: processors with short instructions build such numbers in parts.

use bstr::{BString, ByteSlice};
use memchr::memmem;
use underpin_elf::Elf;

/// The constants of one algorithm.
struct Trait {
    algorithm: &'static str,
    /// The first is looked for; the others must stand near it.
    numbers: &'static [&'static [u8]],
}

/// In a table the numbers follow each other; in code each is an operand, with the instructions of unrolled rounds between them.
const NEAR: usize = 8192;

const TRAITS: &[Trait] = &[
    // RFC 1321: T[1], T[2], T[3], T[4].
    Trait {
        algorithm: "MD5",
        numbers: &[
            &0xd76a_a478_u32.to_le_bytes(),
            &0xe8c7_b756_u32.to_le_bytes(),
            &0x2420_70db_u32.to_le_bytes(),
            &0xc1bd_ceee_u32.to_le_bytes(),
        ],
    },
    // FIPS 180-4, 4.2.1: the constants of the last two kinds of round; RIPEMD-160 shares all others.
    Trait { algorithm: "SHA-1", numbers: &[&0xca62_c1d6_u32.to_le_bytes(), &0x8f1b_bcdc_u32.to_le_bytes()] },
    // Those of the last round of the left line, and the first of the right.
    Trait { algorithm: "RIPEMD-160", numbers: &[&0xa953_fd4e_u32.to_le_bytes(), &0x50a2_8be6_u32.to_le_bytes()] },
    // FIPS 180-4, 4.2.2: K0 and K1.
    Trait { algorithm: "SHA-256", numbers: &[&0x428a_2f98_u32.to_le_bytes(), &0x7137_4491_u32.to_le_bytes()] },
    // FIPS 180-4, 4.2.3: K0 and K1.
    Trait {
        algorithm: "SHA-512",
        numbers: &[&0x428a_2f98_d728_ae22_u64.to_le_bytes(), &0x7137_4491_23ef_65cd_u64.to_le_bytes()],
    },
    // FIPS 197, figure 7: the first row of the S-box.
    Trait {
        algorithm: "AES",
        numbers: &[&[0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76]],
    },
    // RFC 8439, 2.3.
    Trait { algorithm: "ChaCha20", numbers: &[b"expand 32-byte k"] },
    // crypt(3): the first words of the P-array, which are digits of pi.
    Trait {
        algorithm: "Blowfish",
        numbers: &[&0x243f_6a88_u32.to_le_bytes(), &0x85a3_08d3_u32.to_le_bytes(), &0x1319_8a2e_u32.to_le_bytes()],
    },
];

/// An algorithm in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCode {
    /// The file in the image.
    pub path: BString,
    /// The algorithms, each with the byte of the file that shows it.
    pub algorithms: Vec<(&'static str, u64)>,
}

/// What an ELF file has of its own; `None` for other files, for OpenSSL's own libraries and modules, and if nothing was found.
#[must_use]
pub fn own_code(path: &BString, bytes: &[u8]) -> Option<OwnCode> {
    let elf = Elf::read(bytes).ok()?;
    let soname = elf.dynamic.as_ref().and_then(|dynamic| dynamic.soname.as_ref());
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let name = soname.map_or(file, |soname| soname.as_slice());
    let is_openssl = name.starts_with(b"libcrypto.so") || path.contains_str("/ossl-modules/");
    if is_openssl {
        return None;
    }
    let found = TRAITS.iter().filter_map(|one| Some((one.algorithm, one.find(bytes)?)));
    let algorithms: Vec<(&str, u64)> = found.collect();
    (!algorithms.is_empty()).then(|| OwnCode { path: path.clone(), algorithms })
}

impl Trait {
    fn find(&self, bytes: &[u8]) -> Option<u64> {
        let (first, rest) = self.numbers.split_first()?;
        let near = |at: usize| {
            let around = &bytes[at.saturating_sub(NEAR)..bytes.len().min(at + NEAR)];
            rest.iter().all(|number| memmem::find(around, number).is_some())
        };
        memmem::find_iter(bytes, first).find(|at| near(*at)).map(|at| at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underpin_test_support::{Fixture, need};

    /// The round constants of SHA-256 as every implementation has them, and a program without any.
    const TABLE: &str = "const unsigned k[4] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5};\n\
                         int main(int n, char **v) { return k[n & 3] == (unsigned)(long)v; }\n";

    #[test]
    fn a_file_with_the_constants_of_an_algorithm_is_found_with_their_byte() {
        need!("cc");
        let dir = Fixture::new();
        dir.write("own.c", TABLE);
        dir.write("none.c", "int main(void) { return 0; }\n");
        dir.cc(["-o", "own", "own.c"]);
        dir.cc(["-o", "none", "none.c"]);
        let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
        let bytes = read("own");
        let found = own_code(&"/usr/bin/own".into(), &bytes).unwrap();
        let [("SHA-256", offset)] = found.algorithms.as_slice() else { panic!("{found:?}") };
        let at = usize::try_from(*offset).unwrap();
        assert_eq!(bytes[at..at + 4], 0x428a_2f98_u32.to_le_bytes());
        assert_eq!(own_code(&"/usr/bin/none".into(), &read("none")), None);
        assert_eq!(own_code(&"/usr/lib/ossl-modules/own".into(), &bytes), None, "OpenSSL's own");
        assert_eq!(own_code(&"/etc/text".into(), b"expand 32-byte k"), None, "no program");
    }
}
