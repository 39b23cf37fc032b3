//! How each build system is told what a recipe says.

use super::Tools;
use super::log::Log;
use crate::ImageError;
use crate::recipe::{Given, RecipeError, Resolved, Source, System};
use crate::store::Access;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One build, and its folders.
pub(super) struct Build<'a> {
    pub(super) recipe: &'a Resolved,
    pub(super) tools: &'a Tools,
    pub(super) log: &'a Log<'a>,
    /// The sources, in which it is built.
    pub(super) source: PathBuf,
    /// What the needed packages installed.
    pub(super) sysroot: PathBuf,
    /// Where it installs.
    pub(super) stage: PathBuf,
    /// How many commands may run at once.
    pub(super) jobs: usize,
    /// Whether Cargo may fetch crates.
    pub(super) access: Access,
    /// Seconds of each step.
    pub(super) seconds: Vec<(String, f64)>,
}

type Words = Vec<String>;

/// What a recipe's argument for Cargo begins with that names the crate's folder in its workspace.
const CRATE: &str = "--path=";

impl Build<'_> {
    /// Configures, builds and installs.
    pub(super) fn run(&mut self) -> Result<(), ImageError> {
        match self.recipe.system.value {
            System::Autoconf => self.autoconf(),
            System::Cmake => self.cmake(),
            System::Meson => self.meson(),
            System::Make => self.make(&self.variables()),
            System::Kconfig => self.kconfig(),
            System::Cargo => self.cargo(),
            System::None => Ok(()),
        }
    }

    pub(super) fn step(
        &mut self,
        what: &str,
        work: impl FnOnce(&Self) -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        let since = Instant::now();
        let result = work(self);
        self.seconds.push((what.to_owned(), since.elapsed().as_secs_f64()));
        result
    }

    /// The compiler with what every compilation of this package has: needed headers and libraries, no path of this machine, no
    /// symbols.
    fn cc(&self) -> String {
        self.compiler("CC", "cc")
    }

    fn compiler(&self, variable: &str, usual: &str) -> String {
        let mut words = vec![self.tools.variable(variable).unwrap_or(usual).to_owned()];
        words.push("-s".to_owned());
        words.push(format!("-ffile-prefix-map={}=.", self.source.display()));
        if !self.recipe.needs.is_empty() {
            words.push(format!("-isystem {}/usr/include", self.sysroot.display()));
            words.push(format!("-L{}/usr/lib", self.sysroot.display()));
            if !self.tools.is_static {
                // For what a needed library needs.
                words.push(format!("-Wl,-rpath-link,{}/usr/lib", self.sysroot.display()));
            }
        }
        words.extend(self.recipe.c_flags.iter().map(|flag| self.filled(&flag.value)));
        words.join(" ")
    }

    fn ld_flags(&self) -> String {
        self.recipe.ld_flags.iter().map(|flag| self.filled(&flag.value)).collect::<Words>().join(" ")
    }

    /// Names of this build's places in a value.
    fn filled(&self, text: &str) -> String {
        let tool = |name: &str| self.tools.variable(name).unwrap_or_default().to_owned();
        text.replace("{stage}", &self.stage.display().to_string())
            .replace("{sysroot}", &self.sysroot.display().to_string())
            .replace("{source}", &self.source.display().to_string())
            .replace("{triple}", &self.tools.triple)
            .replace("{processor}", &self.tools.processor)
            .replace("{ar}", &tool("AR"))
            .replace("{ranlib}", &tool("RANLIB"))
    }

    fn words(&self, list: &[Given<String>]) -> Words {
        list.iter().map(|item| self.filled(&item.value)).collect()
    }

    fn environment(&self) -> Vec<(String, String)> {
        let mut all = self.tools.environment.clone();
        let mut set = |name: &str, value: String| {
            all.retain(|(known, _)| known != name);
            all.push((name.to_owned(), value));
        };
        set("CC", self.cc());
        set("CXX", self.compiler("CXX", "c++"));
        set("CFLAGS", "-O2".to_owned());
        set("CXXFLAGS", "-O2".to_owned());
        set("LDFLAGS", self.ld_flags());
        set("CC_FOR_BUILD", "cc".to_owned());
        set("HOSTCC", "cc".to_owned());
        self.pkg_config().into_iter().for_each(|(name, value)| set(&name, value));
        set("SOURCE_DATE_EPOCH", "0".to_owned());
        set("KBUILD_BUILD_TIMESTAMP", "@0".to_owned());
        // What is above the work folder is not this package's repository.
        set("GIT_CEILING_DIRECTORIES", self.source.parent().unwrap_or(&self.source).display().to_string());
        all
    }

    /// pkg-config finds what the needed packages installed, and nothing else.
    fn pkg_config(&self) -> [(String, String); 2] {
        let root = self.sysroot.display();
        [
            ("PKG_CONFIG_LIBDIR".to_owned(), format!("{root}/usr/lib/pkgconfig:{root}/usr/share/pkgconfig")),
            ("PKG_CONFIG_SYSROOT_DIR".to_owned(), root.to_string()),
        ]
    }

    fn call(&self, program: &str, words: &[String], environment: &[(String, String)]) -> Result<(), ImageError> {
        self.log.run(program, words, &self.source, environment)
    }

    fn autoconf(&mut self) -> Result<(), ImageError> {
        let script = self.source.join("configure");
        if !script.exists() && self.source.join("configure.ac").exists() {
            // A release has it; what is packaged from a repository has not.
            let words = ["--force", "--install"].map(str::to_owned);
            self.step("autoreconf", |build| build.call("autoreconf", &words, &[]))?;
        }
        let text = fs::read(&script).map_err(ImageError::io(&script))?;
        let head = String::from_utf8_lossy(&text[..text.len().min(4096)]).into_owned();
        let by_autoconf = head.contains("Generated by GNU Autoconf");
        let mut words = vec!["./configure".to_owned()];
        if by_autoconf {
            words.push(format!("--host={}", self.tools.triple));
            words.push(format!("--build={}-pc-linux-gnu", std::env::consts::ARCH));
            words.extend(["--prefix=/usr", "--sysconfdir=/etc", "--disable-dependency-tracking"].map(str::to_owned));
            let usual = ["disable-shared", "enable-static"].into_iter().filter(|_| self.tools.is_static);
            // What the recipe says of an option, `false` above all, counts instead.
            let unsaid = usual.filter(|option| !self.recipe.config.contains_key(*option));
            words.extend(unsaid.map(|option| format!("--{option}")));
        }
        for (key, value) in &self.recipe.config {
            match value.value.as_str() {
                "true" => words.push(format!("--{key}")),
                "false" => {}
                other => words.push(format!("--{key}={}", self.filled(other))),
            }
        }
        let mut environment = self.environment();
        environment.extend(self.recipe.cache.iter().map(|(key, value)| (key.clone(), value.value.clone())));
        self.step("configure", |build| build.call("/bin/sh", &words, &environment))?;
        self.make(&[])
    }

    /// Variables of the command line, which win over what a makefile says.
    fn variables(&self) -> Words {
        let mut words = vec![format!("CC={}", self.cc())];
        for name in ["AR", "RANLIB"] {
            words.extend(self.tools.variable(name).map(|value| format!("{name}={value}")));
        }
        words.extend(self.recipe.config.iter().map(|(key, value)| format!("{key}={}", self.filled(&value.value))));
        words
    }

    fn make(&mut self, variables: &[String]) -> Result<(), ImageError> {
        let environment = self.environment();
        let jobs = format!("-j{}", self.jobs);
        let words = [&[jobs][..], variables, &self.words(&self.recipe.make)].concat();
        self.step("build", |build| build.call("make", &words, &environment))?;
        if self.recipe.install.is_empty() {
            return Ok(());
        }
        let place = vec![format!("DESTDIR={}", self.stage.display())];
        let words = [variables, &place, &self.words(&self.recipe.install)].concat();
        self.step("install", |build| build.call("make", &words, &environment))
    }

    /// `defconfig`, the recipe's values, what follows from them, and whether they stayed.
    fn kconfig(&mut self) -> Result<(), ImageError> {
        let environment = self.environment();
        let mut variables = vec![format!("CC={}", self.cc()), "HOSTCC=cc".to_owned(), "SKIP_STRIP=y".to_owned()];
        for name in ["AR", "LD"] {
            variables.extend(self.tools.variable(name).map(|value| format!("{name}={value}")));
        }
        self.step("configure", |build| {
            build.call("make", &[variables.as_slice(), &["defconfig".to_owned()]].concat(), &environment)?;
            build.set_config()?;
            build.call("make", &[variables.as_slice(), &["silentoldconfig".to_owned()]].concat(), &environment)?;
            build.confirm_config()
        })?;
        self.make(&variables)
    }

    fn config_file(&self) -> Result<(PathBuf, String), ImageError> {
        let path = self.source.join(".config");
        let text = fs::read_to_string(&path).map_err(ImageError::io(&path))?;
        Ok((path, text))
    }

    fn set_config(&self) -> Result<(), ImageError> {
        let (path, text) = self.config_file()?;
        let is_set = |line: &str| self.recipe.config.keys().any(|key| names(line, key));
        let mut lines: Vec<String> = text.lines().filter(|line| !is_set(line)).map(str::to_owned).collect();
        for (key, value) in &self.recipe.config {
            lines.push(match value.value.as_str() {
                "n" | "false" => format!("# CONFIG_{key} is not set"),
                "true" => format!("CONFIG_{key}=y"),
                other => format!("CONFIG_{key}={}", self.filled(other)),
            });
        }
        lines.push(String::new());
        fs::write(&path, lines.join("\n")).map_err(ImageError::io(&path))
    }

    /// A value that the configuration does not know, or does not allow, would be dropped without a word.
    fn confirm_config(&self) -> Result<(), ImageError> {
        let (_, text) = self.config_file()?;
        for (key, value) in &self.recipe.config {
            let found = text.lines().find(|line| names(line, key));
            let off = matches!(value.value.as_str(), "n" | "false");
            let is_off = found.is_none_or(|line| line.starts_with('#'));
            if found.is_none() && !off || off != is_off {
                let now = found.unwrap_or("not known to this version");
                let reason = format!("CONFIG_{key} did not become `{}`: it is {now}", value.value);
                return Err(RecipeError::of(&value.origin, reason).into());
            }
        }
        Ok(())
    }

    fn cmake(&mut self) -> Result<(), ImageError> {
        let mut environment = self.environment();
        let folder = self.source.join("underpin-build");
        // CMake splits CC at its first space only, and takes the rest as its first arguments.
        let mut words: Words = [
            "-S",
            ".",
            "-B",
            "underpin-build",
            "-DCMAKE_BUILD_TYPE=Release",
            "-DCMAKE_INSTALL_PREFIX=/usr",
            "-DCMAKE_INSTALL_LIBDIR=lib",
        ]
        .map(str::to_owned)
        .to_vec();
        if !self.tools.starts_here {
            words.push("-DCMAKE_SYSTEM_NAME=Linux".to_owned());
            words.push(format!("-DCMAKE_SYSTEM_PROCESSOR={}", self.tools.processor));
        }
        words.push(format!("-DCMAKE_FIND_ROOT_PATH={}", self.sysroot.display()));
        for kind in ["LIBRARY", "INCLUDE", "PACKAGE"] {
            words.push(format!("-DCMAKE_FIND_ROOT_PATH_MODE_{kind}=ONLY"));
        }
        if self.tools.is_static {
            words.push("-DBUILD_SHARED_LIBS=OFF".to_owned());
        }
        words.extend(self.recipe.config.iter().map(|(key, value)| format!("-D{key}={}", self.filled(&value.value))));
        environment.extend(self.recipe.cache.iter().map(|(key, value)| (key.clone(), value.value.clone())));
        self.step("configure", |build| build.call("cmake", &words, &environment))?;
        let words = [
            vec!["--build".to_owned(), folder.display().to_string(), format!("-j{}", self.jobs)],
            self.words(&self.recipe.make),
        ]
        .concat();
        self.step("build", |build| build.call("cmake", &words, &environment))?;
        if self.recipe.install.is_empty() {
            return Ok(());
        }
        environment.push(("DESTDIR".to_owned(), self.stage.display().to_string()));
        self.step("install", |build| {
            build.call("cmake", &["--install".to_owned(), folder.display().to_string()], &environment)
        })
    }

    fn meson(&mut self) -> Result<(), ImageError> {
        let mut environment = self.environment();
        let mut words: Words = ["setup", "underpin-build", "--prefix=/usr", "--libdir=lib", "--buildtype=release"]
            .map(str::to_owned)
            .to_vec();
        if self.tools.is_static {
            words.push("-Ddefault_library=static".to_owned());
        }
        if !self.tools.starts_here {
            let file = self.source.join("underpin-cross.ini");
            fs::write(&file, self.cross_file()).map_err(ImageError::io(&file))?;
            words.push(format!("--cross-file={}", file.display()));
        }
        words.extend(self.recipe.config.iter().map(|(key, value)| format!("-D{key}={}", self.filled(&value.value))));
        self.step("configure", |build| build.call("meson", &words, &environment))?;
        let words = [
            vec!["-C".to_owned(), "underpin-build".to_owned(), format!("-j{}", self.jobs)],
            self.words(&self.recipe.make),
        ]
        .concat();
        self.step("build", |build| build.call("ninja", &words, &environment))?;
        if self.recipe.install.is_empty() {
            return Ok(());
        }
        environment.push(("DESTDIR".to_owned(), self.stage.display().to_string()));
        let words: Words = ["install", "-C", "underpin-build", "--no-rebuild"].map(str::to_owned).to_vec();
        self.step("install", |build| build.call("meson", &words, &environment))
    }

    fn cross_file(&self) -> String {
        let cc: Words = self.cc().split_whitespace().map(|word| format!("'{word}'")).collect();
        let processor = &self.tools.processor;
        format!(
            "[binaries]\nc = [{}]\nar = '{}'\npkg-config = 'pkg-config'\n[host_machine]\nsystem = 'linux'\ncpu_family = '{processor}'\ncpu = '{processor}'\nendian = 'little'\n",
            cc.join(", "),
            self.tools.variable("AR").unwrap_or("ar"),
        )
    }

    /// A crate of the registry, or the folder; `make` are further arguments of `cargo install`, `config` variables.
    fn cargo(&mut self) -> Result<(), ImageError> {
        let mut words: Words = ["install", "--locked", "--no-track", "--root"].map(str::to_owned).to_vec();
        words.push(self.stage.join("usr").display().to_string());
        words.push(format!("-j{}", self.jobs));
        match &self.recipe.source.value {
            Source::Crate(name) => words.push(format!("{name}@{}", self.recipe.version.value)),
            _ => words.extend(["--path".to_owned(), self.path_of_crate()]),
        }
        if self.access == Access::Offline {
            words.push("--offline".to_owned());
        }
        words.extend(self.words(&self.recipe.make).into_iter().filter(|word| !word.starts_with(CRATE)));
        words.push("--target-dir".to_owned());
        words.push(self.source.join("underpin-build").display().to_string());
        let environment = self.cargo_environment();
        self.step("build", |build| build.call("cargo", &words, &environment))
    }

    /// The folder of the crate in a workspace: `--path=...` among the arguments.
    fn path_of_crate(&self) -> String {
        let path = self.recipe.make.iter().find_map(|word| word.value.strip_prefix(CRATE));
        path.unwrap_or(".").to_owned()
    }

    /// No symbols and no path of this machine, as for C.
    fn cargo_environment(&self) -> Vec<(String, String)> {
        let rust = self.tools.rust.clone().unwrap_or_default();
        let mut all = rust.environment;
        let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
        let mut flags = vec![format!("--remap-path-prefix={}=.", self.source.display())];
        flags.extend(home.map(|home| format!("--remap-path-prefix={home}=/cargo")));
        all.push(("CARGO_ENCODED_RUSTFLAGS".to_owned(), flags.join("\u{1f}")));
        all.push(("CARGO_PROFILE_RELEASE_STRIP".to_owned(), "symbols".to_owned()));
        all.push(("PKG_CONFIG_ALLOW_CROSS".to_owned(), "1".to_owned()));
        all.extend(self.pkg_config());
        all.extend(self.recipe.config.iter().map(|(key, value)| (key.clone(), self.filled(&value.value))));
        all
    }
}

/// Whether a line of `.config` is about a name.
fn names(line: &str, key: &str) -> bool {
    let rest = line.strip_prefix("# ").unwrap_or(line).strip_prefix("CONFIG_").and_then(|rest| rest.strip_prefix(key));
    rest.is_some_and(|rest| rest.starts_with('=') || rest == " is not set")
}

/// Whether a folder holds anything.
pub(super) fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}
