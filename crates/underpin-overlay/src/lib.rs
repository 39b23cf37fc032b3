//! String functions in place of musl's, whose own cost a static program a third of its speed: copying, comparing and searching
//! on x86-64 (SSE2, AVX2 or AVX-512, chosen at the 64th call that wants to know) and aarch64 (NEON). With them come `qsort`, `strtod`, `strtof`,
//! `strtold`, `getopt`, `strftime`, `strptime`, `regcomp`, `regexec`, `rand`, `gmtime`, `localtime`, `sbrk`, `syslog`, `open`, `strerror`, `floor`
//! and its relatives, and `fma`.
//!
//! A program of this workspace gets them by naming the crate (`use underpin_overlay as _;`): the linker finds the names here
//! before it comes to the C library. With glibc, whose functions choose by processor, nothing is replaced. For programs of
//! others there is [`Part`]: relocatable files for the link line.

/// What to link before everything else.
#[derive(Clone, Copy, Debug)]
pub struct OverlayObject {
    /// A relocatable ELF file whose only global names are those that it replaces, all of them weak: a program may have one of
    /// them itself. That of the string functions refers to nothing outside itself.
    pub bytes: &'static [u8],
    /// SHA-256 of the bytes, in hexadecimal digits.
    pub sha256: &'static str,
    /// The version of this crate that it was made from.
    pub version: &'static str,
}

/// What C programs may include; it says how to link, and declares what `<string.h>` does.
pub const HEADER: &str = include_str!("../native/underpin_overlay.h");

/// `<stdio.h>` for programs that are linked with a musl of [`STDIO_VERSIONS`], in front of musl's own folder: `putc_unlocked`
/// and its relatives are inlined, as glibc's header does it. `@LIBC@` in it stands for musl's folder.
pub const STDIO: &str = include_str!("../native/stdio.h");

/// The releases whose `struct _IO_FILE` is the one that [`STDIO`] knows (musl's `src/internal/stdio_impl.h`).
pub const STDIO_VERSIONS: [&str; 7] = ["1.2.0", "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6"];

/// A script for GNU ld that is passed beside its own (`-T`): musl's zero-initialised memory that few programs use comes last.
pub const LAYOUT: &str = include_str!("../native/cold.ld");

pub mod flags;

/// What GCC gets for the string functions of a processor besides [`flags::ALWAYS`].
#[must_use]
pub fn flags_of_strings(processor: &str) -> Vec<&'static str> {
    let own = flags::of_processor(processor).iter().copied().chain(flags::of_strings(processor));
    flags::IF_KNOWN.into_iter().chain(own).chain([flags::DIRECT]).collect()
}

mod objects {
    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}

/// An object of the overlay, for static programs on musl. All but [`Part::Strings`] refer to the C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The string functions and `qsort`.
    Strings,
    /// `strerror` and its relatives with glibc's words. The C library itself calls them (`perror`, `%m`).
    Messages,
    /// `strtod`, `strtof` and `strtold`.
    Numbers,
    /// `getrandom` without a system call.
    Random,
    /// Reuses the stacks of ended threads. It replaces musl's mmap, munmap, mprotect and what thread creation calls; on a musl
    /// whose threads work differently it changes nothing.
    Stacks,
    /// `getopt` and its relatives as glibc has them: words that are no options may stand before them, and messages are glibc's.
    Options,
    /// `strftime` and `strptime` as glibc has them: conversions that musl does not know are written and read, and what follows
    /// from a date is worked out.
    Dates,
    /// `regcomp`, `regexec`, `regfree` and `regerror` with glibc's answers. Searches are by an automaton, in time that is linear
    /// in the text where there are no back-references.
    Regex,
    /// `rand`, `random` and their relatives with glibc's sequences.
    Sequences,
    /// `gmtime`, `gmtime_r` and `timegm` with glibc's name of universal time, which [`Part::Dates`] writes.
    Universal,
    /// `localtime`, `mktime`, `tzset` and their relatives with glibc's answers: what TZ names, and what a file of zones says.
    Zones,
    /// `sbrk` and `brk`, which musl refuses, for programs that have an allocator of their own.
    Break,
    /// `floor`, `ceil`, `trunc`, `rint`, `nearbyint` and `fma` by the processor's instructions, where it has them.
    Rounding,
    /// `syslog` and its relatives as glibc has them: local time, the program's name, messages of any length.
    Syslog,
    /// `open` in one system call, where musl makes two of it for each file that is to be closed on exec.
    Open,
    /// Buffers of 4 KiB instead of 1 for files. It replaces musl's function that lists a new stream; on a musl whose streams are
    /// laid out differently it changes nothing.
    Streams,
}

