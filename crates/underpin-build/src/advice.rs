//! What a failed build's own words show that its user could do.

use crate::{Allocator, CLibrary, Spec};
use std::path::Path;

/// Functions of jemalloc beyond malloc's own (jemalloc(3)).
const OF_JEMALLOC: [&str; 11] = [
    "mallocx",
    "rallocx",
    "xallocx",
    "sallocx",
    "dallocx",
    "sdallocx",
    "nallocx",
    "mallctl",
    "mallctlnametomib",
    "mallctlbymib",
    "malloc_stats_print",
];

/// Words before the name of a symbol that nothing defines: GNU ld, and lld.
const UNDEFINED: [&str; 2] = ["undefined reference to `", "undefined symbol: "];

/// Words before the name of a symbol that two files define: GNU ld, and lld.
const TWICE: [&str; 2] = ["multiple definition of `", "duplicate symbol: "];

/// Words before the name of a library that is not found: GNU ld, lld, zig.
const NO_LIBRARY: [&str; 3] =
    ["cannot find -l", "unable to find library -l", "unable to find dynamic system library '"];

/// Headers that glibc has and musl has not, and what has them for musl.
const GLIBC_HEADERS: [(&str, &str); 5] = [
    ("argp.h", "argp-standalone"),
    ("execinfo.h", "libexecinfo or libunwind"),
    ("error.h", "an error.h of its own"),
    ("fts.h", "musl-fts"),
    ("obstack.h", "musl-obstack"),
];
/// The same of functions, by how their names begin.
const GLIBC_FUNCTIONS: [(&str, &str); 4] = [
    ("argp_", "argp-standalone"),
    ("backtrace", "libexecinfo or libunwind"),
    ("fts_", "musl-fts"),
    ("_obstack_", "musl-obstack"),
];
/// Of musl itself, but not of Debian's, whose crypt is another library's: its header, its library and its functions.
const CRYPT: (&str, &str, [&str; 2]) = ("crypt.h", "crypt", ["crypt", "crypt_r"]);
/// Macros of glibc's sys/cdefs.h, which all of its headers include, for declarations.
const GLIBC_MACROS: [&str; 3] = ["__BEGIN_DECLS", "__END_DECLS", "__THROW"];

/// Where this machine's own headers are: configurations look there by themselves.
const OWN_HEADERS: [&str; 2] = ["/usr/include", "/usr/local/include"];

/// One sentence for a failure whose cause is the choice of what is built; `None` if its words show no such thing.
#[must_use]
pub fn advice(spec: &Spec, said: &str) -> Option<String> {
    let is_own = |header: &str| OWN_HEADERS.iter().any(|folder| Path::new(folder).join(header).exists());
    let of_choice = || of_allocator(spec, said).or_else(|| of_glibc(spec, said)).or_else(|| of_crypt(spec, said));
    let of_choice = || of_choice().or_else(|| of_two_definitions(spec, said));
    let of_choice = || of_choice().or_else(|| of_source(spec, said));
    of_choice().or_else(|| of_old_c(said)).or_else(|| of_warnings(said)).or_else(|| of_machine(spec, said, &is_own))
}

/// A compiler has warnings that the project's authors never saw, and the project makes errors of all of them. What it makes an
/// error by name (GCC's `[-Werror=...]` without the second line) is one that it means.
fn of_warnings(said: &str) -> Option<String> {
    let of_clang = said.lines().any(|line| line.contains("error: ") && line.contains("[-Werror,-W"));
    let is_so = of_clang || said.contains("all warnings being treated as errors");
    is_so.then(|| {
        "the project makes errors of warnings, and this compiler has some that its authors' had not: build it with another \
         (`--cc gcc`, `--cc clang`, `--cc zig`), or switch that off by the project's own option behind `--` (often \
         --disable-werror, -Dwerror=false or -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF)"
            .to_owned()
    })
}

/// C of before 1999, which gcc took without an error up to its release 13.
fn of_old_c(said: &str) -> Option<String> {
    const KINDS: [(&str, &str); 2] = [
        ("implicit-function-declaration", "calls a function that nothing declares, and takes its result for an int"),
        ("int-conversion", "uses a pointer and an int for each other"),
    ];
    let is_error = |kind: &str| {
        let end = format!("[-W{kind}]");
        said.lines().any(|line| line.contains("error: ") && line.ends_with(&end))
    };
    let (kind, what) = KINDS.into_iter().find(|(kind, _)| is_error(kind))?;
    Some(format!(
        "the project {what}, which compilers took until some years ago, and which cuts a pointer to half: if there is no pointer in \
         it, -Wno-error={kind} in CFLAGS takes it (behind `--`, or in the environment)"
    ))
}

