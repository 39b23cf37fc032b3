//! String functions in place of musl's, whose own cost a static program a third of its speed: copying, comparing and searching
//! on x86-64 (SSE2, AVX2 or AVX-512, chosen at the 64th call that wants to know) and aarch64 (NEON). With them come `qsort`, `strtod`, `strtof`,
//! `strtold`, `getopt`, `strftime`, `strptime`, `regcomp`, `regexec`, `rand`, `gmtime`, `sbrk` and `strerror`.
//!
//! A program of this workspace gets them by naming the crate (`use underpin_overlay as _;`): the linker finds the names here
//! before it comes to the C library. With glibc, whose functions choose by processor, nothing is replaced. For programs of
//! others there is [`object()`]: one relocatable file for the front of the link line.

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

mod objects {
    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}

/// The string functions and `qsort` for a processor by the kernel's name of it (`x86_64`, `aarch64`).
///
/// # Errors
/// The reason why it is not on board: there are no sources for the processor, or no compiler was found for it when this crate
/// was built.
pub fn object(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::STRINGS, processor)
}

/// `strtod`, `strtof` and `strtold` for static programs on musl: a separate object, as for [`random()`].
///
/// # Errors
/// As for [`object()`].
pub fn numbers(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::NUMBERS, processor)
}

/// `getrandom` without a system call, for static programs on musl: a separate object, which unlike the string functions
/// refers to the C library. It goes in front of the libraries too.
///
/// # Errors
/// As for [`object()`].
pub fn random(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::RANDOM, processor)
}

/// Reuses the stacks of ended threads in static programs on musl: a separate object, as for [`random()`]. It replaces
/// musl's mmap, munmap, mprotect and what thread creation calls; on a musl whose threads work differently it changes
/// nothing.
///
/// # Errors
/// As for [`object()`].
pub fn stacks(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::STACKS, processor)
}

/// Buffers of 4 KiB instead of 1 for the files of static programs on musl: a separate object, as for [`random()`]. It
/// replaces musl's function that lists a new stream; on a musl whose streams are laid out differently it changes nothing.
///
/// # Errors
/// As for [`object()`].
pub fn streams(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::STREAMS, processor)
}

/// `getopt` and its relatives as glibc has them, for static programs on musl: a separate object, as for [`random()`]. Words that are no
/// options may stand before them, and messages are glibc's.
///
/// # Errors
/// As for [`object()`].
pub fn options(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::OPTIONS, processor)
}

/// `strftime` and `strptime` as glibc has them, for static programs on musl: a separate object, as for [`random()`]. Conversions that
/// musl does not know are written and read, and what follows from a date is worked out.
///
/// # Errors
/// As for [`object()`].
pub fn dates(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::DATES, processor)
}

/// `regcomp`, `regexec`, `regfree` and `regerror` with glibc's answers, for static programs on musl: a separate object, as for
/// [`random()`]. Searches are by an automaton, in time that is linear in the text where there are no back-references.
///
/// # Errors
/// As for [`object()`].
pub fn regex(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::REGEX, processor)
}

/// `rand`, `random` and their relatives with glibc's sequences, for static programs on musl: a separate object, as for [`random()`], which
/// is of another function.
///
/// # Errors
/// As for [`object()`].
pub fn sequences(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::SEQUENCES, processor)
}

/// `gmtime`, `gmtime_r` and `timegm` with glibc's name of universal time, for static programs on musl: a separate object, as for
/// [`random()`]. [`dates()`] writes that name.
///
/// # Errors
/// As for [`object()`].
pub fn universal(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::UNIVERSAL, processor)
}

/// `sbrk` and `brk`, which musl refuses, for static programs on musl that have an allocator of their own: a separate object, as for
/// [`random()`].
///
/// # Errors
/// As for [`object()`].
pub fn data_break(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::BREAK, processor)
}

/// `strerror` and its relatives with glibc's words, for static programs on musl: a separate object, as for [`random()`]. The C library
/// itself calls them (`perror`, `%m`), so it goes in front of all libraries.
///
/// # Errors
/// As for [`object()`].
pub fn messages(processor: &str) -> Result<&'static OverlayObject, &'static str> {
    of(&objects::MESSAGES, processor)
}

type Objects = [(&'static str, Result<OverlayObject, &'static str>)];

fn of(objects: &'static Objects, processor: &str) -> Result<&'static OverlayObject, &'static str> {
    let found = objects.iter().find(|(name, _)| *name == processor);
    let (_, object) = found.ok_or("the overlay has functions for x86_64 and aarch64 only")?;
    object.as_ref().map_err(|reason| *reason)
}