impl Part {
    /// All of them, in the order of the link line.
    pub const ALL: [Part; 16] = [
        Part::Strings,
        Part::Messages,
        Part::Numbers,
        Part::Random,
        Part::Stacks,
        Part::Options,
        Part::Dates,
        Part::Regex,
        Part::Sequences,
        Part::Universal,
        Part::Zones,
        Part::Break,
        Part::Rounding,
        Part::Syslog,
        Part::Open,
        Part::Streams,
    ];

    /// A name for its file, without an ending. By that of the string functions a program is told to have the overlay.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Strings => "overlay",
            Part::Messages => "messages",
            Part::Numbers => "numbers",
            Part::Random => "random",
            Part::Stacks => "stacks",
            Part::Options => "options",
            Part::Dates => "dates",
            Part::Regex => "regex",
            Part::Sequences => "sequences",
            Part::Universal => "universal",
            Part::Zones => "zones",
            Part::Break => "break",
            Part::Rounding => "rounding",
            Part::Syslog => "syslog",
            Part::Open => "open",
            Part::Streams => "streams",
        }
    }

    /// What it replaces, in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Part::Strings => "strings, qsort",
            Part::Messages => "messages",
            Part::Numbers => "numbers",
            Part::Random => "getrandom",
            Part::Stacks => "thread stacks",
            Part::Options => "getopt",
            Part::Dates => "dates",
            Part::Regex => "regular expressions",
            Part::Sequences => "rand",
            Part::Universal => "gmtime",
            Part::Zones => "local time",
            Part::Break => "sbrk",
            Part::Rounding => "rounding, fma",
            Part::Syslog => "syslog",
            Part::Open => "open",
            Part::Streams => "streams",
        }
    }

    /// Whether it may stand in an archive behind the program's own files, so that only what calls it has it. The others stand in
    /// front of all libraries: the C library itself is to call them.
    pub const fn is_optional(self) -> bool {
        matches!(
            self,
            Part::Options
                | Part::Dates
                | Part::Regex
                | Part::Sequences
                | Part::Universal
                | Part::Zones
                | Part::Break
                | Part::Rounding
                | Part::Syslog
                | Part::Open
        )
    }

    /// The object for a processor by the kernel's name of it (`x86_64`, `aarch64`).
    ///
    /// # Errors
    /// The reason why it is not on board: there are no sources for the processor, or no compiler was found for it when this crate
    /// was built.
    pub fn object(self, processor: &str) -> Result<&'static OverlayObject, &'static str> {
        let found = self.objects().iter().find(|(name, _)| *name == processor);
        let (_, object) = found.ok_or("the overlay has functions for x86_64 and aarch64 only")?;
        object.as_ref().map_err(|reason| *reason)
    }

    fn objects(self) -> &'static Objects {
        match self {
            Part::Strings => &objects::STRINGS,
            Part::Messages => &objects::MESSAGES,
            Part::Numbers => &objects::NUMBERS,
            Part::Random => &objects::RANDOM,
            Part::Stacks => &objects::STACKS,
            Part::Options => &objects::OPTIONS,
            Part::Dates => &objects::DATES,
            Part::Regex => &objects::REGEX,
            Part::Sequences => &objects::SEQUENCES,
            Part::Universal => &objects::UNIVERSAL,
            Part::Zones => &objects::ZONES,
            Part::Break => &objects::BREAK,
            Part::Rounding => &objects::ROUNDING,
            Part::Syslog => &objects::SYSLOG,
            Part::Open => &objects::OPEN,
            Part::Streams => &objects::STREAMS,
        }
    }
}

type Objects = [(&'static str, Result<OverlayObject, &'static str>)];
