//! `underpin image doctor`: reads an image and shows what is missing in it.

use crate::cli::ImageDoctorArgs;
use crate::exit::Exit;
use crate::screen::Screen;
use anyhow::bail;
use bstr::BString;
use std::os::unix::ffi::OsStringExt;
use underpin_image::{doctor, oci};
use underpin_report::{ImageDoctorDocument, text};

/// Reads and shows.
///
/// # Errors
/// If it is not an image or is damaged, or if there is nothing in it to look at.
pub fn run(args: ImageDoctorArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let image = oci::open(&args.image, oci::Limits::default())?;
    let named: Vec<BString> = args.program.into_iter().map(|name| name.into_vec().into()).collect();
    let diagnosis = doctor::diagnose(&image, &named);
    if diagnosis.programs.is_empty() && diagnosis.findings.is_empty() {
        let why = diagnosis.unknown.first().map_or("no program was found in it", String::as_str);
        bail!("{}: nothing to look at: {why}", args.image.display());
    }
    let document = ImageDoctorDocument::new(&image, &diagnosis);
    if args.display.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::image_doctor(&document, &screen.view(args.display.verbose)));
    }
    Ok(if diagnosis.findings.is_empty() { Exit::Fine } else { Exit::Finding })
}
