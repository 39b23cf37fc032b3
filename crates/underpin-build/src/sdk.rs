//! The tools of a build in a folder that may be moved: what `--print-env` hands over, for a project that is not known yet.

use crate::absent::{self, MuslHeader};
use crate::archive::archive;
use crate::plan::{ARCHIVE, claims, objects_with_note, support, tools};
use crate::project::Project;
use crate::tool::{Portable, ToolPlan};
use crate::toolchain::{CompilerFamily, Needs, SUPPORT_SOURCE, Sysroot, Toolchain, Toolchains};
use crate::{BuildError, CLibrary, Claim, LinkObject, Request, Step};
use std::path::Path;

/// The folder of the names, in the SDK's.
pub const TOOLS: &str = "tools";

/// Tools, and what has to be written beside them.
#[derive(Clone, Debug)]
pub struct Kit {
    /// What the names stand for; paths in the folder begin with [`crate::tool::HERE`].
    pub tools: ToolPlan,
    /// What was chosen.
    pub toolchain: Toolchain,
    /// What is linked into every program, to be written beside the names ([`LinkObject::file_name`]).
    pub objects: Vec<LinkObject>,
    /// The archive of those that a program of C has only if it calls them: its file beside the names, and its bytes.
    pub archive: Option<(&'static str, Vec<u8>)>,
    /// What their note says.
    pub claims: Vec<Claim>,
    /// Commands that build the rest, run once in the folder that the kit was made with.
    pub steps: Vec<Step>,
    /// Files that those commands read: name in the folder, and content.
    pub sources: Vec<(&'static str, &'static str)>,
    /// Headers that the tools name, to be written into folders beside the names.
    pub headers: Vec<MuslHeader>,
}

impl Kit {
    /// The tools for a request, in a folder that need not exist. `sysroot`: what to link with, if a compiler needs it.
    /// `run`: what starts a program of the target here.
    ///
    /// # Errors
    /// If nothing here builds it.
    pub fn new(
        request: &Request,
        found: &Toolchains,
        folder: &Path,
        sysroot: Option<Sysroot>,
        run: Vec<String>,
    ) -> Result<Kit, BuildError> {
        let spec = &request.spec;
        let names = folder.join(TOOLS);
        // The C libraries of this machine are not in the folder.
        let toolchains = match sysroot {
            Some(sysroot) => found.clone().with_sysroot(sysroot),
            None => Toolchains { musl: Vec::new(), ..found.clone() },
        };
        let needs = |rust| Needs { rust, c: true, cxx: false };
        let choose = |rust| toolchains.choose(spec, request.compiler, needs(rust), &names);
        let toolchain = choose(toolchains.rust.is_some()).or_else(|_| choose(false))?;
        let claims = claims(request, &toolchain);
        let objects = objects_with_note(request, &claims)?;
        let project = Project::elsewhere(&request.places.current, toolchain.rust.is_some());
        let mut plan = tools(request, &project, &toolchain, &names, &objects);
        if let Some(rust) = &mut plan.rust {
            rust.wrapper = None;
        }
        plan.portable = Some(Portable { run });
        let steps = support(&toolchain, folder, &names);
        let sources = if toolchain.support { vec![("find_object.c", SUPPORT_SOURCE)] } else { Vec::new() };
        let headers = if spec.libc == CLibrary::Musl { absent::headers(&objects) } else { Vec::new() };
        let archive = plan.archive.is_some().then(|| (ARCHIVE, archive(&objects)));
        Ok(Kit { tools: plan.marked(folder), toolchain, objects, archive, claims, steps, sources, headers })
    }

    /// Whether the C library and the headers have to be in the folder: zig has its own, and gcc and clang have glibc's.
    #[must_use]
    pub fn needs_musl(family: CompilerFamily, libc: CLibrary) -> bool {
        family != CompilerFamily::Zig && libc == CLibrary::Musl
    }
}
