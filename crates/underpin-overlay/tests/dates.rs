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

/// A time that the program made itself has the zone that it would have on glibc.
#[test]
fn a_program_without_local_time_has_the_zone_of_glibc() {
    need!("gcc", "musl-gcc");
    let dir = Fixture::new();
    let object = object(&dir);
    let program = "#include <stdio.h>\n#include <time.h>\nint main(void) {\n  struct tm time = {.tm_mday = 1}, read = {0};\n  char text[40];\n  \
                   strftime(text, sizeof text, \"[%Z] %F %l%P\", &time);\n  printf(\"%s %d\", text, !strptime(\"5\", \"%s\", &read));\n  \
                   printf(\" %d-%d %d:%d\", read.tm_year, read.tm_mday, read.tm_hour, read.tm_min);\n  return 0;\n}\n";
    dir.write("none.c", program);
    dir.must("gcc", ["-D_GNU_SOURCE", "none.c", "-o", "on-glibc"]);
    dir.musl_cc(["-D_GNU_SOURCE", "-static", &object, "none.c", "-o", "on-musl"]);
    let says = |file: &str| Output::of(dir.command(dir.join(file)).env("TZ", "ABC3:30")).stdout;
    assert_eq!(says("on-glibc"), "[ABC] 1900-01-01 12am 0 69-31 20:30");
    assert_eq!(says("on-musl"), says("on-glibc"));
}
