//! Which of the tools found builds what was asked for.

use super::{Clang, CompilerFamily, Gcc, LibcOf, Missing, Musl, Rust, Toolchains, Zig, foreign};
use crate::tool::{Compiler, Dialect, RustLinker};
use crate::{Allocator, CLibrary, Goal, Linkage, Processor, Spec};
use std::path::{Path, PathBuf};

/// What a project has to be compiled with. What is not needed is chosen too if it is there: a Cargo project may compile C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Rust.
    pub rust: bool,
    /// C.
    pub c: bool,
    /// C++.
    pub cxx: bool,
}

/// The tools of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Which kind compiles C, if any does.
    pub family: Option<CompilerFamily>,
    /// The C compiler.
    pub cc: Option<Compiler>,
    /// The C++ compiler.
    pub cxx: Option<Compiler>,
    /// The archiver and its first arguments.
    pub ar: Vec<String>,
    /// The same for an archive's index.
    pub ranlib: Vec<String>,
    /// Rust, and how it links.
    pub rust: Option<RustChoice>,
    /// The C library's version, if it is known before anything is built.
    pub libc_version: Option<String>,
    /// The folder of the C library's headers, if the compiler is told it.
    pub libc_headers: Option<PathBuf>,
    /// Names and versions, for messages: `rustc 1.95.0, musl-gcc 12.2.0`.
    pub words: String,
    /// zig takes part: it builds its C library on first use, in a cache.
    pub zig: bool,
    /// libgcc needs [`foreign::SUPPORT_SOURCE`].
    pub support: bool,
    /// What is to be found below [`foreign::KERNEL_HEADERS`] in the folder of the tools.
    pub kernel: Vec<(String, PathBuf)>,
}

/// Rust, and how it links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustChoice {
    /// The compiler.
    pub rust: Rust,
    /// What it links with.
    pub linker: RustLinker,
    /// Arguments for the target.
    pub flags: Vec<String>,
    /// The standard library is built from its sources.
    pub from_source: bool,
}

/// A suitable C compiler, with what belongs to it.
struct Candidate {
    family: CompilerFamily,
    name: String,
    cc: Compiler,
    cxx: Option<Compiler>,
    ar: Vec<String>,
    ranlib: Vec<String>,
    libc_version: Option<String>,
    libc_headers: Option<PathBuf>,
    support: bool,
    kernel: Vec<(String, PathBuf)>,
}

impl Toolchains {
    /// The tools for a build. `folder`: where the names of tools and what belongs to them will be.
    ///
    /// # Errors
    /// [`Missing`], with the command that installs it.
    pub fn choose(
        &self,
        spec: &Spec,
        wanted: Option<CompilerFamily>,
        needs: Needs,
        folder: &Path,
    ) -> Result<Toolchain, Missing> {
        let mut candidates = self.candidates(spec, folder);
        candidates.retain(|candidate| wanted.is_none_or(|wanted| wanted == candidate.family));
        let others_malloc = |candidate: &Candidate| {
            candidate.family == CompilerFamily::Zig && self.zig.as_ref().is_some_and(|zig| !zig.has_musls_malloc())
        };
        if is_for_little_memory(spec) && candidates.iter().any(others_malloc) && (needs.c || needs.cxx) {
            candidates.retain(|candidate| !others_malloc(candidate));
            if !candidates.iter().any(|candidate| !needs.cxx || candidate.cxx.is_some()) {
                return Err(Missing::musls_malloc(spec));
            }
        }
        // C++ needs the same compiler for both languages, so one with both is better than one without.
        let with_both = candidates.iter().position(|candidate| candidate.cxx.is_some());
        let chosen = if needs.cxx { with_both } else { (!candidates.is_empty()).then_some(0) };
        if needs.cxx && chosen.is_none() {
            return Err(Missing::compiler("C++ compiler", spec));
        }
        if needs.c && chosen.is_none() {
            return Err(Missing::compiler("C compiler", spec));
        }
        // For a project that may contain either: C by the first, C++ by the first that can.
        let cxx = with_both.and_then(|at| candidates[at].cxx.clone());
        let candidate = chosen.map(|at| candidates.swap_remove(at));
        let rust = if needs.rust { Some(self.rust_choice(spec, wanted, candidate.as_ref())?) } else { None };
        Ok(toolchain(spec, candidate, cxx, rust, self.zig.as_ref()))
    }