/// The program calls an allocator by its own functions, and another one was to be linked in.
fn of_allocator(spec: &Spec, said: &str) -> Option<String> {
    let name = named(said, &UNDEFINED).find(|name| OF_JEMALLOC.contains(name) || name.starts_with("mi_"))?;
    let wanted = if name.starts_with("mi_") { Allocator::Mimalloc } else { Allocator::Jemalloc };
    let allocator = wanted.name();
    (spec.allocator != wanted).then(|| {
        format!(
            "the program calls {allocator}'s own function {name}: build it with --malloc {allocator}, or with its own option for \
             the C library's malloc"
        )
    })
}

/// Something of glibc alone: a header, a macro of its headers, or a function.
fn of_glibc(spec: &Spec, said: &str) -> Option<String> {
    if spec.libc != CLibrary::Musl {
        return None;
    }
    const OTHERWISE: &str = "build on glibc (`--libc glibc`)";
    let header = || {
        let mut missing = said.lines().filter_map(missing_header);
        missing.find_map(|header| Some((header, GLIBC_HEADERS.iter().find(|(name, _)| *name == header)?.1)))
    };
    let function = || {
        let mut undefined = named(said, &UNDEFINED);
        undefined.find_map(|name| Some((name, GLIBC_FUNCTIONS.iter().find(|(start, _)| name.starts_with(start))?.1)))
    };
    let of_library = |(name, library): (&str, &str)| {
        format!("{name} is glibc's, and musl has none: {OTHERWISE}, or bring {library} for musl")
    };
    let of_macro = || {
        let quoted =
            |name: &str| ["'", "‘", "`"].iter().any(|quote| said.contains(&format!("unknown type name {quote}{name}")));
        let name = GLIBC_MACROS.into_iter().find(|name| quoted(name))?;
        let other = GLIBC_MACROS.into_iter().filter(|other| said.contains(other)).map(|name| format!("-D{name}="));
        let words: Vec<String> = other.collect();
        Some(format!(
            "{name} is a macro of glibc's own headers, which musl has not: {OTHERWISE}, or define it (behind `--`: CFLAGS='-O2 {}')",
            words.join(" ")
        ))
    };
    header().map(of_library).or_else(of_macro).or_else(|| function().map(of_library))
}

/// A function of the project's own by a name of the C library's. A static link takes it, unless the archive has its own in one file with
/// another function that the program needs, and glibc's is divided otherwise (bash 5.2: strtoimax).
fn of_two_definitions(spec: &Spec, said: &str) -> Option<String> {
    let name = named(said, &TWICE).next().filter(|_| spec.linkage.is_static() && said.contains("/libc.a"))?;
    Some(format!(
        "the project has a {name} of its own, and the C library has one in the same file as something else that the program needs: leave \
         the project's out by its own option, or have the linker take the first of the two, which is the project's (by gcc and \
         clang, behind `--` or in the environment: LDFLAGS=-Wl,-z,muldefs)"
    ))
}

/// What this machine's musl came without. zig's is whole.
fn of_crypt(spec: &Spec, said: &str) -> Option<String> {
    let (header, library, functions) = CRYPT;
    let is_missing = said.lines().filter_map(missing_header).any(|missing| missing == header)
        || named(said, &NO_LIBRARY).any(|missing| missing == library)
        || named(said, &UNDEFINED).any(|missing| functions.contains(&missing))
        || said.lines().any(asks_for_crypt);
    (spec.libc == CLibrary::Musl && is_missing).then(|| {
        "musl has crypt(3), but this machine's musl came without it (as Debian's does): `--cc zig` builds with zig's, which has it"
            .to_owned()
    })
}

