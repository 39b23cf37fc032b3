//! Which arguments of a call hold its path or descriptor, by call name (`syscalls(2)` and the man pages).
//! Looked up once per call number, not per call.

use crate::Syscall;

/// What the arguments of a call refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Neither a path nor a descriptor.
    #[default]
    Plain,
    /// A path in this argument.
    Path(u8),
    /// A path in the second argument, relative to the descriptor in the first; empty: the descriptor itself.
    PathAt(u8, u8),
    /// A descriptor in this argument.
    Descriptor(u8),
}

/// What a successful call does to the descriptor table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    #[default]
    None,
    /// The result is a new descriptor of the path; close-on-exec is in the flags at this argument.
    Open(Option<u8>),
    /// Closes the descriptor in the first argument.
    Close,
    /// The result is a copy of the first argument.
    Duplicate,
    /// The same, if the second argument is `F_DUPFD` or `F_DUPFD_CLOEXEC`.
    Control,
    /// Writes output to the descriptor in this argument.
    Output(u8),
}

/// Shape and effect, by call number.
#[derive(Debug)]
pub(crate) struct Shapes(Vec<(Shape, Effect)>);

const PATH_FIRST: &str = "access acct chdir chmod chown chroot creat execve getxattr lchown lgetxattr link listxattr \
    llistxattr lremovexattr lsetxattr lstat mkdir mknod open pivot_root readlink removexattr rename rmdir setxattr \
    stat statfs swapoff swapon truncate umount2 unlink uselib utime utimes";
const PATH_SECOND: &str = "mount quotactl symlink";
const PATH_AT: &str = "execveat faccessat faccessat2 fchmodat fchmodat2 fchownat fspick futimesat linkat mkdirat \
    mknodat mount_setattr move_mount name_to_handle_at newfstatat open_tree openat openat2 readlinkat renameat \
    renameat2 statx unlinkat utimensat";
const DESCRIPTOR: &str = "close dup dup2 dup3 fcntl fdatasync fgetxattr flock fstat fstatfs fsync ftruncate \
    getdents getdents64 ioctl lseek pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readv write writev";

impl Shapes {
    /// The table of this architecture.
    pub(crate) fn new() -> Shapes {
        let mut table = Shapes(Vec::new());
        table.shape(PATH_FIRST, Shape::Path(0));
        table.shape(PATH_SECOND, Shape::Path(1));
        table.shape(PATH_AT, Shape::PathAt(0, 1));
        table.shape(DESCRIPTOR, Shape::Descriptor(0));
        table.shape("symlinkat", Shape::PathAt(1, 2));
        table.shape("inotify_add_watch", Shape::PathAt(0, 1));
        table.shape("mmap", Shape::Descriptor(4));
        table.effect("open", Effect::Open(Some(1)));
        table.effect("openat", Effect::Open(Some(2)));
        table.effect("creat openat2", Effect::Open(None));
        table.effect("close", Effect::Close);
        table.effect("dup dup2 dup3", Effect::Duplicate);
        table.effect("fcntl", Effect::Control);
        table.effect("write writev pwrite64 pwritev pwritev2 sendto sendmsg sendfile", Effect::Output(0));
        table.effect("splice copy_file_range", Effect::Output(2));
        table.effect("tee", Effect::Output(1));
        table
    }

    pub(crate) fn of(&self, call: Syscall) -> (Shape, Effect) {
        self.0.get(call.0 as usize).copied().unwrap_or_default()
    }

    fn entry(&mut self, name: &str) -> Option<&mut (Shape, Effect)> {
        let number = Syscall::named(name)?.0 as usize;
        if self.0.len() <= number {
            self.0.resize(number + 1, Default::default());
        }
        self.0.get_mut(number)
    }

    fn shape(&mut self, names: &str, shape: Shape) {
        for name in names.split_ascii_whitespace() {
            if let Some(entry) = self.entry(name) {
                entry.0 = shape;
            }
        }
    }

    fn effect(&mut self, names: &str, effect: Effect) {
        for name in names.split_ascii_whitespace() {
            if let Some(entry) = self.entry(name) {
                entry.1 = effect;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallGroup;

    #[test]
    fn every_file_call_has_its_path() {
        let shapes = Shapes::new();
        let without = ["getcwd", "fanotify_mark"];
        for call in CallGroup::File.calls() {
            let name = call.name().unwrap();
            assert_eq!(shapes.of(call).0 == Shape::Plain, without.contains(&name), "{name}");
        }
    }
}
