//! Gives back pages of this program that were needed only at start-up.

use crate::track;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::OnceLock;

/// Gives back the pages of this executable that hold code and constants and are unchanged from the file. Those needed
/// again come back from the page cache, one by one; those only used at start-up (Ruby's compiler, the command line) do
/// not. In case of doubt nothing is done.
pub fn give_back_code() {
    let (Ok(own), Ok(maps)) = (std::env::current_exe(), std::fs::read_to_string("/proc/self/smaps")) else { return };
    let unchanged = unchanged(&maps, &own);
    singly(&unchanged);
    for (start, length) in unchanged {
        // SAFETY: a private mapping of the running executable, which cannot be written to, without any page of its own:
        // a dropped page is read again from the file, byte for byte. The mapping was not writable when it was looked
        // up, and nothing here makes code writable.
        unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) };
    }
}

/// From now on each page is faulted in alone. Otherwise the kernel maps the 64 kB around it (fault-around), most of
/// which is never executed: two thirds of a warm server's code. It does not do so while writes are watched, since
/// fault-around would hide them; so this sets such a watch and never reads it. The price is one fault for each page
/// that is used, about 1 ms in total. On kernels that cannot watch a file (before Linux 6.7) nothing changes.
fn singly(mappings: &[(usize, usize)]) {
    static WATCH: OnceLock<Option<OwnedFd>> = OnceLock::new();
    WATCH.get_or_init(|| {
        let watch = track::open().ok()?;
        mappings.iter().for_each(|(start, length)| drop(track::watch(&watch, *start as u64, *length as u64)));
        // The watch ends when the descriptor is closed.
        Some(watch)
    });
}

/// Start and length of those mappings of a file that cannot be written to and have no modified page.
fn unchanged(smaps: &str, file: &Path) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut mapping = None;
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-') {
            let (start, end) = (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16));
            let fixed = matches!(words.next(), Some("r-xp" | "r--p"));
            let named = line.find('/').is_some_and(|at| Path::new(&line[at..]) == file);
            mapping = match (start, end) {
                (Ok(start), Ok(end)) if fixed && named && end > start => Some((start, end - start)),
                _ => None,
            };
        } else if first == "Anonymous:" && words.next() == Some("0") {
            found.extend(mapping.take());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
7f00-8f00 r--p 00000000 fe:00 17                    /opt/a b/server
Rss:                 100 kB
Anonymous:             0 kB
9000-a000 r-xp 00001000 fe:00 17                    /opt/a b/server
Anonymous:             4 kB
a000-b000 rw-p 00001000 fe:00 17                    /opt/a b/server
Anonymous:             0 kB
b000-c000 r-xp 00001000 fe:00 18                    /opt/a b/server.so
Anonymous:             0 kB
c000-d000 rw-p 00000000 00:00 0
Anonymous:             0 kB
";

    #[test]
    fn only_what_is_as_in_the_file_and_cannot_be_written_is_given_back() {
        assert_eq!(unchanged(MAPS, Path::new("/opt/a b/server")), [(0x7f00, 0x1000)]);
    }

    #[test]
    fn a_program_goes_on_without_its_pages() {
        let text = || [1, 2, 3].iter().map(|number| format!("{number}")).collect::<String>();
        let before = text();
        give_back_code();
        assert_eq!(text(), before);
    }
}
