//! What `/proc` says of processes: auxiliary vector, mappings, thread group, descendants.

use crate::RawPid;
use crate::error::SysError;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

/// The entries of the auxiliary vector that say where a program and its loader are (`getauxval(3)`). 0: not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuxVector {
    /// `AT_PHDR`: the program's program headers, in memory.
    pub program_headers: u64,
    /// `AT_PHENT`: size of one.
    pub program_header_size: u64,
    /// `AT_PHNUM`: how many.
    pub program_header_count: u64,
    /// `AT_BASE`: load address of the loader; 0 for a static program.
    pub loader_base: u64,
    /// `AT_ENTRY`: the program's entry point.
    pub entry: u64,
    /// `AT_SECURE`.
    pub secure: bool,
}

/// Reads a process's auxiliary vector (64-bit entries).
///
/// # Errors
/// If `/proc` is not mounted or the process is gone.
pub fn auxv(pid: RawPid) -> Result<AuxVector, SysError> {
    let bytes = std::fs::read(format!("/proc/{pid}/auxv")).map_err(|error| SysError::io("reading auxv", &error))?;
    let mut out = AuxVector::default();
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    for entry in bytes.chunks_exact(16) {
        let value = word(&entry[8..]);
        match word(&entry[..8]) {
            3 => out.program_headers = value,
            4 => out.program_header_size = value,
            5 => out.program_header_count = value,
            7 => out.loader_base = value,
            9 => out.entry = value,
            23 => out.secure = value != 0,
            _ => {}
        }
    }
    Ok(out)
}

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRange {
    /// First address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Executable.
    pub executable: bool,
    /// Writable.
    pub writable: bool,
    /// Offset in the file.
    pub offset: u64,
    /// The file, `None` for anonymous memory and the kernel's own ranges.
    pub path: Option<PathBuf>,
}

/// Reads a process's mappings, in address order. Lines that do not parse are left out.
///
/// # Errors
/// If `/proc` is not mounted or the process is gone.
pub fn maps(pid: RawPid) -> Result<Vec<MapRange>, SysError> {
    let bytes = std::fs::read(format!("/proc/{pid}/maps")).map_err(|error| SysError::io("reading maps", &error))?;
    Ok(bytes.split(|&byte| byte == b'\n').filter_map(map_line).collect())
}

fn map_line(line: &[u8]) -> Option<MapRange> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let rights = fields.next()?;
    let offset = std::str::from_utf8(fields.next()?).ok()?;
    let path = fields.nth(2).map(<[u8]>::trim_ascii_start).filter(|path| path.starts_with(b"/"));
    let (start, end) = range.split_once('-')?;
    Some(MapRange {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        executable: rights.get(2) == Some(&b'x'),
        writable: rights.get(1) == Some(&b'w'),
        offset: u64::from_str_radix(offset, 16).ok()?,
        path: path.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))),
    })
}

/// The process that a thread belongs to.
///
/// # Errors
/// If `/proc` is not mounted or the thread is gone.
pub fn thread_group(tid: RawPid) -> Result<RawPid, SysError> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status"))
        .map_err(|error| SysError::io("reading status", &error))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
        .ok_or(SysError { what: "reading status", errno: libc::EINVAL })
}

/// Bytes that a process has passed to `write` and similar calls so far (`wchar` of `/proc/PID/io`, `proc(5)`).
///
/// `None` if the kernel does not account for it, or the process is gone.
#[must_use]
pub fn bytes_written(pid: RawPid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("wchar:")?.trim().parse().ok())
}

/// A process in a listing of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: RawPid,
    /// Its parent's.
    pub parent: RawPid,
    /// Its group's.
    pub group: RawPid,
    /// Processor time of it and of the children that it has waited for, exact to a hundredth of a second.
    pub cpu: Duration,
}

/// A process and all its descendants, as they are now; those whose parent has died are not among them.
#[must_use]
pub fn process_tree(root: RawPid) -> Vec<Process> {
    let mut all = processes();
    let mut tree: Vec<Process> = all.iter().copied().filter(|process| process.pid == root).collect();
    let mut next = 0;
    while let Some(&Process { pid, .. }) = tree.get(next) {
        all.retain(|process| {
            if process.parent == pid {
                tree.push(*process);
            }
            process.parent != pid
        });
        next += 1;
    }
    tree
}

/// The living processes of a group, its leader's id being the group's.
#[must_use]
pub fn process_group(leader: RawPid) -> Vec<RawPid> {
    processes().into_iter().filter(|process| process.group == leader).map(|process| process.pid).collect()
}

/// Every process that `/proc` shows; empty if it is not mounted.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    // SAFETY: takes a constant.
    let ticks = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100).max(1);
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawPid>().ok());
    pids.filter_map(|pid| {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        process(pid, &text, ticks)
    })
    .collect()
}

/// `/proc/PID/stat`: the name may hold anything, so fields are counted from its closing parenthesis.
fn process(pid: RawPid, stat: &[u8], ticks: u64) -> Option<Process> {
    let behind = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&stat[behind..]).ok()?.split_ascii_whitespace().collect();
    let used: u64 = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        cpu: Duration::from_nanos(used * (1_000_000_000 / ticks)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_auxv_and_maps_agree() {
        let pid = std::process::id() as RawPid;
        let auxv = auxv(pid).unwrap();
        let maps = maps(pid).unwrap();
        let exe = std::env::current_exe().unwrap();
        let holder = maps.iter().find(|map| (map.start..map.end).contains(&auxv.entry)).unwrap();
        assert!(holder.executable);
        assert_eq!(holder.path.as_deref(), Some(exe.as_path()));
        assert_eq!(thread_group(pid).unwrap(), pid);
    }

    #[test]
    fn a_path_with_spaces_survives() {
        let line = b"7f00-7f10 r-xp 00001000 fe:00 42                         /opt/a b/lib c.so";
        let map = map_line(line).unwrap();
        assert_eq!(map.path.unwrap(), PathBuf::from("/opt/a b/lib c.so"));
        assert_eq!((map.start, map.end, map.offset, map.executable), (0x7f00, 0x7f10, 0x1000, true));
        assert_eq!(map_line(b"7f00-7f10 rw-p 00000000 00:00 0                          [heap]").unwrap().path, None);
    }

    #[test]
    fn a_tree_is_a_process_with_its_descendants() {
        let pid = std::process::id() as RawPid;
        let tree = process_tree(pid);
        assert_eq!(tree[0].pid, pid);
        assert_eq!(tree[0].parent, std::os::unix::process::parent_id() as RawPid);
        assert!(process_tree(RawPid::MAX).is_empty());
    }

    #[test]
    fn fields_of_stat_are_counted_from_the_end_of_the_name() {
        let stat = b"42 (a) b (c)) S 7 5 5 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 99";
        let expected = Process { pid: 42, parent: 7, group: 5, cpu: Duration::from_secs(1) };
        assert_eq!(process(42, stat, 100), Some(expected));
    }
}
