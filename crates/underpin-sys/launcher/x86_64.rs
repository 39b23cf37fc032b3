//! Entry and system calls of x86-64 (System V ABI: at entry the stack pointer is at `argc`, `rdx` holds the function
//! that the loader wants called at exit).

use core::arch::{asm, global_asm};

/// `e_machine`.
pub const MACHINE: u16 = 62;

/// Whether read-only segments may be mapped anew: on AArch64 the loader may have marked code as guarded (`PROT_BTI`),
/// which only it knows.
pub const SHARES: bool = true;

global_asm!(
    ".globl _start",
    ".type _start, @function",
    "_start:",
    "  endbr64",
    "  xor ebp, ebp",
    "  mov rbx, rsp",
    "  mov rdi, rsp",
    "  lea rsi, [rip + underpin_launcher_params]",
    "  lea rdx, [rip + underpin_launcher_after]",
    "  lea rcx, [rip + underpin_launcher_before]",
    "  and rsp, -16",
    "  call {begin}",
    "  mov rsp, rbx",
    "  xor edx, edx",
    "  jmp rax",
    "underpin_launcher_after:",
    "  endbr64",
    "  mov rbx, rsp",
    "  mov r12, rdx",
    "  mov rdi, rsp",
    "  lea rsi, [rip + underpin_launcher_params]",
    "  and rsp, -16",
    "  call {after}",
    "  mov rdx, r12",
    "  mov rsp, rbx",
    "  jmp rax",
    "underpin_launcher_before:",
    "  endbr64",
    "  lea rdi, [rip + underpin_launcher_params]",
    "  jmp {before}",
    ".balign 8",
    "underpin_launcher_params:",
    "  .ascii \"underpin-bundle3\"",
    "  .quad 0",
    begin = sym crate::start::begin,
    after = sym crate::start::after,
    before = sym crate::start::before,
);

pub mod number {
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const MMAP: usize = 9;
    pub const MUNMAP: usize = 11;
    pub const PREAD64: usize = 17;
    pub const PWRITE64: usize = 18;
    pub const FTRUNCATE: usize = 77;
    pub const FALLOCATE: usize = 285;
    pub const GETCWD: usize = 79;
    pub const EXIT_GROUP: usize = 231;
    pub const OPENAT: usize = 257;
    pub const READLINKAT: usize = 267;
    pub const MEMFD_CREATE: usize = 319;
}

/// # Safety
/// As the system call asks.
#[inline(always)]
pub unsafe fn call6(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 only; what it does to memory is the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5], lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    result
}
