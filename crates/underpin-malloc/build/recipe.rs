//! How each allocator is compiled, and with which settings.

use crate::tools::{COMMON, Failure, Tools, copy_folder, include, run};
use crate::{Source, mimalloc};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An allocator on board. The names are those of `AllocatorKind` in src/lib.rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    Jemalloc,
    Mimalloc,
    Snmalloc,
}

/// What an allocator is tuned for. The names are those of `Goal` in src/linkable.rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Speed,
    Balanced,
}

impl Goal {
    pub const ALL: [Goal; 2] = [Goal::Speed, Goal::Balanced];
}

impl Recipe {
    pub const ALL: [Recipe; 3] = [Recipe::Jemalloc, Recipe::Mimalloc, Recipe::Snmalloc];

    pub fn name(self) -> &'static str {
        match self {
            Recipe::Jemalloc => "jemalloc",
            Recipe::Mimalloc => "mimalloc",
            Recipe::Snmalloc => "snmalloc",
        }
    }

    /// The crate whose sources it is built from.
    pub fn package(self) -> &'static str {
        match self {
            Recipe::Jemalloc => "tikv-jemalloc-sys",
            Recipe::Mimalloc => "libmimalloc-sys",
            Recipe::Snmalloc => "snmalloc-sys",
        }
    }

    /// snmalloc needs a C++20 compiler, which not every machine has that can build Rust.
    pub fn may_be_absent(self) -> bool {
        self == Recipe::Snmalloc
    }

    /// What was chosen at build time, in words for the user.
    pub fn settings(self, tools: &Tools) -> &'static str {
        match self {
            Recipe::Jemalloc if tools.large_pages() => {
                "a background thread gives unused memory back after a second (background_thread:false: no such thread); \
                 built for pages of up to 64 kB"
            }
            Recipe::Jemalloc => {
                "a background thread gives unused memory back after a second (background_thread:false: no such thread)"
            }
            Recipe::Mimalloc => {
                "pages of 128 kB, full ones left to themselves; no transparent huge pages; gives unused \
                 memory back as it goes on allocating, or at once with purge_delay=0"
            }
            Recipe::Snmalloc => "as released, without its checks",
        }
    }

    /// The same for the object to link in.
    pub fn linkable_settings(self, tools: &Tools, goal: Goal) -> String {
        let decay = match goal {
            Goal::Speed => "gives unused memory back after ten seconds",
            Goal::Balanced => "gives unused memory back after a second",
        };
        match (self, goal) {
            (Recipe::Jemalloc, _) if tools.large_pages() => format!("{decay}; built for pages of up to 64 kB"),
            (Recipe::Jemalloc, _) => decay.to_owned(),
            (Recipe::Mimalloc, Goal::Speed) => {
                format!(
                    "purge_delay=1000, {} 128 MiB of addresses at a time; huge pages beyond 16 MiB",
                    mimalloc::LINKED
                )
            }
            (Recipe::Mimalloc, Goal::Balanced) => {
                format!("purge_delay=10, {} 32 MiB of addresses at a time; no transparent huge pages", mimalloc::LINKED)
            }
            (Recipe::Snmalloc, _) => "as released, without its checks".to_owned(),
        }
    }

    pub fn upstream_version(self, folder: &Path, package: &str) -> Result<String, Failure> {
        match self {
            // 0.7.1+5.3.1-0-g81034ce…: the crate's own version, then that of jemalloc.
            Recipe::Jemalloc => {
                let upstream = package.split_once('+').map(|(_, upstream)| upstream);
                let number = upstream.and_then(|text| text.split('-').next());
                number.map(str::to_owned).ok_or_else(|| Failure(format!("no jemalloc version in {package}")))
            }
            Recipe::Mimalloc => mimalloc::version(folder),
            Recipe::Snmalloc => Ok(package.to_owned()),
        }
    }

    /// The names of its options, as its own source lists them.
    pub fn options(self, folder: &Path) -> Result<Vec<String>, Failure> {
        let (file, openings): (PathBuf, &[&str]) = match self {
            Recipe::Jemalloc => (folder.join("jemalloc/src/conf.c"), &["CONF_HANDLE_", "CONF_MATCH("]),
            Recipe::Mimalloc => (mimalloc::sources(folder).join("src/options.c"), &["MI_OPTION(", "MI_OPTION_LEGACY("]),
            Recipe::Snmalloc => return Ok(Vec::new()),
        };
        let text = fs::read_to_string(&file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
        let code: String =
            text.lines().filter(|line| !line.contains("#define")).flat_map(|line| [line, "\n"]).collect();
        let mut names: Vec<String> = openings
            .iter()
            .flat_map(|opening| code.split(opening).skip(1))
            .filter_map(|rest| if self == Recipe::Jemalloc { quoted(rest) } else { word(rest) })
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'))
            .filter(|name| !name.starts_with("deprecated_"))
            .collect();
        names.sort();
        names.dedup();
        if names.len() < 10 {
            Err(Failure(format!("{}: its options are not where they were", file.display())))
        } else {
            Ok(names)
        }
    }

    /// The object to preload.
    pub fn build(self, tools: &Tools, source: &Source) -> Result<PathBuf, Failure> {
        let mut parts = self.parts(tools, source, &Tuning::PRELOADED)?;
        parts.push(tools.compile_c("compat.c", "compat.o", &[])?);
        tools.link(&tools.out.join(format!("{}.so", self.name())), &parts, "allocator.map")
    }

    /// The object to link in. Goals with the same settings have the same object.
    pub fn build_linkable(self, tools: &Tools, source: &Source, goal: Goal) -> Result<PathBuf, Failure> {
        let tuning = Tuning::of(goal);
        let object = tools.out.join(match self {
            Recipe::Snmalloc => "snmalloc-linkable.o".to_owned(),
            Recipe::Jemalloc | Recipe::Mimalloc => format!("{}-linkable-{}.o", self.name(), tuning.name),
        });
        if !tools.is_first(&object) {
            return Ok(object);
        }
        let mut parts = self.parts(tools, source, tuning)?;
        parts.push(tools.compile_c("compat.c", "compat-linked.o", &["LINKED".to_owned()])?);
        tools.merge(&object, &parts, "linkable.keep")
    }

    fn parts(self, tools: &Tools, source: &Source, tuning: &Tuning) -> Result<Vec<PathBuf>, Failure> {
        Ok(match self {
            Recipe::Jemalloc => vec![build_jemalloc(tools, source)?, jemalloc_conf(tools, tuning)?],
            Recipe::Mimalloc => vec![mimalloc::build(tools, &source.folder, tuning.name, tuning.mimalloc)?],
            Recipe::Snmalloc => vec![build_snmalloc(tools, &source.folder)?],
        })
    }
}

