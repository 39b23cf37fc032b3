//! General registers, as far as breakpoints and finding `main` need them: one array per architecture, in the order of
//! the kernel's `user_regs_struct` (`NT_PRSTATUS`).

/// The registers of a stopped task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Registers([u64; COUNT]);

#[cfg(target_arch = "x86_64")]
mod arch {
    pub const COUNT: usize = 27;
    /// `rip`, `rsp`, `rdi`.
    pub const PC: usize = 16;
    pub const SP: usize = 19;
    pub const ARGUMENT: usize = 14;
    /// `int3`; the processor reports it with the program counter behind it.
    pub const BREAKPOINT: &[u8] = &[0xcc];
    pub const PC_AFTER_BREAKPOINT: u64 = 1;
    /// `syscall`; its number is in `rax`.
    pub const SYSCALL: &[u8] = &[0x0f, 0x05];
    pub const NUMBER: usize = 10;
}

#[cfg(target_arch = "aarch64")]
mod arch {
    pub const COUNT: usize = 34;
    /// `pc`, `sp`, `x0`.
    pub const PC: usize = 32;
    pub const SP: usize = 31;
    pub const ARGUMENT: usize = 0;
    /// `brk #0`; reported with the program counter on it.
    pub const BREAKPOINT: &[u8] = &[0x00, 0x00, 0x20, 0xd4];
    pub const PC_AFTER_BREAKPOINT: u64 = 0;
    /// `svc #0`; its number is in `x8`.
    pub const SYSCALL: &[u8] = &[0x01, 0x00, 0x00, 0xd4];
    pub const NUMBER: usize = 8;
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("underpin traces on x86-64 and aarch64; another architecture needs its registers and breakpoint here");

pub use arch::BREAKPOINT;
pub(crate) use arch::SYSCALL;
use arch::{ARGUMENT, COUNT, NUMBER, PC, PC_AFTER_BREAKPOINT, SP};

impl Registers {
    pub(crate) fn zeroed() -> Registers {
        Registers([0; COUNT])
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.as_mut_ptr()
    }

    /// The address of the next instruction.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.0[PC]
    }

    /// Sets the address of the next instruction.
    pub fn set_pc(&mut self, address: u64) {
        self.0[PC] = address;
    }

    /// The stack pointer.
    #[must_use]
    pub fn sp(&self) -> u64 {
        self.0[SP]
    }

    /// The register of a function's first integer argument.
    #[must_use]
    pub fn first_argument(&self) -> u64 {
        self.0[ARGUMENT]
    }

    /// The call number and argument of `exit_group(2)`.
    pub(crate) fn set_exit_call(&mut self, code: u8) {
        self.0[NUMBER] = libc::SYS_exit_group as u64;
        self.0[ARGUMENT] = u64::from(code);
    }

    /// The address of the breakpoint whose trap was just reported.
    #[must_use]
    pub fn breakpoint_address(&self) -> u64 {
        self.0[PC].wrapping_sub(PC_AFTER_BREAKPOINT)
    }
}
