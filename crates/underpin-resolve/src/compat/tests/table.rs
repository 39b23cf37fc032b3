//! The data file: unique names, sound values, a source for every fact.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    matches!(&parts[..], [y, m, d] if y.len() == 4 && m.len() == 2 && d.len() == 2)
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[test]
fn the_file_carries_its_date() {
    assert!(is_date(&table().date), "{}", table().date);
}

#[test]
fn every_name_selects_one_system() {
    let mut seen = BTreeMap::new();
    for system in &table().systems {
        for name in std::iter::once(&system.id).chain(&system.aliases) {
            assert_eq!(seen.insert(name, &system.id), None, "{name} is used twice");
            assert_eq!(table().select(name).map(|found| &found.id), Ok(&system.id), "{name}");
        }
    }
}

#[test]
fn every_fact_has_a_source_that_the_file_describes() {
    for system in &table().systems {
        let SystemSources { libc, kernel, base, repo, end_of_life } = &system.sources;
        for key in [libc, kernel, base, repo, end_of_life] {
            assert!(table().sources.contains_key(key), "{}: no source {key}", system.id);
        }
    }
    assert!(table().sources.values().all(|source| source.text.len() > 20));
}

#[test]
fn no_soname_is_both_there_and_not() {
    for system in &table().systems {
        let lists: [BTreeSet<&String>; 3] =
            [system.base.keys().collect(), system.repo.keys().collect(), system.absent.keys().collect()];
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            assert!(lists[a].is_disjoint(&lists[b]), "{}: {:?}", system.id, lists[a].intersection(&lists[b]));
        }
        for instead in system.absent.values().flatten() {
            let state = system.library(instead.as_bytes());
            assert!(matches!(state, LibraryState::Base { .. } | LibraryState::Repo { .. }), "{}: {instead}", system.id);
        }
    }
}

#[test]
fn versions_grow_with_the_releases_of_a_distribution() {
    for line in [
        &["rhel7", "rhel8", "rhel9", "rhel10"][..],
        &["debian9", "debian10", "debian11", "debian12", "debian13"],
        &["ubuntu16.04", "ubuntu18.04", "ubuntu20.04", "ubuntu22.04", "ubuntu24.04", "ubuntu26.04"],
        &["sles12sp5", "sles15sp3", "sles15sp4", "sles15sp5", "sles15sp6", "sles15sp7", "sles16"],
        &["amazonlinux2", "amazonlinux2023"],
        &["openeuler20.03", "openeuler22.03", "openeuler24.03"],
        &["fedora42", "fedora43", "fedora44"],
        &[
            "alpine3.17",
            "alpine3.18",
            "alpine3.19",
            "alpine3.20",
            "alpine3.21",
            "alpine3.22",
            "alpine3.23",
            "alpine3.24",
        ],
    ] {
        for pair in line.windows(2) {
            let (older, newer) = (system(pair[0]), system(pair[1]));
            assert!(older.libc.version <= newer.libc.version, "{pair:?}: libc");
            for (family, version) in &older.versions {
                let later = newer.versions.get(family).unwrap_or(version);
                assert!(version <= later, "{pair:?}: {version} then {later}");
            }
            if let (Some(old), Some(new)) = (&older.kernel, &newer.kernel) {
                assert!(old <= new, "{pair:?}: kernel");
            }
        }
    }
}

#[test]
fn values_have_their_form() {
    for system in &table().systems {
        assert!(system.end_of_life.as_deref().is_none_or(is_date), "{}", system.id);
        assert!(!system.arches.is_empty(), "{}", system.id);
        assert!(!system.install.is_empty(), "{}", system.id);
        assert!(!system.versions.contains_key("GLIBC"), "{}: glibc's version is libc's", system.id);
        assert!(system.markers.iter().all(|marker| VersionName::parse(marker).number().is_none()), "{}", system.id);
        let glibc_2_36 = system.libc.kind == LibcFamily::Glibc && system.libc.version >= Number::new(&[2, 36]);
        assert_eq!(system.markers.contains("GLIBC_ABI_DT_RELR"), glibc_2_36, "{}: marker of 2.36", system.id);
    }
}

#[test]
fn a_wrong_table_is_refused_with_the_field_and_the_form() {
    let good = "date = \"2026-01-01\"\n[sources]\n[[system]]\nid = \"x\"\nname = \"X\"\nlibc = \"LIBC\"\narches = []\n\
                x86_level = \"x86-64\"\ninstall = \"i\"\nsources = { libc=\"\", kernel=\"\", base=\"\", repo=\"\", end_of_life=\"\" }\n";
    assert!(SystemTable::parse(&good.replace("LIBC", "glibc 2.28")).is_ok());
    for bad in ["glibc", "glibc x", "uclibc 1.0", ""] {
        let error = SystemTable::parse(&good.replace("LIBC", bad)).expect_err(bad).to_string();
        assert!(error.contains("system x: libc"), "{error}");
    }
    assert!(SystemTable::parse("date = 1").is_err());
}