/// The string literal in the arguments that follow.
fn quoted(rest: &str) -> Option<String> {
    let arguments = &rest[..rest.find([')', ';'])?];
    let mut parts = arguments.split('"');
    parts.next()?;
    parts.next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The first argument.
fn word(rest: &str) -> Option<String> {
    rest.split([',', ')']).next().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// What the allocators are built with for one purpose; a user's `MALLOC_CONF` or `MIMALLOC_...` counts before it.
struct Tuning {
    name: &'static str,
    jemalloc: &'static str,
    mimalloc: &'static mimalloc::Settings,
}

impl Tuning {
    /// As released jemalloc looks for memory to give back only when it is called, and not before ten seconds have passed:
    /// a service that has become idle keeps all that it ever had. (docs/bench/ruby.md has the figures of both.)
    const PRELOADED: Tuning = Tuning {
        name: "preloaded",
        jemalloc: "background_thread:true,dirty_decay_ms:1000",
        mimalloc: &mimalloc::Settings::PRELOADED,
    };

    fn of(goal: Goal) -> &'static Tuning {
        const SPEED: Tuning = Tuning { name: "speed", jemalloc: "", mimalloc: &mimalloc::Settings::SPEED };
        const BALANCED: Tuning =
            Tuning { name: "balanced", jemalloc: "dirty_decay_ms:1000", mimalloc: &mimalloc::Settings::BALANCED };
        match goal {
            Goal::Speed => &SPEED,
            Goal::Balanced => &BALANCED,
        }
    }
}

/// The settings as an object of their own: jemalloc itself is compiled once for all of them.
fn jemalloc_conf(tools: &Tools, tuning: &Tuning) -> Result<PathBuf, Failure> {
    let define = format!("CONF=\"{}\"", tuning.jemalloc);
    tools.compile_c("jemalloc-conf.c", &format!("jemalloc-conf-{}.o", tuning.name), &[define])
}

/// Has jemalloc read its settings from `underpin_malloc_conf` instead of from a text in its code.
fn open_conf(folder: &Path) -> Result<(), Failure> {
    let path = folder.join("include/jemalloc/internal/jemalloc_internal_defs.h");
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(&path).map_err(failed)?;
    const DEFINED: &str = "#define JEMALLOC_CONFIG_MALLOC_CONF \"\"";
    if text.matches(DEFINED).count() != 1 {
        return Err(Failure(format!("{}: JEMALLOC_CONFIG_MALLOC_CONF is not where it was", path.display())));
    }
    let opened = "extern const char underpin_malloc_conf[] __attribute__((visibility(\"hidden\")));\n\
                  #define JEMALLOC_CONFIG_MALLOC_CONF underpin_malloc_conf";
    fs::write(&path, text.replace(DEFINED, opened)).map_err(failed)
}

fn build_jemalloc(tools: &Tools, source: &Source) -> Result<PathBuf, Failure> {
    let folder = tools.out.join("jemalloc");
    let mut flags: Vec<&str> = COMMON.to_vec();
    flags.extend(tools.machine_flags());
    let mapped = Tools::mapped(&folder, "jemalloc");
    flags.extend(["-O3", &mapped]);
    let mut configure = Command::new("sh");
    configure.current_dir(&folder).env("CC", &tools.cc).env("CFLAGS", flags.join(" ")).env_remove("MALLOC_CONF");
    configure.args(["configure", "--disable-cxx", "--disable-doc", "--disable-shared"]);
    configure.arg(format!("--with-version={}-0-g{}", source.version, "0".repeat(40)));
    if tools.large_pages() {
        configure.arg("--with-lg-page=16");
    }
    if tools.cross {
        configure.arg(format!("--host={}-linux-gnu", tools.arch));
    }
    let archive = folder.join("lib/libjemalloc_pic.a");
    let made_with = format!("open conf\n{}\n{configure:?}\n{}", source.folder.display(), tools.compiler_version());
    if archive.exists() && fs::read_to_string(tools.out.join("jemalloc.stamp")).is_ok_and(|text| text == made_with) {
        return Ok(archive);
    }
    // A folder of another build, or of an interrupted one, is worth nothing.
    let _ = fs::remove_dir_all(&folder);
    copy_folder(&source.folder.join("jemalloc"), &folder)?;
    copy_folder(&source.folder.join("configure"), &folder)?;
    run(&mut configure)?;
    open_conf(&folder)?;
    let mut make = Command::new("make");
    make.current_dir(&folder).arg("lib/libjemalloc_pic.a");
    if let Some(flags) = std::env::var_os("CARGO_MAKEFLAGS") {
        make.env("MAKEFLAGS", flags);
    }
    run(&mut make)?;
    tools.write("jemalloc.stamp", &made_with)?;
    Ok(archive)
}

fn build_snmalloc(tools: &Tools, folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder.join("upstream/src");
    let object = tools.out.join("snmalloc.o");
    let mut command = Command::new(&tools.cxx);
    command.args(COMMON).args(tools.machine_flags()).args(["-std=c++20", "-O3"]);
    if tools.arch == "x86_64" {
        command.arg("-mcx16");
    }
    // Nothing of a C++ library is needed: no exceptions, its own small standard library, and the end of a thread is
    // told by pthreads, since musl has no __cxa_thread_atexit_impl.
    command.args(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-gnu-unique", "-DNDEBUG"]);
    let defines = [
        "SNMALLOC_USE_PTHREAD_DESTRUCTORS",
        "SNMALLOC_USE_SELF_VENDORED_STL=1",
        "SNMALLOC_USE_WAIT_ON_ADDRESS=1",
        "SNMALLOC_PLATFORM_HAS_GETENTROPY",
        "SNMALLOC_HAS_LINUX_FUTEX_H",
        "SNMALLOC_HAS_LINUX_RANDOM_H",
        "SNMALLOC_CHECK_LOADS=false",
        "SNMALLOC_PAGEID=false",
        "SNMALLOC_EXPORT=__attribute__((visibility(\"default\")))",
    ];
    command.args(defines.map(|define| format!("-D{define}"))).arg(include(&folder));
    command.arg(Tools::mapped(&folder, "snmalloc"));
    run(command.arg("-c").arg("-o").arg(&object).arg(folder.join("snmalloc/override/malloc.cc")))?;
    Ok(object)
}
