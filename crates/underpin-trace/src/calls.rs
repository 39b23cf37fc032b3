//! Which calls are traced: groups, custom lists, and the default.
//!
//! The default is every file, mapping and process call. Calls on descriptors (`read`, `close`, `fcntl`, ...) are added
//! where they cost nothing, that is up to `main`, where the tracer stops at every call anyway; over a whole run they
//! are left out, since a program that reads gigabytes would stop twice for each `read`.

use crate::{Syscall, Until};
use std::collections::BTreeSet;
use std::str::FromStr;

/// A group of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallGroup {
    /// Every call that takes a path (strace's `%file`).
    File,
    /// Calls that change the address space.
    Mapping,
    /// Calls that create, replace, end and set up processes and threads.
    Process,
    /// Calls on descriptors that loading a file takes: reading, positioning, duplicating, closing.
    Descriptor,
}

const FILE: &str = "access acct chdir chmod chown chroot creat execve execveat faccessat faccessat2 \
    fanotify_mark fchmodat fchmodat2 fchownat fspick futimesat getcwd getxattr inotify_add_watch lchown lgetxattr \
    link linkat listxattr llistxattr lremovexattr lsetxattr lstat mkdir mkdirat mknod mknodat mount mount_setattr \
    move_mount name_to_handle_at newfstatat open open_tree openat openat2 pivot_root quotactl readlink readlinkat \
    removexattr rename renameat renameat2 rmdir setxattr stat statfs statx swapoff swapon symlink symlinkat truncate \
    umount2 unlink unlinkat uselib utime utimensat utimes";
const MAPPING: &str = "brk mmap mprotect mremap munmap pkey_mprotect";
const PROCESS: &str = "arch_prctl clone clone3 execve execveat exit exit_group fork kill pidfd_open \
    pidfd_send_signal prlimit64 rseq rt_sigqueueinfo rt_tgsigqueueinfo set_robust_list set_tid_address tgkill tkill \
    unshare vfork wait4 waitid";
const DESCRIPTOR: &str = "close close_range dup dup2 dup3 fcntl fstat fstatfs getdents64 lseek pread64 preadv preadv2 \
    read readv";

impl CallGroup {
    /// Every group.
    pub const ALL: [CallGroup; 4] = [CallGroup::File, CallGroup::Mapping, CallGroup::Process, CallGroup::Descriptor];

    /// The group's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CallGroup::File => "file",
            CallGroup::Mapping => "mapping",
            CallGroup::Process => "process",
            CallGroup::Descriptor => "descriptor",
        }
    }

    /// The group's calls on this architecture.
    pub fn calls(self) -> impl Iterator<Item = Syscall> {
        let names = match self {
            CallGroup::File => FILE,
            CallGroup::Mapping => MAPPING,
            CallGroup::Process => PROCESS,
            CallGroup::Descriptor => DESCRIPTOR,
        };
        names.split_ascii_whitespace().filter_map(Syscall::named)
    }
}

/// The calls to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallSet {
    /// File, mapping and process calls; up to `main` the descriptor calls too.
    #[default]
    Default,
    /// Every call.
    All,
    /// Exactly these calls.
    Custom(BTreeSet<Syscall>),
}

/// A word in a list of calls that is neither a call of this architecture nor a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown system call `{0}`: expected one of this machine or a group, which are default, all, file, mapping, process, descriptor"
)]
pub struct UnknownCall(pub String);

/// A comma-separated list of groups and names: `default`, `all`, `file,mapping,read`.
impl FromStr for CallSet {
    type Err = UnknownCall;

    fn from_str(list: &str) -> Result<CallSet, UnknownCall> {
        match list {
            "default" => return Ok(CallSet::Default),
            "all" => return Ok(CallSet::All),
            _ => {}
        }
        let mut calls = BTreeSet::new();
        for word in list.split(',').map(str::trim) {
            if let Some(group) = CallGroup::ALL.into_iter().find(|group| group.name() == word) {
                calls.extend(group.calls());
            } else if word == "default" {
                calls.extend(default_calls(Until::Exit));
            } else {
                calls.insert(Syscall::named(word).ok_or_else(|| UnknownCall(word.to_owned()))?);
            }
        }
        Ok(CallSet::Custom(calls))
    }
}

impl CallSet {
    /// The calls of the set, `None` for every call.
    #[must_use]
    pub fn calls(&self, until: Until) -> Option<BTreeSet<Syscall>> {
        match self {
            CallSet::Default => Some(default_calls(until)),
            CallSet::All => None,
            CallSet::Custom(calls) => Some(calls.clone()),
        }
    }

    /// The set in strace's `-e trace=` notation, to compare the two on the same calls.
    ///
    /// Calls newer than strace 6.1 carry the `?` that keeps an older strace from rejecting them.
    #[must_use]
    pub fn strace_expression(&self, until: Until) -> String {
        match self.calls(until) {
            None => "all".to_owned(),
            Some(calls) => calls.iter().map(strace_name).collect::<Vec<_>>().join(","),
        }
    }
}

fn strace_name(call: &Syscall) -> String {
    /// `set_mempolicy_home_node`, in the numbering that all architectures have shared since 424.
    const LAST_OF_STRACE_6_1: u32 = 450;
    if call.0 > LAST_OF_STRACE_6_1 { format!("?{call}") } else { call.to_string() }
}

fn default_calls(until: Until) -> BTreeSet<Syscall> {
    let groups: &[CallGroup] = match until {
        Until::Exit => &[CallGroup::File, CallGroup::Mapping, CallGroup::Process],
        Until::Entry | Until::Main => &CallGroup::ALL,
    };
    groups.iter().flat_map(|group| group.calls()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_mixes_groups_and_names() {
        let CallSet::Custom(calls) = "mapping,read".parse().unwrap() else { panic!("not a list") };
        assert!(calls.contains(&Syscall::named("read").unwrap()));
        assert!(calls.contains(&Syscall::named("mmap").unwrap()));
        assert!(!calls.contains(&Syscall::named("openat").unwrap()));
        assert_eq!("file,opnat".parse::<CallSet>(), Err(UnknownCall("opnat".into())));
    }

    #[test]
    fn a_whole_run_leaves_descriptor_calls_out() {
        let read = Syscall::named("read").unwrap();
        assert!(!CallSet::Default.calls(Until::Exit).unwrap().contains(&read));
        assert!(CallSet::Default.calls(Until::Main).unwrap().contains(&read));
        assert_eq!(CallSet::All.calls(Until::Exit), None);
    }

    #[test]
    fn names_follow_the_kernels_table() {
        assert_eq!(Syscall::named("openat").unwrap().to_string(), "openat");
        assert_eq!(Syscall(9999).to_string(), "syscall_0x270f");
    }
}
