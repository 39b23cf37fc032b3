//! ptrace requests on one stopped task. All must come from the thread that seized it.
//!
//! Raw system calls and our own structures, since the wrappers of the C libraries differ (musl's headers lack
//! `PTRACE_GET_SYSCALL_INFO`).

use crate::error::{SysError, check};
use crate::reap::reap;
use crate::registers::SYSCALL;
use crate::{RawPid, Registers, write_byte_patch};
use std::mem::{MaybeUninit, size_of};

const PTRACE_POKEDATA: i32 = 5;
const PTRACE_CONT: i32 = 7;
const PTRACE_SINGLESTEP: i32 = 9;
const PTRACE_DETACH: i32 = 17;
const PTRACE_SYSCALL: i32 = 24;
const PTRACE_SETOPTIONS: i32 = 0x4200;
const PTRACE_GETEVENTMSG: i32 = 0x4201;
const PTRACE_GETREGSET: i32 = 0x4204;
const PTRACE_SETREGSET: i32 = 0x4205;
const PTRACE_SEIZE: i32 = 0x4206;
const PTRACE_INTERRUPT: i32 = 0x4207;
const PTRACE_LISTEN: i32 = 0x4208;
const PTRACE_GET_SYSCALL_INFO: i32 = 0x420e;
const NT_PRSTATUS: usize = 1;

/// TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC, TRACESECCOMP, EXITKILL.
const OPTIONS: usize = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x10_0000;
/// EXITKILL.
const EXIT_KILL: usize = 0x10_0000;
/// TRACEEXEC alone.
const EXEC_ONLY: usize = 0x10;

/// TRACEEXIT.
const EXITS: usize = 0x40;

/// How a stopped task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To the next event.
    Continue,
    /// To the next event or boundary of a system call.
    ToCall,
    /// One instruction.
    Step,
}

/// What `PTRACE_GET_SYSCALL_INFO` says at a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStop {
    /// At the entry of a call (from a system-call stop or from a seccomp filter).
    Entry {
        /// The call's number.
        number: u64,
        /// Its arguments.
        args: [u64; 6],
    },
    /// At its return.
    Exit {
        /// The value, or the negative error number.
        value: i64,
        /// The value is an error number.
        is_error: bool,
    },
    /// Not at a system call.
    None,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawCallInfo {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    words: [u64; 8],
}

/// One traced task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracee(pub RawPid);

impl Tracee {
    /// Becomes the tracer of a task without stopping it, with all events on and `EXITKILL`.
    ///
    /// # Errors
    /// `EPERM` if ptrace is not allowed.
    pub fn seize(self) -> Result<(), SysError> {
        self.request("PTRACE_SEIZE", PTRACE_SEIZE, 0, OPTIONS).map(drop)
    }

    /// Has a stopped task, and every task that it makes, reported as [`crate::Stop::Ending`] before it ends. Not every
    /// end: a task that was killed may go without.
    ///
    /// # Errors
    /// `ESRCH` if the task is gone.
    pub fn report_exits(self) -> Result<(), SysError> {
        self.request("PTRACE_SETOPTIONS", PTRACE_SETOPTIONS, 0, OPTIONS | EXITS).map(drop)
    }

    /// Becomes the tracer of a task without stopping it; only an exec and signals are reported. Threads and children
    /// that it makes run untraced: a tracer that waits for one task alone must not become the tracer of others, since
    /// an ended tracee that is not waited for holds up the end of its whole process. `EXITKILL` is on.
    ///
    /// # Errors
    /// `EPERM` if ptrace is not allowed.
    pub fn seize_alone(self) -> Result<(), SysError> {
        self.request("PTRACE_SEIZE", PTRACE_SEIZE, 0, EXEC_ONLY | EXIT_KILL).map(drop)
    }

    /// Becomes the tracer of a task without stopping it; only an exec and signals are reported, its children are left
    /// alone, and it lives on if the tracer dies.
    ///
    /// # Errors
    /// `EPERM` if ptrace is not allowed.
    pub fn seize_for_exec(self) -> Result<(), SysError> {
        self.request("PTRACE_SEIZE", PTRACE_SEIZE, 0, EXEC_ONLY).map(drop)
    }

    /// Makes a stopped task end by `exit_group(2)` with this code when it goes on, without running another instruction
    /// of its own. The task must be at code, not in a system call.
    ///
    /// # Errors
    /// `ESRCH` if the task was killed meanwhile, `EIO` if its code cannot be written.
    pub fn exit_with(self, code: u8) -> Result<(), SysError> {
        let mut registers = self.registers()?;
        write_byte_patch(self, registers.pc(), SYSCALL)?;
        registers.set_exit_call(code);
        self.set_registers(&registers)?;
        self.detach(0)
    }

    /// Lets a stopped task go on, with a signal delivered if `signal` is not 0.
    ///
    /// # Errors
    /// `ESRCH` if the task was killed meanwhile.
    pub fn resume(self, how: Resume, signal: i32) -> Result<(), SysError> {
        let (what, request) = match how {
            Resume::Continue => ("PTRACE_CONT", PTRACE_CONT),
            Resume::ToCall => ("PTRACE_SYSCALL", PTRACE_SYSCALL),
            Resume::Step => ("PTRACE_SINGLESTEP", PTRACE_SINGLESTEP),
        };
        self.request(what, request, 0, signal as usize).map(drop)
    }

