//! Variables in which a shell tells compilers where to look (gcc(1), "ENVIRONMENT"; clang and zig read them too), and options
//! that do the same. The variables come from a user's profile or a module file, the options from a configuration that found a
//! library in `/usr`, and both mean this machine's own C library: with `/usr/include` a program for musl is compiled with glibc's
//! headers, by clang and zig without a word.

use super::options::of_folder;
use super::{Compiler, Dialect, ToolPlan};
use crate::{CLibrary, Processor};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The variables.
pub(crate) const VARIABLES: [&str; 4] = ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"];

/// Folders of headers and libraries for a machine's own C library; below them there may be one for the machine's triple.
const OWN: [&str; 8] = [
    "/usr/include",
    "/usr/local/include",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/lib",
    "/lib64",
];

/// The variables that have to be others for a build, with values without this machine's own folders; what else the user names
/// stays. An empty value is as good as none (gcc `incpath.cc`, clang `addDirectoryList`).
pub(super) fn changed(
    plan: &ToolPlan,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> impl Iterator<Item = (&'static str, OsString)> {
    let is_own_libc = is_for_own_libc(plan);
    let names = VARIABLES.iter().filter(move |_| !is_own_libc);
    names.filter_map(|name| Some((*name, without_own(&variable(name)?)?)))
}

/// Whether programs are for the C library whose headers and libraries are in this machine's own folders.
fn is_for_own_libc(plan: &ToolPlan) -> bool {
    // An SDK and an image have a glibc of their own.
    let has_own = plan.portable.is_some() || plan.strict.is_some();
    let is_machines = plan.spec.libc == CLibrary::Glibc(None) && Processor::host() == Some(plan.spec.processor);
    is_machines && !has_own
}

/// The words of a call without the options that name this machine's own folders. For the machine's own compiler they say nothing
/// new (gcc(1), "-I": a folder that is a system folder already is ignored), and so they shall for one of another C library.
pub(super) fn without_own_folders<'a>(
    plan: &ToolPlan,
    compiler: &Compiler,
    words: Cow<'a, [OsString]>,
) -> Cow<'a, [OsString]> {
    // Where musl is the machine's own C library, so is its compiler.
    let is_own = is_for_own_libc(plan) || compiler.dialect == Dialect::Own && plan.spec.libc == CLibrary::Musl;
    let mut left_out = Vec::new();
    if !is_own {
        for (at, word) in words.iter().enumerate() {
            // `-B` is for the compiler's own parts, too.
            let Some((_, joined)) = of_folder(word).filter(|(option, _)| *option != "-B") else { continue };
            let next = words.get(at + 1).filter(|_| joined.is_empty());
            if is_own_folder(next.map_or(joined, |next| next.as_bytes())) {
                left_out.extend(at..=at + usize::from(next.is_some()));
            }
        }
    }
    if left_out.is_empty() {
        return words;
    }
    let kept = words.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
    Cow::Owned(kept.map(|(_, word)| word.clone()).collect())
}

/// A list of folders without this machine's; `None` if there are none of these.
fn without_own(list: &OsStr) -> Option<OsString> {
    let folders = || list.as_bytes().split(|byte| *byte == b':');
    let kept: Vec<&[u8]> = folders().filter(|folder| !is_own_folder(folder)).collect();
    (kept.len() < folders().count()).then(|| OsString::from_vec(kept.join(&b':')))
}

fn is_own_folder(folder: &[u8]) -> bool {
    let mut folder = folder;
    while let [start @ .., b'/'] = folder {
        folder = start;
    }
    let is_triple = |rest: &[u8]| {
        rest.starts_with(b"/") && !rest[1..].contains(&b'/') && rest.windows(6).any(|six| six == b"-linux")
    };
    let is_glibcs = |rest: &[u8]| is_triple(rest) && rest.windows(4).any(|four| four == b"-gnu");
    OWN.iter().any(|own| folder.strip_prefix(own.as_bytes()).is_some_and(|rest| rest.is_empty() || is_glibcs(rest)))
}

