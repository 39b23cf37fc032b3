//! `underpin check`: judges a program by systems and limits, without running it.

use crate::exit::Exit;
use crate::plan::CheckPlan;
use crate::screen::Screen;
use underpin_report::{CheckDocument, text};
use underpin_resolve::compat;

/// Judges and shows.
///
/// # Errors
/// Only where the result cannot be written; a program that will not run is a finding.
pub fn run(plan: CheckPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let document = document(&plan);
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::check(&document, &screen.view(plan.verbosity)));
    }
    // Without a system or a limit there is no gate that could fail.
    let gated = plan.chosen || plan.max_glibc.is_some();
    Ok(if gated && !document.passed { Exit::Finding } else { Exit::Fine })
}
