//! An archive of the objects that a program has only if it calls them, as ar(1) writes it. It stands behind a program's own inputs and
//! before the C library, whose members would define the same names.

use crate::LinkObject;
use crate::evidence::definitions;

/// The most of a member's name, with the stroke that ends it.
const NAME: usize = 16;

/// The bytes of an archive of the optional ones, with an index of their names (`/`, System V and GNU), without times and owners. An
/// object whose names cannot be read is in no index, so no linker takes it.
pub(crate) fn archive(objects: &[LinkObject]) -> Vec<u8> {
    let objects = objects.iter().filter(|object| object.is_optional);
    let names: Vec<Vec<&[u8]>> = objects.clone().map(|object| definitions(&object.bytes).unwrap_or_default()).collect();
    let texts: usize = names.iter().flatten().map(|name| name.len() + 1).sum();
    let count = names.iter().map(Vec::len).sum::<usize>();
    let index_bytes = 4 + 4 * count + texts;
    let mut index = as_u32(count).to_be_bytes().to_vec();
    let mut at = b"!<arch>\n".len() + HEADER + even(index_bytes);
    for (object, names) in objects.clone().zip(&names) {
        (0..names.len()).for_each(|_| index.extend(as_u32(at).to_be_bytes()));
        at += HEADER + even(object.bytes.len());
    }
    for name in names.iter().flatten() {
        index.extend(*name);
        index.push(0);
    }
    let mut out = b"!<arch>\n".to_vec();
    member(&mut out, "/", &index);
    for object in objects {
        // Longer names would be in a table of their own; ours are not, and a linker does not ask for them.
        let name: String = object.name.chars().take(NAME - 3).collect();
        member(&mut out, &format!("{name}.o/"), &object.bytes);
    }
    out
}

/// A member's header: name, time, owner, group, mode and size in ASCII (ar(5)).
const HEADER: usize = 60;

fn member(out: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len());
    out.extend(header.as_bytes());
    out.extend(bytes);
    if bytes.len() % 2 == 1 {
        out.push(b'\n');
    }
}

fn even(bytes: usize) -> usize {
    bytes + bytes % 2
}

/// What is linked in is some kilobytes.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    fn must(folder: &Path, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn compiled(folder: &Path, name: &str, source: &str) -> LinkObject {
        std::fs::write(folder.join(format!("{name}.c")), source).unwrap();
        must(folder, "cc", &["-O1", "-c", &format!("{name}.c"), "-o", &format!("{name}.o")]);
        let bytes = std::fs::read(folder.join(format!("{name}.o"))).unwrap();
        LinkObject { name: name.to_owned(), bytes, claim: None, is_optional: true }
    }

    /// The judge is ar, and a linker that takes what is called.
    #[test]
    fn a_linker_takes_the_members_that_a_program_calls() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let one = "int data = 3; static int inner(void) { return 4; } int first(void) { return data + inner(); }\n";
        let two = "__attribute__((weak)) int second(void) { return 5; }\n";
        let objects = [compiled(folder, "one", one), compiled(folder, "two", two), compiled(folder, "odd", "int odd;")];
        std::fs::write(folder.join("ours.a"), archive(&objects)).unwrap();
        must(folder, "ar", &["rcsD", "ars.a", "one.o", "two.o", "odd.o"]);
        for question in [&["t"][..], &["p"]] {
            let of = |file: &str| must(folder, "ar", &[question, &[file]].concat());
            assert_eq!(of("ours.a"), of("ars.a"), "{question:?}");
        }
        let index = |file: &str| {
            must(folder, "nm", &["-s", file])
                .lines()
                .filter(|line| line.contains(" in "))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(index("ours.a"), index("ars.a"));
        let program = "int first(void); int main(void) { return first() - 7; }\n";
        std::fs::write(folder.join("program.c"), program).unwrap();
        must(folder, "cc", &["program.c", "ours.a", "-o", "program"]);
        must(folder, "./program", &[]);
        let there = must(folder, "nm", &["program"]);
        assert!(there.contains(" first") && !there.contains(" second"), "{there}");
    }
}
