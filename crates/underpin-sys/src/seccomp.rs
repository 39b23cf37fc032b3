//! A seccomp filter that stops a chosen set of calls (`SECCOMP_RET_TRACE`) and lets all others pass.
//!
//! Only the architecture and the number are looked at, so the kernel proves at installation that the others are
//! constantly allowed and answers them from a bitmap (Linux 5.11) without running the filter. The numbers are found
//! by bisection. A filter outlives its tracer, and then the traced calls fail with `ENOSYS`: never detach from a task
//! that has one.

use crate::error::{SysError, check};
use libc::sock_filter;

/// `AUDIT_ARCH_*` of this build's own call table.
#[cfg(target_arch = "x86_64")]
pub const NATIVE_AUDIT_ARCH: u32 = 0xC000_003E;
/// `AUDIT_ARCH_*` of this build's own call table.
#[cfg(target_arch = "aarch64")]
pub const NATIVE_AUDIT_ARCH: u32 = 0xC000_00B7;

const LOAD_WORD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_EQUAL: u16 = 0x35;
const RETURN: u16 = 0x06;
const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCH: u32 = 4;
const ALLOW: u32 = 0x7fff_0000;
const TRACE: u32 = 0x7ff0_0000;
const SECCOMP_SET_MODE_FILTER: libc::c_ulong = 1;
const FLAG_SPEC_ALLOW: libc::c_ulong = 4;

/// A filter program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFilter(Vec<Instruction>);

/// One instruction, comparable for tests.
type Instruction = (u16, u8, u8, u32);

impl CallFilter {
    /// Stops these calls of the native table; `None`: all of it. Calls through other tables pass.
    #[must_use]
    pub fn stopping(calls: Option<&[u32]>) -> CallFilter {
        let mut program = vec![
            (LOAD_WORD, 0, 0, OFFSET_ARCH),
            (JUMP_EQUAL, 1, 0, NATIVE_AUDIT_ARCH),
            (RETURN, 0, 0, ALLOW),
            (LOAD_WORD, 0, 0, OFFSET_NUMBER),
        ];
        match calls {
            None => program.push((RETURN, 0, 0, TRACE)),
            Some(calls) => program.extend(bisect(&switches(calls), ALLOW)),
        }
        CallFilter(program)
    }

    /// Instructions in the program.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: a filter has at least its return.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The program as the kernel takes it.
    pub(crate) fn program(&self) -> Vec<sock_filter> {
        self.0.iter().map(|&(code, jt, jf, k)| sock_filter { code, jt, jf, k }).collect()
    }
}

/// The numbers at which the action changes: `(first number, action from there on)`, ascending.
fn switches(calls: &[u32]) -> Vec<(u32, u32)> {
    let mut sorted = calls.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut out: Vec<(u32, u32)> = Vec::new();
    for number in sorted {
        match out.last_mut() {
            Some(last) if last.0 == number => {
                out.pop();
            }
            _ => out.push((number, TRACE)),
        }
        out.push((number.saturating_add(1), ALLOW));
    }
    out
}

/// A decision tree over the switches; `below` is the action under the first one.
fn bisect(switches: &[(u32, u32)], below: u32) -> Vec<Instruction> {
    let middle = switches.len() / 2;
    let Some(&(number, action)) = switches.get(middle) else { return vec![(RETURN, 0, 0, below)] };
    let low = bisect(&switches[..middle], below);
    let high = bisect(&switches[middle + 1..], action);
    let mut out = Vec::with_capacity(low.len() + high.len() + 2);
    match u8::try_from(low.len()) {
        Ok(skip) => out.push((JUMP_GREATER_EQUAL, skip, 0, number)),
        Err(_) => {
            out.push((JUMP_GREATER_EQUAL, 0, 1, number));
            out.push((JUMP, 0, 0, low.len() as u32));
        }
    }
    out.extend(low);
    out.extend(high);
    out
}

/// Installs a filter on the calling thread. Async-signal-safe: used between fork and exec.
///
/// Without privilege `no_new_privs` is set first, as the kernel demands.
pub(crate) fn install(program: &[sock_filter]) -> Result<(), SysError> {
    let fprog = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let attempt = || {
        // SAFETY: `fprog` points to `program`, which lives through the call; the kernel only reads it.
        let result =
            unsafe { libc::syscall(libc::SYS_seccomp, SECCOMP_SET_MODE_FILTER, FLAG_SPEC_ALLOW, &raw const fprog) };
        check("seccomp", result)
    };
    match attempt() {
        Err(error) if error.errno == libc::EACCES => {
            // SAFETY: takes integers only.
            let set = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            check("PR_SET_NO_NEW_PRIVS", libc::c_long::from(set))?;
            attempt().map(drop)
        }
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A BPF interpreter of the few instructions in use, as the oracle of the tree.
    fn run(filter: &CallFilter, arch: u32, number: u32) -> u32 {
        let (mut at, mut word) = (0usize, 0u32);
        loop {
            let (code, jt, jf, k) = filter.0[at];
            at += 1;
            match code {
                LOAD_WORD => word = if k == OFFSET_ARCH { arch } else { number },
                JUMP => at += k as usize,
                JUMP_EQUAL => at += usize::from(if word == k { jt } else { jf }),
                JUMP_GREATER_EQUAL => at += usize::from(if word >= k { jt } else { jf }),
                RETURN => return k,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn exactly_the_chosen_numbers_stop() {
        let sets: [&[u32]; 5] = [&[], &[0], &[2, 3, 4, 9, 21, 257], &[5, 5, 4], &[1, 3, 5, 7, 9, 11, u32::MAX - 1]];
        for set in sets {
            let filter = CallFilter::stopping(Some(set));
            for number in (0..600).chain([u32::MAX - 2, u32::MAX - 1]) {
                let expected = if set.contains(&number) { TRACE } else { ALLOW };
                assert_eq!(run(&filter, NATIVE_AUDIT_ARCH, number), expected, "{number} in {set:?}");
            }
        }
    }

    #[test]
    fn a_tree_with_jumps_beyond_a_byte_still_decides() {
        let every_other: Vec<u32> = (0..450).step_by(2).collect();
        let filter = CallFilter::stopping(Some(&every_other));
        for number in 0..500 {
            let expected = if number < 450 && number % 2 == 0 { TRACE } else { ALLOW };
            assert_eq!(run(&filter, NATIVE_AUDIT_ARCH, number), expected, "{number}");
        }
    }

    #[test]
    fn another_call_table_passes() {
        assert_eq!(run(&CallFilter::stopping(None), 0x4000_0003, 5), ALLOW);
        assert_eq!(run(&CallFilter::stopping(None), NATIVE_AUDIT_ARCH, 5), TRACE);
    }
}