/// The project itself says so, as dropbear's headers do by `#error`.
fn asks_for_crypt(line: &str) -> bool {
    let stands_alone = |at: usize| !line[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    line.contains("error") && line.match_indices("crypt()").any(|(at, _)| stands_alone(at))
}

/// The source itself refuses to be compiled. What for is in its words at best: that it does not know musl is likely where it asks for
/// the C library by name (sox: `formats.c` reaches into glibc's and the BSDs' `FILE`).
fn of_source(spec: &Spec, said: &str) -> Option<String> {
    if spec.libc != CLibrary::Musl {
        return None;
    }
    let mut lines = said.lines().zip(said.lines().skip(1).chain([""]));
    let (at, reason) = lines.find_map(|(line, next)| refusal(line, next))?;
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Some(format!(
        "the source ends its compilation itself, by #error at {at}{reason}. If that is because it does not know musl, build it on \
         glibc (`--libc glibc`); if it is a choice of its configuration, make that behind `--`"
    ))
}

/// Where `#error` stands, and what it says, of a compiler's line and the next one: GCC repeats the directive in its message, clang (and
/// zig) shows it below.
fn refusal<'t>(line: &'t str, next: &str) -> Option<(&'t str, &'t str)> {
    let (at, said) = line.split_once(": error: ")?;
    let of_clang = || next.split_once('|').is_some_and(|(_, source)| is_directive(source)).then_some(said);
    let reason = said.strip_prefix("#error").or_else(of_clang)?;
    Some((at, reason.trim()))
}

/// Whether a line of C is the directive `#error`, which may stand in it anywhere.
fn is_directive(source: &str) -> bool {
    source.trim_start().strip_prefix('#').is_some_and(|rest| rest.trim_start().starts_with("error"))
}

/// How a library comes to be there for the build's C library.
const BY_HAND: &str = "into a folder DIR with the variables of `underpin build --print-env`, then this with \
                       PKG_CONFIG_LIBDIR=DIR/lib/pkgconfig, CPPFLAGS=-IDIR/include and LDFLAGS=-LDIR/lib";

/// A library of this machine's own, where the build may not use them: its header is there, or neither is.
fn of_machine(spec: &Spec, said: &str, is_own: &dyn Fn(&str) -> bool) -> Option<String> {
    if spec.uses_machines_libraries() {
        return None;
    }
    of_header(said, is_own).or_else(|| of_library(said))
}

/// A header that a configuration took for granted because this machine has it. What the compiler reports is no question of a
/// configuration: those show nothing of it.
fn of_header(said: &str, is_own: &dyn Fn(&str) -> bool) -> Option<String> {
    let header = said.lines().filter_map(missing_header).find(|header| is_own(header))?;
    Some(format!(
        "{header} is this machine's own, for its own C library, and the configuration took it for granted: switch off what needs it \
         by a word behind `--` (of configure --disable-NAME or --without-NAME), or build that library {BY_HAND}"
    ))
}

/// The header that a line says is missing: of GCC, or of clang and zig, which put it into quotation marks.
fn missing_header(line: &str) -> Option<&str> {
    let rest = line.split_once("fatal error: ")?.1;
    let of_gcc = || rest.split_once(": No such file").map(|(name, _)| name);
    let of_clang = || rest.strip_prefix('\'')?.split_once("' file not found").map(|(name, _)| name);
    of_gcc().or_else(of_clang)
}

/// A library that this machine may have, but for another C library or processor.
fn of_library(said: &str) -> Option<String> {
    let what = match named(said, &NO_LIBRARY).next() {
        Some(name) => format!("the library {name}"),
        None if misses_something(said) => "what it did not find".to_owned(),
        None => return None,
    };
    Some(format!(
        "{what} must be there for this build's C library, whatever this machine has: build it {BY_HAND}. A project that can do \
         without is told so behind `--` (a configure script by --without-NAME or --disable-NAME)"
    ))
}

/// Whether a configuration ended because of a library, as configure scripts, pkg-config, CMake and meson say it. Before the end
/// they say the same of what they can do without.
fn misses_something(said: &str) -> bool {
    const LAST: usize = 12;
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    // CMake ends with what is not found, behind which every target that wants it is listed.
    if has(said, &["but they are set to NOTFOUND"]) {
        return true;
    }
    // What a script checks is no answer, unless it ends there: "checking for a terminal library... cannot find any".
    let skipped = said.lines().count().saturating_sub(LAST);
    let is_check = |line: &str| line.starts_with("checking ") && has(line, &["... no", "... yes"]);
    // "lib/a.h:1:2: warning: 'switch' missing 'default'" is about no library.
    let is_other = |line: &str| is_check(line) || line.contains("warning: ");
    let last: Vec<&str> = said.lines().skip(skipped).filter(|line| !is_other(line)).collect();
    let is_end = last.iter().any(|line| has(line, &["error", "ERROR", "Error", "failed"]));
    last.iter().any(|line| {
        let is_library = has(line, &["ependency", "ibrar", "lib", "eader", ".h:", "-dev", "-config"]);
        // pkg.m4, around the words of pkg-config or of pkgconf, which are others.
        has(line, &["Could NOT find", "No package '", ": Package requirements (", "', required by '"])
            || is_end
                && is_library
                && has(
                    line,
                    &[
                        "not found",
                        "was found",
                        "annot find",
                        "missing",
                        "required",
                        "No such file",
                        "No suitable",
                        "lease install",
                    ],
                )
    })
}

