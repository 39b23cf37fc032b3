//! The tools of `underpin build`, as recipes get them: an environment.

use crate::cli::{CompilerName, LibcName};
use crate::commands::build::steps::execute;
use crate::linked;
use crate::plan::image_target;
use anyhow::{Context, bail};
use std::path::Path;
use std::time::Duration;
use underpin_build::project::Project;
use underpin_build::toolchain::{CompilerFamily, Finder, Toolchains};
use underpin_build::{
    Allocator, CLibrary, Fact, LinkObject, Linkage, Places, Plan, Processor, Request, Spec, SpecText,
};
use underpin_image::Target;
use underpin_image::layer::Selection;
use underpin_image::package::Tools;

/// Between two looks whether another run has made the tools.
const LOOK: Duration = Duration::from_millis(50);

/// What builds packages for a target.
pub struct Toolbox {
    plan: Plan,
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
    pub fn new(libc: LibcName, machine: Option<&str>, toolchain: Option<CompilerName>) -> anyhow::Result<Toolbox> {
        let target = image_target(machine)?;
        let board = machine.unwrap_or(target.name());
        let processor: Processor = target.processor().parse()?;
        let (library, linkage) = match libc {
            LibcName::Musl => (CLibrary::Musl, Linkage::Static),
            LibcName::Glibc => (CLibrary::Glibc(None), Linkage::Dynamic),
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
        let toolchains = Toolchains::find(&Finder::here(&current));
        // A distribution's wrapper of gcc has none of the kernel's headers; zig has.
        let usual = (libc == LibcName::Musl && toolchains.zig.is_some()).then_some(CompilerFamily::Zig);
        let objects = linked::objects(&spec, false)?;
        let request = Request {
            path: current.clone(),
            spec,
            compiler: toolchain.map(Into::into).or(usual),
            bins: Vec::new(),
            words: Vec::new(),
            objects: objects.clone(),
            output: None,
            force: false,
            places: Places {
                cache,
                executable: std::env::current_exe().context("cannot find this program's own file")?,
                current: current.clone(),
            },
        };
        let plan = Plan::new(&request, Project::elsewhere(&current, false), &toolchains)?;
        let selection = Selection {
            libc: libc.name().to_owned(),
            architecture: target.processor().to_owned(),
            toolchain: plan.toolchain.family.map_or("gcc", CompilerFamily::name).to_owned(),
            board: board.split('-').next().filter(|first| *first == "oci").unwrap_or(board).to_owned(),
        };
        Ok(Toolbox { plan, target, spec, objects, selection })
    }

    /// Makes the tools, unless they are there.
    ///
    /// # Errors
    /// If they cannot be made.
    pub fn ready(&self) -> anyhow::Result<Tools> {
        self.make()?;
        let objects: Vec<&[u8]> = self.objects.iter().map(|object| object.bytes.as_slice()).collect();
        let objects = underpin_image::package::digest(&objects);
        let environment = self.plan.environment.iter().cloned();
        let exported = self.plan.exported().into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Tools {
            libc: self.selection.libc.clone(),
            processor: self.target.processor().to_owned(),
            debian: self.target.debian().to_owned(),
            identity: format!("{}; {}; {objects}", self.spec, self.plan.toolchain.words),
            environment: environment.chain(exported).collect(),
            triple: self.spec.gnu_triple(),
            starts_here: Processor::host() == Some(self.spec.processor),
            is_static: self.spec.linkage.is_static(),
        })
    }

    fn make(&self) -> anyhow::Result<()> {
        if self.is_made() {
            return Ok(());
        }
        let _lock = loop {
            match self.plan.lock()? {
                Ok(lock) => break lock,
                Err(_) if underpin_sys::end_requests() > 0 => bail!("interrupted"),
                Err(_) => std::thread::sleep(LOOK),
            }
        };
        if !self.is_made() && execute(&self.plan)?.is_none() {
            bail!("interrupted");
        }
        Ok(())
    }

    /// Whether an earlier run made the same: the plan's own file is written after the objects.
    fn is_made(&self) -> bool {
        let kept = std::fs::read(self.plan.folder.join("underpin-tools.json")).unwrap_or_default();
        let names = ["cc", "ar", "ld"].iter().all(|name| {
            std::fs::read_link(self.plan.folder.join(name)).is_ok_and(|to| Some(to) == std::env::current_exe().ok())
        });
        names && self.plan.steps().next().is_none() && serde_json::to_vec(&self.plan.tools).is_ok_and(|now| now == kept)
    }

    /// Refuses a program that is not what was asked for: with another C library, or another linkage.
    ///
    /// # Errors
    /// If it is not, with what differs.
    pub fn confirm(&self, program: &Path, of: &str) -> anyhow::Result<()> {
        let confirmation = underpin_build::confirm(program, &self.spec, &[])?;
        // A stripped program of few functions shows nothing of its C library. Then the note says it, which only the tools that
        // link write.
        let family = if self.spec.libc == CLibrary::Musl { "musl" } else { "glibc" };
        let claimed = confirmation.note.as_ref().and_then(|note| note.claim("libc"));
        let noted = claimed.is_some_and(|libc| libc.starts_with(family.as_bytes()));
        let as_noted = |fact: &Fact| noted && !fact.known && fact.what == "C library";
        let unmet = confirmation.facts.iter().filter(|fact| !fact.met && fact.what != "note" && !as_noted(fact));
        let unmet: Vec<String> =
            unmet.map(|fact| format!("{}: asked for {}, found {}", fact.what, fact.asked, fact.found)).collect();
        if unmet.is_empty() {
            return Ok(());
        }
        let name = program.file_name().unwrap_or_default().display();
        bail!("{of}: its program {name} is not what was asked for ({})", unmet.join("; "))
    }
}
