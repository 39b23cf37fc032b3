//! The twins: images of the same recipes and the same kernel for several C libraries, and copies of them with programs to
//! measure.

use super::super::packages::Prepared;
use super::super::{raw, size};
use crate::cli::{ImageBuildArgs, LibcName};
use crate::commands::suite::programs::{ForGuest, Kind, for_guest, guest_file};
use crate::plan::{ImageComparePlan, image_store, libc_of};
use crate::progress::Progress;
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use underpin_build::{Allocator, CLibrary, Linkage, Processor, SpecText};
use underpin_image::Image;
use underpin_image::image::{Locked, locked};
use underpin_report::document::image_compare::{ComparedImage, PackageDifference, PackageOf};
use underpin_report::document::image_size::ImageSizes;
use underpin_suite::sources::GUEST;
use underpin_suite::{Build, Suite};

/// What runs the rows in a guest.
pub const ROWS: &str = "underpin-rows";
/// A program that does nothing.
pub const EMPTY: &str = "underpin-empty";

/// What the kept image with the programs of the suites is named after its build.
pub const WITH_SUITES: &str = "-suites";

/// Packages with what the suites open of glibc and musl has built in.
const OF_GLIBC: [&str; 2] = ["glibc-charsets", "glibc-locale"];

/// One build with its images.
pub struct Twin {
    /// As it was asked for, and what its programs are.
    pub build: Build,
    libc: LibcName,
    folder: PathBuf,
    /// As a user would build it.
    image: Image,
    /// With what is needed to look at a boot.
    pub small: Image,
    /// With the programs of the suites besides.
    pub whole: Image,
    /// The programs.
    pub programs: ForGuest,
}

/// All of them; the first is the reference.
pub struct Twins {
    /// In the order of the builds.
    pub all: Vec<Twin>,
    _scratch: TempDir,
}

impl Twins {
    /// Builds packages, programs and images.
    ///
    /// # Errors
    /// If something cannot be fetched, built or written.
    pub fn make(plan: &ImageComparePlan, progress: &Progress) -> anyhow::Result<Twins> {
        let store = image_store()?;
        fs::create_dir_all(store.folder()).with_context(|| store.folder().display().to_string())?;
        let scratch = tempfile::Builder::new().prefix("compare-").tempdir_in(store.folder())?;
        let kind = kind(plan)?;
        progress.say("building what runs the rows".to_owned());
        let [rows, _] = &GUEST;
        // The same in every image: it is not what is compared.
        let runner = SpecText {
            libc: CLibrary::Musl,
            linkage: Some(Linkage::Static),
            allocator: Some(Allocator::System),
            overlay: Some(false),
        };
        let rows = guest_file(&kind, &runner, rows, scratch.path(), "rows")?;
        let maker = Maker { plan, kind, rows, progress };
        let mut all: Vec<Twin> = Vec::new();
        for (index, (text, spec)) in plan.builds.iter().enumerate() {
            let place = scratch.path().join(index.to_string());
            fs::create_dir(&place).with_context(|| place.display().to_string())?;
            let twin = maker.twin(text, spec, &place, all.first())?;
            all.push(twin);
        }
        Ok(Twins { all, _scratch: scratch })
    }

    /// The builds.
    pub fn builds(&self) -> Vec<Build> {
        self.all.iter().map(|twin| twin.build.clone()).collect()
    }

    /// The images as the document has them.
    pub fn images(&self) -> Vec<ComparedImage> {
        let image = |twin: &Twin| {
            let kernel = twin.image.manifest.kernel.package.as_ref();
            ComparedImage {
                build: twin.build.name.clone(),
                libc: twin.libc.name().to_owned(),
                folder: raw(&twin.folder),
                kernel: kernel.map_or_else(String::new, |package| format!("{} {}", package.name, package.version)),
                packages: twin.image.manifest.packages.len(),
            }
        };
        self.all.iter().map(image).collect()
    }

