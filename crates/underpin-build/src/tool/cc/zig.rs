//! Arguments as `zig cc` takes them. zig ends at each option for a linker that it does not know, even where its linker would do
//! the same without it; in a makefile they are as frequent as the link itself.
//!
//! Three kinds of options (GNU ld(1), of the 2.40 release): those without which the same program is made are left out, those
//! that zig knows by another name are renamed, and those that decide what the program does stay as they are, so that zig ends
//! there and names them.

pub mod code;
mod gcc;
mod processor;

use std::ffi::OsString;
use std::mem;

/// Options without which the same program is made, without their dashes. Each may have a value behind `=`.
const LEFT_OUT: [&str; 57] = [
    // Words for a person.
    "cref",
    "demangle",
    "error-limit",
    "fatal-warnings",
    "no-demangle",
    "no-fatal-warnings",
    "no-print-gc-sections",
    "no-warn-execstack",
    "no-warn-mismatch",
    "no-warn-rwx-segments",
    "no-warnings",
    "print-memory-usage",
    "stats",
    "trace",
    "verbose",
    "warn-common",
    "warn-constructors",
    "warn-execstack",
    "warn-multiple-gp",
    "warn-once",
    "warn-rwx-segments",
    "warn-section-align",
    "warn-shared-textrel",
    "warn-textrel",
    // The kind of program, which the plan decides.
    "no-pie",
    "pic-executable",
    "pie",
    // How a linker works, not what it makes.
    "O0",
    "O1",
    "O2",
    "O3",
    "lto-O0",
    "lto-O1",
    "lto-O2",
    "lto-O3",
    "no-keep-memory",
    "no-threads",
    "reduce-memory-overheads",
    "threads",
    // The layout and the size, which zig's linker decides in its own way.
    "discard-locals",
    "fix-cortex-a53-835769",
    "fix-cortex-a53-843419",
    "gdb-index",
    "icf",
    "no-ld-generated-unwind-info",
    "no-omagic",
    "no-relax",
    "no-rosegment",
    "orphan-handling",
    "package-metadata",
    "relax",
    "spare-dynamic-tags",
    // What it does by default.
    "error-unresolved-symbols",
    "no-copy-dt-needed-entries",
    "no-export-dynamic",
    "no-undefined-version",
    // Calls within a library need no detour.
    "Bsymbolic-functions",
];

/// The same, with a value behind `=` or as the next word.
const LEFT_OUT_WITH_VALUE: [&str; 6] = ["Map", "dependency-file", "plugin", "plugin-opt", "rpath-link", "trace-symbol"];

/// What a program exports, each with a value. Everything instead does no harm there; a library binds its own calls otherwise.
const EXPORTED: [&str; 3] = ["dynamic-list", "export-dynamic-symbol", "export-dynamic-symbol-list"];
/// Archives of which nothing is exported, with a value: it exports more without.
const NOT_EXPORTED: &str = "exclude-libs";

/// Single letters, which have one dash: without and with a value.
const LETTERS: [&str; 4] = ["-M", "-X", "-t", "-w"];
const LETTERS_WITH_VALUE: [&str; 2] = ["-m", "-y"];

/// Words behind `-z`.
const Z_WORDS: [&str; 6] =
    ["combreloc", "noseparate-code", "nostart-stop-gc", "pack-relative-relocs", "separate-code", "text"];

/// Known to zig as `-u`, each with a value.
const UNDEFINED: [&str; 2] = ["require-defined", "undefined"];

/// Options of compilers that zig has not and does without: it has its own linker, libgcc and search path.
const UNKNOWN: [&str; 4] = ["-m64", "-no-canonical-prefixes", "-static-libgcc", "-shared-libgcc"];

/// Words of the preprocessor: zig knows those that write lists of files alone.
fn preprocessors(list: &str) -> Vec<String> {
    let is_macro = |part: &&str| part.starts_with("-D") || part.starts_with("-U");
    let (macros, others): (Vec<&str>, Vec<&str>) = list.split(',').partition(is_macro);
    let others = (!others.is_empty()).then(|| format!("-Wp,{}", others.join(",")));
    macros.into_iter().map(str::to_owned).chain(others).collect()
}

/// What happens to the linker's next word, whichever argument of the compiler has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// It is an option or a file.
    #[default]
    Word,
    /// It is a value, and goes with its option.
    LeftOut,
    /// It is a value, and stays.
    Kept,
    /// It is a word of `-z`.
    Z,
}

/// What a linker's options have switched on, which `--push-state` remembers: zig knows neither it nor `--pop-state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    as_needed: bool,
    is_static: bool,
    whole_archive: bool,
}

/// The arguments of one link, in their order.
#[derive(Debug, Default)]
pub(super) struct ZigWords {
    /// A shared library is linked.
    is_library: bool,
    next: Next,
    /// The argument before was `-Xlinker`.
    is_for_linker: bool,
    state: State,
    pushed: Vec<State>,
}

impl ZigWords {
    pub fn new(arguments: &[OsString]) -> ZigWords {
        ZigWords { is_library: arguments.iter().any(|word| word == "-shared"), ..ZigWords::default() }
    }

