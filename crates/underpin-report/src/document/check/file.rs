//! What a file itself is.

use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// What a file itself is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileRecord {
    /// Machine, such as `x86-64`.
    pub machine: String,
    /// Width of addresses: 32 or 64.
    pub class_bits: u32,
    /// `little` or `big`.
    pub byte_order: String,
    /// How it was linked, in words: `dynamic PIE`, `static executable`.
    pub linkage: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// PT_INTERP.
    pub interpreter: Option<Raw>,
    /// The C library inside it or expected by it.
    pub libc: Option<LibcRecord>,
    /// The allocator behind `malloc`; in a program that never calls it, the only one.
    pub allocator: AllocatorRecord,
    /// Every allocator that serves the program, and which code it serves; the first is the one above.
    pub served_by: Vec<AllocatorRecord>,
    /// Allocators whose code is in the file.
    pub allocators: Vec<PartRecord>,
    /// Allocators that the file only mentions in strings; nothing shows that they serve it.
    pub allocator_hints: Vec<PartRecord>,
    /// Languages that left traces, C excepted.
    pub languages: Vec<PartRecord>,
    /// Whether the symbol table is gone: the findings then rest on dynamic symbols, notes and strings.
    pub stripped: bool,
    /// The build id, in hexadecimal.
    pub build_id: Option<String>,
    /// What `underpin build` wrote into the file about itself; the other fields are what the file itself shows.
    pub claims: Vec<ClaimRecord>,
    /// Hardening against exploits.
    pub hardening: Vec<HardeningRecord>,
}

/// A claim of the note of `underpin build`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaimRecord {
    /// What it is about: `allocator`, `libc`, `toolchain` and others.
    pub key: Raw,
    /// What.
    pub value: Raw,
}

/// A C library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LibcRecord {
    /// Its name.
    pub name: String,
    /// Its version, if it is inside the file and left one.
    pub version: Option<Raw>,
    /// Whether its code is in the file; otherwise it is loaded at run time.
    pub inside: bool,
    /// What tells so.
    pub evidence: Vec<String>,
}

impl LibcRecord {
    /// A phrase for where its code is, to follow its name.
    #[must_use]
    pub const fn place_words(&self) -> &'static str {
        if self.inside { ", inside the file" } else { ", loaded at run time" }
    }
}

/// The allocator that serves a program, as far as its file tells; a preload may still change it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllocatorRecord {
    /// Its name; null if the file does not tell.
    pub name: Option<String>,
    /// Where it comes from.
    pub origin: AllocatorOrigin,
    /// The library that provides it: a soname, or the name of the C library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<Raw>,
    /// Which code it serves.
    pub serves: AllocatorServes,
    /// The evidence.
    pub evidence: Vec<String>,
}

/// Which code an allocator serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorServes {
    /// Code that calls `malloc`: C, C++ and what is built on them.
    #[default]
    Malloc,
    /// The program's Rust code.
    Rust,
    /// The program's Go code.
    Go,
    /// Code that calls it by names of its own.
    OwnNames,
}

impl AllocatorServes {
    /// Which code it serves, as the text before a colon.
    const fn word(self) -> &'static str {
        match self {
            AllocatorServes::Malloc => "C",
            AllocatorServes::Rust => "Rust",
            AllocatorServes::Go => "Go",
            AllocatorServes::OwnNames => "by its own names",
        }
    }
}

/// Where an allocator comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorOrigin {
    /// Code in the program itself.
    InFile,
    /// A library that the program needs.
    NeededLibrary,
    /// The C library of the target.
    Libc,
    /// Unknown: the file does not show it.
    #[default]
    Unknown,
}

impl AllocatorRecord {
    /// The allocator and its origin as text; `None` if nothing is known.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let library = || self.library.as_ref().map_or_else(|| "the C library".to_owned(), Raw::to_string);
        let name = self.name.as_deref();
        let place = match self.origin {
            AllocatorOrigin::InFile => match name {
                Some(name) => format!("{name}, inside the file"),
                None => "its own allocator".to_owned(),
            },
            AllocatorOrigin::NeededLibrary => match name {
                Some(name) => format!("{name}, brought by {}", library()),
                None => format!("the malloc of {}", library()),
            },
            AllocatorOrigin::Libc => match name {
                Some(name) => format!("{name}, loaded with {}", library()),
                None => format!("that of {}", library()),
            },
            AllocatorOrigin::Unknown => return name.map(str::to_owned),
        };
        // That a C library brings its own malloc needs no evidence.
        let first = self.evidence.first().filter(|_| self.origin != AllocatorOrigin::Libc);
        Some(first.map_or_else(|| place.clone(), |evidence| format!("{place} ({evidence})")))
    }
}

impl FileRecord {
    /// Every allocator and the code that it serves, as text; `None` if nothing is known.
    #[must_use]
    pub fn allocator_words(&self) -> Option<String> {
        let [_, _, ..] = self.served_by.as_slice() else { return self.allocator.words() };
        let one = |record: &AllocatorRecord| {
            let words = record.words()?;
            let import = record.evidence.first().filter(|_| record.origin == AllocatorOrigin::Libc);
            let import = import.map_or_else(String::new, |evidence| format!(" ({evidence})"));
            Some(format!("{}: {words}{import}", record.serves.word()))
        };
        Some(self.served_by.iter().filter_map(one).collect::<Vec<_>>().join("; "))
    }
}

/// A part of a file that was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartRecord {
    /// Its name.
    pub name: String,
    /// Its version, if it left one.
    pub version: Option<Raw>,
    /// What tells so.
    pub evidence: Vec<String>,
}

/// One hardening fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HardeningRecord {
    /// What it is about.
    pub name: String,
    /// Whether it is in place; `unknown` if the file cannot tell.
    pub state: HardeningState,
    /// In words.
    pub text: String,
}

/// Whether a hardening fact holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HardeningState {
    /// In place.
    Good,
    /// Partly in place, or absent where that is common.
    Weak,
    /// Absent or dangerous.
    Bad,
    /// The file does not show it.
    Unknown,
}
