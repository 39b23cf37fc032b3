//! The compilers, and how an object is linked so that it belongs to no C library.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why something could not be built.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Failure {
    pub fn about(self, name: &str) -> Failure {
        Failure(format!("{name}: {} (UNDERPIN_ALLOCATORS=none builds without the allocators)", self.0))
    }
}

/// Folders, compilers and the machine they compile for.
pub struct Tools {
    pub manifest: PathBuf,
    pub out: PathBuf,
    pub arch: String,
    /// The target is another machine than this one.
    pub cross: bool,
    pub cc: String,
    pub cxx: String,
    objcopy: String,
    /// What `is_first` was asked about.
    made: RefCell<Vec<PathBuf>>,
}

/// Code that any process may load: position independent, its thread-local data in the static block (the object is
/// there from the start), no calls that only one C library has (stack protector, fortified functions).
pub const COMMON: [&str; 9] = [
    "-g0",
    "-fPIC",
    "-ftls-model=initial-exec",
    "-fvisibility=hidden",
    "-fno-stack-protector",
    "-U_FORTIFY_SOURCE",
    "-fno-builtin-malloc",
    "-fomit-frame-pointer",
    "-w",
];

impl Tools {
    pub fn new() -> Result<Tools, Failure> {
        let path = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).ok_or_else(|| Failure(format!("cargo did not set {name}")))
        };
        let text = |name: &str| std::env::var(name).map_err(|_| Failure(format!("cargo did not set {name}")));
        let (arch, host) = (text("CARGO_CFG_TARGET_ARCH")?, text("HOST")?);
        let cross = !host.starts_with(&format!("{arch}-"));
        let prefix = if cross { format!("{arch}-linux-gnu-") } else { String::new() };
        Ok(Tools {
            manifest: path("CARGO_MANIFEST_DIR")?,
            out: path("OUT_DIR")?,
            cc: chosen("UNDERPIN_CC").unwrap_or_else(|| format!("{prefix}{}", if cross { "gcc" } else { "cc" })),
            cxx: chosen("UNDERPIN_CXX").unwrap_or_else(|| format!("{prefix}{}", if cross { "g++" } else { "c++" })),
            objcopy: chosen("UNDERPIN_OBJCOPY").unwrap_or_else(|| format!("{prefix}objcopy")),
            arch,
            cross,
            made: RefCell::default(),
        })
    }

    /// The same for another processor, in a folder of its own; `Err` with the reason if there is no compiler for it.
    /// `UNDERPIN_CC_aarch64`, `UNDERPIN_CXX_aarch64` and `UNDERPIN_OBJCOPY_aarch64` name others than GCC's.
    pub fn of_processor(&self, arch: &str) -> Result<Tools, Failure> {
        let tool = |variable: &str, name: &str| {
            chosen(&format!("{variable}_{arch}")).unwrap_or_else(|| format!("{arch}-linux-gnu-{name}"))
        };
        let tools = Tools {
            manifest: self.manifest.clone(),
            out: self.out.join(arch),
            arch: arch.to_owned(),
            cross: true,
            cc: tool("UNDERPIN_CC", "gcc"),
            cxx: tool("UNDERPIN_CXX", "g++"),
            objcopy: tool("UNDERPIN_OBJCOPY", "objcopy"),
            made: RefCell::default(),
        };
        if tools.compiler_version().is_empty() {
            underpin_build_support::again_after_installation();
            return Err(Failure(format!(
                "underpin was built without a compiler for {arch} ({} was not found)",
                tools.cc
            )));
        }
        fs::create_dir_all(&tools.out).map_err(|error| Failure(format!("{}: {error}", tools.out.display())))?;
        Ok(tools)
    }

    /// Flags that only one architecture knows. GCC's out-of-line atomics of aarch64 ask glibc for the CPU's features.
    pub fn machine_flags(&self) -> &'static [&'static str] {
        match self.arch.as_str() {
            "aarch64" => &["-mno-outline-atomics"],
            _ => &[],
        }
    }

    /// Machines whose kernels are built with pages of 4, 16 or 64 kB: jemalloc aborts on pages larger than it was built
    /// for, and works on smaller ones.
    pub fn large_pages(&self) -> bool {
        matches!(self.arch.as_str(), "aarch64" | "powerpc64")
    }

    /// Whether this run has not asked for the file yet.
    pub fn is_first(&self, object: &Path) -> bool {
        let mut made = self.made.borrow_mut();
        let first = !made.iter().any(|path| path == object);
        if first {
            made.push(object.to_owned());
        }
        first
    }

    /// The flag by which no path of this machine comes into an object (by `__FILE__` in an assertion): what is built elsewhere
    /// from the same sources has the same bytes.
    pub fn mapped(folder: &Path, name: &str) -> String {
        format!("-ffile-prefix-map={}={name}", folder.display())
    }

    pub fn native(&self, name: &str) -> PathBuf {
        self.manifest.join("native").join(name)
    }

    /// Compiles one of our own sources to the object of that name.
    pub fn compile_c(&self, source: &str, object: &str, defines: &[String]) -> Result<PathBuf, Failure> {
        let object = self.out.join(object);
        let mut command = Command::new(&self.cc);
        command.args(COMMON).args(self.machine_flags()).args([
            "-std=gnu11",
            "-O2",
            "-fno-builtin",
            "-ffunction-sections",
        ]);
        command.args(defines.iter().map(|define| format!("-D{define}")));
        command.arg(Tools::mapped(&self.manifest, "underpin-allocators")).args(["-c", "-o"]);
        run(command.arg(&object).arg(self.native(source)))?;
        Ok(object)
    }

    /// Links objects and archives to a shared object that exports what the map says. `libc.so.6` stands in it by name
    /// only: an empty library of that name gives the entry without the versions.
    pub fn link(&self, object: &Path, parts: &[PathBuf], map: &str) -> Result<PathBuf, Failure> {
        let stand_in = self.out.join("libc-name-only.so");
        let empty = self.out.join("empty.c");
        self.write("empty.c", "")?;
        let bare = ["-shared", "-nostdlib", "-Wl,--build-id=none"];
        run(Command::new(&self.cc).args(bare).args(["-Wl,-soname,libc.so.6", "-o"]).arg(&stand_in).arg(&empty))?;
        let mut command = Command::new(&self.cc);
        command.args(bare).args(["-Wl,-z,relro,-z,noexecstack", "-Wl,-s", "-Wl,--no-as-needed"]);
        command.arg(format!("-Wl,--version-script={}", self.native(map).display())).arg("-o").arg(object);
        command.arg("-Wl,--whole-archive").args(parts).arg("-Wl,--no-whole-archive").arg(&stand_in).arg("-lgcc");
        run(&mut command)?;
        Ok(object.to_owned())
    }

    /// Makes one relocatable object of objects and archives, in which only the names listed in `keep` (shell patterns, one a
    /// line) are global. What the compiler takes from its own library (`__popcountdi2`) comes along: a C library's linker
    /// line may not have it. Section groups are dissolved, else the linker would take a program's copy of an inline function
    /// of the same name for ours, whose names are no longer to be seen.
    pub fn merge(&self, object: &Path, parts: &[PathBuf], keep: &str) -> Result<PathBuf, Failure> {
        let mut command = Command::new(&self.cc);
        command.args(["-r", "-nostdlib", "-Wl,--build-id=none", "-Wl,--force-group-allocation", "-o"]).arg(object);
        command.arg("-Wl,--whole-archive").args(parts).args(["-Wl,--no-whole-archive", "-lgcc"]);
        run(&mut command)?;
        let mut command = Command::new(&self.objcopy);
        command.args(["--wildcard", "--strip-debug", "--remove-section=.comment"]);
        command.arg(format!("--keep-global-symbols={}", self.native(keep).display()));
        run(command.arg(object))?;
        Ok(object.to_owned())
    }

    /// What a compiler says of itself: another one makes other code.
    pub fn compiler_version(&self) -> String {
        let output = Command::new(&self.cc).arg("--version").output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    pub fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.out.join(name);
        fs::write(&path, text).map_err(|error| Failure(format!("{}: {error}", path.display())))
    }
}

/// What a variable of the environment names.
fn chosen(variable: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={variable}");
    std::env::var(variable).ok().filter(|name| !name.is_empty())
}

/// Runs a tool; its last words are the reason where it fails.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    const LAST_LINES: usize = 12;
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Failure(format!("cannot run {name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
    Err(Failure(format!("{name} failed ({}):\n{last}", output.status)))
}

/// Copies a folder: sources in cargo's registry are never built in place.
pub fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let entry = entry.map_err(|error| failed(from, error))?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type().map_err(|error| failed(from, error))?;
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(|error| failed(&target, error))?;
        }
    }
    Ok(())
}

/// `-I` and a folder as one argument.
pub fn include(folder: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from("-I");
    flag.push(OsStr::new(folder));
    flag
}
