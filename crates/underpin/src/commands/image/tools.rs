//! The tools of `underpin build`, as recipes get them: an environment.

use crate::cli::{CompilerName, LibcName};
use crate::commands::build::steps::execute;
use crate::linked;
use crate::plan::{image_store, image_target};
use anyhow::{Context, bail};
use std::path::Path;
use underpin_build::project::Project;
use underpin_build::tool::Strict;
use underpin_build::toolchain::{CompilerFamily, Finder, SUPPORT_ARCHIVE, Sysroot, Toolchains};
use underpin_build::{
    Allocator, CLibrary, Fact, GlibcVersion, LOCK_WAIT, LinkObject, Linkage, Places, Plan, Processor, Request,
    STEP_LIMIT, Spec, SpecText, Waited,
};
use underpin_image::Target;
use underpin_image::layer::{Layers, Selection};
use underpin_image::package::{RustTools, Tools};
use underpin_image::recipe::{Resolved, System};
use underpin_image::sdk::sysroot;
use underpin_image::store::{Access, Store};

/// The recipe of the C library that images with glibc have. Its files are only looked for by loaders: an image has those that its
/// programs need.
pub const LIBRARY: &str = "glibc";
/// The recipe of GCC's library, which Rust's own links dynamically on glibc (rust library/unwind). It is looked for like the C library.
pub const UNWINDER: &str = "libgcc";
/// The newest release that every supported zig knows (0.15: lib/libc/glibc/abilists).
const NEWEST_OF_ZIG: GlibcVersion = GlibcVersion { minor: 42 };

/// What builds packages for a target.
pub struct Toolbox {
    plan: Plan,
    /// What the plan was made of, for one with Rust.
    request: Request,
    sysroot: Option<Sysroot>,
    /// The machine.
    pub target: Target,
    /// What programs are confirmed against.
    spec: Spec,
    /// What is linked into them.
    objects: Vec<LinkObject>,
    /// What conditions of layers see.
    pub selection: Selection,
}

impl Toolbox {
    /// Chooses the tools for a machine as it was named, or for the one with this processor; makes nothing.
    ///
    /// # Errors
    /// If nothing here builds for the target, with the command that installs what is missing.
    pub fn new(
        libc: LibcName,
        machine: Option<&str>,
        toolchain: Option<CompilerName>,
        layers: &Layers,
    ) -> anyhow::Result<Toolbox> {
        let target = image_target(machine)?;
        let board = machine.unwrap_or(target.name());
        let processor: Processor = target.processor().parse()?;
        let (library, linkage) = match libc {
            LibcName::Musl => (CLibrary::Musl, Linkage::Static),
            LibcName::Glibc => (CLibrary::Glibc(release(toolchain, layers)), Linkage::Dynamic),
        };
        let text = SpecText {
            libc: library,
            linkage: Some(linkage),
            allocator: Some(Allocator::System),
            overlay: Some(false),
        };
        let spec = text.complete(processor, underpin_build::Goal::Balanced, |_| Allocator::System)?;
        let cache = crate::plan::cache()?;
        // The tools have a folder of their own, wherever underpin is started.
        let current = cache.join("image/tools");
        std::fs::create_dir_all(&current).with_context(|| current.display().to_string())?;
        let (family, toolchains) = found(&Finder::here(&current), &spec, toolchain.map(Into::into));
        // A distribution's musl has none of the kernel's headers, and is for one processor: that of the images' release is taken.
        let sysroot = match family.map(|family| sysroot::For { target, spec: &spec, family }) {
            Some(wanted) => sysroot::kept(wanted, &image_store()?),
            None => None,
        };
        let toolchains = with(toolchains, sysroot.as_ref());
        let objects = linked::objects(&spec, false)?;
        let request = Request {
            path: current.clone(),
            spec,
            compiler: family,
            bins: Vec::new(),
            words: Vec::new(),
            objects: objects.clone(),
            headers: Vec::new(),
            layout: None,
            output: None,
            force: false,
            places: Places {
                cache: cache.clone(),
                executable: std::env::current_exe().context("cannot find this program's own file")?,
                current: current.clone(),
            },
        };
        let plan = strict(Plan::new(&request, Project::elsewhere(&current, false), &toolchains)?, &toolchains, &cache);
        let selection = Selection {
            libc: libc.name().to_owned(),
            architecture: target.processor().to_owned(),
            toolchain: plan.toolchain.family.map_or("gcc", CompilerFamily::name).to_owned(),
            board: board.split('-').next().filter(|first| *first == "oci").unwrap_or(board).to_owned(),
        };
        Ok(Toolbox { plan, request, sysroot, target, spec, objects, selection })
    }

