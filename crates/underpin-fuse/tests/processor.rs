//! What processors differ in: pages, properties of a whole file, marks of the dynamic section, compact relocations.

mod support;

use support::{NATIVE, Target, Trial, fuse};
use underpin_fuse::KeptBecause;
use underpin_test_support::{Fixture, need};

/// Libraries `one`, `two` and `three`, each built with these flags, and a program that calls all three.
fn three(target: Target, fixture: &Fixture, flags: [&[&str]; 3]) -> Trial {
    for (name, flags) in ["one", "two", "three"].into_iter().zip(flags) {
        let source = format!(
            "#include <stdlib.h>\nstatic int a, b; int *const {name}_table[64] = {{ &a, &b, &a, &b }};\n\
             int {name}(int n) {{ if (n > 9) abort(); *{name}_table[n & 3] += n; return a * 10 + b; }}"
        );
        target.library(fixture, name, &source, flags);
    }
    let main = "#include <stdio.h>\nint one(int), two(int), three(int);\n\
        int main(void) { printf(\"%d %d %d\\n\", one(2), two(3), three(4)); return 0; }";
    let program = target.program(fixture, main, &["-lone", "-ltwo", "-lthree"]);
    let trial = fuse(target, fixture, &program);
    assert_eq!(trial.same(fixture, &[]), "20 3 40\n");
    trial.bindings_as_the_loader(fixture);
    trial
}

fn read(fixture: &Fixture, trial: &Trial, what: &str) -> String {
    fixture.must("readelf", [what, "-W", trial.file.to_str().expect("UTF-8")])
}

#[test]
fn branch_protection_holds_for_the_file_if_it_holds_for_each_member() {
    need!("readelf");
    let x86: (&[&str], _) = (&["-fcf-protection=full", "-Wl,-z,ibt", "-Wl,-z,shstk"], "x86 feature: IBT, SHSTK");
    let arm: (&[&str], _) = (&["-mbranch-protection=standard", "-Wl,-z,force-bti", "-nostartfiles"], "BTI");
    for target in Target::all() {
        let (flags, shown) = if target.is_aarch64() { arm } else { x86 };
        let fixture = Fixture::new();
        let trial = three(target, &fixture, [flags; 3]);
        let notes = read(&fixture, &trial, "-n");
        assert!(notes.contains(shown), "{notes}");
        if target.is_aarch64() {
            let dynamic = read(&fixture, &trial, "-d");
            assert!(dynamic.contains("BTI_PLT"), "{dynamic}");
        }
        let fixture = Fixture::new();
        let plain: &[&str] = if target.is_aarch64() { &[] } else { &["-fcf-protection=none"] };
        let trial = three(target, &fixture, [flags, plain, flags]);
        let notes = read(&fixture, &trial, "-n");
        assert!(!notes.contains("IBT") && !notes.contains("BTI"), "{notes}");
    }
}

#[test]
fn compact_relative_relocations_of_one_member_are_those_of_all() {
    need!("readelf");
    let fixture = Fixture::new();
    let trial = three(NATIVE, &fixture, [&[], &["-Wl,-z,pack-relative-relocs"], &[]]);
    assert!(fixture.must("readelf", ["-d", "libtwo.so"]).contains("RELR"));
    assert_eq!(trial.members.len(), 3);
    assert!(read(&fixture, &trial, "-d").contains("RELR"));
    // One member asked for it, so no newer glibc is needed than before.
    assert!(read(&fixture, &trial, "-V").contains("GLIBC_ABI_DT_RELR"));
    let plain = Fixture::new();
    let trial = three(NATIVE, &plain, [&[]; 3]);
    assert!(!read(&plain, &trial, "-d").contains("RELR"));
    assert!(!read(&plain, &trial, "-V").contains("GLIBC_ABI_DT_RELR"));
}

#[test]
fn on_aarch64_segments_are_64_kb_apart_and_smaller_pages_stay_shared() {
    need!("readelf");
    let Some(target) = Target::emulated() else { return };
    let fixture = Fixture::new();
    let trial = three(target, &fixture, [&[], &["-Wl,-z,max-page-size=4096"], &[]]);
    let kept = trial.kept.iter().find(|(path, _)| path.ends_with("libtwo.so")).map(|(_, kept)| kept.because.clone());
    assert_eq!(kept, Some(KeptBecause::SharedPage));
    let segments = read(&fixture, &trial, "-l");
    let loads: Vec<&str> = segments.lines().filter(|line| line.trim().starts_with("LOAD")).collect();
    assert!(loads.len() > 4 && loads.iter().all(|load| load.trim().ends_with("0x10000")), "{segments}");
}

#[test]
fn a_function_that_passes_more_registers_keeps_its_mark() {
    need!("readelf");
    let Some(target) = Target::emulated() else { return };
    let fixture = Fixture::new();
    let source =
        "#include <arm_neon.h>\n__attribute__((aarch64_vector_pcs)) float64x2_t twice(float64x2_t a) { return a + a; }";
    target.library(&fixture, "vector", source, &[]);
    let caller = "#include <arm_neon.h>\n__attribute__((aarch64_vector_pcs)) float64x2_t twice(float64x2_t);\n\
        int caller(int n) { return (int) twice((float64x2_t) { n, n })[1]; }";
    target.library(&fixture, "caller", caller, &["-lvector"]);
    let main = "#include <stdio.h>\nint caller(int);\nint main(void) { printf(\"%d\\n\", caller(4)); return 0; }";
    let program = target.program(&fixture, main, &["-lcaller", "-lvector"]);
    let trial = fuse(target, &fixture, &program);
    assert_eq!(trial.same(&fixture, &[]), "8\n");
    assert!(read(&fixture, &trial, "-d").contains("VARIANT_PCS"));
    let symbols = read(&fixture, &trial, "--dyn-syms");
    assert!(symbols.lines().any(|line| line.contains("VARIANT_PCS") && line.ends_with("twice")), "{symbols}");
}

#[test]
fn a_member_for_another_processor_than_these_is_refused() {
    let fixture = Fixture::new();
    let trial = three(NATIVE, &fixture, [&[], &[], &[]]);
    let (resolved, mut contents) = support::contents(&trial.program);
    contents[0].bytes[18] = 243; // EM_RISCV
    let refused = underpin_fuse::plan(&underpin_fuse::Closure::new(&resolved, &contents));
    assert!(matches!(refused, Err(underpin_fuse::Refusal::Machine { .. })), "{refused:?}");
}
