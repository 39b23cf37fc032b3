//! The machine code beside `machine/answers.c` is what its head says: compiled again, it has the same bytes.

use std::path::Path;
use underpin_test_support::{Fixture, need};

/// Debian 12's, by which the bytes were made: another release chooses other instructions for the same text.
const COMPILER: &str = "12";

#[test]
fn the_code_of_each_processor_is_that_of_the_c_file_beside_it() {
    need!("gcc", "objcopy", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objcopy");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/machine");
    let source = std::fs::read_to_string(folder.join("answers.c")).unwrap();
    // The commands stand in the comment, a `\` at the end of a line that goes on.
    let (comment, _) = source.split_once("*/").unwrap();
    let lines = comment.lines().map(|line| line.trim_start_matches(" *").trim()).collect::<Vec<_>>().join("\n");
    let script = lines.split_once("\n\n").unwrap().1.split_once("\n\n").unwrap().0;
    let dir = Fixture::new();
    dir.write("answers.c", &source);
    let version = dir.must("gcc", ["-dumpversion"]);
    let version = version.trim().split('.').next().unwrap_or_default().to_owned();
    dir.must("sh", ["-ec", script]);
    for processor in ["x86_64", "aarch64"] {
        let name = format!("answers.{processor}");
        let made = std::fs::read(dir.join(&name)).unwrap();
        assert!(!made.is_empty() && made.len() < 4096, "{name}: {} bytes", made.len());
        if version == COMPILER {
            let kept = std::fs::read(folder.join(&name)).unwrap();
            assert!(made == kept, "{name} is not what answers.c compiles to: run the commands in its head");
        }
    }
}