    /// The C compilers for a build, the best first.
    fn candidates(&self, spec: &Spec, folder: &Path) -> Vec<Candidate> {
        let of_musl = |musl: &&Musl| musl.processor == spec.processor;
        let musl = self.musl.iter().find(of_musl);
        let mut found: Vec<Candidate> = Vec::new();
        for gcc in self.gcc.iter().filter(|gcc| gcc.processor == spec.processor && gcc.libc.serves(spec.libc)) {
            found.extend(of_gcc(gcc, musl, spec, folder));
        }
        if let Some(zig) = &self.zig {
            found.extend(of_zig(zig, spec));
        }
        let with_glibc = self.gcc.iter().find(|gcc| gcc.processor == spec.processor && gcc.libc == LibcOf::Glibc);
        if let Some(clang) = &self.clang {
            found.extend(of_clang(clang, musl, with_glibc, spec));
        }
        if let (CLibrary::Musl, Some(gcc), Some(musl)) = (spec.libc, with_glibc, musl) {
            found.extend(of_gcc_for_musl(gcc, musl, spec, folder));
        }
        let kernel = musl.map(|musl| musl.kernel.as_slice()).filter(|kernel| !kernel.is_empty());
        if let (CLibrary::Musl, Some(kernel)) = (spec.libc, kernel) {
            for candidate in found.iter_mut().filter(|candidate| candidate.cc.dialect == Dialect::Foreign) {
                // Behind everything else: a project may bring a newer one.
                let headers = folder.join(foreign::KERNEL_HEADERS).display().to_string();
                candidate.cc.leading.extend(["-idirafter".to_owned(), headers]);
                candidate.kernel = kernel.to_vec();
            }
        }
        found
    }

    fn rust_choice(
        &self,
        spec: &Spec,
        wanted: Option<CompilerFamily>,
        candidate: Option<&Candidate>,
    ) -> Result<RustChoice, Missing> {
        let rust = self.rust.clone().ok_or_else(|| Missing::rust(spec))?;
        let has_target = rust.targets.contains(&spec.rust_triple());
        if !has_target && !rust.has_source {
            return Err(Missing::target(spec, rust.by_rustup));
        }
        // The sources of the standard library come without a C library: the C compiler's is linked.
        let self_contained = has_target && spec.libc == CLibrary::Musl && spec.linkage.is_static();
        let linker = if self_contained {
            self.self_contained_linker(spec, &rust)
        } else {
            // libgcc_s, which a dynamic program's unwinder is in, is there for glibc alone; zig has one to link in.
            let asked = wanted.is_none_or(|wanted| wanted == CompilerFamily::Zig);
            let zig = self.zig.as_ref().filter(|_| spec.libc == CLibrary::Musl && asked);
            let zig = zig.and_then(|zig| of_zig(zig, spec));
            zig.as_ref().or(candidate).map(|candidate| RustLinker::Compiler(candidate.cc.clone()))
        };
        let linker = linker.ok_or_else(|| Missing::linker(spec))?;
        let mut flags = linkage_flags(spec);
        if spec.libc == CLibrary::Musl && !self_contained {
            flags.push("-Clink-self-contained=no".to_owned());
        }
        Ok(RustChoice { rust, linker, flags, from_source: !has_target })
    }

    /// Rust's musl targets bring the C library and the start files: any linker of the processor will do.
    fn self_contained_linker(&self, spec: &Spec, rust: &Rust) -> Option<RustLinker> {
        let own = self.gcc.iter().find(|gcc| {
            gcc.processor == spec.processor
                && gcc.libc != LibcOf::MuslWrapper
                && Processor::host() == Some(spec.processor)
        });
        if let Some(gcc) = own {
            return Some(RustLinker::Compiler(plain(&gcc.program)));
        }
        let lld = rust.lld.clone()?;
        let by_name = lld.file_name().is_some_and(|name| name == "rust-lld");
        let flavor = if by_name { vec!["-flavor".to_owned(), "gnu".to_owned()] } else { Vec::new() };
        Some(RustLinker::Ld(lld, flavor))
    }
}

/// Whether musl's own malloc is what the program is built for.
fn is_for_little_memory(spec: &Spec) -> bool {
    let of_libc = spec.libc == CLibrary::Musl && spec.linkage.is_static() && spec.allocator == Allocator::System;
    of_libc && spec.goal == Goal::Memory
}

