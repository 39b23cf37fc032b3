//! What the data does not say is never a yes.

use super::*;

/// The verdict on a program for x86-64 glibc that asks one library for one version.
fn asks(soname: &str, version: &str, system: &System) -> Verdict {
    let mut facts = program(GLIBC_LOADER, &[soname, "libc.so.6"]);
    facts.version_needs = vec![need(soname, version, &["symbol"])];
    check(&Subject::alone(facts), &[system], None).systems.remove(0).verdict
}

fn glibc_systems() -> impl Iterator<Item = &'static System> {
    table().systems.iter().filter(|system| system.libc.kind == LibcFamily::Glibc)
}

fn lacks(verdict: &Verdict) -> &[UnknownBecause] {
    match verdict {
        Verdict::Unknown { lacks, .. } => lacks,
        other => panic!("expected an open answer, got {other:?}"),
    }
}

#[test]
fn a_version_that_the_data_does_not_list_is_never_a_yes() {
    let mut asked = 0;
    for system in glibc_systems() {
        let listed = system.base.keys().chain(system.repo.keys()).map(String::as_str);
        let names = listed.chain(system.definitions.sonames());
        for soname in names.filter(|soname| !soname.starts_with('/')) {
            // glibc's loader asks a library without version definitions for none (elf/dl-version.c, match_symbol).
            let unversioned = system.definitions.library(soname).is_some_and(|library| library.versions.is_none());
            for version in ["NOT_LISTED", "NOT_LISTED_9.9", "GLIBC_2.17.5", "OPENSSL_0.1", "GLIBCXX_3.4.9.9"] {
                let verdict = asks(soname, version, system);
                assert_eq!(verdict.can_run(), unversioned, "{}: {version} of {soname}: {verdict:?}", system.id);
                asked += 1;
            }
        }
    }
    assert!(asked > 20_000, "only {asked} questions");
}

#[test]
fn a_version_of_glibc_that_never_was_is_no_yes_on_any_system() {
    for system in glibc_systems() {
        for (file, version) in
            [("libc.so.6", "GLIBC_2.5.9"), ("libm.so.6", "GLIBC_2.2.99"), ("libc.so.6", "GLIBC_ABI_X")]
        {
            assert!(!asks(file, version, system).can_run(), "{}: {version} of {file}", system.id);
        }
        let newest = format!("GLIBC_{}", system.libc.version);
        assert!(!asks("libBrokenLocale.so.1", &newest, system).can_run(), "{}: not in that file", system.id);
    }
}

#[test]
fn a_listed_version_is_a_yes_and_an_unlisted_one_of_a_listed_library_a_no() {
    let xz = |id| asks("liblzma.so.5", "XZ_5.4", system(id));
    assert_eq!(xz("debian12"), Verdict::Runs);
    assert_eq!(xz("debian13"), Verdict::Runs);
    // The loader of Ubuntu 22.04 refuses it: "version `XZ_5.4' not found (required by /usr/bin/xz)".
    assert!(matches!(xz("ubuntu22.04"), Verdict::RefusesToStart { .. }));
    let refused = xz("debian11");
    let newest = |reason: &RuledOutBecause| match reason {
        RuledOutBecause::VersionMissing { newest, .. } => newest.as_ref().map(ToString::to_string),
        _ => None,
    };
    assert!(
        matches!(&refused, Verdict::RefusesToStart { reasons }
        if reasons.iter().filter_map(newest).eq(["XZ_5.2"])),
        "{refused:?}"
    );
}

#[test]
fn a_library_without_versions_is_asked_for_none() {
    assert_eq!(asks("libzstd.so.1", "ZSTD_1.5", system("debian12")), Verdict::Runs);
}

#[test]
fn an_open_answer_names_the_library_and_the_version() {
    let system = system("rhel9");
    let verdict = asks("liblzma.so.5", "XZ_5.4", system);
    let expected =
        UnknownBecause::Versions { file: "liblzma.so.5".into(), versions: vec![VersionName::parse("XZ_5.4")], more: 0 };
    assert_eq!(lacks(&verdict), [expected]);
}