/// The names behind one of these words.
fn named<'t>(said: &'t str, before: &'t [&str]) -> impl Iterator<Item = &'t str> {
    let of_line = move |line: &'t str| before.iter().find_map(|words| Some(line.split_once(words)?.1));
    let is_name = |char: char| char.is_alphanumeric() || "_+-.".contains(char);
    said.lines().filter_map(of_line).map(move |rest| rest.split(|char| !is_name(char)).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Goal, Linkage, Processor};

    fn spec(allocator: Allocator) -> Spec {
        Spec {
            processor: Processor::X86_64,
            libc: CLibrary::Musl,
            linkage: Linkage::StaticPie,
            allocator,
            goal: Goal::Balanced,
            overlay: true,
        }
    }

    #[test]
    fn a_call_of_another_allocators_own_function_names_that_allocator() {
        let gnu = "/usr/bin/ld: zmalloc.o: in function `a':\n/b/zmalloc.c:184: undefined reference to `mallocx'\n";
        let lld = "ld.lld: error: undefined symbol: mi_collect\n>>> referenced by a.c\n";
        for (said, name) in [(gnu, "--malloc jemalloc"), (lld, "--malloc mimalloc")] {
            assert!(advice(&spec(Allocator::Snmalloc), said).unwrap().contains(name), "{said}");
        }
        assert_eq!(advice(&spec(Allocator::Jemalloc), gnu), None);
        assert_eq!(advice(&spec(Allocator::Snmalloc), "undefined reference to `mallocxy'"), None);
    }

    #[test]
    fn a_function_of_the_projects_own_that_the_c_library_has_too_may_come_first() {
        let gnu = "/usr/bin/ld: /usr/lib/x86_64-linux-musl/libc.a(strtol.lo): in function `strtoimax':\n(.text.strtoimax+0x0): multiple \
                   definition of `strtoimax'; ./lib/sh/libsh.a(strtoimax.o):/b/strtoimax.c:79: first defined here\n";
        let lld = "ld.lld: error: duplicate symbol: strtoimax\n>>> defined at strtoimax.c:79\n>>>            strtoimax.o in archive \
                   ./libsh.a\n>>> defined at strtol.c:57\n>>>            strtol.lo:(.text.strtoimax+0x0) in archive /usr/lib/libc.a\n";
        for said in [gnu, lld] {
            let told = advice(&spec(Allocator::System), said).unwrap();
            assert!(told.starts_with("the project has a strtoimax of its own") && told.contains("muldefs"), "{told}");
        }
        // Two of the project's own are its mistake.
        let own =
            "/usr/bin/ld: b.o: in function `f':\nb.c:1: multiple definition of `f'; a.o:a.c:1: first defined here\n";
        assert_eq!(advice(&spec(Allocator::System), own), None);
    }

    #[test]
    fn a_library_that_is_not_found_is_to_be_built_for_the_same_c_library() {
        for said in [
            "/usr/bin/ld: cannot find -lncurses: No such file or directory",
            "ld.lld: error: unable to find library -lncurses",
            "error: unable to find dynamic system library 'ncurses' using strategy 'paths_first'",
        ] {
            let told = advice(&spec(Allocator::Mimalloc), said).unwrap();
            assert!(told.contains("the library ncurses must be there") && told.contains("--print-env"), "{told}");
        }
        let of_machine = Spec { libc: CLibrary::Glibc(None), linkage: Linkage::Dynamic, ..spec(Allocator::System) };
        if Processor::host() == Some(Processor::X86_64) {
            assert_eq!(advice(&of_machine, "cannot find -lncurses"), None);
        }
    }

    #[test]
    fn a_header_of_this_machine_that_was_taken_for_granted_is_to_be_switched_off() {
        let is_own = |header: &str| header == "readline/readline.h";
        for said in [
            "shell.c:153:11: fatal error: readline/readline.h: No such file or directory\n  153 | # include <readline/readline.h>\n",
            "shell.c:153:11: fatal error: 'readline/readline.h' file not found\n",
        ] {
            // Another command that runs beside it goes on for as long as it takes.
            let said = format!("{said}{}", "ar: creating a.a\n".repeat(40));
            let told = of_header(&said, &is_own).unwrap();
            assert!(
                told.starts_with("readline/readline.h is this machine's own") && told.contains("behind `--`"),
                "{told}"
            );
            assert_eq!(of_header(&said, &|_| false), None);
        }
        assert_eq!(of_header("a.c:1: fatal error: too many errors\n", &|_| true), None);
    }

    #[test]
    fn a_configuration_that_ended_for_want_of_a_library_gets_the_same_advice_and_no_other_one_does() {
        for said in [
            "checking for event.h... no\nconfigure: error: \"libevent not found\"\n",
            "../meson.build:12:9: ERROR: Dependency \"glib-2.0\" not found, tried pkgconfig and cmake\n",
            "CMake Error: Could NOT find OpenSSL (missing: OPENSSL_CRYPTO_LIBRARY)\n",
            &format!(
                "CMake Error: The following variables are used in this project, but they are set to NOTFOUND.\n{}CMake Generate step \
                 failed.  Build files cannot be regenerated correctly.\n",
                "   used as include directory in directory /b\n".repeat(20)
            ),
            "configure: error: in `/b':\nNo package 'libpcre2-8' found\n",
            "checking for GNUTLS... no\nconfigure: error: Package requirements (gnutls) were not met:\n\nPackage 'gnutls', required by \
             'virtual:world', not found\n\nConsider adjusting the PKG_CONFIG_PATH environment variable if you\ninstalled software in a \
             non-standard prefix.\n",
            "checking for tgetent in -ltermlib... no\nchecking for working terminal libraries... Cannot find terminal libraries - \
             configure failed\n",
            "checking for PCRE2... no\nconfigure: error: pcre2-config not found, install the pcre2-devel package\n",
            "configure: error: \n  *** No curses lib was found.  Please install the curses header files\n",
            "*** Error: No suitable libmnl found. ***\n    Please install the 'libmnl' package\n",
            "a.c:1:10: fatal error: nobody-has-this.h: No such file or directory\ncompilation terminated.\n",
        ] {
            let told = advice(&spec(Allocator::Mimalloc), said);
            assert!(told.is_some_and(|told| told.contains("what it did not find must be there")), "{said}");
        }
        for said in [
            "a.c:3:1: error: unknown type name 'foo'\nmake: *** [Makefile:3: a.o] Error 1\n",
            "ERROR: Program 'nasm' not found or not executable\n",
            "make: *** No rule to make target 'all'.  Stop.\n",
            "checking for initscr in -lcurses... no\nconfigure: error: cannot run C compiled programs\n",
        ] {
            assert_eq!(advice(&spec(Allocator::Mimalloc), said), None, "{said}");
        }
    }

    #[test]
    fn errors_that_are_warnings_are_told_by_that_and_those_that_are_meant_are_not() {
        let of_gcc = "a.c:3:1: error: unused variable 'x' [-Werror=unused-variable]\n";
        let all = format!("{of_gcc}cc1: all warnings being treated as errors\n");
        let of_clang = "a.c:593:9: error: 'long long' is an extension [-Werror,-Wlong-long]\n";
        for said in [all.as_str(), of_clang] {
            let told = advice(&spec(Allocator::Mimalloc), said);
            assert!(told.is_some_and(|told| told.contains("makes errors of warnings")), "{said}");
        }
        for said in [of_gcc, "a.c:5:1: warning: unused variable 'x' [-Wunused-variable]\nmake: *** [all] Error 2\n"] {
            assert_eq!(advice(&spec(Allocator::Mimalloc), said), None, "{said}");
        }
    }

    #[test]
    fn what_old_c_leaves_undeclared_is_told_with_what_takes_it() {
        let of_gcc = "a.c:6:34: error: implicit declaration of function ‘later’ [-Wimplicit-function-declaration]\n";
        let of_clang =
            "a.c:12:33: error: incompatible pointer to integer conversion initializing 'int' [-Wint-conversion]\n";
        for (said, told) in [
            (of_gcc, "-Wno-error=implicit-function-declaration in CFLAGS"),
            (of_clang, "-Wno-error=int-conversion in CFLAGS"),
        ] {
            let advice = advice(&spec(Allocator::System), said).unwrap();
            assert!(advice.contains(told), "{advice}");
        }
        let asked = of_clang.replace("[-W", "[-Werror,-W");
        assert!(advice(&spec(Allocator::System), &asked).unwrap().contains("makes errors of warnings"));
        assert_eq!(advice(&spec(Allocator::System), &of_gcc.replace("error", "warning")), None);
    }

    #[test]
    fn what_debians_musl_lacks_is_told_with_what_has_it() {
        let glibc = Spec { libc: CLibrary::Glibc(None), ..spec(Allocator::System) };
        for said in [
            "src/cfgparse.c:19:10: fatal error: crypt.h: No such file or directory\n",
            "/usr/bin/ld: cannot find -lcrypt: No such file or directory\n",
            "/usr/bin/ld: auth.c:9: undefined reference to `crypt'\n",
            "../sysoptions.h:281:10: error: #error \"DROPBEAR_SVR_PASSWORD_AUTH requires `crypt()'.\"\n",
        ] {
            assert!(advice(&spec(Allocator::System), said).unwrap().contains("`--cc zig`"), "{said}");
            assert!(!advice(&glibc, said).is_some_and(|advice| advice.contains("zig")), "{said}");
        }
        assert!(!advice(&spec(Allocator::System), "cannot find -lcrypto\n").unwrap().contains("zig"));
        assert_eq!(advice(&spec(Allocator::System), "a.c:9:2: error: too few arguments to decrypt()\n"), None);
    }

    #[test]
    fn a_source_that_refuses_is_told_with_its_own_words_and_the_other_c_library() {
        let glibc = Spec { libc: CLibrary::Glibc(None), ..spec(Allocator::System) };
        for said in [
            "formats.c: In function 'rewind_pipe':\nformats.c:425:4: error: #error FIX NEEDED HERE\n  425 |   #error FIX NEEDED HERE\n",
            "formats.c:425:4: error: FIX NEEDED HERE\n  425 |   # error FIX NEEDED HERE\n      |     ^\n1 error generated.\n",
        ] {
            let told = advice(&spec(Allocator::Mimalloc), said).unwrap();
            assert!(
                told.contains("by #error at formats.c:425:4: FIX NEEDED HERE. ") && told.contains("--libc glibc"),
                "{told}"
            );
            assert_eq!(advice(&glibc, said), None, "{said}");
        }
        let without_words = "a.c:1:2: error: #error\n";
        assert!(advice(&spec(Allocator::Mimalloc), without_words).unwrap().contains("at a.c:1:2. If"));
        for said in [
            "a.c:1:2: error: expected ';'\n    1 | log(\"#error\")\n",
            "a.c:1:2: warning: #warning this\n",
            "note: #error in b.c\n",
        ] {
            assert_eq!(advice(&spec(Allocator::Mimalloc), said), None, "{said}");
        }
    }

    #[test]
    fn what_only_glibc_has_is_told_with_what_has_it_for_musl() {
        let musl = spec(Allocator::System);
        let glibc = Spec { libc: CLibrary::Glibc(None), ..spec(Allocator::System) };
        let decls =
            "u.h:30:1: error: unknown type name ‘__BEGIN_DECLS’\nu.h:37:12: error: expected ‘;’\n   37 | __END_DECLS\n";
        for (said, told) in [
            ("a.c:1:10: fatal error: argp.h: No such file or directory\n", "bring argp-standalone"),
            ("a.c:1:10: fatal error: 'obstack.h' file not found\n", "bring musl-obstack"),
            ("/usr/bin/ld: a.c:9: undefined reference to `fts_open'\n", "fts_open is glibc's"),
            (decls, "-D__BEGIN_DECLS= -D__END_DECLS="),
        ] {
            let advice = advice(&musl, said).unwrap();
            assert!(advice.contains(told) && advice.contains("--libc glibc"), "{advice}");
            assert!(!super::advice(&glibc, said).is_some_and(|advice| advice.contains("glibc's")), "{said}");
        }
        let other = "lib/a.h:9:1: warning: 'switch' missing 'default' label\ngmake: *** [Makefile:1: all] Error 2\n";
        assert_eq!(advice(&musl, other), None);
    }
}