/// rustc's flags for the linkage, if it is not the target's own.
fn linkage_flags(spec: &Spec) -> Vec<String> {
    let flags: &[&str] = match (spec.libc, spec.linkage) {
        (CLibrary::Musl, Linkage::Static) => &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"],
        (CLibrary::Musl, Linkage::StaticPie) => &["-Ctarget-feature=+crt-static"],
        (CLibrary::Musl, Linkage::Dynamic) => &["-Ctarget-feature=-crt-static"],
        (CLibrary::Glibc(_), Linkage::Static) => &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"],
        (CLibrary::Glibc(_), Linkage::StaticPie) => &["-Ctarget-feature=+crt-static"],
        (CLibrary::Glibc(_), Linkage::Dynamic) => &[],
    };
    flags.iter().map(|flag| (*flag).to_owned()).collect()
}

fn plain(program: &Path) -> Compiler {
    Compiler {
        program: program.to_owned(),
        leading: Vec::new(),
        dialect: Dialect::Own,
        start: Vec::new(),
        end: Vec::new(),
    }
}

fn of_gcc(gcc: &Gcc, musl: Option<&Musl>, spec: &Spec, folder: &Path) -> Option<Candidate> {
    let name = gcc.program.file_name().unwrap_or_default().to_string_lossy();
    let wrapped = gcc.libc == LibcOf::MuslWrapper;
    let support = folder.join(foreign::SUPPORT_ARCHIVE);
    let cc = if wrapped {
        foreign::musl_gcc(gcc, &gcc.program, musl?, spec.linkage, &support)?
    } else {
        plain(&gcc.program)
    };
    Some(Candidate {
        family: CompilerFamily::Gcc,
        name: format!("{name} {}", gcc.version),
        cxx: gcc.cxx.as_deref().map(plain),
        ar: gcc.ar.iter().map(|ar| ar.display().to_string()).collect(),
        ranlib: gcc.ar.iter().flat_map(|ar| [ar.display().to_string(), "s".to_owned()]).collect(),
        libc_version: musl.filter(|_| wrapped).and_then(|musl| musl.version.clone()),
        libc_headers: musl.filter(|_| wrapped).map(|musl| musl.headers.clone()),
        support: wrapped && gcc.wants_find_object,
        kernel: Vec::new(),
        cc,
    })
}

/// The last resort for musl: no package of a distribution is needed but its gcc.
fn of_gcc_for_musl(gcc: &Gcc, musl: &Musl, spec: &Spec, folder: &Path) -> Option<Candidate> {
    let support = folder.join(foreign::SUPPORT_ARCHIVE);
    let cc = foreign::gcc_for_musl(gcc, musl, spec.linkage, &support)?;
    let candidate = of_gcc(&Gcc { cxx: None, libc: LibcOf::Glibc, ..gcc.clone() }, None, spec, folder)?;
    let (libc_version, libc_headers) = (musl.version.clone(), Some(musl.headers.clone()));
    Some(Candidate { cc, libc_version, libc_headers, support: gcc.wants_find_object, ..candidate })
}

fn of_zig(zig: &Zig, spec: &Spec) -> Option<Candidate> {
    // zig has glibc only as a list of symbols, which cannot be linked in.
    if matches!(spec.libc, CLibrary::Glibc(_)) && spec.linkage.is_static() {
        return None;
    }
    let target = zig_target(spec);
    let compiler = |verb: &str| Compiler {
        program: zig.program.clone(),
        leading: vec![verb.to_owned(), "-target".to_owned(), target.clone()],
        dialect: Dialect::Zig,
        start: Vec::new(),
        end: Vec::new(),
    };
    let tool = |verb: &str| vec![zig.program.display().to_string(), verb.to_owned()];
    Some(Candidate {
        family: CompilerFamily::Zig,
        name: format!("zig {}", zig.version),
        cc: compiler("cc"),
        cxx: Some(compiler("c++")),
        ar: tool("ar"),
        ranlib: tool("ranlib"),
        libc_version: None,
        libc_headers: None,
        support: false,
        kernel: Vec::new(),
    })
}

