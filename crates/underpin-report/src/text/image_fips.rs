//! The screen of `underpin image fips`: what is in effect, what is known of it, and what bypasses it.

use crate::document::image_fips::{FipsBypass, FipsCheck, ImageFipsDocument};
use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::count;

/// Files that the short form names.
const NAMED: usize = 6;

/// Which FIPS provider is in effect in an image, and what bypasses it.
#[must_use]
pub fn image_fips(document: &ImageFipsDocument, view: &View) -> Text {
    let mut text = Text::new();
    let (role, head) = headline(document);
    text.append(wrap(Line::new(), &[Span::new(role, format!("{}: {head}", document.image))], view.usable()));
    if let Some(runtime) = &document.runtime {
        let library = document.library.as_ref().map_or_else(String::new, |library| format!(" with {library}"));
        row(&mut text, "asked", Role::Plain, &format!("{runtime}{library}"), view);
    }
    if let Some(provider) = &document.provider {
        row(&mut text, "provider", Role::Plain, &format!("{} {}", provider.name, provider.version), view);
        row(&mut text, "known", Role::Plain, &provider.standing, view);
    }
    for (name, works) in [("works", true), ("refused", false)] {
        let of: Vec<&FipsCheck> = document.checks.iter().filter(|check| check.works == works).collect();
        let role = if of.iter().all(|check| check.expected == works) { Role::Plain } else { Role::Bad };
        let names: Vec<&str> = of.iter().map(|check| check.name.as_str()).collect();
        if !names.is_empty() {
            row(&mut text, name, role, &names.join(", "), view);
        }
    }
    if let Some(says) = document.runtime_says.filter(|says| *says != document.in_effect) {
        row(&mut text, "says", Role::Warn, &format!("OpenSSL.fips_mode is {says}, which does not fit the rest"), view);
    }
    for file in document.mapped.iter().filter(|_| view.verbosity > 0) {
        row(&mut text, "mapped", Role::Path, &file.to_string(), view);
    }
    bypasses(&mut text, document, view);
    own_code(&mut text, document, view);
    for unknown in &document.unknown {
        let start = Line::new().with(Role::Warn, "! not looked at: ");
        text.append(wrap(start, &[Span::new(Role::Plain, unknown)], view.usable()));
    }
    text
}

fn headline(document: &ImageFipsDocument) -> (Role, &'static str) {
    match (&document.runtime, &document.provider, document.in_effect) {
        (None, ..) => (Role::Warn, "whether a FIPS provider is in effect is unknown"),
        (Some(_), Some(_), true) if document.bypasses.is_empty() => (Role::Good, "a FIPS provider is in effect"),
        (Some(_), Some(_), true) => (Role::Warn, "a FIPS provider is in effect in OpenSSL, and is bypassed"),
        (Some(_), Some(_), false) => (Role::Bad, "a FIPS provider is active, and not in effect"),
        (Some(_), None, _) => (Role::Bad, "no FIPS provider is active"),
    }
}

fn bypasses(text: &mut Text, document: &ImageFipsDocument, view: &View) {
    if document.bypasses.is_empty() {
        return;
    }
    text.gap();
    let head = format!("Works without OpenSSL: {}", count(document.bypasses.len(), "function", "functions"));
    text.push(Line::new().with(Role::Bad, head));
    let width = document.bypasses.iter().map(|bypass| bypass.name.chars().count()).max().unwrap_or_default();
    for FipsBypass { name, file } in &document.bypasses {
        let place = file.as_ref().map_or_else(|| "the runtime, or the kernel".to_owned(), ToString::to_string);
        let start = Line::new().with(Role::Plain, "  ").with(Role::Name, format!("{name:<width$}  "));
        text.append(wrap(start, &[Span::new(Role::Path, place)], view.usable()));
    }
}

