//! How the C sources are compiled: by the build script, by the tests and by the benchmark.

/// No C library, nothing that would have to be set up before, and no loop that becomes a call of the function it is in.
pub const ALWAYS: [&str; 14] = [
    "-std=c11",
    "-O2",
    // zig adds debug information unless told not to, and with it the paths of the build.
    "-g0",
    "-ffreestanding",
    "-fno-builtin",
    "-fPIC",
    "-ffunction-sections",
    "-fvisibility=default",
    "-fno-stack-protector",
    "-fno-lto",
    "-fno-sanitize=all",
    "-falign-functions=64",
    "-Wall",
    "-Wextra",
];

/// What not every compiler has. Loops lie in as few lines as they can; each return is one of its own, instead of a jump to a
/// common one.
pub const IF_KNOWN: [&str; 5] = [
    "-fno-tree-loop-distribute-patterns",
    "-fcf-protection=none",
    "-falign-loops=64",
    "-fno-crossjumping",
    "-fno-tree-tail-merge",
];

/// The same of the string functions of x86-64. What is only jumped to begins a line: where two programs share a core of AMD's family
/// 25, a call that jumps into the middle of one takes up to 1.4 times as long (memchr of 256 bytes: 1.43 of glibc's time instead of
/// 1.18). It is a fifth more code.
pub const OF_STRINGS: &str = "-falign-jumps=64";

/// The functions' first instruction may be the jump to another level; the assembler refuses it if the compiler has put
/// anything in front.
pub const DIRECT: &str = "-DOVERLAY_DIRECT";

/// GCC's out-of-line atomics of aarch64 are functions of its library, which ask glibc for the processor's features. On x86-64 the
/// sources clear the upper halves of the registers themselves, at each return.
#[must_use]
pub fn of_processor(processor: &str) -> &'static [&'static str] {
    match processor {
        "aarch64" => &["-mno-outline-atomics"],
        "x86_64" => &["-mno-vzeroupper"],
        _ => &[],
    }
}

/// What [`IF_KNOWN`] has for the string functions of a processor besides.
#[must_use]
pub fn of_strings(processor: &str) -> Option<&'static str> {
    (processor == "x86_64").then_some(OF_STRINGS)
}
