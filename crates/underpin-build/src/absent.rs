//! What musl's headers lack of glibc's and needs no library: what programs take from them are macros, or declared by another of musl's
//! headers. Whole headers come behind all others, so that a project's own and those of its libraries are found first; what a header
//! of musl's own leaves out comes before that one.

use crate::evidence::definitions;
use crate::work;
use crate::{BuildError, LinkObject};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The folder of those that come behind, in that of the tools.
pub(crate) const BEHIND: &str = "bsd";
/// The folder of those that come before musl's.
pub(crate) const BEFORE: &str = "gnu";

/// A header for programs on musl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MuslHeader {
    /// The folder in that of the tools, one for those that come before musl's and one for those behind.
    pub folder: &'static str,
    /// What programs include.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// Those that are written by hand: folder, name and text.
const WRITTEN: [(&str, &str, &str); 7] = [
    (BEHIND, "sys/cdefs.h", include_str!("../native/sys/cdefs.h")),
    (BEHIND, "sys/queue.h", include_str!("../native/sys/queue.h")),
    (BEFORE, "features.h", include_str!("../native/features.h")),
    (BEFORE, "libgen.h", include_str!("../native/libgen.h")),
    (BEFORE, "string.h", include_str!("../native/string.h")),
    (BEFORE, "sys/types.h", include_str!("../native/sys/types.h")),
    (BEFORE, "unistd.h", include_str!("../native/unistd.h")),
];

/// For which programs a header of glibc's includes another (`features.h`: `__USE_MISC`, `__USE_GNU`), in the words of musl's own
/// `features.h`, which has the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    All,
    /// All but those that ask for a standard and nothing more.
    Unix,
    /// Those, and who asks for X/Open's.
    XOpen,
    Gnu,
}

impl For {
    fn condition(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Unix => Some("defined _GNU_SOURCE || defined _BSD_SOURCE"),
            Self::XOpen => Some("defined _GNU_SOURCE || defined _BSD_SOURCE || defined _XOPEN_SOURCE"),
            Self::Gnu => Some("defined _GNU_SOURCE"),
        }
    }
}

const TYPES: &str = "sys/types.h";

/// What headers of glibc's include of others that musl has, and musl's of the same name do not: a program takes the names of both
/// from the one that it includes. A header that includes one of these by itself is not here.
///
/// The judge is glibc's own headers, in `crates/underpin/tests/build_headers.rs`.
const INCLUDING: [(&str, For, &[&str]); 44] = [
    ("aio.h", For::All, &[TYPES]),
    ("arpa/inet.h", For::All, &[TYPES]),
    ("arpa/nameser.h", For::All, &["sys/param.h"]),
    // PATH_MAX and NAME_MAX, which glibc takes from a part of limits.h.
    ("dirent.h", For::Unix, &["limits.h"]),
    ("ftw.h", For::All, &[TYPES]),
    // FILE, and so below.
    ("grp.h", For::Unix, &["stdio.h"]),
    ("ifaddrs.h", For::All, &[TYPES]),
    ("link.h", For::All, &["dlfcn.h", TYPES]),
    ("malloc.h", For::All, &["stddef.h", "stdio.h"]),
    ("mntent.h", For::All, &["paths.h"]),
    ("mqueue.h", For::All, &["fcntl.h", TYPES]),
    ("netdb.h", For::All, &[TYPES]),
    ("netinet/in_systm.h", For::All, &[TYPES]),
    ("netinet/udp.h", For::All, &[TYPES]),
    // PTHREAD_STACK_MIN, as PATH_MAX above.
    ("pthread.h", For::Unix, &["limits.h"]),
    ("pty.h", For::All, &["termios.h"]),
    ("pwd.h", For::Unix, &["stdio.h"]),
    ("regex.h", For::All, &[TYPES]),
    ("resolv.h", For::All, &["stdio.h"]),
    ("sched.h", For::All, &["time.h"]),
    ("semaphore.h", For::All, &[TYPES]),
    ("shadow.h", For::All, &["paths.h"]),
    ("signal.h", For::Gnu, &["unistd.h"]),
    ("spawn.h", For::All, &["sched.h", TYPES]),
    ("stdlib.h", For::XOpen, &[TYPES]),
    // Nothing more: musl's asks which names a program wants and does not have features.h answer it.
    ("strings.h", For::All, &[]),
    ("sys/acct.h", For::All, &[TYPES]),
    ("sys/fanotify.h", For::All, &["stdint.h"]),
    ("sys/file.h", For::All, &["fcntl.h"]),
    ("sys/fsuid.h", For::All, &[TYPES]),
    ("sys/ioctl.h", For::All, &["sys/ttydefaults.h"]),
    ("sys/mount.h", For::All, &["fcntl.h", "stdint.h"]),
    ("sys/param.h", For::All, &["signal.h", TYPES]),
    ("sys/quota.h", For::All, &[TYPES]),
    ("sys/random.h", For::All, &[TYPES]),
    ("sys/sem.h", For::All, &[TYPES]),
    ("sys/sendfile.h", For::All, &[TYPES]),
    ("sys/socket.h", For::All, &[TYPES]),
    ("sys/uio.h", For::All, &[TYPES]),
    ("sys/un.h", For::Unix, &["string.h"]),
    ("sys/xattr.h", For::All, &[TYPES]),
    ("termios.h", For::Unix, &["sys/ttydefaults.h"]),
    ("utmp.h", For::All, &["paths.h", "sys/time.h", TYPES]),
    ("utmpx.h", For::All, &["paths.h", "sys/time.h"]),
];

