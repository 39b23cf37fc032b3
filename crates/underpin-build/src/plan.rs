//! The plan: what is written, what is run. Data until [`Plan::prepare`].

use crate::absent;
use crate::archive::archive;
use crate::cargo_config::CargoConfig;
use crate::project::{Context, Planned, Project};
use crate::tool::{Compiler, Dialect, FOLDER_VARIABLE, PLAN_FILE, RustLinker, RustPlan, SEARCHED, Tool, ToolPlan};
use crate::toolchain::{CompilerFamily, KERNEL_HEADERS, SUPPORT_ARCHIVE, SUPPORT_SOURCE, Toolchain, Toolchains};
use crate::work::{self, Holder, WorkLock, link, write};
use crate::{BuildError, CLibrary, Claim, Header, LinkObject, Request, Spec, note_object};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is for, in a word or two.
    pub words: String,
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that are set for it, beside those of the plan.
    pub environment: Vec<(String, String)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Its standard output is wanted.
    pub captured: bool,
    /// The file that it makes, if that is known in advance.
    pub makes: Option<PathBuf>,
    /// It may take minutes the first time, without any output.
    pub slow: bool,
    /// The build goes on without it if it fails, with the sources as they were.
    pub optional: bool,
}

impl Step {
    /// A command that runs in a folder.
    #[must_use]
    pub fn new(words: &str, program: PathBuf, arguments: Vec<String>, directory: &Path) -> Step {
        Step {
            words: words.to_owned(),
            program,
            arguments,
            environment: Vec::new(),
            directory: directory.to_owned(),
            captured: false,
            makes: None,
            slow: false,
            optional: false,
        }
    }

    /// With variables.
    #[must_use]
    pub fn with(self, environment: Vec<(String, String)>) -> Step {
        Step { environment, ..self }
    }

    /// Its standard output is wanted.
    #[must_use]
    pub fn captured(self) -> Step {
        Step { captured: true, ..self }
    }

    /// It makes this file.
    #[must_use]
    pub fn makes(self, path: PathBuf) -> Step {
        Step { makes: Some(path), ..self }
    }
}

/// A build, planned.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is to be built.
    pub spec: Spec,
    /// The project that is built.
    pub project: Project,
    /// With what.
    pub toolchain: Toolchain,
    /// The folder with the names of tools.
    pub folder: PathBuf,
    /// This build's own folder.
    pub work: PathBuf,
    /// The commands of the project, and what else it needs.
    pub planned: Planned,
    /// What comes before them: the parts of the toolchain that are built once.
    pub before: Vec<Step>,
    /// Variables for every command.
    pub environment: Vec<(String, String)>,
    /// What is linked in, the note last.
    pub objects: Vec<LinkObject>,
    /// Headers in front of the C library's.
    pub headers: Vec<Header>,
    /// The script beside the linker's own.
    pub layout: Option<String>,
    /// What the note says.
    pub claims: Vec<Claim>,
    /// What the names of tools stand for.
    pub tools: ToolPlan,
    executable: PathBuf,
}