/// zig's name of the target, which is not Rust's: no vendor, and the version of glibc after it.
fn zig_target(spec: &Spec) -> String {
    match spec.libc {
        CLibrary::Glibc(Some(version)) => format!("{}.{version}", spec.gnu_triple()),
        _ => spec.gnu_triple(),
    }
}

fn of_clang(clang: &Clang, musl: Option<&Musl>, gcc: Option<&Gcc>, spec: &Spec) -> Option<Candidate> {
    let own = Processor::host() == Some(spec.processor) && spec.libc == CLibrary::Glibc(None);
    let cc = match spec.libc {
        CLibrary::Musl => foreign::musl_clang(clang, musl?, spec.linkage)?,
        CLibrary::Glibc(None) if own => plain(&clang.program),
        // glibc's headers, start files and libgcc are those of the cross gcc, which clang finds.
        CLibrary::Glibc(None) if clang.has_lld && gcc.is_some() => crossed(&clang.program, spec),
        _ => return None,
    };
    let ar: Vec<String> = clang.ar.iter().map(|ar| ar.display().to_string()).collect();
    Some(Candidate {
        family: CompilerFamily::Clang,
        name: format!("clang {}", clang.version),
        cxx: match (clang.cxx.as_deref(), spec.libc) {
            (Some(program), _) if own => Some(plain(program)),
            (Some(program), CLibrary::Glibc(None)) if gcc.is_some_and(|gcc| gcc.cxx.is_some()) => {
                Some(crossed(program, spec))
            }
            _ => None,
        },
        ranlib: if ar.is_empty() { Vec::new() } else { vec![ar[0].clone(), "s".to_owned()] },
        ar,
        libc_version: musl.filter(|_| spec.libc == CLibrary::Musl).and_then(|musl| musl.version.clone()),
        libc_headers: musl.filter(|_| spec.libc == CLibrary::Musl).map(|musl| musl.headers.clone()),
        support: false,
        kernel: Vec::new(),
        cc,
    })
}

fn crossed(program: &Path, spec: &Spec) -> Compiler {
    Compiler { leading: vec![format!("--target={}", spec.gnu_triple()), "-fuse-ld=lld".to_owned()], ..plain(program) }
}

fn toolchain(
    spec: &Spec,
    candidate: Option<Candidate>,
    cxx: Option<Compiler>,
    rust: Option<RustChoice>,
    zig: Option<&Zig>,
) -> Toolchain {
    let mut words: Vec<String> = rust.iter().map(|choice| format!("rustc {}", choice.rust.version)).collect();
    words.extend(candidate.iter().map(|candidate| candidate.name.clone()));
    // A dynamic program runs on whatever its loader finds.
    let is_in = spec.libc == CLibrary::Musl && spec.linkage.is_static();
    let of_rust = rust.as_ref().filter(|choice| is_in && !choice.from_source);
    let of_rust = of_rust.and_then(|choice| choice.rust.musl_version(spec));
    let is_zig = |compiler: &Option<Compiler>| compiler.as_ref().is_some_and(|one| one.dialect == Dialect::Zig);
    let linker = rust.as_ref().and_then(|choice| match &choice.linker {
        RustLinker::Compiler(compiler) => Some(compiler.clone()),
        RustLinker::Ld(..) => None,
    });
    let by_zig = is_zig(&linker) && candidate.as_ref().is_none_or(|candidate| candidate.family != CompilerFamily::Zig);
    words.extend(zig.filter(|_| by_zig).map(|zig| format!("zig {}", zig.version)));
    let libc_headers = candidate.as_ref().and_then(|candidate| candidate.libc_headers.clone());
    let kernel = candidate.as_ref().map(|candidate| candidate.kernel.clone()).unwrap_or_default();
    let (family, cc, ar, ranlib, version, support) = match candidate {
        Some(one) => (Some(one.family), Some(one.cc), one.ar, one.ranlib, one.libc_version, one.support),
        None => (None, None, Vec::new(), Vec::new(), None, false),
    };
    Toolchain {
        family,
        zig: is_zig(&cc) || is_zig(&cxx) || is_zig(&linker),
        cc,
        cxx,
        ar,
        ranlib,
        libc_headers,
        libc_version: of_rust.or(version).filter(|_| is_in || spec.libc != CLibrary::Musl),
        words: words.join(", "),
        support,
        kernel,
        rust,
    }
}