fn own_code(text: &mut Text, document: &ImageFipsDocument, view: &View) {
    if document.own_code.is_empty() {
        return;
    }
    text.gap();
    let head = format!("With constants of algorithms: {}", count(document.own_code.len(), "file", "files"));
    text.push(Line::new().with(Role::Heading, head));
    let all = if view.verbosity > 0 { usize::MAX } else { NAMED };
    for own in document.own_code.iter().take(all) {
        let algorithms = own.algorithms.iter().map(|found| format!("{} (byte {:#x})", found.name, found.offset));
        let words = algorithms.collect::<Vec<_>>().join(", ");
        text.append(wrap(
            Line::new().with(Role::Plain, "  "),
            &[Span::new(Role::Path, format!("{}:", own.path)), Span::new(Role::Plain, format!(" {words}"))],
            view.usable(),
        ));
    }
    let more = document.own_code.len().saturating_sub(all);
    if more > 0 {
        text.push(Line::new().with(Role::Dim, format!("  and {more} more (-v)")));
    }
}

fn row(text: &mut Text, name: &str, role: Role, words: &str, view: &View) {
    text.append(wrap(Line::new().with(Role::Dim, format!("  {name:<9} ")), &[Span::new(role, words)], view.usable()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Raw;
    use crate::document::SchemaTag;
    use crate::document::image_fips::{FipsAlgorithm, FipsOwnCode, FipsProvider};
    use underpin_image::fips::certificates;

    fn document(version: &str) -> ImageFipsDocument {
        let check = |name: &str, expected| FipsCheck { name: name.to_owned(), expected, works: expected };
        let name = "OpenSSL FIPS Provider";
        ImageFipsDocument {
            schema: SchemaTag::new(),
            image: Raw("app.tar".into()),
            runtime: Some("Ruby 3.1.2".to_owned()),
            library: Some("OpenSSL 3.0.19 27 Jan 2026".to_owned()),
            mapped: vec![Raw("/usr/lib/libcrypto.so.3".into())],
            provider: Some(FipsProvider {
                name: name.to_owned(),
                version: version.to_owned(),
                standing: certificates().standing(name, version),
            }),
            forced: true,
            in_effect: true,
            runtime_says: Some(false),
            checks: vec![check("SHA-256", true), check("MD5", false)],
            bypasses: vec![FipsBypass { name: "Digest::MD5".to_owned(), file: Some(Raw("/usr/lib/md5.so".into())) }],
            own_code: vec![FipsOwnCode {
                path: Raw("/usr/lib/md5.so".into()),
                algorithms: vec![FipsAlgorithm { name: "MD5".to_owned(), offset: 0x1234 }],
            }],
            unknown: Vec::new(),
        }
    }

    /// The screen without its line ends.
    fn shown(document: &ImageFipsDocument) -> String {
        let text = super::super::image_fips(document, &View::columns(80)).to_string();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_about_a_validation_stand_beside_number_and_day_or_not_at_all() {
        for row in &certificates().all {
            let text = shown(&document(&row.version));
            let beside =
                format!("was validated: certificate #{} ({}), announced {}", row.number, row.standard, row.announced);
            assert_eq!(text.matches("validat").count(), 1, "{text}");
            assert!(text.contains(&beside) && !text.contains("complian"), "{text}");
        }
        let mut without = document("3.5.9");
        without.bypasses.clear();
        let mut inactive = document("3.5.9");
        (inactive.in_effect, inactive.forced) = (false, false);
        let mut none = document("3.5.9");
        (none.provider, none.in_effect) = (None, false);
        let mut unknown = document("3.5.9");
        (unknown.runtime, unknown.provider) = (None, None);
        for document in [document("3.5.9"), without, inactive, none, unknown] {
            let text = shown(&document);
            assert!(!text.contains("validat") && !text.contains("complian"), "{text}");
        }
    }

    #[test]
    fn a_provider_that_is_bypassed_is_said_to_be_so_with_the_file() {
        let text = shown(&document("3.5.9"));
        assert!(text.starts_with("app.tar: a FIPS provider is in effect in OpenSSL, and is bypassed "), "{text}");
        assert!(text.contains("no certificate is known for OpenSSL FIPS Provider 3.5.9 (table of "), "{text}");
        assert!(text.contains(" Digest::MD5 /usr/lib/md5.so ") && text.contains("MD5 (byte 0x1234)"), "{text}");
    }
}
