//! `strftime` and `strptime` in static programs on musl: everything that a program sees of them is what it sees on glibc.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::need;

#[test]
fn dates_are_written_and_read_as_on_glibc() {
    need!("gcc", "musl-gcc");
    for level in ["-O0", "-O2"] {
        let both = Both {
            program: include_str!("dates.c"),
            parts: &[Part::Dates],
            musl_flags: &[level],
            arguments: &["0", "20000"],
            ..Both::default()
        };
        let compared = both.judged();
        let judge = &compared.judge;
        let (written, read) = (judge.matches(" strftime ").count(), judge.matches(" strptime ").count());
        assert!(written == 20_000 && read == 20_000, "{written} {read}");
        compared.agrees();
        assert!(compared.alone() != compared.judge);
    }
}

/// A time that the program made itself has the zone that it would have on glibc.
#[test]
fn a_program_without_local_time_has_the_zone_of_glibc() {
    need!("gcc", "musl-gcc");
    let program = "#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\nint main(void) {\n  setenv(\"TZ\", \"ABC3:30\", 1);\n  \
                   struct tm time = {.tm_mday = 1}, read = {0};\n  char text[40];\n  \
                   strftime(text, sizeof text, \"[%Z] %F %l%P\", &time);\n  printf(\"%s %d\", text, !strptime(\"5\", \"%s\", &read));\n  \
                   printf(\" %d-%d %d:%d\", read.tm_year, read.tm_mday, read.tm_hour, read.tm_min);\n  return 0;\n}\n";
    let both = Both { program, parts: &[Part::Dates], flags: &["-D_GNU_SOURCE"], ..Both::default() };
    let compared = both.judged();
    assert_eq!(compared.judge, "[ABC] 1900-01-01 12am 0 69-31 20:30");
    compared.agrees();
    assert!(compared.alone() != compared.judge);
}
