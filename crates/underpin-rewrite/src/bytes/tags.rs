//! The numbers of the ELF format that a rewrite looks at (`elf(5)`, glibc `elf/elf.h`).

pub(super) const PT_NULL: u32 = 0;
pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_DYNAMIC: u32 = 2;
pub(super) const PT_INTERP: u32 = 3;
pub(super) const PT_NOTE: u32 = 4;
pub(super) const PT_GNU_RELRO: u32 = 0x6474_e552;
pub(super) const PT_GNU_PROPERTY: u32 = 0x6474_e553;
pub(super) const PT_PHDR: u32 = 6;
pub(super) const PF_W: u32 = 2;
pub(super) const PF_X: u32 = 1;
pub(super) const PF_R: u32 = 4;

pub(super) const NT_GNU_PROPERTY_TYPE_0: u32 = 5;

pub(super) const SHT_NULL: u32 = 0;
pub(super) const SHT_PROGBITS: u32 = 1;
pub(super) const SHT_STRTAB: u32 = 3;
pub(super) const SHT_RELA: u32 = 4;
pub(super) const SHT_HASH: u32 = 5;
pub(super) const SHT_NOTE: u32 = 7;
pub(super) const SHT_GNU_HASH: u32 = 0x6fff_fff6;
pub(super) const SHT_GNU_VERSYM: u32 = 0x6fff_ffff;
pub(super) const SHT_DYNAMIC: u32 = 6;
pub(super) const SHT_NOBITS: u32 = 8;
pub(super) const SHT_REL: u32 = 9;
pub(super) const SHT_DYNSYM: u32 = 11;
pub(super) const SHT_RELR: u32 = 19;
pub(super) const SHT_GNU_VERDEF: u32 = 0x6fff_fffd;
pub(super) const SHT_GNU_VERNEED: u32 = 0x6fff_fffe;
pub(super) const SHF_WRITE: u64 = 1;
pub(super) const SHF_ALLOC: u64 = 2;
pub(super) const SHF_TLS: u64 = 0x400;

pub(super) const DT_NULL: u64 = 0;
pub(super) const DT_NEEDED: u64 = 1;
pub(super) const DT_HASH: u64 = 4;
pub(super) const DT_STRTAB: u64 = 5;
pub(super) const DT_SYMTAB: u64 = 6;
pub(super) const DT_RELA: u64 = 7;
pub(super) const DT_STRSZ: u64 = 10;
pub(super) const DT_SONAME: u64 = 14;
pub(super) const DT_RPATH: u64 = 15;
pub(super) const DT_REL: u64 = 17;
pub(super) const DT_JMPREL: u64 = 23;
pub(super) const DT_RUNPATH: u64 = 29;
pub(super) const DT_RELR: u64 = 36;
pub(super) const DT_GNU_PRELINKED: u64 = 0x6fff_fdf5;
pub(super) const DT_GNU_HASH: u64 = 0x6fff_fef5;
pub(super) const DT_CONFIG: u64 = 0x6fff_fefa;
pub(super) const DT_DEPAUDIT: u64 = 0x6fff_fefb;
pub(super) const DT_AUDIT: u64 = 0x6fff_fefc;
pub(super) const DT_VERSYM: u64 = 0x6fff_fff0;
pub(super) const DT_VERDEF: u64 = 0x6fff_fffc;
pub(super) const DT_VERDEFNUM: u64 = 0x6fff_fffd;
pub(super) const DT_VERNEED: u64 = 0x6fff_fffe;
pub(super) const DT_VERNEEDNUM: u64 = 0x6fff_ffff;
pub(super) const DT_AUXILIARY: u64 = 0x7fff_fffd;
pub(super) const DT_FILTER: u64 = 0x7fff_ffff;

/// Tags whose value is an offset into the dynamic string table.
pub(super) const STRING_TAGS: [u64; 9] =
    [DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_CONFIG, DT_DEPAUDIT, DT_AUDIT, DT_AUXILIARY, DT_FILTER];

/// Whether a tag is known to hold a number or an address: the generic ones, and those of GNU and Sun that `elf.h`
/// defines. Any other may hold the offset of a string.
pub(super) fn holds_no_string(tag: u64) -> bool {
    let generic = tag <= 38;
    let values_and_addresses = (0x6fff_fd00..=0x6fff_feff).contains(&tag);
    let versions = (0x6fff_fff0..=0x6fff_ffff).contains(&tag);
    (generic || values_and_addresses || versions) && !STRING_TAGS.contains(&tag)
}

/// Tags whose value is the address of a table that may be moved.
pub(super) const MOVABLE_TAGS: [u64; 10] =
    [DT_SYMTAB, DT_HASH, DT_GNU_HASH, DT_VERSYM, DT_VERDEF, DT_VERNEED, DT_RELA, DT_REL, DT_JMPREL, DT_RELR];

/// Tags whose value is the address of something other than the string table.
pub(super) const ADDRESS_TAGS: [u64; 17] = [
    3, // DT_PLTGOT
    DT_HASH,
    DT_SYMTAB,
    DT_RELA,
    12, // DT_INIT
    13, // DT_FINI
    DT_REL,
    21, // DT_DEBUG
    DT_JMPREL,
    25, // DT_INIT_ARRAY
    26, // DT_FINI_ARRAY
    32, // DT_PREINIT_ARRAY
    DT_RELR,
    DT_GNU_HASH,
    DT_VERSYM,
    DT_VERDEF,
    DT_VERNEED,
];
