//! Hardening facts follow the flags that a file was built with.

mod common;

use common::details;
use underpin_elf::{Canary, Fortify, FortifyUnknown, Hardening, Relro, SearchPathRiskKind, StackProtection};
use underpin_test_support::{Fixture, need};

const SOURCE: &str = "#include <stdio.h>\n#include <string.h>\n\
    int main(int n, char **v) { char b[64]; strcpy(b, v[0]); printf(\"%s %d\\n\", b, n); return 0; }\n";

fn hardening(fixture: &Fixture, compiler: &str, arguments: &[&str]) -> Hardening {
    fixture.write("main.c", SOURCE);
    fixture.must(compiler, ["-w", "-o", "main", "main.c"].iter().chain(arguments));
    details(&fixture.join("main")).hardening
}

#[test]
fn a_fully_hardened_program_is_called_so() {
    need!("cc");
    let flags = [
        "-O2",
        "-D_FORTIFY_SOURCE=2",
        "-fstack-protector-all",
        "-pie",
        "-fPIE",
        "-Wl,-z,relro,-z,now",
        "-Wl,-z,noexecstack",
    ];
    let facts = hardening(&Fixture::new(), "cc", &flags);
    assert!(facts.position_independent && facts.bind_now);
    assert_eq!((facts.relro, facts.stack), (Relro::Full, StackProtection::NotExecutable));
    assert_eq!(facts.canary, Canary::Present);
    let Fortify::Glibc { checked, .. } = facts.fortify else { panic!("{:?}", facts.fortify) };
    assert!(checked.iter().any(|name| name == "__printf_chk"), "{checked:?}");
    assert!(!facts.text_relocations && !facts.writable_code && facts.search_path_risks.is_empty());
}

#[test]
fn a_program_with_everything_off_is_called_so() {
    need!("cc");
    let flags = [
        "-O0",
        "-U_FORTIFY_SOURCE",
        "-fno-stack-protector",
        "-no-pie",
        "-fno-pie",
        "-Wl,-z,norelro",
        "-Wl,-z,lazy",
        "-Wl,-z,execstack",
        "-Wl,-rpath,/tmp/lib:lib::/opt/lib:$ORIGIN/../lib:/tmpfiles",
    ];
    let facts = hardening(&Fixture::new(), "cc", &flags);
    assert!(!facts.position_independent && !facts.bind_now);
    assert_eq!((facts.relro, facts.stack), (Relro::None, StackProtection::Executable));
    assert_eq!(facts.canary, Canary::Absent);
    let Fortify::Glibc { checked, plain } = facts.fortify else { panic!("{:?}", facts.fortify) };
    assert!(checked.is_empty() && plain.iter().any(|name| name == "strcpy"), "{plain:?}");
    let risks: Vec<_> = facts.search_path_risks.iter().map(|risk| (risk.entry.to_string(), risk.kind)).collect();
    use SearchPathRiskKind::{WorkingDirectory, WorldWritable};
    let expected = [("/tmp/lib", WorldWritable), ("lib", WorkingDirectory), ("", WorkingDirectory)];
    assert_eq!(risks, expected.map(|(entry, kind)| (entry.to_string(), kind)));
}

#[test]
fn lazy_binding_leaves_relro_partial_on_glibc_only() {
    need!("cc", "musl-gcc");
    let flags = ["-Wl,-z,relro", "-Wl,-z,lazy", "-pie", "-fPIE"];
    assert_eq!(hardening(&Fixture::new(), "cc", &flags).relro, Relro::Partial);
    let musl = hardening(&Fixture::new(), "musl-gcc", &flags);
    assert_eq!(musl.relro, Relro::Full, "musl binds everything at start");
    assert_eq!(musl.fortify, Fortify::NotApplicable(FortifyUnknown::Musl));
}

#[test]
fn canaries_of_static_files_are_not_guessed() {
    need!("cc", "musl-gcc");
    for compiler in ["cc", "musl-gcc"] {
        for flag in ["-fstack-protector-all", "-fno-stack-protector"] {
            assert_eq!(hardening(&Fixture::new(), compiler, &["-static", flag]).canary, Canary::Unknown, "{compiler}");
        }
        let dynamic = hardening(&Fixture::new(), compiler, &["-fstack-protector-all"]);
        assert_eq!(dynamic.canary, Canary::Present, "{compiler}");
    }
}

#[test]
fn text_relocations_are_seen() {
    need!("cc", "/usr/lib32/libc.so.6");
    let fixture = Fixture::new();
    fixture.write("text.c", "extern int outside; int f(void) { return outside; }");
    fixture.cc(["-m32", "-shared", "-fno-pic", "-w", "-Wl,-z,notext", "-nostdlib", "-o", "text.so", "text.c"]);
    assert!(details(&fixture.join("text.so")).hardening.text_relocations);
}

#[test]
fn control_flow_protection_is_seen() {
    need!("cc");
    let fixture = Fixture::new();
    fixture.write("cet.c", "int f(void) { return 1; }");
    let link = ["-shared", "-fPIC", "-nostdlib", "-fcf-protection=full"];
    fixture.cc(link.iter().chain(&["-Wl,-z,ibt,-z,shstk", "-o", "with.so", "cet.c"]));
    fixture.cc(link.iter().chain(&["-fcf-protection=none", "-o", "without.so", "cet.c"]));
    let with = details(&fixture.join("with.so")).hardening;
    let without = details(&fixture.join("without.so")).hardening;
    assert!(with.ibt && with.shadow_stack);
    assert!(!without.ibt && !without.shadow_stack);
}

#[test]
fn branch_protection_of_aarch64_is_seen() {
    need!("clang", "ld.lld");
    let fixture = Fixture::new();
    fixture.write("branch.c", "int f(void) { return 1; }");
    let link = ["--target=aarch64-linux-gnu", "-nostdlib", "-shared", "-fPIC", "-fuse-ld=lld"];
    for (name, flag, protected) in [("with.so", "standard", true), ("without.so", "none", false)] {
        let flag = format!("-mbranch-protection={flag}");
        fixture.must("clang", link.iter().copied().chain([flag.as_str(), "-o", name, "branch.c"]));
        let facts = details(&fixture.join(name)).hardening;
        assert_eq!((facts.bti, facts.pac), (protected, protected), "{name}");
    }
}