/// What `regex.h` has besides where the regular expressions are the overlay's: a flag of glibc and the BSDs. musl's own would search the
/// whole text, without a word.
const PART_OF_TEXT: &str = "#ifndef REG_STARTEND\n#define REG_STARTEND 4\n#endif\n";

/// All of them, for programs that these objects are linked into.
pub(crate) fn headers(objects: &[LinkObject]) -> Vec<MuslHeader> {
    let has_regexec =
        |object: &LinkObject| definitions(&object.bytes).is_some_and(|names| names.contains(&&b"regexec"[..]));
    let searches_parts = objects.iter().filter(|object| object.is_optional).any(has_regexec);
    let written = WRITTEN.iter().map(|(folder, name, text)| MuslHeader { folder, name, text: (*text).to_owned() });
    let including = INCLUDING.iter().map(|(name, who, includes)| {
        let mut text = including(name, *who, includes);
        if *name == "regex.h" && searches_parts {
            text.push_str(PART_OF_TEXT);
        }
        MuslHeader { folder: BEFORE, name, text }
    });
    written.chain(including).collect()
}

/// musl's header of the name, and the others behind it: they may include it, and find its guard.
fn including(name: &str, who: For, includes: &[&str]) -> String {
    // A system header may say `#include_next` without a warning; `features.h` defines what the conditions ask for.
    let mut text = format!("#pragma GCC system_header\n#include <features.h>\n#include_next <{name}>\n");
    let condition = who.condition();
    let lines = condition.map(|condition| format!("#if {condition}")).into_iter();
    let lines = lines.chain(includes.iter().map(|header| format!("#include <{header}>")));
    for line in lines.chain(condition.map(|_| "#endif".to_owned())) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Writes them into their folders in that of the tools.
///
/// # Errors
/// If one cannot be written.
pub(crate) fn write(tools: &Path, objects: &[LinkObject]) -> Result<(), BuildError> {
    for header in headers(objects) {
        let path = tools.join(header.folder).join(header.name);
        let beside = path.parent().unwrap_or(tools);
        fs::create_dir_all(beside).map_err(BuildError::io(beside))?;
        work::write(&path, header.text.as_bytes())?;
    }
    Ok(())
}
