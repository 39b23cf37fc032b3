//! What the kinds of project that are built by another build system have in common.

use super::{Context, Copy, heard};
use crate::tool::{Dialect, Tool};
use crate::toolchain::Toolchain;
use crate::{BuildError, CLibrary, Processor, Spec};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A program of the build system, or the command that installs it.
///
/// # Errors
/// [`BuildError::NoTool`].
pub fn program(names: &[&'static str], package: &'static str) -> Result<PathBuf, BuildError> {
    let found = names.iter().find_map(|name| find(name));
    found.ok_or(BuildError::NoTool { tool: names.first().copied().unwrap_or_default(), package })
}

/// The first program of a name in PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let starts =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(starts)
}

/// A folder for results with these arguments and the user's variables: what was configured with others is not mixed with it.
/// `texts`: of the sources, which may mention variables.
pub fn folder(context: &Context<'_>, kind: &str, texts: &[String]) -> PathBuf {
    let mut hash = Sha256::new();
    for word in context.words {
        hash.update(word);
        hash.update([0]);
    }
    hash.update(heard::bytes(texts));
    let digits: String = hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    context.work.join(format!("{kind}-{digits}"))
}

/// How many commands run in parallel.
pub fn jobs() -> String {
    std::thread::available_parallelism().map_or(1, usize::from).to_string()
}

/// Whether programs of this build start here: configure tests may run what they build.
pub fn starts_here(context: &Context<'_>) -> bool {
    let spec = context.spec;
    let loader = format!("/lib/ld-musl-{}.so.1", spec.processor);
    let has_libc = spec.linkage.is_static()
        || matches!(spec.libc, CLibrary::Glibc(_)) && cfg!(target_os = "linux") && has_glibc()
        || spec.libc == CLibrary::Musl && Path::new(&loader).exists();
    Processor::host() == Some(spec.processor) && has_libc
}

/// Whether this machine's C library is glibc, by its loader.
fn has_glibc() -> bool {
    ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-riscv64-lp64d.so.1"]
        .iter()
        .any(|loader| Path::new(loader).exists())
}

/// What runs a program of another processor, if installed: `qemu-aarch64`, with the other's libraries if it needs any.
#[must_use]
pub fn emulator(spec: &Spec) -> Option<Vec<String>> {
    if Processor::host() == Some(spec.processor) {
        return None;
    }
    let name = format!("qemu-{}", spec.processor);
    let qemu = find(&format!("{name}-static")).or_else(|| find(&name))?;
    let root = format!("/usr/{}", spec.gnu_triple());
    let mut words = vec![qemu.display().to_string()];
    if !spec.linkage.is_static() {
        if !Path::new(&root).is_dir() {
            return None;
        }
        words.extend(["-L".to_owned(), root]);
    }
    Some(words)
}

/// Variables for whatever looks for compilers and libraries in its environment.
pub fn variables(context: &Context<'_>) -> Vec<(String, String)> {
    let toolchain = context.toolchain;
    let mut variables: Vec<(String, String)> = Vec::new();
    let tools = [
        ("CC", Tool::Cc, toolchain.cc.is_some()),
        ("CXX", Tool::Cxx, toolchain.cxx.is_some()),
        ("AR", Tool::Ar, !toolchain.ar.is_empty()),
        ("RANLIB", Tool::Ranlib, !toolchain.ranlib.is_empty()),
    ];
    for (name, tool, is_there) in tools {
        if is_there {
            variables.push((name.to_owned(), context.tool(tool)));
        }
    }
    variables.extend(around(context));
    variables
}

/// The compiler that `config.guess` asks for the C library of programs that start here, as [`variables`] have them: it takes
/// `HOST_CC`, which is this machine's compiler, for an older name of `CC_FOR_BUILD`, and `CC` after both. A configure script would
/// take musl for glibc.
pub fn guessed_by(context: &Context<'_>, variables: &[(String, String)]) -> Option<(String, String)> {
    const NAME: &str = "CC_FOR_BUILD";
    let is_misled = variables.iter().any(|(name, _)| name == "HOST_CC");
    let is_asked = is_misled && starts_here(context) && std::env::var_os(NAME).is_none();
    is_asked.then(|| (NAME.to_owned(), context.tool(Tool::Cc)))
}

/// Variables that keep this machine's own libraries out of a build for another C library or processor.
pub fn around(context: &Context<'_>) -> Vec<(String, String)> {
    let mut variables = caches(context);
    if !context.spec.uses_machines_libraries() {
        // What pkg-config finds by default is for this machine's C library.
        let users = ["PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"].iter().any(|name| std::env::var_os(name).is_some());
        if !users {
            variables.push(("PKG_CONFIG_LIBDIR".to_owned(), empty_root(context)));
        }
    }
    let is_foreign = Processor::host() != Some(context.spec.processor);
    // Build scripts of Rust compile for this machine too: the crate cc looks for these before CC, which is the target's.
    let of_scripts = [("HOST_CC", "cc"), ("HOST_CXX", "c++"), ("HOST_AR", "ar")];
    let of_makefiles = [("CC_FOR_BUILD", "cc"), ("BUILD_CC", "cc"), ("HOSTCC", "cc")];
    let of_scripts = of_scripts.iter().filter(|_| is_foreign || !context.spec.uses_machines_libraries());
    for (name, tool) in of_makefiles.iter().filter(|_| is_foreign).chain(of_scripts) {
        if let (None, Some(path)) = (std::env::var_os(name), find(tool)) {
            variables.push(((*name).to_owned(), path.display().to_string()));
        }
    }
    if is_foreign && let (None, Some(strip)) = (std::env::var_os("STRIP"), strip(context)) {
        variables.push(("STRIP".to_owned(), strip));
    }
    variables
}

