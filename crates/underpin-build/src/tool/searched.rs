//! Variables in which a shell tells compilers where to look (gcc(1), "ENVIRONMENT"; clang and zig read them too). They come from
//! a user's profile or a module file and mean this machine's own C library: with `CPATH=/usr/include` a program for musl is
//! compiled with glibc's headers, by clang and zig without a word.

use super::ToolPlan;
use crate::{CLibrary, Processor};
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
    // An SDK and an image have a glibc of their own.
    let has_own = plan.portable.is_some() || plan.strict.is_some();
    let is_machines = plan.spec.libc == CLibrary::Glibc(None) && Processor::host() == Some(plan.spec.processor);
    let is_own_libc = is_machines && !has_own;
    let names = VARIABLES.iter().filter(move |_| !is_own_libc);
    names.filter_map(|name| Some((*name, without_own(&variable(name)?)?)))
}

/// A list of folders without this machine's; `None` if there are none of these.
fn without_own(list: &OsStr) -> Option<OsString> {
    let folders = || list.as_bytes().split(|byte| *byte == b':');
    let kept: Vec<&[u8]> = folders().filter(|folder| !is_own(folder)).collect();
    (kept.len() < folders().count()).then(|| OsString::from_vec(kept.join(&b':')))
}

fn is_own(folder: &[u8]) -> bool {
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

    #[test]
    fn a_build_for_this_machines_own_c_library_keeps_them() {
        let variable = |name: &str| (name == "CPATH").then(|| OsString::from("/usr/include"));
        let plan = |processor, text: &str| {
            let text: SpecText = text.parse().unwrap();
            let spec = text.complete(processor, Goal::Balanced, |_| Allocator::System).unwrap();
            no_tools(spec)
        };
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
