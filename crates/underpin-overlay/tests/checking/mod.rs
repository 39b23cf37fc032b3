//! A source of the overlay, compiled and linked with the program that checks it.

use underpin_overlay::flags::ALWAYS;
use underpin_test_support::{Fixture, Output};

/// What is compiled, and how it is run.
pub struct Checking<'a> {
    /// The overlay's source.
    pub source: &'a str,
    /// The program that checks it.
    pub check: &'a str,
    /// A function of the source that has to be in the program.
    pub function: &'a str,
    /// The compilers of the two.
    pub compilers: [&'a str; 2],
    /// Flags for the source.
    pub flags: &'a [&'a str],
    /// Flags for the program.
    pub check_flags: &'a [&'a str],
    /// The command in front of the program.
    pub runner: &'a [&'a str],
}

impl Checking<'_> {
    /// What the program says, which has found no difference.
    pub fn says(&self) -> String {
        let fixture = Fixture::new();
        let [compiler, linker] = self.compilers;
        fixture.must(compiler, [&ALWAYS[..], self.flags, &["-c", self.source, "-o", "overlay.o"]].concat());
        let last = ["-o", "check", "overlay.o", self.check, "-lm"];
        fixture.must(linker, [&["-O1", "-w", "-fno-builtin"][..], self.check_flags, &last].concat());
        let function = format!(" t {}", self.function);
        assert!(fixture.must("nm", ["check"]).contains(&function), "the program has other functions");
        let program = fixture.join("check").display().to_string();
        let command = [self.runner, &[&program]].concat();
        let output = Output::of(fixture.command(command[0]).args(&command[1..]));
        assert!(output.code == Some(0), "ended with {:?}:\n{}{}", output.code, output.stdout, output.stderr);
        assert!(!output.stderr.contains("runtime error"), "{}", output.stderr);
        output.stdout
    }
}
