//! `underpin image sdk`.

use super::raw;
use crate::exit::Exit;
use crate::plan::ImageSdkPlan;
use crate::screen::Screen;
use anyhow::{Context, bail};
use std::process::Command;
use underpin_image::sdk;
use underpin_report::document::image_sdk::{ImageSdkDocument, ImageSdkPackage};
use underpin_report::text;
use underpin_sys::{CHORE_LIMIT, answer};

/// Writes the folder.
///
/// # Errors
/// If nothing compiles for the target here, a package cannot be fetched, or a command fails.
pub fn run(plan: &ImageSdkPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let begun = sdk::begin(&plan.wanted, &plan.folder, &plan.store, plan.access)?;
    for step in &begun.steps {
        let mut command = Command::new(&step.program);
        command.args(&step.arguments).current_dir(&step.directory);
        let output =
            answer(&mut command, CHORE_LIMIT).with_context(|| format!("cannot run {}", step.program.display()))?;
        if !output.status.success() {
            bail!("{} failed: {}", step.program.display(), String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    let manifest = begun.finish()?;
    let packages = manifest.packages.into_iter().map(|package| ImageSdkPackage {
        name: package.name,
        version: package.version,
        sha256: package.sha256,
    });
    let document = ImageSdkDocument {
        schema: underpin_report::document::SchemaTag::new(),
        folder: raw(&plan.folder),
        target: manifest.target,
        build: manifest.build,
        toolchain: manifest.toolchain,
        prefix: manifest.prefix,
        packages: packages.collect(),
        needs: manifest.needs.iter().map(raw).collect(),
        remarks: manifest.remarks,
    };
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::image_sdk(&document, &screen.view(plan.verbosity)));
    }
    Ok(Exit::Fine)
}
