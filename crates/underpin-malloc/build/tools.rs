//! The compilers, and how an object is linked so that it belongs to no C library.

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
        let prefix = if host.starts_with(&format!("{arch}-")) { String::new() } else { format!("{arch}-linux-gnu-") };
        let compiler = |variable: &str, default: &str| {
            println!("cargo::rerun-if-env-changed={variable}");
            std::env::var(variable).unwrap_or_else(|_| format!("{prefix}{default}"))
        };
        let cross = !prefix.is_empty();
        Ok(Tools {
            manifest: path("CARGO_MANIFEST_DIR")?,
            out: path("OUT_DIR")?,
            cc: compiler("UNDERPIN_CC", if cross { "gcc" } else { "cc" }),
            cxx: compiler("UNDERPIN_CXX", if cross { "g++" } else { "c++" }),
            arch,
            cross,
        })
    }

    /// Flags that only one architecture knows. GCC's out-of-line atomics of aarch64 ask glibc for the CPU's features.
    pub fn machine_flags(&self) -> &'static [&'static str] {
        match self.arch.as_str() {
            "aarch64" => &["-mno-outline-atomics"],
            _ => &[],
        }
    }

    /// The flag by which no path of this machine comes into an object (by `__FILE__` in an assertion): what is built elsewhere
    /// from the same sources has the same bytes.
    pub fn mapped(folder: &Path, name: &str) -> String {
        format!("-ffile-prefix-map={}={name}", folder.display())
    }

    pub fn native(&self, name: &str) -> PathBuf {
        self.manifest.join("native").join(name)
    }

    /// Compiles one of our own sources.
    pub fn compile_c(&self, name: &str) -> Result<PathBuf, Failure> {
        let object = self.out.join(name).with_extension("o");
        let mut command = Command::new(&self.cc);
        command.args(COMMON).args(self.machine_flags()).args(["-std=gnu11", "-O2", "-fno-builtin"]);
        command.arg(Tools::mapped(&self.manifest, "underpin-allocators")).args(["-c", "-o"]);
        run(command.arg(&object).arg(self.native(name)))?;
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
