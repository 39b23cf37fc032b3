//! Where the program is: the path of its own file, according to the kernel or by the way it was called.

use crate::calls;

/// `PATH_MAX`, with the NUL.
pub const PATH: usize = 4096;

/// A path in a buffer; `size` leaves the NUL out.
pub struct Path {
    pub bytes: [u8; PATH],
    pub size: usize,
}

impl Path {
    pub const fn empty() -> Path {
        Path { bytes: [0; PATH], size: 0 }
    }

    pub fn text(&self) -> &[u8] {
        self.bytes.get(..self.size).unwrap_or_default()
    }

    /// Appends bytes and keeps a NUL behind them. `false` if they do not fit.
    pub fn push(&mut self, text: &[u8]) -> bool {
        let end = self.size + text.len();
        if end >= PATH {
            return false;
        }
        for (place, byte) in self.bytes.iter_mut().skip(self.size).zip(text) {
            *place = *byte;
        }
        self.cut(end);
        true
    }

    pub fn cut(&mut self, size: usize) {
        if let Some(end) = self.bytes.get_mut(size) {
            *end = 0;
            self.size = size;
        }
    }

    /// Takes the last component off, its slash too; `false` if none is left.
    fn up(&mut self) -> bool {
        match self.text().iter().rposition(|&byte| byte == b'/') {
            Some(0) if self.size > 1 => self.cut(1),
            Some(slash) if slash > 0 => self.cut(slash),
            _ => return false,
        }
        true
    }
}

/// The length of a C string.
///
/// # Safety
/// A NUL ends it.
pub unsafe fn text_at<'a>(start: *const u8) -> &'a [u8] {
    let mut size = 0;
    // SAFETY: every byte before the NUL may be read. Volatile, or the loop would become a call of strlen(3).
    while unsafe { start.add(size).read_volatile() } != 0 {
        size += 1;
    }
    // SAFETY: as above; strings of the kernel and of the bundler outlive the launcher.
    unsafe { core::slice::from_raw_parts(start, size) }
}

/// The program's path as the kernel tells it through `/proc`.
pub fn by_proc(path: &mut Path) -> bool {
    // SAFETY: a terminated literal.
    match unsafe { calls::read_link(c"/proc/self/exe".as_ptr().cast(), &mut path.bytes) } {
        Ok(size) if size < PATH && path.bytes.first() == Some(&b'/') => {
            path.cut(size);
            true
        }
        _ => false,
    }
}

/// The program's path by the name it was executed under (AT_EXECFN), its own symbolic links followed, made absolute.
///
/// For a root without `/proc`. Links among its directories need no following: the kernel does that.
///
/// # Safety
/// `name` is a C string.
pub unsafe fn by_name(name: *const u8, path: &mut Path) -> bool {
    path.cut(0);
    // SAFETY: the caller's promise.
    let name = unsafe { text_at(name) };
    if name.first() != Some(&b'/') {
        match calls::current_directory(&mut path.bytes) {
            Ok(size) if size > 1 => path.cut(size - 1),
            _ => return false,
        }
        if !path.push(b"/") {
            return false;
        }
    }
    path.push(name) && follow(path)
}

/// Links in a row before they count as a loop: the kernel's own limit.
const LINKS: usize = 40;

fn follow(path: &mut Path) -> bool {
    let mut target = Path::empty();
    for _ in 0..LINKS {
        // SAFETY: `Path` keeps a NUL behind its text.
        match unsafe { calls::read_link(path.bytes.as_ptr(), &mut target.bytes) } {
            Ok(size) if size < PATH => target.cut(size),
            Ok(_) => return false,
            // Not a link: this is the file.
            Err(calls::INVALID) => return true,
            Err(_) => return false,
        }
        if target.bytes.first() == Some(&b'/') {
            path.cut(0);
        } else if path.up() && path.size > 1 && !path.push(b"/") {
            return false;
        }
        if !path.push(target.text()) {
            return false;
        }
    }
    false
}

/// Takes `components` off the end of the path. `false` if it has fewer.
pub fn top_of(path: &mut Path, components: usize) -> bool {
    (0..components).all(|_| path.up())
}