    /// Makes the tools for some recipes, unless they are there.
    ///
    /// # Errors
    /// If they cannot be made, or a C library cannot be fetched.
    pub fn ready(&self, recipes: &[Resolved], store: &Store, access: Access) -> anyhow::Result<Tools> {
        let family = self.plan.toolchain.family;
        let sysroot = match family.map(|family| sysroot::For { target: self.target, spec: &self.spec, family }) {
            Some(wanted) if sysroot::kept(wanted, store).is_some() => sysroot::keep(wanted, store, access)?,
            _ => Vec::new(),
        };
        make(&self.plan)?;
        let objects: Vec<&[u8]> = self.objects.iter().map(|object| object.bytes.as_slice()).collect();
        let objects = underpin_image::package::digest(&objects);
        let environment = environment(&self.plan);
        let sysroot = sysroot.iter().map(|package| format!("; {} {}", package.name, package.sha256));
        Ok(Tools {
            libc: self.selection.libc.clone(),
            processor: self.target.processor().to_owned(),
            debian: self.target.debian().to_owned(),
            identity: format!("{}; {}; {objects}{}", self.spec, self.plan.toolchain.words, sysroot.collect::<String>()),
            environment,
            triple: self.spec.gnu_triple(),
            starts_here: Processor::host() == Some(self.spec.processor),
            is_static: self.spec.linkage.is_static(),
            rust: recipes.iter().any(|recipe| recipe.system.value == System::Cargo).then(|| self.rust()).transpose()?,
        })
    }

    /// The tools for Cargo, in a folder of their own: what compiles C alone does not depend on a version of Rust.
    fn rust(&self) -> anyhow::Result<RustTools> {
        let current = self.request.places.cache.join("image/tools-rust");
        std::fs::create_dir_all(&current).with_context(|| current.display().to_string())?;
        let finder = Finder::here(&current);
        let toolchains = with(Toolchains::find(&finder).with_rust(&finder), self.sysroot.as_ref());
        let plan = Plan::new(&self.request, Project::elsewhere(&current, true), &toolchains)?;
        let plan = strict(plan, &toolchains, &self.request.places.cache);
        make(&plan)?;
        Ok(RustTools { identity: plan.toolchain.words.clone(), environment: environment(&plan) })
    }

    /// Refuses a program that is not what was asked for: with another C library, or another linkage, or an allocator that is of none of
    /// the recipes.
    ///
    /// # Errors
    /// If it is not, with what differs.
    pub fn confirm(&self, program: &Path, of: &str, recipes: &[&str]) -> anyhow::Result<()> {
        let confirmation = underpin_build::confirm(program, &self.spec, &[])?;
        // A stripped program of few functions shows nothing of its C library. Then the note says it, which only the tools that
        // link write.
        let family = if self.spec.libc == CLibrary::Musl { "musl" } else { "glibc" };
        let claimed = confirmation.note.as_ref().and_then(|note| note.claim("libc"));
        let noted = claimed.is_some_and(|libc| libc.starts_with(family.as_bytes()));
        let as_noted = |fact: &Fact| noted && !fact.known && fact.what == "C library";
        let brought = |fact: &Fact| {
            fact.what == "allocator" && recipes.iter().any(|name| fact.found.contains(&format!("found {name} ")))
        };
        let unmet = confirmation.facts.iter().filter(|fact| !fact.met && fact.what != "note");
        let unmet = unmet.filter(|fact| !as_noted(fact) && !brought(fact));
        let unmet: Vec<String> =
            unmet.map(|fact| format!("{}: asked for {}, found {}", fact.what, fact.asked, fact.found)).collect();
        if unmet.is_empty() {
            return Ok(());
        }
        let name = program.file_name().unwrap_or_default().display();
        bail!("{of}: its program {name} is not what was asked for ({})", unmet.join("; "))
    }
}