    /// Leaves a task in its group stop and waits for it to be continued by `SIGCONT`.
    ///
    /// # Errors
    /// `ESRCH` if the task is gone.
    pub fn listen(self) -> Result<(), SysError> {
        self.request("PTRACE_LISTEN", PTRACE_LISTEN, 0, 0).map(drop)
    }

    /// Asks a running task to stop; the stop is reported as [`crate::Stop::Trap`].
    ///
    /// # Errors
    /// `ESRCH` if the task is gone.
    pub fn interrupt(self) -> Result<(), SysError> {
        self.request("PTRACE_INTERRUPT", PTRACE_INTERRUPT, 0, 0).map(drop)
    }

    /// Lets go of a stopped task for good.
    ///
    /// # Errors
    /// `ESRCH` if the task is gone.
    pub fn detach(self, signal: i32) -> Result<(), SysError> {
        self.request("PTRACE_DETACH", PTRACE_DETACH, 0, signal as usize).map(drop)
    }

    /// Kills the task's process.
    ///
    /// # Errors
    /// `ESRCH` if it is gone.
    pub fn kill(self) -> Result<(), SysError> {
        // SAFETY: takes integers only; the id is of a task of ours that has not been reaped.
        check("kill", libc::c_long::from(unsafe { libc::kill(self.0, libc::SIGKILL) })).map(drop)
    }

    /// Kills the task's process, unless it has ended by itself, and reaps it. Only for one whose threads and children are
    /// not traced ([`Tracee::seize_alone`]).
    ///
    /// # Errors
    /// `ETIMEDOUT` if the kernel does not let it end.
    pub fn kill_and_reap(self) -> Result<(), SysError> {
        // It may be gone, and reaped by the wait that reported it.
        let _ = self.kill();
        match reap(self.0) {
            Err(error) if error.errno != libc::ECHILD => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends it again a signal that was held back while it was stepped.
    ///
    /// # Errors
    /// `ESRCH` if it is gone.
    pub fn send(self, signal: i32) -> Result<(), SysError> {
        // SAFETY: takes integers only; the id is of a task of ours that has not been reaped.
        check("tkill", unsafe { libc::syscall(libc::SYS_tkill, i64::from(self.0), i64::from(signal)) }).map(drop)
    }

    /// The message of an event stop: the new task of a fork, the former thread id of an exec.
    ///
    /// # Errors
    /// `ESRCH` if the task is gone.
    pub fn event_message(self) -> Result<RawPid, SysError> {
        let mut message: libc::c_ulong = 0;
        self.request("PTRACE_GETEVENTMSG", PTRACE_GETEVENTMSG, 0, (&raw mut message).addr())?;
        Ok(message as RawPid)
    }

    /// The call at whose boundary the task is, and the call table that it uses (`AUDIT_ARCH_*`, even if it
    /// is at no call). Needs Linux 5.3.
    ///
    /// # Errors
    /// `ESRCH` if the task is gone, `EIO` on an older kernel.
    pub fn call(self) -> Result<(u32, CallStop), SysError> {
        let mut raw = MaybeUninit::<RawCallInfo>::zeroed();
        let size = size_of::<RawCallInfo>();
        self.request(
            "PTRACE_GET_SYSCALL_INFO (needs Linux 5.3)",
            PTRACE_GET_SYSCALL_INFO,
            size,
            raw.as_mut_ptr().addr(),
        )?;
        // SAFETY: all fields are integers, for which the zeroes are valid where the kernel wrote less.
        let raw = unsafe { raw.assume_init() };
        let [number, a, b, c, d, e, f, _] = raw.words;
        let stop = match raw.op {
            1 | 3 => CallStop::Entry { number, args: [a, b, c, d, e, f] },
            2 => CallStop::Exit { value: number as i64, is_error: a & 0xff != 0 },
            _ => CallStop::None,
        };
        Ok((raw.arch, stop))
    }

    /// The general registers.
    ///
    /// # Errors
    /// `ESRCH` if the task is gone.
    pub fn registers(self) -> Result<Registers, SysError> {
        let mut registers = Registers::zeroed();
        let mut io = libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size_of::<Registers>() };
        self.request("PTRACE_GETREGSET", PTRACE_GETREGSET, NT_PRSTATUS, (&raw mut io).addr())?;
        Ok(registers)
    }

    /// Sets the general registers.
    ///
    /// # Errors
    /// `ESRCH` if the task is gone.
    pub fn set_registers(self, registers: &Registers) -> Result<(), SysError> {
        let mut copy = *registers;
        let mut io = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: size_of::<Registers>() };
        self.request("PTRACE_SETREGSET", PTRACE_SETREGSET, NT_PRSTATUS, (&raw mut io).addr()).map(drop)
    }

    /// Writes one word, also into read-only memory of the task (the kernel makes a private copy of the page).
    ///
    /// # Errors
    /// `EIO` if nothing is mapped there.
    pub fn poke(self, address: u64, word: usize) -> Result<(), SysError> {
        self.request("PTRACE_POKEDATA", PTRACE_POKEDATA, address as usize, word).map(drop)
    }

    fn request(self, what: &'static str, request: i32, addr: usize, data: usize) -> Result<i64, SysError> {
        // SAFETY: a raw system call. If `data` is the address of a buffer, the callers above pass one that lives
        // through the call and is as large as the request (or the iovec, or `addr`) says.
        let result = unsafe { libc::syscall(libc::SYS_ptrace, i64::from(request), i64::from(self.0), addr, data) };
        check(what, result)
    }
}
