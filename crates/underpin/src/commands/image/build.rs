//! `underpin image build`.

use super::raw;
use crate::exit::Exit;
use crate::plan::{Container, ImageBuildPlan};
use crate::screen::Screen;
use std::path::Path;
use underpin_image::image::{Built, Manifest, Material};
use underpin_image::plan::layered;
use underpin_image::store::{Kernel, Package, meta_package};
use underpin_image::{Content, Entry, Image, Kind, doctor, oci};
use underpin_report::document::image::{ImageContainer, ImageDisk, ImageFile, ImageKernel};
use underpin_report::{ImageBuildDocument, Raw, text};

/// Builds, or shows what would be built.
///
/// # Errors
/// If something cannot be fetched, read or written.
pub fn run(build: &ImageBuildPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let document = match &build.container {
        _ if build.dry_run => document(build, None),
        Some(container) => contained(build, container)?,
        None => {
            let (kernel, built) = machine(build)?;
            ImageBuildDocument { kernel: Some(used_kernel(build, &kernel, &built)), ..document(build, Some(&built)) }
        }
    };
    if build.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::image_build(&document, &screen.view(build.verbosity)));
    }
    Ok(Exit::Fine)
}

/// Writes an image for a machine.
///
/// # Errors
/// If something cannot be fetched, read or written.
pub fn machine(build: &ImageBuildPlan) -> anyhow::Result<(Kernel, Built)> {
    let kernel = build.kernel()?;
    let parts = build.parts(&kernel)?;
    let material = Material { kernel: &kernel, parts: &parts, format: build.format, size: build.size };
    let built = Image::build(&build.plan, &material, &build.folder)?;
    Ok((kernel, built))
}

/// Writes an image for containers, and tells what its programs miss.
fn contained(build: &ImageBuildPlan, container: &Container) -> anyhow::Result<ImageBuildDocument> {
    let layers = layered(&build.plan, container.layer_per)?;
    let trees = layers.iter().map(|(_, tree)| tree);
    let image = oci::planned(trees, &container.settings.config, &build.folder);
    let diagnosis = doctor::diagnose_known(&image, &[], build.plan.known.take());
    let layers: Vec<_> =
        layers.into_iter().map(|(name, tree)| (format!("underpin image build: {name}"), tree)).collect();
    let written = oci::write(
        &layers,
        &container.settings,
        &build.folder,
        container.output,
        container.replace,
        build.ahead.take(),
    )?;
    let missing = diagnosis.findings.into_iter().map(|finding| format!("{}: {}", finding.missing, finding.fix));
    let mut document = ImageBuildDocument {
        dry_run: false,
        container: Some(ImageContainer {
            manifest: written.manifest,
            diff_ids: written.diff_ids,
            bytes: written.size,
            user: container.settings.config.user.clone(),
        }),
        ..document(build, None)
    };
    document.remarks.extend(missing);
    Ok(document)
}

fn document(build: &ImageBuildPlan, built: Option<&Built>) -> ImageBuildDocument {
    let plan = &build.plan;
    let files = plan.layers.iter().flat_map(|layer| {
        let entries = layer.tree.entries().filter(|(_, entry)| entry.kind != Kind::Directory);
        entries.map(|(path, entry)| file(path, entry, layer.name, plan.reason(path).to_string()))
    });
    let initramfs = built.map(|built| &built.image.manifest.initramfs);
    ImageBuildDocument {
        schema: underpin_report::document::SchemaTag::new(),
        target: if build.container.is_some() { plan.target.container() } else { plan.target.name() }.to_owned(),
        folder: raw(&build.folder),
        dry_run: built.is_none(),
        unchanged: built.is_some_and(|built| built.unchanged),
        command: raw(&plan.command),
        kernel: build.container.is_none().then(|| planned_kernel(build)),
        container: None,
        format: build.container.is_none().then(|| build.format.name().to_owned()),
        disk: built.and_then(|built| disk(&built.image.manifest)),
        initramfs_bytes: initramfs.map(|file| file.bytes),
        initramfs_sha256: initramfs.map(|file| file.sha256.clone()),
        packages: build.packages.clone(),
        files: files.collect(),
        remarks: plan.remarks.clone(),
    }
}

fn disk(manifest: &Manifest) -> Option<ImageDisk> {
    let disk = manifest.disk.as_ref()?;
    let firmware = manifest.firmware.as_ref().map(|package| format!("{} {}", package.name, package.version));
    Some(ImageDisk {
        file: disk.file.file.clone(),
        bytes: disk.file.bytes,
        sha256: disk.file.sha256.clone(),
        uuid: disk.uuid.clone(),
        firmware,
    })
}

fn file(path: &Path, entry: &Entry, layer: &str, because: String) -> ImageFile {
    let (bytes, from) = match &entry.kind {
        Kind::File(Content::Host { path, size }) => (*size, Some(raw(path))),
        Kind::File(content) => (content.size(), None),
        _ => (0, None),
    };
    ImageFile { path: raw(Path::new("/").join(path)), layer: layer.to_owned(), bytes, from, because }
}

/// What is known before anything is fetched.
fn planned_kernel(build: &ImageBuildPlan) -> ImageKernel {
    match (&build.kernel, &build.locked.kernel) {
        (Some(path), _) => from(raw(path), None),
        (None, Some(package)) if !build.update => from(package.name.as_str().into(), Some(package)),
        (None, _) => {
            let name = format!("the newest {} of Debian", meta_package(build.plan.target));
            from(name.as_str().into(), None)
        }
    }
}

fn used_kernel(build: &ImageBuildPlan, kernel: &Kernel, built: &Built) -> ImageKernel {
    let name = kernel.package.as_ref().map(|package| package.name.as_str().into());
    let package = kernel.package.as_ref();
    let before = build.locked.kernel.as_ref().filter(|before| package.is_some_and(|now| now.sha256 != before.sha256));
    ImageKernel {
        bytes: Some(built.image.manifest.kernel.file.bytes),
        replaced: before.map(|before| format!("{} {}", before.name, before.version)),
        ..from(name.unwrap_or_else(|| raw(&kernel.path)), package)
    }
}

fn from(from: Raw, package: Option<&Package>) -> ImageKernel {
    ImageKernel {
        from,
        version: package.map(|package| package.version.clone()),
        source: package.map(|package| package.source.clone()),
        package_sha256: package.map(|package| package.sha256.clone()),
        replaced: None,
        bytes: None,
    }
}
