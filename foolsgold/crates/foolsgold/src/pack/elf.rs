//! Where an executable ends according to its own headers: anything after that was appended.

/// How many bytes of the file are read for its header.
pub const HEADER: usize = 64;

/// The length of a 64-bit little-endian ELF file whose section headers are last, as linkers here write it. `None` if it
/// is something else.
pub fn end(header: &[u8; HEADER]) -> Option<u64> {
    let number = |at: usize, length: usize| {
        header[at..at + length].iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let elf = header.starts_with(b"\x7fELF\x02\x01");
    let sections = number(0x28, 8);
    (elf && sections > 0).then(|| sections.checked_add(number(0x3a, 2) * number(0x3c, 2)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_executable_ends_where_its_headers_say() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(end(bytes.first_chunk().unwrap()), Some(bytes.len() as u64));
    }

    #[test]
    fn a_script_has_no_end_of_this_kind() {
        assert_eq!(end(&[b'#'; HEADER]), None);
    }
}