    /// An argument as zig takes it: none, itself or others.
    pub fn word(&mut self, word: &str) -> Vec<String> {
        if mem::take(&mut self.is_for_linker) {
            let kept = self.linker(word);
            return kept.into_iter().flat_map(|part| ["-Xlinker".to_owned(), part]).collect();
        }
        if word == "-Xlinker" {
            self.is_for_linker = true;
            return Vec::new();
        }
        if let Some(list) = word.strip_prefix("-Wl,") {
            let kept: Vec<String> = list.split(',').flat_map(|part| self.linker(part)).collect();
            return if kept.is_empty() { kept } else { vec![format!("-Wl,{}", kept.join(","))] };
        }
        if let Some(list) = word.strip_prefix("-Wp,") {
            return preprocessors(list);
        }
        if let Some((option @ ("-march" | "-mcpu"), value)) = word.split_once('=') {
            return processor::of(value).map(|name| format!("{option}={name}")).into_iter().collect();
        }
        // zig takes it for -mcpu: the program would need the processor that it is to be fast on.
        if word.starts_with("-mtune=") {
            return Vec::new();
        }
        let is_unknown = UNKNOWN.contains(&word) || word.starts_with("-fuse-ld") || gcc::is_gccs_own(word);
        if is_unknown || (word.starts_with("-B") && word.len() > 2) {
            return Vec::new();
        }
        if let Some(lto) = gcc::lto(word) {
            return vec![lto.to_owned()];
        }
        match word {
            "-lgcc_s" | "-lgcc_eh" => vec!["-lunwind".to_owned()],
            "-lgcc" => Vec::new(),
            // zig looks for a file that was made, and says FileNotFound.
            "-fsyntax-only" => ["-c", "-o", "/dev/null"].map(str::to_owned).into(),
            _ => vec![word.to_owned()],
        }
    }

    /// One word of the linker's.
    fn linker(&mut self, word: &str) -> Vec<String> {
        match mem::take(&mut self.next) {
            Next::Word => {}
            Next::LeftOut => return Vec::new(),
            Next::Kept => return vec![word.to_owned()],
            Next::Z if Z_WORDS.contains(&word) => return Vec::new(),
            Next::Z => return vec!["-z".to_owned(), word.to_owned()],
        }
        if let Some(kept) = self.switched(word) {
            return kept;
        }
        if word == "-z" {
            self.next = Next::Z;
            return Vec::new();
        }
        if word.strip_prefix("-z").is_some_and(|rest| Z_WORDS.contains(&rest)) {
            return Vec::new();
        }
        self.letter(word).or_else(|| self.long(word)).unwrap_or_else(|| vec![word.to_owned()])
    }

    /// An option that switches something on or off for what follows, and what remembers that.
    fn switched(&mut self, word: &str) -> Option<Vec<String>> {
        match word.trim_start_matches('-') {
            _ if !word.starts_with('-') => return None,
            "as-needed" => self.state.as_needed = true,
            "no-as-needed" => self.state.as_needed = false,
            "whole-archive" => self.state.whole_archive = true,
            "no-whole-archive" => self.state.whole_archive = false,
            "Bstatic" | "dn" | "non_shared" => self.state.is_static = true,
            "Bdynamic" | "dy" | "call_shared" => self.state.is_static = false,
            "push-state" => {
                self.pushed.push(self.state);
                return Some(Vec::new());
            }
            "pop-state" => return Some(self.pop()),
            _ => return None,
        }
        Some(vec![word.to_owned()])
    }

    /// The options that lead back to what was remembered last.
    fn pop(&mut self) -> Vec<String> {
        let Some(before) = self.pushed.pop() else { return Vec::new() };
        let now = mem::replace(&mut self.state, before);
        let switches = [
            (now.as_needed, before.as_needed, ["--no-as-needed", "--as-needed"]),
            (now.whole_archive, before.whole_archive, ["--no-whole-archive", "--whole-archive"]),
            (now.is_static, before.is_static, ["-Bdynamic", "-Bstatic"]),
        ];
        let differs = switches.into_iter().filter(|(now, before, _)| now != before);
        differs.map(|(_, before, names)| names[usize::from(before)].to_owned()).collect()
    }

    /// An option of one letter, whose value may follow it without a space.
    fn letter(&mut self, word: &str) -> Option<Vec<String>> {
        if LETTERS.contains(&word) {
            return Some(Vec::new());
        }
        if LETTERS_WITH_VALUE.contains(&word) {
            self.next = Next::LeftOut;
            return Some(Vec::new());
        }
        // -melf_x86_64, -R/folder: no long option begins so with one dash.
        if word.starts_with("-melf") || word.starts_with("-maarch64") {
            return Some(Vec::new());
        }
        // -hash-style is a long option with one dash; none begins with R.
        let (name, value) = if word == "-h" { ("-soname", "") } else { ("-rpath", word.strip_prefix("-R")?) };
        if value.is_empty() {
            self.next = Next::Kept;
        }
        Some([name, value].into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }

    /// A long option, which may have one dash or two.
    fn long(&mut self, word: &str) -> Option<Vec<String>> {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        if LEFT_OUT.contains(&name) {
            return Some(Vec::new());
        }
        if option == "no-undefined" {
            return Some(vec!["--no-undefined".to_owned()]);
        }
        // By one dash it is Apple's -undefined, whose values are others.
        if UNDEFINED.contains(&name) && word.starts_with("--") {
            if value.is_none() {
                self.next = Next::Kept;
            }
            return Some(std::iter::once("-u").chain(value).map(str::to_owned).collect());
        }
        let is_exported = !self.is_library && EXPORTED.contains(&name);
        let is_left_out = LEFT_OUT_WITH_VALUE.contains(&name) || !self.is_library && name == NOT_EXPORTED;
        if !is_exported && !is_left_out {
            return None;
        }
        if value.is_none() {
            self.next = Next::LeftOut;
        }
        Some(is_exported.then(|| "--export-dynamic".to_owned()).into_iter().collect())
    }
}
