//! What is tried, and the work that each program does.

/// Where the sources come from.
#[derive(Clone, Copy)]
pub enum Source {
    /// The registry of Rust's crates.
    Crate,
    /// A source package of Debian, and the build system that is chosen if the sources have several.
    Debian { system: Option<&'static str> },
    /// One file of the workspace.
    File(&'static str),
}

/// A project.
pub struct Project {
    /// Its name: of the crate or of the source package.
    pub name: &'static str,
    /// Its version; empty for what the distribution has.
    pub version: &'static str,
    /// What it is built with, in words.
    pub kind: &'static str,
    /// Where its sources come from.
    pub source: Source,
    /// The name of its program.
    pub program: &'static str,
    /// Arguments of the work, in the folder of [`super::root`].
    pub work: &'static [&'static str],
    /// The work, in words.
    pub words: &'static str,
    /// Its lines come in no fixed order.
    pub any_order: bool,
}

/// Also measured.
pub const RIPGREP: Project = Project {
    name: "ripgrep",
    version: "14.1.1",
    kind: "Rust, bundles jemalloc on musl",
    source: Source::Crate,
    program: "rg",
    work: &["-n", "--no-heading", "-i", r"\b(alloc|link)\w+\b.*\p{Lu}", "tree"],
    words: "a regular expression over a tree, on all threads",
    any_order: true,
};

/// Also measured.
pub const FD: Project = Project {
    name: "fd-find",
    version: "10.2.0",
    kind: "Rust, bundles jemalloc",
    source: Source::Crate,
    program: "fd",
    work: &["--type", "f", "--size", "+2k", "--extension", "rs", "--extension", "md", ".", "tree"],
    words: "files with two extensions and a size in a tree, on all threads",
    any_order: true,
};

/// In the order of their value.
pub const PROJECTS: [Project; 8] = [
    RIPGREP,
    FD,
    Project {
        name: "hyperfine",
        version: "1.19.0",
        kind: "Rust",
        source: Source::Crate,
        program: "hyperfine",
        // Its usual input is /dev/null, which an empty root has not.
        work: &["-N", "--runs", "3", "--style", "none", "--input", "text.md", "--output", "inherit", "./word"],
        words: "three runs of a program, whose output is passed through",
        any_order: false,
    },
    Project {
        name: "gawk",
        version: "",
        kind: "C, Autoconf with libtool",
        source: Source::Debian { system: None },
        program: "gawk",
        work: &["-f", "words.awk", "text.md"],
        words: "counts and sorts the words of a text, with numbers, dates and regular expressions",
        any_order: false,
    },
    Project {
        name: "cmark",
        version: "",
        kind: "C, CMake",
        source: Source::Debian { system: None },
        program: "cmark",
        work: &["text.md"],
        words: "HTML of a text",
        any_order: false,
    },
    Project {
        name: "brotli",
        version: "",
        kind: "C, CMake",
        source: Source::Debian { system: Some("cmake") },
        program: "brotli",
        work: &["-q", "9", "-w", "20", "-c", "text.md"],
        words: "compresses a text",
        any_order: false,
    },
    Project {
        name: "fribidi",
        version: "",
        kind: "C, meson",
        source: Source::Debian { system: Some("meson") },
        program: "fribidi",
        work: &["--nopad", "--nobreak", "--levels", "bidi.txt"],
        words: "orders lines of Hebrew and Arabic",
        any_order: false,
    },
    Project {
        name: "threads.cpp",
        version: "",
        kind: "C++, one file",
        source: Source::File("workloads/build/threads.cpp"),
        program: "threads",
        work: &["tree"],
        words: "threads, exceptions, `std::regex`, `std::filesystem` and streams",
        any_order: false,
    },
];

/// For gawk.
pub const WORDS_AWK: &str = r#"
BEGIN { PROCINFO["sorted_in"] = "@val_num_desc" }
{
    line = gensub(/([a-z]+)_([a-z]+)/, "\\2-\\1", "g", tolower($0))
    count = split(line, all, /[^a-z0-9-]+/)
    for (i = 1; i <= count; i++) if (length(all[i]) > 3) { seen[all[i]]++; sum += length(all[i]) }
    if (match($0, /[0-9]+\.[0-9]+/)) { total += substr($0, RSTART, RLENGTH); logs += log(1 + NR) * sin(NR) }
}
END {

    n = asorti(seen, names)
    for (i = 1; i <= n; i++) printf "%s %d\n", names[i], seen[names[i]]
    printf "%d %.6f %.6f %e %s\n", sum, total, logs, exp(total / 1e6), strftime("%F %T", 86400 * 365, 1)
}
"#;

/// For fribidi: lines in both directions, digits and brackets among them.
pub const BIDI_TXT: &str = "\
    \u{5e9}\u{5dc}\u{5d5}\u{5dd} world \u{5e2}\u{5d5}\u{5dc}\u{5dd} 123\n\
    hello (\u{5e9}\u{5dc}\u{5d5}\u{5dd}) [\u{639}\u{631}\u{628}\u{64a}] end\n\
    \u{645}\u{631}\u{62d}\u{628}\u{627} \u{628}\u{627}\u{644}\u{639}\u{627}\u{644}\u{645} 2024, 50%\n";

/// For hyperfine.
pub const WORD_C: &str = "#include <stdio.h>\nint main(void) { puts(\"a word\"); return 0; }\n";
