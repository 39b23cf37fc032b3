//! Where a benchmark's page is. Kinds of processors differ a lot, and a goal is judged by the worse, so that no kind's page is
//! written over by another's.

use super::overlay_kinds::processor;
use std::fs;

/// A kind of processor, as pages tell it in the line of their machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kind {
    vendor: &'static str,
    /// AMD counts its kinds by family; Intel has kept the number 6 since 1995 and counts by model. Old pages have none.
    number: Option<String>,
}

impl Kind {
    /// Of a text that has a vendor's name and, if they are known, "family N" and "model M".
    fn of(text: &str) -> Option<Kind> {
        let vendor = ["Intel", "AMD"].into_iter().find(|name| text.contains(name))?;
        let key = if vendor == "AMD" { ", family " } else { ", model " };
        let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        let number = text.split_once(key).map(|(_, rest)| digits(rest)).filter(|digits| !digits.is_empty());
        Some(Kind { vendor, number })
    }

    fn of_this_machine() -> Option<Kind> {
        let value = |key: &str| processor(key).ok();
        let (family, model) = (value("cpu family")?, value("model")?);
        Kind::of(&format!("{}, family {family}, model {model}", value("vendor_id")?))
    }

    /// Of a page; of several lines by one that has the number, as parts of a page may be older.
    fn of_page(page: &str) -> Option<Kind> {
        let kinds = || page.lines().filter(|line| line.starts_with("Measured on ")).filter_map(Kind::of);
        kinds().find(|kind| kind.number.is_some()).or_else(|| kinds().next())
    }

    /// Whether a page was measured on what is known to be another kind.
    fn differs_from(&self, page: &str) -> bool {
        let Some(other) = Kind::of_page(page) else { return false };
        let differ = self.number.is_some() && other.number.is_some() && self.number != other.number;
        self.vendor != other.vendor || differ
    }
}

/// Where this machine's page of a name is: NAME.md; beside one of another kind NAME-VENDOR.md, or NAME-VENDOR-NUMBER.md where the
/// vendor alone does not tell it from the others.
pub fn page(file: &str) -> String {
    page_of(file, Kind::of_this_machine().as_ref(), &|path| fs::read_to_string(path).unwrap_or_default())
}

fn page_of(file: &str, here: Option<&Kind>, read: &dyn Fn(&str) -> String) -> String {
    let plain = format!("docs/bench/{file}.md");
    let Some(here) = here else { return plain };
    let page = read(&plain);
    if !here.differs_from(&page) {
        return plain;
    }
    let vendor = here.vendor.to_lowercase();
    let by_vendor = format!("docs/bench/{file}-{vendor}.md");
    let vendor_differs = Kind { number: None, ..here.clone() }.differs_from(&page);
    match &here.number {
        Some(number) if !vendor_differs || here.differs_from(&read(&by_vendor)) => {
            format!("docs/bench/{file}-{vendor}-{number}.md")
        }
        _ => by_vendor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of a machine, with a word about another below.
    fn measured(machine: &str) -> String {
        format!("# Title\n\nMeasured on 2026-11-25 by `x`: 2 processors ({machine}), Debian.\n\nIntel's and AMD's.\n")
    }

    #[test]
    fn each_kind_of_processor_keeps_its_page() {
        let zen4 = "AMD EPYC, family 25, model 17";
        let xeon = "Intel(R) Xeon(R) Processor, family 6, model 207";
        // The processor here; what NAME.md and NAME-intel.md were measured on; and where its page is.
        for (here, plain, intel, expected) in [
            ("AuthenticAMD, family 25, model 1", zen4, xeon, "x.md"),
            ("AuthenticAMD, family 26, model 2", zen4, xeon, "x-amd-26.md"),
            ("AuthenticAMD, family 26, model 2", "AMD EPYC", "", "x.md"),
            ("AuthenticAMD, family 26, model 2", xeon, "", "x-amd.md"),
            ("GenuineIntel, family 6, model 207", zen4, "", "x-intel.md"),
            ("GenuineIntel, family 6, model 207", zen4, xeon, "x-intel.md"),
            ("GenuineIntel, family 6, model 167", zen4, xeon, "x-intel-167.md"),
            ("GenuineIntel, family 6, model 167", xeon, "", "x-intel-167.md"),
            ("GenuineIntel, family 6, model 167", "", "", "x.md"),
            ("another", zen4, xeon, "x.md"),
        ] {
            let read = |path: &str| match path {
                "docs/bench/x.md" => measured(plain),
                "docs/bench/x-intel.md" => measured(intel),
                _ => String::new(),
            };
            let page = page_of("x", Kind::of(here).as_ref(), &read);
            assert_eq!(page, format!("docs/bench/{expected}"), "{here}; {plain}; {intel}");
        }
    }

    #[test]
    fn a_page_is_of_the_kind_that_one_of_its_parts_names() {
        let zen3 = Kind::of("AMD, family 25").unwrap();
        assert!(!zen3.differs_from(""), "a page that is not there");
        let parts = [measured("AMD EPYC"), measured("AMD EPYC, family 26, model 2")].concat();
        assert!(zen3.differs_from(&parts));
    }
}