/// The names of compilers lead to one and the same executable for every target: a cache of objects that tells compilers apart
/// by their file (ccache(1), "compiler_check") would give an object of one target to another.
fn caches(context: &Context<'_>) -> Vec<(String, String)> {
    let plan = context.tools.join(crate::tool::PLAN_FILE).display().to_string();
    let ccache = match std::env::var("CCACHE_EXTRAFILES") {
        Ok(users) if !users.is_empty() => format!("{users}:{plan}"),
        _ => plan.clone(),
    };
    vec![("CCACHE_EXTRAFILES".to_owned(), ccache), ("SCCACHE_C_CUSTOM_CACHE_BUSTER".to_owned(), plan)]
}

/// The linker itself, with its first arguments.
pub fn raw_linker(spec: &Spec, toolchain: &Toolchain) -> Option<Vec<String>> {
    if let Some(zig) = toolchain.cc.as_ref().filter(|cc| cc.dialect == Dialect::Zig) {
        return Some(vec![zig.program.display().to_string(), "ld.lld".to_owned()]);
    }
    let own = (Processor::host() == Some(spec.processor)).then(|| find("ld")).flatten();
    let found = own.or_else(|| find(&format!("{}-linux-gnu-ld", spec.processor))).or_else(|| find("ld.lld"))?;
    Some(vec![found.display().to_string()])
}

fn strip(context: &Context<'_>) -> Option<String> {
    let names = [format!("{}-linux-gnu-strip", context.spec.processor), "llvm-strip".to_owned()];
    names.iter().find_map(|name| find(name)).map(|path| path.display().to_string())
}

/// A folder without libraries, for tools that search a root.
pub fn empty_root(context: &Context<'_>) -> String {
    context.work.join("root").display().to_string()
}

/// make and configure scripts split paths at spaces, and no way of quoting helps.
///
/// # Errors
/// [`BuildError::CachePlace`].
pub fn is_plain(context: &Context<'_>, kind: &'static str) -> Result<(), BuildError> {
    let path = context.work.display().to_string();
    let plain = |char: char| char.is_alphanumeric() || "/._-+@%,=:~".contains(char);
    if path.chars().all(plain) { Ok(()) } else { Err(BuildError::CachePlace { folder: context.work.to_owned(), kind }) }
}

/// Whether files of C++ are below a folder, other than tests: those of gnulib have some in every project of C.
pub fn has_cxx(folder: &Path) -> bool {
    const TESTS: [&str; 3] = ["test", "tests", "testsuite"];
    let is_test = |path: &Path| {
        let below = path.strip_prefix(folder).unwrap_or(path);
        below.parent().into_iter().flat_map(Path::iter).any(|name| TESTS.iter().any(|test| name == *test))
    };
    let is_cxx =
        |path: &Path| path.extension().is_some_and(|ending| super::single::CXX.iter().any(|cxx| ending == *cxx));
    any_file(folder, |path| is_cxx(path) && !is_test(path))
}

/// Whether a file below a folder is of a kind.
pub fn any_file(folder: &Path, mut is_it: impl FnMut(&Path) -> bool) -> bool {
    /// A larger project is not searched completely.
    const MOST: usize = 20_000;
    let mut seen = 0_usize;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen = seen.saturating_add(1);
            if seen > MOST {
                return false;
            }
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_folder && !hidden {
                folders.push(path);
            } else if is_it(&path) {
                return true;
            }
        }
    }
    false
}

/// The copy that even a build beside the sources needs: of a folder whose name its tool cannot take, or with times in
/// the future, with which ninja and meson never finish. Also the folder to build.
pub fn copied(folder: &Path, context: &Context<'_>) -> (PathBuf, Option<Copy>) {
    if folder.to_str().is_some() && !has_time_to_come(folder) {
        return (folder.to_owned(), None);
    }
    let to = context.work.join("source");
    (to.clone(), Some(Copy { from: folder.to_owned(), to, with_results: true }))
}

fn has_time_to_come(folder: &Path) -> bool {
    let now = SystemTime::now();
    any_file(folder, |path| fs::metadata(path).and_then(|data| data.modified()).is_ok_and(|time| time > now))
}

/// The text of a file; invalid UTF-8 in it does not matter for the few words sought.
pub fn text(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// A copy in the cache belongs to no repository, whatever is above the cache.
pub fn ceiling(copy: &Path) -> (String, String) {
    let above = copy.parent().unwrap_or(copy).display().to_string();
    ("GIT_CEILING_DIRECTORIES".to_owned(), above)
}