#[test]
fn a_library_of_which_nothing_is_known_leaves_the_answer_open_and_what_is_known_is_kept() {
    let facts = program(GLIBC_LOADER, &["libssl.so.3", "libfoo.so.7", "libc.so.6"]);
    let verdict = verdict(facts, "debian12").verdict;
    assert_eq!(lacks(&verdict), [UnknownBecause::Libraries { sonames: vec!["libfoo.so.7".into()], more: 0 }]);
    assert!(
        matches!(&verdict, Verdict::Unknown { command: Some(command), .. } if command == "apt-get install libssl3")
    );
}

#[test]
fn an_open_answer_passes_no_gate() {
    let open = program(GLIBC_LOADER, &["libfoo.so.7", "libc.so.6"]);
    let compat = check(&Subject::alone(open), &[system("debian12")], None);
    assert!(!compat.passes() && !compat.passes_strictly());
}

#[test]
fn strict_lets_only_a_plain_yes_pass() {
    let on = |facts: ObjectFacts, id| {
        let compat = check(&Subject::alone(facts), &[system(id)], None);
        (compat.passes(), compat.passes_strictly())
    };
    let plain = program(GLIBC_LOADER, &["libc.so.6"]);
    assert_eq!(on(plain.clone(), "debian12"), (true, true));
    assert_eq!(on(program(GLIBC_LOADER, &["libssl.so.3"]), "debian12"), (true, false), "to be installed");
    assert_eq!(on(plain.clone(), "sles12sp5"), (true, false), "facts that nobody re-checked");
    let mut newer = plain;
    newer.x86_level = Some(IsaLevel::V3);
    assert_eq!(on(newer, "debian12"), (true, false), "processors");
}

#[test]
fn a_need_of_glibc_without_a_release_keeps_to_no_limit() {
    let mut facts = program(GLIBC_LOADER, &["libc.so.6"]);
    facts.version_needs = vec![need("libc.so.6", "GLIBC_ABI_UNHEARD_OF", &[])];
    assert!(!check(&Subject::alone(facts), &[], Some(&Number::new(&[2, 99]))).passes());
}

#[test]
fn the_names_of_one_system_stay_few_however_many_a_file_asks_for() {
    for count in [2_000, 8_000] {
        let mut facts = program(GLIBC_LOADER, &["libc.so.6"]);
        facts.needed.extend((0..count).map(|index| format!("libnope{index}.so").into()));
        // The same name many times, and many versions of one file.
        facts.needed.extend((0..count).map(|_| "libnope0.so".into()));
        facts.version_needs =
            (0..count).map(|index| need("libc.so.6", &format!("GLIBC_9.{index}"), &["symbol"])).collect();
        let open = check(&Subject::alone(program_without_versions(&facts)), &[system("debian12")], None);
        let UnknownBecause::Libraries { sonames, more } = &lacks(&open.systems[0].verdict)[0] else {
            panic!("{open:?}")
        };
        assert_eq!((sonames.len(), *more), (MOST_NAMED, count - MOST_NAMED));
        let refused = check(&Subject::alone(facts), &[system("debian12")], None);
        assert_eq!(reasons(&refused.systems[0]).len(), MOST_NAMED + 1);
        let last = reasons(&refused.systems[0]).last();
        assert_eq!(last, Some(&RuledOutBecause::MoreMissing { count: count - MOST_NAMED }));
    }
}

fn program_without_versions(facts: &ObjectFacts) -> ObjectFacts {
    ObjectFacts { version_needs: Vec::new(), ..facts.clone() }
}

#[test]
fn a_line_of_the_definitions_that_is_not_of_the_format_is_named() {
    assert!(definitions::Facts::parse("system x\nliba.so.1").is_err_and(|line| line == "liba.so.1"));
    assert!(definitions::Facts::parse("system x\nliba.so.1 a A_1").is_ok());
}
