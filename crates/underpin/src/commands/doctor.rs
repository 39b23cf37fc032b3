//! `underpin doctor`: looks at this machine and reports.

use crate::cli::DoctorArgs;
use crate::doctor::{Host, is_broken};
use crate::exit::Exit;
use crate::screen::Screen;
use underpin_report::text;

/// Reports what this machine allows.
///
/// # Errors
/// Only if the result cannot be written.
pub fn run(args: &DoctorArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let document = Host::this().examine();
    if args.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::doctor(&document, &screen.view(0)));
    }
    Ok(if is_broken(&document) { Exit::Finding } else { Exit::Fine })
}
