//! The library that glibc opens by itself to unwind a stack, and the functions for which it does (glibc
//! `misc/unwind-link.c`; before 2.34 `sysdeps/gnu/unwind-resume.c`). No DT_NEEDED names it. A static program has it linked in.

/// The library's soname. The compiler's packages bring it, not glibc's.
pub const UNWINDER: &str = "libgcc_s.so.1";

/// These end the process if the library is not found: "libgcc_s.so.1 must be installed for pthread_exit to work" (glibc
/// `nptl/pthread_exit.c`, `nptl/pthread_cancel.c`; thrd_exit(3) is pthread_exit).
pub const UNWINDING: [&str; 3] = ["pthread_exit", "pthread_cancel", "thrd_exit"];

/// backtrace(3) finds no frame without it (glibc `debug/backtrace.c`).
pub const BACKTRACE: &str = "backtrace";