/// The release of glibc for zig, which links against the symbols of an old one unless it is told which; other compilers have
/// one of their own.
fn release(toolchain: Option<CompilerName>, layers: &Layers) -> Option<GlibcVersion> {
    let recipe = layers.recipe(LIBRARY).filter(|_| toolchain == Some(CompilerName::Zig))?;
    let minor = recipe.version.value.split(['.', '-', '+']).nth(1)?.parse().ok()?;
    // A program for an older release starts on every newer one.
    Some(GlibcVersion { minor }.min(NEWEST_OF_ZIG))
}

/// The compilers that were asked for, or else the usual: for musl zig, which comes with a C library and one for C++.
fn found(finder: &Finder, spec: &Spec, asked: Option<CompilerFamily>) -> (Option<CompilerFamily>, Toolchains) {
    if let Some(family) = asked {
        return (asked, Toolchains::find_one(finder, family));
    }
    let gcc = || Toolchains::find_one(finder, CompilerFamily::Gcc);
    if spec.libc == CLibrary::Musl {
        let zig = Toolchains::find_one(finder, CompilerFamily::Zig);
        let has_zig = zig.zig.is_some();
        return if has_zig { (Some(CompilerFamily::Zig), zig) } else { (Some(CompilerFamily::Gcc), gcc()) };
    }
    let gcc = gcc();
    let builds = gcc.gcc.iter().any(|gcc| gcc.processor == spec.processor && gcc.libc.serves(spec.libc));
    (None, if builds { gcc } else { Toolchains::find(finder) })
}

fn with(toolchains: Toolchains, sysroot: Option<&Sysroot>) -> Toolchains {
    match sysroot {
        Some(sysroot) => toolchains.with_sysroot(sysroot.clone()),
        None => toolchains,
    }
}

/// The plan with nothing of this machine but the compilers' own: an image has only what recipes give it.
fn strict(mut plan: Plan, toolchains: &Toolchains, cache: &Path) -> Plan {
    let own = toolchains.folders().into_iter().chain([cache.to_owned()]).collect();
    plan.tools.strict = Some(Strict { own });
    plan
}

fn environment(plan: &Plan) -> Vec<(String, String)> {
    let exported = plan.exported().into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    plan.environment.iter().cloned().chain(exported).collect()
}

fn make(plan: &Plan) -> anyhow::Result<()> {
    if is_made(plan) {
        return Ok(());
    }
    let _lock = match Waited::for_lock(LOCK_WAIT, || plan.lock(), |_| {})? {
        Waited::Locked(lock) => lock,
        Waited::Ended => bail!("interrupted"),
        Waited::Late(holder) => {
            bail!("waited {} s for {holder}, which makes the same compilers: end it and try again", LOCK_WAIT.as_secs())
        }
    };
    if !is_made(plan) && execute(plan, STEP_LIMIT)?.is_none() {
        bail!("interrupted");
    }
    Ok(())
}

/// Whether an earlier run made the same: the plan's own file is written after the objects.
fn is_made(plan: &Plan) -> bool {
    let kept = std::fs::read(plan.folder.join("underpin-tools.json")).unwrap_or_default();
    let names = ["cc", "ar", "ld"].iter().all(|name| {
        std::fs::read_link(plan.folder.join(name)).is_ok_and(|to| Some(to) == std::env::current_exe().ok())
    });
    let has_support = plan.toolchain.support && !plan.toolchain.zig && plan.folder.join(SUPPORT_ARCHIVE).is_file();
    let made = has_support || plan.steps().next().is_none();
    names && made && serde_json::to_vec(&plan.tools).is_ok_and(|now| now == kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zig_links_against_the_release_of_glibc_that_images_have() {
        let layers = Layers::read(&[] as &[&Path]).unwrap();
        let recipe = &layers.recipe(LIBRARY).unwrap().version.value;
        let release = release(Some(CompilerName::Zig), &layers).unwrap();
        assert!(recipe.starts_with(&format!("{release}-")) || release == NEWEST_OF_ZIG, "{recipe}: {release}");
        for other in [None, Some(CompilerName::Gcc), Some(CompilerName::Clang)] {
            assert_eq!(super::release(other, &layers), None, "their glibc is that of their libraries");
        }
    }
}
