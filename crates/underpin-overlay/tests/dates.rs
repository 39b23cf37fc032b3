//! `strftime` and `strptime` in static programs on musl: everything that a program sees of them is what it sees on glibc.

use std::path::PathBuf;
use underpin_test_support::{Fixture, Output, need};

const PROGRAM: &str = include_str!("dates.c");

fn object(dir: &Fixture) -> String {
    let object = underpin_overlay::dates(std::env::consts::ARCH).expect("on board");
    dir.write("dates.o", object.bytes).to_str().expect("a UTF-8 path").to_owned()
}

fn says(dir: &Fixture, program: PathBuf) -> String {
    let output = Output::of(dir.command(program).args(["0", "20000"]));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

#[test]
fn dates_are_written_and_read_as_on_glibc() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("dates.c", PROGRAM);
    let object = object(&dir);
    dir.must("gcc", ["-w", "-O1", "dates.c", "-o", "on-glibc"]);
    let judge = says(&dir, dir.join("on-glibc"));
    let (written, read) = (judge.matches(" strftime ").count(), judge.matches(" strptime ").count());
    assert!(written == 20_000 && read == 20_000, "{written} {read}");
    for level in ["-O0", "-O2"] {
        dir.musl_cc(["-w", "-static", level, &object, "dates.c", "-o", "on-musl"]);
        for (expected, line) in judge.lines().zip(says(&dir, dir.join("on-musl")).lines()) {
            assert_eq!(line, expected, "{level}");
        }
    }
    // musl's own answer otherwise, or nothing of this would be needed.
    dir.musl_cc(["-w", "-static", "-O1", "dates.c", "-o", "musls-own"]);
    assert!(says(&dir, dir.join("musls-own")) != judge);
}

/// The references to musl's zones are weak: without one of its functions of local time in the program there is no zone to name, and
/// none is made up.
#[test]
fn a_program_without_local_time_links_and_names_no_zone() {
    need!("musl-gcc");
    let dir = Fixture::new();
    let object = object(&dir);
    let program = "#include <stdio.h>\n#include <time.h>\nint main(void) {\n  struct tm time = {.tm_mday = 1};\n  char text[40];\n  \
                   strftime(text, sizeof text, \"[%Z] %F %l%P\", &time);\n  printf(\"%s %d\", text, !strptime(\"5\", \"%s\", &time));\n  \
                   return 0;\n}\n";
    dir.write("none.c", program);
    dir.musl_cc(["-D_GNU_SOURCE", "-static", &object, "none.c", "-o", "none"]);
    let output = Output::of(&mut dir.command(dir.join("none")));
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "[] 1900-01-01 12am 1"));
}
