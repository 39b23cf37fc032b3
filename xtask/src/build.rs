//! What a build is for: a processor, a C library and an allocator.

/// A processor that foolsgold is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Processor {
    /// Intel and AMD, 64 bits
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit ARM
    Aarch64,
}

/// What serves memory to everything but the interpreters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// The C library's.
    System,
    /// jemalloc.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
}

impl Allocator {
    /// Its name, which is its feature's too.
    pub fn name(self) -> &'static str {
        match self {
            Allocator::System => "system",
            Allocator::Jemalloc => "jemalloc",
            Allocator::Mimalloc => "mimalloc",
        }
    }
}

/// The C library of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// This machine's, shared.
    Glibc,
    /// musl, linked in.
    Musl(Processor),
}

impl Linkage {
    /// Its name, which is a folder's too.
    pub fn name(self) -> &'static str {
        match self {
            Linkage::Glibc => "glibc",
            Linkage::Musl(processor) => processor.triple(),
        }
    }
}

impl Processor {
    /// Rust's name of the static target.
    pub fn triple(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64-unknown-linux-musl",
            Processor::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }

    /// As Debian names it.
    pub fn of_debian(self) -> &'static str {
        match self {
            Processor::X86_64 => "amd64",
            Processor::Aarch64 => "arm64",
        }
    }

    /// The oldest tag of each C library that it has: a static program asks nothing of the system.
    pub fn of_wheels(self) -> [&'static str; 3] {
        match self {
            Processor::X86_64 => ["manylinux_2_5_x86_64", "manylinux1_x86_64", "musllinux_1_1_x86_64"],
            Processor::Aarch64 => ["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
        }
    }

    /// As the kernel names it.
    pub fn of_kernel(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64",
            Processor::Aarch64 => "aarch64",
        }
    }
}
