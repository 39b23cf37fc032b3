//! Entry and system calls of AArch64 (at entry `sp` is at `argc`, `x0` holds the function that the loader wants called
//! at exit). `hint #38` is `bti jc`, nothing on processors without it.

use core::arch::{asm, global_asm};

/// `e_machine`.
pub const MACHINE: u16 = 183;

/// Whether read-only segments may be mapped anew: on AArch64 the loader may have marked code as guarded (`PROT_BTI`),
/// which only it knows.
pub const SHARES: bool = false;

global_asm!(
    ".globl _start",
    ".type _start, @function",
    "_start:",
    "  hint #38",
    "  mov x29, #0",
    "  mov x30, #0",
    "  mov x19, sp",
    "  mov x0, sp",
    "  adr x1, underpin_launcher_params",
    "  adr x2, underpin_launcher_after",
    "  adr x3, underpin_launcher_before",
    "  bl {begin}",
    "  mov x16, x0",
    "  mov sp, x19",
    "  mov x0, #0",
    "  mov x29, #0",
    "  mov x30, #0",
    "  br x16",
    "underpin_launcher_after:",
    "  hint #38",
    "  mov x19, sp",
    "  mov x20, x0",
    "  mov x0, sp",
    "  adr x1, underpin_launcher_params",
    "  bl {after}",
    "  mov x16, x0",
    "  mov x0, x20",
    "  mov sp, x19",
    "  mov x29, #0",
    "  mov x30, #0",
    "  br x16",
    "underpin_launcher_before:",
    "  hint #38",
    "  adr x0, underpin_launcher_params",
    "  b {before}",
    ".balign 8",
    "underpin_launcher_params:",
    "  .ascii \"underpin-bundle3\"",
    "  .quad 0",
    begin = sym crate::start::begin,
    after = sym crate::start::after,
    before = sym crate::start::before,
);

pub mod number {
    pub const WRITE: usize = 64;
    pub const CLOSE: usize = 57;
    pub const MMAP: usize = 222;
    pub const MUNMAP: usize = 215;
    pub const PREAD64: usize = 67;
    pub const PWRITE64: usize = 68;
    pub const FTRUNCATE: usize = 46;
    pub const FALLOCATE: usize = 47;
    pub const GETCWD: usize = 17;
    pub const EXIT_GROUP: usize = 94;
    pub const OPENAT: usize = 56;
    pub const READLINKAT: usize = 78;
    pub const MEMFD_CREATE: usize = 279;
}

/// # Safety
/// As the system call asks.
#[inline(always)]
pub unsafe fn call6(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel keeps every register but x0; what it does to memory is the caller's promise.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") args[0] => result, in("x1") args[1], in("x2") args[2],
            in("x3") args[3], in("x4") args[4], in("x5") args[5], options(nostack));
    }
    result
}
