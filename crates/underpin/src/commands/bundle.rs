//! `underpin bundle`: writes a bundle and lists its content.

use crate::exit::Exit;
use crate::plan::BundleCommand;
use crate::screen::Screen;
use anyhow::Context;
use underpin_report::{BundleDocument, text};
use underpin_rewrite::bundle;

/// Writes and shows.
///
/// # Errors
/// If the bundle cannot be written, or its loader does not confirm it.
pub fn run(command: &BundleCommand, screen: &mut Screen) -> anyhow::Result<Exit> {
    let written = if command.dry_run {
        None
    } else {
        let written = bundle::write(&command.plan, &command.target.root, &command.output, command.force);
        Some(written.with_context(|| format!("cannot bundle {}", command.plan.program))?)
    };
    let document = BundleDocument::new(&command.plan, &command.output, written.as_ref());
    if command.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::bundle(&document, &screen.view(command.verbosity)));
    }
    Ok(Exit::Fine)
}
