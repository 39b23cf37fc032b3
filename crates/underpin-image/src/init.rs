//! The guest's first process: a static program of our own (`guest/init.c`), carried as bytes.

mod files {
    include!(concat!(env!("OUT_DIR"), "/inits.rs"));
}

/// Where it is in the image: no program's own files are there.
pub const PATH: &str = "/.underpin/init";

/// The program for a processor by the kernel's name of it (`x86_64`, `aarch64`).
///
/// # Errors
/// The reason why it is not on board.
pub fn program(processor: &str) -> Result<&'static [u8], &'static str> {
    let found = files::INITS.iter().find(|(name, _)| *name == processor);
    let (_, program) = found.ok_or("the guest's first process exists for x86_64 and aarch64 only")?;
    *program
}