impl Plan {
    /// Plans a build.
    ///
    /// # Errors
    /// If nothing here builds it, or the project cannot be read.
    pub fn new(request: &Request, project: Project, toolchains: &Toolchains) -> Result<Plan, BuildError> {
        let spec = request.spec;
        let work = request.places.cache.join("build").join(key(request, &project, toolchains));
        if work.to_str().is_none() {
            return Err(BuildError::CachePlace { folder: work, kind: "underpin" });
        }
        let folder = work.join(crate::TOOLS);
        let choose = |project: &Project| toolchains.choose(&spec, request.compiler, project.needs(), &folder);
        let (project, toolchain) = match (choose(&project), project.without_cxx()) {
            (Err(_), Some(other)) => choose(&other).map(|toolchain| (other, toolchain))?,
            (chosen, _) => (project, chosen?),
        };
        let claims = claims(request, &toolchain);
        let objects = objects_with_note(request, &claims)?;
        let places = &request.places;
        let context =
            Context { spec: &spec, toolchain: &toolchain, words: &request.words, tools: &folder, work: &work, places };
        let planned = project.plan(&context)?;
        let headers = headers(request, &toolchain);
        let with_headers = (!headers.is_empty()).then(|| folder.join(HEADERS));
        let layout = request.layout.clone().filter(|_| links_musl_by_gnu_ld(&spec, &toolchain));
        let with_layout = layout.is_some().then(|| folder.join(LAYOUT));
        let tools = ToolPlan {
            headers: with_headers,
            layout: with_layout,
            ..tools(request, &project, &toolchain, &folder, &objects)
        };
        let mut environment = vec![(FOLDER_VARIABLE.to_owned(), folder.display().to_string())];
        let mut before = Vec::new();
        if toolchain.zig {
            let cache = places.cache.join("zig").display().to_string();
            for name in ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"] {
                environment.push((name.to_owned(), cache.clone()));
            }
        }
        before.extend(support(&toolchain, &work, &folder));
        before.extend(first_use(&toolchain, project.needs(), &spec, &work, &folder, &places.cache));
        let executable = places.executable.clone();
        Ok(Plan {
            spec,
            project,
            toolchain,
            folder,
            work,
            planned,
            before,
            environment,
            objects,
            headers,
            layout,
            claims,
            tools,
            executable,
        })
    }

    /// Every command, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.before.iter().chain(&self.planned.steps)
    }

    /// Writes what the commands need: names of tools, objects, and a copy of the sources if they must not be written to.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn prepare(&self) -> Result<(), BuildError> {
        work::begin(&self.work)?;
        fs::create_dir_all(&self.folder).map_err(BuildError::io(&self.folder))?;
        for object in &self.objects {
            write(&self.folder.join(object.file_name()), &object.bytes)?;
        }
        if let Some(path) = &self.tools.archive {
            write(path, &archive(&self.objects))?;
        }
        if let (Some(path), Some(text)) = (&self.tools.layout, &self.layout) {
            write(path, text.as_bytes())?;
        }
        if let Some(folder) = &self.tools.headers {
            fs::create_dir_all(folder).map_err(BuildError::io(folder))?;
            for header in &self.headers {
                write(&folder.join(&header.name), header.text.as_bytes())?;
            }
        }
        if self.spec.libc == CLibrary::Musl {
            absent::write(&self.folder, &self.objects)?;
        }
        if self.toolchain.zig {
            let cache = self.environment.iter().find(|(name, _)| name == "ZIG_GLOBAL_CACHE_DIR");
            if let Some((_, cache)) = cache {
                fs::create_dir_all(cache).map_err(BuildError::io(cache))?;
            }
            write(&self.work.join("empty.c"), EMPTY.as_bytes())?;
        }
        if self.toolchain.support {
            write(&self.work.join("find_object.c"), SUPPORT_SOURCE.as_bytes())?;
        }
        for (name, to) in &self.toolchain.kernel {
            let folder = self.folder.join(KERNEL_HEADERS);
            fs::create_dir_all(&folder).map_err(BuildError::io(&folder))?;
            link(to, &folder.join(name))?;
        }
        for tool in Tool::ALL.into_iter().filter(|tool| *tool != Tool::Run) {
            link(&self.executable, &self.folder.join(tool.name()))?;
        }
        let text = serde_json::to_vec(&self.tools).unwrap_or_default();
        write(&self.folder.join(PLAN_FILE), &text)?;
        for folder in &self.planned.folders {
            fs::create_dir_all(folder).map_err(BuildError::io(folder))?;
        }
        for (path, text) in &self.planned.files {
            write(path, text.as_bytes())?;
        }
        self.planned.copy.as_ref().map_or(Ok(()), crate::project::copy)?;
        for (name, to) in &self.planned.links {
            if let Some(folder) = name.parent() {
                fs::create_dir_all(folder).map_err(BuildError::io(folder))?;
            }
            link(to, name)?;
        }
        Ok(())
    }

    /// Locks this build's folder, or returns who has locked it: two builds of the same project and [`Spec`] would write
    /// to one folder. Hold the lock until the results are in their places.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn lock(&self) -> Result<Result<WorkLock, Holder>, BuildError> {
        work::lock(&self.work)
    }

    /// Records that every command has ended by itself, if only by failing: what they left may be built upon. Without
    /// that record the next run removes what may be half-written.
    pub fn finished(&self) {
        work::finish(&self.work);
    }

    /// Variables for a build that the user starts, sorted by name.
    #[must_use]
    pub fn exported(&self) -> std::collections::BTreeMap<&str, &str> {
        let all = self.environment.iter().chain(&self.planned.exported);
        all.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// A name for the folder of a build: the project's, and a hash of everything that affects its results.
fn key(request: &Request, project: &Project, toolchains: &Toolchains) -> String {
    let mut hash = Sha256::new();
    let compiler = request.compiler.map_or("", |family| family.name());
    // Another underpin may have its compilers called otherwise, which make does not notice either.
    let underpin = env!("CARGO_PKG_VERSION").to_owned();
    let spec = request.spec;
    let words = [spec.to_string(), spec.processor.to_string(), spec.goal.name().to_owned(), underpin];
    let folder = project.folder().as_os_str().as_bytes();
    for text in words.iter().map(String::as_bytes).chain([compiler.as_bytes(), folder]) {
        hash.update(text);
        hash.update([0]);
    }
    for object in &request.objects {
        hash.update(Sha256::digest(&object.bytes));
    }
    for header in &request.headers {
        hash.update(Sha256::digest(&header.text));
    }
    if spec.libc == CLibrary::Musl {
        for header in absent::headers(&request.objects) {
            hash.update(Sha256::digest(&header.text));
        }
    }
    hash.update(Sha256::digest(request.layout.as_deref().unwrap_or_default()));
    // make and CMake do not notice that a compiler is another version. All that were found count: which one is used is
    // decided with the folder's name already known.
    for tool in toolchains.versions() {
        hash.update(tool);
        hash.update([0]);
    }
    // make and configure scripts take no path with a space in it.
    let plain = |char: char| if char.is_ascii_alphanumeric() || "._-".contains(char) { char } else { '_' };
    let name = project.folder().file_stem().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().map(plain).take(40).collect();
    let digits: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{digits}")
}

/// The most that a command of a build may take unless the user says otherwise: LLVM is compiled in less on two processors.
pub const STEP_LIMIT: Duration = Duration::from_secs(4 * 3600);

/// How long another run's lock on the same build is waited for unless the user says otherwise.
pub const LOCK_WAIT: Duration = Duration::from_secs(30 * 60);

/// The archive of optional objects, in the folder of the tools.
pub(crate) const ARCHIVE: &str = "optional.a";

/// The script for the linker, in the folder of the tools.
const LAYOUT: &str = "layout.ld";

/// Whether gcc links this machine's musl into programs, which it leaves to GNU ld.
fn links_musl_by_gnu_ld(spec: &Spec, toolchain: &Toolchain) -> bool {
    let by_gcc = toolchain.family == Some(CompilerFamily::Gcc) && toolchain.libc_headers.is_some();
    spec.linkage.is_static() && by_gcc
}

/// The folder of headers, in that of the tools.
const HEADERS: &str = "include";

/// The headers that fit the C library: one that is linked in, of a version that they know.
fn headers(request: &Request, toolchain: &Toolchain) -> Vec<Header> {
    let version = toolchain.libc_version.as_ref().filter(|_| request.spec.linkage.is_static());
    let (Some(version), Some(folder)) = (version, toolchain.libc_headers.as_ref().and_then(|path| path.to_str()))
    else {
        return Vec::new();
    };
    let fits = |header: &&Header| header.versions.contains(version);
    let placed = |header: &Header| Header { text: header.text.replace("@LIBC@", folder), ..header.clone() };
    request.headers.iter().filter(fits).map(placed).collect()
}

/// What is linked in, and behind it the note.
pub(crate) fn objects_with_note(request: &Request, claims: &[Claim]) -> Result<Vec<LinkObject>, BuildError> {
    let pairs: Vec<(String, String)> = claims.iter().map(|claim| (claim.key.clone(), claim.value.clone())).collect();
    let bytes = note_object(request.spec.processor, &pairs)?;
    let mut objects = request.objects.clone();
    objects.push(LinkObject { name: "note".to_owned(), bytes, claim: None, is_optional: false });
    Ok(objects)
}

/// What the note says: the objects' claims, then what is known about the rest.
pub(crate) fn claims(request: &Request, toolchain: &Toolchain) -> Vec<Claim> {
    let mut claims = vec![Claim::new("build", request.spec.to_string())];
    claims.extend(LinkObject::claimed(&request.objects).into_iter().map(|(_, claim)| claim.clone()));
    if !claims.iter().any(|claim| claim.key == "allocator") {
        claims.push(Claim::new("allocator", request.spec.allocator.name()));
    }
    claims.push(Claim::new("goal", request.spec.goal.name()));
    let version = toolchain.libc_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let libc = match request.spec.libc {
        CLibrary::Musl => format!("musl{version}"),
        CLibrary::Glibc(limit) => format!("glibc{}", limit.map(|limit| format!(" {limit}")).unwrap_or_default()),
    };
    claims.push(Claim::new("libc", libc));
    claims.push(Claim::new("toolchain", &toolchain.words));
    claims.push(Claim::new("underpin", env!("CARGO_PKG_VERSION")));
    claims
}

pub(crate) fn tools(
    request: &Request,
    project: &Project,
    toolchain: &Toolchain,
    folder: &Path,
    objects: &[LinkObject],
) -> ToolPlan {
    let spec = &request.spec;
    let variable = |name: &str| std::env::var_os(name);
    let configuration = CargoConfig { folder: project.folder(), words: &request.words, variable: &variable };
    let paths = |optional: bool| -> Vec<PathBuf> {
        let those = objects.iter().filter(|object| object.is_optional == optional);
        those.map(|object| folder.join(object.file_name())).collect()
    };
    let rust = toolchain.rust.as_ref().map(|choice| RustPlan {
        triple: spec.rust_triple(),
        linker: choice.linker.clone(),
        flags: choice.flags.clone(),
        wrapper: configuration.rustc_wrapper(),
        objects: paths(true),
    });
    let is_musl = spec.libc == CLibrary::Musl;
    ToolPlan {
        spec: *spec,
        cc: toolchain.cc.clone(),
        cxx: toolchain.cxx.clone(),
        ar: toolchain.ar.clone(),
        ranlib: toolchain.ranlib.clone(),
        ld: crate::project::raw_linker(spec, toolchain).unwrap_or_default(),
        objects: paths(false),
        archive: objects.iter().any(|object| object.is_optional).then(|| folder.join(ARCHIVE)),
        headers: None,
        before: is_musl.then(|| folder.join(absent::BEFORE)),
        behind: is_musl.then(|| folder.join(absent::BEHIND)),
        layout: None,
        rust,
        portable: None,
        without_cxx: without_cxx(toolchain, spec.libc),
        strict: None,
    }
}

/// Why no C++ is compiled, if the C library is the reason.
fn without_cxx(toolchain: &Toolchain, libc: CLibrary) -> Option<String> {
    let library = match toolchain.family? {
        _ if toolchain.cxx.is_some() => return None,
        CompilerFamily::Clang => "libc++",
        _ => "libstdc++",
    };
    let why = match libc {
        CLibrary::Musl => format!(" for musl: the distribution's {library} is glibc's, and zig has one"),
        CLibrary::Glibc(_) => ": the compiler came without one".to_owned(),
    };
    Some(format!("this build has no C++ compiler{why}; `underpin build --toolchains` shows how to get one"))
}

/// The source of a program that does nothing.
const EMPTY: &str = "int main(void) { return 0; }\n";

fn is_zig(compiler: Option<&Compiler>) -> Option<&Compiler> {
    compiler.filter(|compiler| compiler.dialect == Dialect::Zig)
}

/// zig compiles its C library when it is first used for a target, for minutes and without output: an empty program is
/// linked first. Its file marks that this has been done.
fn first_use(
    toolchain: &Toolchain,
    needs: crate::toolchain::Needs,
    spec: &Spec,
    work: &Path,
    folder: &Path,
    cache: &Path,
) -> Option<Step> {
    let linker = toolchain.rust.as_ref().and_then(|choice| match &choice.linker {
        RustLinker::Compiler(compiler) => Some(compiler),
        RustLinker::Ld(..) => None,
    });
    let of_c = is_zig(toolchain.cc.as_ref().filter(|_| needs.c)).or_else(|| is_zig(linker)).map(|one| (one, Tool::Cc));
    let of_cxx = is_zig(toolchain.cxx.as_ref().filter(|_| needs.cxx)).map(|one| (one, Tool::Cxx));
    let (compiler, tool) = of_cxx.or(of_c)?;
    let target = compiler.leading.last()?;
    let version = toolchain.words.rsplit(' ').next().unwrap_or_default();
    let ready = cache.join("zig").join(format!("ready-{version}-{target}-{}-{}", spec.linkage.name(), tool.name()));
    if ready.is_file() {
        return None;
    }
    let text = |path: &Path| path.display().to_string();
    let arguments = ["-x", "c", &text(&work.join("empty.c")), "-o", &text(&ready)].map(str::to_owned).to_vec();
    let words = format!("zig compiles its C library for {target} (the first time, for minutes)");
    Some(Step { slow: true, ..Step::new(&words, folder.join(tool.name()), arguments, work) })
}

/// The commands that build what libgcc needs and musl does not have: an archive, so that only programs that need it get
/// it.
pub(crate) fn support(toolchain: &Toolchain, work: &Path, folder: &Path) -> Vec<Step> {
    let (true, Some(cc), Some(ar)) = (toolchain.support, &toolchain.cc, toolchain.ar.first()) else {
        return Vec::new();
    };
    let (source, object) = (work.join("find_object.c"), work.join("find_object.o"));
    let text = |path: &Path| path.display().to_string();
    let compile = ["-O2", "-fPIC", "-c", &text(&source), "-o", &text(&object)].map(str::to_owned);
    // A gcc without a wrapper is told musl's headers: glibc's declare the same function.
    let compile = cc.leading.iter().cloned().chain(compile).collect();
    let archive = ["rcs", &text(&folder.join(SUPPORT_ARCHIVE)), &text(&object)].map(str::to_owned);
    // Not through a tool of ours, which knows what a shell's folders are good for.
    let nowhere = SEARCHED.map(|name| (name.to_owned(), String::new())).to_vec();
    vec![
        Step::new("prepare", cc.program.clone(), compile, work).with(nowhere),
        Step::new("prepare", ar.into(), archive.to_vec(), work),
    ]
}
