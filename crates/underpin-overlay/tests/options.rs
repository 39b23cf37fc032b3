//! `getopt` and its relatives in static programs on musl: everything that a program sees of them is what it sees on glibc.

use std::path::PathBuf;
use underpin_test_support::{Fixture, Output, need};

const PROGRAM: &str = include_str!("options.c");

fn object(dir: &Fixture, processor: &str) -> String {
    let object = underpin_overlay::options(processor).expect("on board");
    dir.write(format!("options-{processor}.o"), object.bytes).to_str().expect("a UTF-8 path").to_owned()
}

fn says(dir: &Fixture, program: PathBuf) -> String {
    let output = Output::of(dir.command(program).args(["0", "3000"]));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

/// Ends with the first line in which two differ, and its case.
fn same(judge: &str, said: &str) {
    let mut case = "";
    for (expected, line) in judge.lines().zip(said.lines()) {
        if expected.contains("program") && expected.contains("]: ") || expected.contains(": [program]") {
            case = expected;
        }
        assert_eq!(line, expected, "in {case}");
    }
    assert_eq!(said.lines().count(), judge.lines().count());
}

#[test]
fn options_are_read_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("options.c", PROGRAM);
    let object = object(&dir, std::env::consts::ARCH);
    for posix in [&[][..], &["-DFOR_POSIX"]] {
        dir.must("gcc", [&["-w", "-O1", "options.c", "-o", "on-glibc"], posix].concat());
        dir.musl_cc([&["-w", "-static", "-O1", &object, "options.c", "-o", "on-musl"], posix].concat());
        let judge = says(&dir, dir.join("on-glibc"));
        assert!(judge.lines().count() > 10_000 && judge.contains("is ambiguous; possibilities:"), "{judge}");
        same(&judge, &says(&dir, dir.join("on-musl")));
    }
}

/// musl's own reads them otherwise, or nothing of this would be needed: the program shows it.
#[test]
fn a_program_without_the_object_is_told_apart() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("options.c", PROGRAM);
    dir.must("gcc", ["-w", "options.c", "-o", "on-glibc"]);
    dir.musl_cc(["-w", "-static", "options.c", "-o", "on-musl"]);
    assert!(says(&dir, dir.join("on-glibc")) != says(&dir, dir.join("on-musl")));
}

/// A program may begin again as the BSDs and musl have it, and may have a getopt of its own.
#[test]
fn a_program_begins_again_by_optreset_and_keeps_a_getopt_of_its_own() {
    need!("musl-gcc");
    let dir = Fixture::new();
    let object = object(&dir, std::env::consts::ARCH);
    let again = "#include <stdio.h>\n#include <unistd.h>\nextern int optreset;\nint main(void) {\n  \
                 char *line[] = {\"p\", \"-ab\", \"x\", \"-c\", 0};\n  for (int time = 0; time < 2; time++) {\n    \
                 printf(\"%c\", getopt(4, line, \"abc\"));\n    optreset = optind = 1;\n  }\n  \
                 const char *const letters[] = {\"+abc\", \"abc\"};\n  \
                 for (int time = 0; time < 2; time++, optind = 1) {\n    \
                 while (getopt(4, line, letters[time]) != -1) {}\n    printf(\"%s\", line[optind]);\n  }\n  return 0;\n}\n";
    dir.write("again.c", again);
    dir.musl_cc(["-static", &object, "again.c", "-o", "again"]);
    assert_eq!(says_of(&dir, "again"), "aaxx");
    let own = "#include <stdio.h>\n#include <unistd.h>\nint optind = 40;\nint getopt(int count, char *const *line, const char *letters) { \
               (void)count; (void)line; (void)letters; return 'm'; }\nint main(void) { printf(\"%c%d\", getopt(0, 0, \"\"), optind); return 0; }\n";
    dir.write("own.c", own);
    dir.musl_cc(["-static", &object, "own.c", "-o", "own"]);
    assert_eq!(says_of(&dir, "own"), "m40");
}

fn says_of(dir: &Fixture, file: &str) -> String {
    let output = Output::of(&mut dir.command(dir.join(file)));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}