    /// Packages that are not the same everywhere.
    pub fn differences(&self) -> Vec<PackageDifference> {
        let of = |twin: &Twin, name: &str| {
            let package = twin.image.manifest.packages.iter().find(|package| package.name == name)?;
            let changed_by = package.changed_by.iter().map(|change| change.file.clone()).collect();
            Some(PackageOf { version: package.version.clone(), changed_by })
        };
        let names: BTreeSet<&str> = self
            .all
            .iter()
            .flat_map(|twin| &twin.image.manifest.packages)
            .map(|package| package.name.as_str())
            .collect();
        let all = names.into_iter().map(|name| PackageDifference {
            name: name.to_owned(),
            images: self.all.iter().map(|twin| of(twin, name)).collect(),
        });
        all.filter(|package| package.images.iter().any(|one| *one != package.images[0])).collect()
    }

    /// The sizes of the images that a user would build.
    ///
    /// # Errors
    /// If a file of one cannot be read.
    pub fn sizes(&self) -> anyhow::Result<Vec<ImageSizes>> {
        self.all.iter().map(|twin| Ok(size::sizes(&twin.folder, &twin.image)?)).collect()
    }
}

/// What all twins are made with.
struct Maker<'a> {
    plan: &'a ImageComparePlan,
    kind: Kind,
    /// What runs the rows in a guest.
    rows: PathBuf,
    progress: &'a Progress,
}

impl Maker<'_> {
    /// One build with its images, with the kernel of the first one.
    fn twin(&self, text: &str, spec: &SpecText, place: &Path, first: Option<&Twin>) -> anyhow::Result<Twin> {
        let plan = self.plan;
        self.progress.say(format!("building the programs of the suites for {text}"));
        let programs = for_guest(&self.kind, text, spec, &plan.suites(), place)?;
        let [_, empty] = &GUEST;
        let empty = guest_file(&self.kind, spec, empty, place, "empty")?;
        let libc = libc_of(text, spec)?;
        let folder = plan.output.as_ref().map_or_else(|| place.join("twin"), |output| output.join(text));
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        self.progress.clear();
        let plain = self.prepared(libc, &[])?;
        let lock = first.map(|twin| locked(&twin.folder)).transpose()?;
        let image = self.image(&plain, &folder, &[], lock)?;
        let lock = || locked(&folder).map(Some);
        let few = [self.rows.clone(), empty];
        let small = self.image(&plain, &place.join("small"), &few, lock()?)?;
        let many: Vec<PathBuf> = few.into_iter().chain(programs.files.iter().cloned()).collect();
        let complete = if libc == LibcName::Glibc { self.prepared(libc, &OF_GLIBC)? } else { plain };
        let with_suites = plan.output.as_ref().map(|output| output.join(format!("{text}{WITH_SUITES}")));
        let whole = self.image(&complete, &with_suites.unwrap_or_else(|| place.join("whole")), &many, lock()?)?;
        let build = Build { name: text.to_owned(), description: programs.description.clone(), emulator: None };
        Ok(Twin { build, libc, folder, image, small, whole, programs })
    }

    /// The packages, and further ones of the layers.
    fn prepared(&self, libc: LibcName, further: &[&str]) -> anyhow::Result<Prepared> {
        let plan = self.plan;
        let names: Vec<PathBuf> = plan.names.iter().cloned().chain(further.iter().map(PathBuf::from)).collect();
        Prepared::new(&names, &plan.layers, libc, plan.target, plan.toolchain, plan.access)
    }

    fn image(
        &self,
        prepared: &Prepared,
        folder: &Path,
        programs: &[PathBuf],
        lock: Option<Locked>,
    ) -> anyhow::Result<Image> {
        let args = ImageBuildArgs {
            offline: self.plan.access == underpin_image::store::Access::Offline,
            ..ImageBuildArgs::of(Vec::new(), self.plan.target, folder.to_owned())
        };
        prepared.image(args, programs, lock)
    }
}

impl Twin {
    /// Why a suite cannot run, if it cannot.
    pub fn not_built(&self, suite: Suite) -> Option<&str> {
        self.programs.failed.get(&suite).map(String::as_str)
    }
}

/// For what the programs are built.
fn kind(plan: &ImageComparePlan) -> anyhow::Result<Kind> {
    let processor: Processor = plan.target.processor().parse()?;
    let target = (Processor::host() != Some(processor)).then_some(processor);
    Ok(Kind { target, compiler: plan.toolchain, in_guest: true, ..Kind::default() })
}
