//! `underpin check`: judges a program by systems and limits, without running it.

use crate::exit::Exit;
use crate::object;
use crate::plan::CheckPlan;
use crate::screen::Screen;
use bstr::BString;
use std::os::unix::ffi::OsStrExt;
use underpin_report::{CheckDocument, CheckInput, text};
use underpin_resolve::compat;

/// Judges and shows.
///
/// # Errors
/// Only if the result cannot be written; a program that will not run is a finding.
pub fn run(plan: CheckPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let document = document(&plan);
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::check(&document, &screen.view(plan.verbosity)));
    }
    // Without a system, a limit or an expectation there is no gate that could fail.
    let gated = plan.chosen || plan.max_glibc.is_some() || !plan.expect.0.is_empty();
    Ok(if gated && !document.passed { Exit::Finding } else { Exit::Fine })
}

/// The verdict as a document.
pub fn document(plan: &CheckPlan) -> CheckDocument {
    let companions: Vec<BString> = plan.subject.companions.iter().map(|object| object.name.clone()).collect();
    let mut compat = match &plan.max_glibc {
        Some(max) if !plan.chosen => compat::check_limit(&plan.subject, &plan.systems, max),
        max => compat::check(&plan.subject, &plan.systems, max.as_ref()),
    };
    compat.expectations = plan.expect.evaluate(&plan.subject, &compat);
    CheckDocument::new(&CheckInput {
        program: plan.path.as_os_str().as_bytes().into(),
        bytes: plan.program.size,
        elf: &plan.program.elf,
        details: &plan.program.details,
        companions: &companions,
        compat: &compat,
        systems_date: &plan.table.date,
        systems_chosen: plan.chosen,
        strict: plan.strict,
        of_distribution: object::is_of_distribution(&plan.path),
    })
}
