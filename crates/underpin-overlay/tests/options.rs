//! `getopt` and its relatives in static programs on musl: everything that a program sees of them is what it sees on glibc.

mod both;

use both::Both;
use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output, need};

#[test]
fn options_are_read_as_on_glibc() {
    need!("gcc", "musl-gcc");
    for flags in [&[][..], &["-DFOR_POSIX"]] {
        let both = Both {
            program: include_str!("options.c"),
            parts: &[Part::Options],
            flags,
            arguments: &["0", "3000"],
            heads: Some(|line| line.contains("program") && line.contains("]: ") || line.contains(": [program]")),
            ..Both::default()
        };
        let compared = both.judged();
        let judge = &compared.judge;
        assert!(judge.lines().count() > 10_000 && judge.contains("is ambiguous; possibilities:"), "{judge}");
        compared.agrees();
        assert!(compared.alone() != compared.judge);
    }
}

/// A program may begin again as the BSDs and musl have it, and may have a getopt of its own.
#[test]
fn a_program_begins_again_by_optreset_and_keeps_a_getopt_of_its_own() {
    need!("musl-gcc");
    let dir = Fixture::new();
    both::write(&dir, Part::Options);
    let again = "#include <stdio.h>\n#include <unistd.h>\nextern int optreset;\nint main(void) {\n  \
                 char *line[] = {\"p\", \"-ab\", \"x\", \"-c\", 0};\n  for (int time = 0; time < 2; time++) {\n    \
                 printf(\"%c\", getopt(4, line, \"abc\"));\n    optreset = optind = 1;\n  }\n  \
                 const char *const letters[] = {\"+abc\", \"abc\"};\n  \
                 for (int time = 0; time < 2; time++, optind = 1) {\n    \
                 while (getopt(4, line, letters[time]) != -1) {}\n    printf(\"%s\", line[optind]);\n  }\n  return 0;\n}\n";
    dir.write("again.c", again);
    dir.musl_cc(["-static", "options.o", "again.c", "-o", "again"]);
    assert_eq!(says_of(&dir, "again"), "aaxx");
    let own = "#include <stdio.h>\n#include <unistd.h>\nint optind = 40;\nint getopt(int count, char *const *line, const char *letters) { \
               (void)count; (void)line; (void)letters; return 'm'; }\nint main(void) { printf(\"%c%d\", getopt(0, 0, \"\"), optind); return 0; }\n";
    dir.write("own.c", own);
    dir.musl_cc(["-static", "options.o", "own.c", "-o", "own"]);
    assert_eq!(says_of(&dir, "own"), "m40");
}

fn says_of(dir: &Fixture, file: &str) -> String {
    let output = Output::of(&mut dir.command(dir.join(file)));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}
