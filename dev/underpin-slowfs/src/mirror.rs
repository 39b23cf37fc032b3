//! The requests of the kernel, answered from the mirrored folder.

use crate::counts::{Counters, count};
use crate::nodes::Nodes;
use crate::options::Options;
use crate::pace::Pace;
use fuser::{
    AccessFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyXattr, Request,
};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The kernel sends no larger request.
const LARGEST_READ: u32 = 16 << 20;

/// The file system behind a mount.
#[derive(Debug)]
pub(crate) struct Mirror {
    options: Options,
    nodes: Nodes,
    pace: Pace,
    counters: Arc<Counters>,
    handles: RwLock<HashMap<u64, Arc<Handle>>>,
    next_handle: AtomicU64,
}

#[derive(Debug)]
enum Handle {
    File(File),
    Directory(Vec<(OsString, u64, FileType)>),
}

impl Mirror {
    pub fn new(source: &Path, options: Options, counters: Arc<Counters>) -> io::Result<Mirror> {
        let source = source.canonicalize()?;
        let facts = source.metadata()?;
        if !facts.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Mirror {
            options,
            nodes: Nodes::new(source, &facts),
            pace: Pace::new(options.rate),
            counters,
            handles: RwLock::default(),
            next_handle: AtomicU64::new(1),
        })
    }

    fn path(&self, number: INodeNo) -> io::Result<Arc<Path>> {
        self.nodes.path(number.0).ok_or_else(|| io::Error::from_raw_os_error(nix::libc::ESTALE))
    }

    fn look_up(&self, parent: INodeNo, name: &OsStr) -> io::Result<FileAttr> {
        let path = self.path(parent)?.join(name);
        let facts = path.symlink_metadata()?;
        let number = self.nodes.number(path, &facts);
        Ok(attributes(number, &facts))
    }

    fn list(&self, directory: INodeNo) -> io::Result<Handle> {
        let mut names = vec![
            (OsString::from("."), directory.0, FileType::Directory),
            (OsString::from(".."), directory.0, FileType::Directory),
        ];
        for entry in self.path(directory)?.read_dir()? {
            let entry = entry?;
            let facts = entry.path().symlink_metadata()?;
            let number = self.nodes.number(entry.path(), &facts);
            names.push((entry.file_name(), number, kind(&facts)));
        }
        Ok(Handle::Directory(names))
    }

    fn keep(&self, handle: Handle) -> FileHandle {
        let number = self.next_handle.fetch_add(1, Ordering::Relaxed);
        let mut handles = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        handles.insert(number, Arc::new(handle));
        FileHandle(number)
    }

    fn handle(&self, number: FileHandle) -> Option<Arc<Handle>> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner).get(&number.0).cloned()
    }

    fn let_go(&self, number: FileHandle) {
        count(&self.counters.releases);
        self.handles.write().unwrap_or_else(PoisonError::into_inner).remove(&number.0);
    }

    fn read_piece(&self, number: FileHandle, offset: u64, size: u32) -> io::Result<Vec<u8>> {
        let handle = self.handle(number);
        let Some(Handle::File(file)) = handle.as_deref() else {
            return Err(io::Error::from_raw_os_error(nix::libc::EBADF));
        };
        let mut bytes = vec![0; size.min(LARGEST_READ) as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                more => filled += more,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

impl Filesystem for Mirror {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it the kernel sends one lookup per directory at a time. Missing from kernels before 4.7.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        // If the figure is refused, the kernel's own limit holds.
        let _ = config.set_max_readahead(self.options.read_ahead.max(4096));
        let _ = config.set_max_background(1024);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let arrival = Instant::now();
        count(&self.counters.lookups);
        let found = self.look_up(parent, name);
        self.pace.wait(arrival, self.options.delays.lookup);
        let Options { entry_ttl, attribute_ttl, negative_ttl, .. } = &self.options;
        match (found, negative_ttl) {
            (Ok(attributes), _) => reply.entry_with_ttls(attribute_ttl, entry_ttl, &attributes, Generation(0)),
            (Err(error), Some(ttl)) if error.kind() == io::ErrorKind::NotFound => {
                count(&self.counters.absent);
                // Node number 0 is ENOENT with a time to live (fs/fuse/dir.c, fuse_lookup_name).
                reply.entry_with_ttls(&Duration::ZERO, ttl, &nothing(), Generation(0));
            }
            (Err(error), _) => {
                count(&self.counters.absent);
                reply.error(Errno::from(error));
            }
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let arrival = Instant::now();
        count(&self.counters.getattrs);
        let facts = self.path(number).and_then(|path| path.symlink_metadata());
        self.pace.wait(arrival, self.options.delays.getattr);
        match facts {
            Ok(facts) => reply.attr(&self.options.attribute_ttl, &attributes(number.0, &facts)),
            Err(error) => reply.error(Errno::from(error)),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        let arrival = Instant::now();
        count(&self.counters.readlinks);
        let target = self.path(number).and_then(|path| path.read_link());
        self.pace.wait(arrival, self.options.delays.readlink);
        match target {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(error) => reply.error(Errno::from(error)),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let arrival = Instant::now();
        count(&self.counters.opens);
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            reply.error(Errno::EROFS);
            return;
        }
        let file = self.path(number).and_then(File::open);
        self.pace.wait(arrival, self.options.delays.open);
        match file {
            Ok(file) => {
                let keep = if self.options.keep_pages { FopenFlags::FOPEN_KEEP_CACHE } else { FopenFlags::empty() };
                reply.opened(self.keep(Handle::File(file)), keep);
            }
            Err(error) => reply.error(Errno::from(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let arrival = Instant::now();
        count(&self.counters.reads);
        let bytes = self.read_piece(handle, offset, size);
        self.pace.wait(arrival, self.options.delays.read);
        match bytes {
            Ok(bytes) => {
                self.counters.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                reply.data(&bytes);
            }
            Err(error) => reply.error(Errno::from(error)),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.let_go(handle);
        reply.ok();
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let arrival = Instant::now();
        count(&self.counters.directories);
        let names = self.list(number);
        self.pace.wait(arrival, self.options.delays.open);
        match names {
            Ok(names) => reply.opened(self.keep(names), FopenFlags::empty()),
            Err(error) => reply.error(Errno::from(error)),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let arrival = Instant::now();
        count(&self.counters.directories);
        self.pace.wait(arrival, self.options.delays.read);
        let handle = self.handle(handle);
        let Some(Handle::Directory(names)) = handle.as_deref() else {
            reply.error(Errno::EBADF);
            return;
        };
        for (at, (name, number, kind)) in (1..).zip(names).skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            if reply.add(INodeNo(*number), at, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.let_go(handle);
        reply.ok();
    }

    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        count(&self.counters.refused);
        // ENOSYS: the kernel permits it and does not ask again (fs/fuse/dir.c, fuse_access). The same below.
        reply.error(Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        count(&self.counters.refused);
        reply.error(Errno::ENOSYS);
    }

    fn getxattr(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, reply: ReplyXattr) {
        count(&self.counters.refused);
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _: &Request, _: INodeNo, _: u32, reply: ReplyXattr) {
        count(&self.counters.refused);
        reply.error(Errno::ENOSYS);
    }
}

fn kind(facts: &Metadata) -> FileType {
    // A kind of file that the kernel may add later is of no use here; it cannot be opened.
    FileType::from_std(facts.file_type()).unwrap_or(FileType::CharDevice)
}

fn attributes(number: u64, facts: &Metadata) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: facts.size(),
        blocks: facts.blocks(),
        atime: time(facts.atime(), facts.atime_nsec()),
        mtime: time(facts.mtime(), facts.mtime_nsec()),
        ctime: time(facts.ctime(), facts.ctime_nsec()),
        crtime: UNIX_EPOCH,
        kind: kind(facts),
        perm: u16::try_from(facts.mode() & 0o7777).unwrap_or(0),
        nlink: u32::try_from(facts.nlink()).unwrap_or(u32::MAX),
        uid: facts.uid(),
        gid: facts.gid(),
        rdev: u32::try_from(facts.rdev()).unwrap_or(0),
        blksize: 4096,
        flags: 0,
    }
}

/// The attributes of a name that is not there.
fn nothing() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let nanoseconds = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0));
    let whole = Duration::from_secs(seconds.unsigned_abs());
    if seconds >= 0 { UNIX_EPOCH + whole + nanoseconds } else { UNIX_EPOCH - whole + nanoseconds }
}