#[cfg(test)]
mod tests {
    use super::super::{Strict, no_tools};
    use super::*;
    use crate::{Allocator, Goal, SpecText};

    #[test]
    fn this_machines_folders_are_taken_out_and_the_users_stay_in_their_order() {
        let of = |list: &str| without_own(OsStr::new(list)).map(|list| list.into_string().unwrap());
        assert_eq!(of("/usr/include"), Some(String::new()));
        assert_eq!(of("/a/include:/usr/include/:/usr/include/x86_64-linux-gnu:b"), Some("/a/include:b".to_owned()));
        assert_eq!(of("/usr/lib/riscv64-linux-gnu:/lib64"), Some(String::new()));
        // musl's own are below the same folders, and so are those of libraries.
        for list in [
            "/usr/include/x86_64-linux-musl",
            "/usr/local/musl/include",
            "/usr/include/libxml2",
            "/opt/usr/include",
            "",
        ] {
            assert_eq!(of(list), None, "{list}");
        }
    }

    fn plan(processor: Processor, text: &str) -> ToolPlan {
        let text: SpecText = text.parse().unwrap();
        no_tools(text.complete(processor, Goal::Balanced, |_| Allocator::System).unwrap())
    }

    #[test]
    fn an_option_with_this_machines_folder_is_left_out_however_it_is_written() {
        let host = Processor::host().unwrap();
        let of = |libc: &str, dialect, words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let compiler =
                Compiler { program: "cc".into(), leading: Vec::new(), dialect, start: Vec::new(), end: Vec::new() };
            let kept = without_own_folders(&plan(host, libc), &compiler, words.into());
            kept.join(OsStr::new(" ")).into_string().unwrap()
        };
        for (words, kept) in [
            ("-I/usr/include -c a.c", "-c a.c"),
            ("-c -I /usr/include a.c", "-c a.c"),
            ("-isystem /usr/local/include -isystem/usr/include/x86_64-linux-gnu -c a.c", "-c a.c"),
            ("-idirafter /usr/include/ -iquote /usr/include -c a.c", "-c a.c"),
            ("a.o -L/usr/lib -L /usr/lib/x86_64-linux-gnu -lz", "a.o -lz"),
            ("-I/usr/include/libxml2 -I. -L/opt/lib -c a.c", "-I/usr/include/libxml2 -I. -L/opt/lib -c a.c"),
            ("-Include/usr/include -c a.c -I", "-Include/usr/include -c a.c -I"),
        ] {
            assert_eq!(of("musl", Dialect::Foreign, words), kept);
            assert_eq!(of("musl", Dialect::Zig, words), kept);
            assert_eq!(of("glibc:2.17", Dialect::Zig, words), kept);
            assert_eq!(of("musl", Dialect::Own, words), words, "a machine of musl");
            assert_eq!(of("glibc", Dialect::Own, words), words, "the machine's own glibc");
        }
    }

    #[test]
    fn a_build_for_this_machines_own_c_library_keeps_them() {
        let variable = |name: &str| (name == "CPATH").then(|| OsString::from("/usr/include"));
        let names = |plan: &ToolPlan| changed(plan, &variable).map(|(name, _)| name).collect::<Vec<_>>();
        let host = Processor::host().unwrap();
        let other = if host == Processor::Riscv64 { Processor::Aarch64 } else { Processor::Riscv64 };
        assert_eq!(names(&plan(host, "musl")), ["CPATH"]);
        assert_eq!(names(&plan(host, "glibc:2.17")), ["CPATH"]);
        assert_eq!(names(&plan(other, "glibc")), ["CPATH"]);
        assert_eq!(names(&plan(host, "glibc")), [""; 0]);
        let of_an_image = ToolPlan { strict: Some(Strict::default()), ..plan(host, "glibc") };
        assert_eq!(names(&of_an_image), ["CPATH"]);
    }
}
