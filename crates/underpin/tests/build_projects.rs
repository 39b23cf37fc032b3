//! `underpin build` on projects of make, CMake and configure, and for builds that the user starts. Results are checked
//! with readelf and by running the programs.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::underpin;
use std::fs;
use std::path::Path;
use std::process::Command;
use underpin_test_support::{Fixture, Output, need};

const PROGRAM: &str = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n";

/// A build into `out/`, with a cache of its own.
fn builds(fixture: &Fixture, project: &str, more: &[&str]) -> Output {
    let folder = |name: &str| fixture.join(name).display().to_string();
    let (project, out) = (folder(project), format!("{}/", folder("out")));
    let mut command = underpin(["build", "--as", "musl+system-overlay", &project, "-o", &out]);
    command.args(more).env("XDG_CACHE_HOME", fixture.join("cache"));
    Output::of(&mut command)
}

fn put(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn ran(program: &Path) -> String {
    let output = Output::of(&mut Command::new(program));
    let headers = Output::of(Command::new("readelf").arg("-lW").arg(program)).stdout;
    assert!(!headers.contains("INTERP"), "it asks for a loader: {headers}");
    output.stdout
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_makefile_keeps_the_options_of_its_compiler_and_the_sources_stay_as_they_are() {
    need!("make", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    // A name that no makefile would survive, and an object of another build.
    let project = "my pröject";
    let makefile = "CC = gcc -DTEXT=1\nprog: a.o\n\t$(CC) -Wl,--start-group a.o -lm -Wl,--end-group -o prog\n";
    put(&fixture, &format!("{project}/Makefile"), makefile);
    put(&fixture, &format!("{project}/a.c"), &format!("#ifndef TEXT\n#error TEXT\n#endif\n{PROGRAM}"));
    put(&fixture, &format!("{project}/a.o"), "no object");
    let before = names(&fixture.join(project));
    let output = builds(&fixture, project, &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(ran(&fixture.join("out/prog")), "ran\n");
    assert_eq!(names(&fixture.join(project)), before);
}

#[test]
fn on_a_terminal_a_tool_has_one_and_its_error_is_explained_all_the_same() {
    need!("make", "musl-gcc", "script");
    let fixture = Fixture::new();
    put(&fixture, "p/Makefile", "prog: a.c\n\t@test -t 1 && test -t 2 && stty size <&2\n\t$(CC) -o prog a.c\n");
    put(&fixture, "p/a.c", "#include <readline/readline.h>\nint main(void) { return 0; }\n");
    let build = format!("stty rows 30 cols 71; {} build p -o out/", common::program());
    let mut command = Command::new("script");
    command
        .args(["-qec", &build, "/dev/null"])
        .current_dir(fixture.path())
        .env("XDG_CACHE_HOME", fixture.join("cache"));
    let output = Output::of(command.stdin(std::process::Stdio::null()).env("NO_COLOR", "1"));
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(!output.stdout.contains("\r\r"), "{:?}", output.stdout);
    assert!(output.stdout.contains("30 71"), "{}", output.stdout);
    // Once by the compiler as it ran, and not again below it.
    assert_eq!(output.stdout.matches("readline.h: No such file").count(), 1, "{}", output.stdout);
    assert!(output.stdout.contains("readline/readline.h is this machine's own"), "{}", output.stdout);
}

#[test]
fn a_makefile_below_keeps_what_it_says_behind_the_names_of_its_tools() {
    need!("make", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    put(&fixture, "p/Makefile", "all:\n\t@cd src && $(MAKE) $@\n");
    // As Lua 5.4 has it: ar's operation is part of its name.
    let below = "CC= gcc -DTEXT=1\nAR= ar rcu\nRANLIB= ranlib\nall: prog\nlibpart.a: part.o\n\t$(AR) $@ part.o\n\t$(RANLIB) $@\n\
                 prog: a.o libpart.a\n\t$(CC) -o $@ a.o libpart.a\n";
    put(&fixture, "p/src/Makefile", below);
    put(&fixture, "p/src/a.c", &format!("#ifndef TEXT\n#error TEXT\n#endif\n{PROGRAM}"));
    put(&fixture, "p/src/part.c", "int part;\n");
    let output = builds(&fixture, "p", &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(ran(&fixture.join("out/prog")), "ran\n");
}

#[test]
fn a_configure_script_is_told_the_compiler_and_its_words() {
    need!("make", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    let script = "#!/bin/sh\ntest \"$1\" = --fast || exit 3\nprintf 'prog: prog.c\\n\\t%s prog.c -o prog\\n' \"$CC\" >Makefile\n";
    put(&fixture, "p/configure", script);
    put(&fixture, "p/prog.c", PROGRAM);
    let refused = builds(&fixture, "p", &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("to repeat it") && refused.stderr.contains("./configure"), "{}", refused.stderr);
    assert!(!fixture.join("out").exists(), "nothing half-made");
    let output = builds(&fixture, "p", &["--", "--fast"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(ran(&fixture.join("out/prog")), "ran\n");
}

/// As GNU bc has it, whose release formats its manual again.
#[test]
fn a_manual_that_nothing_here_can_format_keeps_no_program_back() {
    need!("make", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    let script = "#!/bin/sh\nprintf 'MAKEINFO = makeinfo --no-split\\nall: prog manual\\nprog: prog.c\\n\\t%s prog.c -o prog\\n\
                  manual:\\n\\t$(MAKEINFO) --version\\n' \"$CC\" >Makefile\n";
    put(&fixture, "p/configure", script);
    put(&fixture, "p/prog.c", PROGRAM);
    let output = builds(&fixture, "p", &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(ran(&fixture.join("out/prog")), "ran\n");
}

#[test]
fn a_build_system_that_ends_well_without_a_program_is_quoted() {
    need!("make", "musl-gcc");
    let fixture = Fixture::new();
    // As Debian's lua has it, whose makefile goes on without libtool.
    put(&fixture, "quiet/Makefile", "all:\n\t-no-such-libtool --mode=link -o prog\n");
    let output = builds(&fixture, "quiet", &[]);
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(output.stderr.contains("make built no program"), "{}", output.stderr);
    assert!(
        output.stderr.contains("it said at last:") && output.stderr.contains("no-such-libtool"),
        "{}",
        output.stderr
    );
}

#[test]
fn cmake_finds_no_library_of_this_machines_c_library() {
    need!("cmake", "make", "musl-gcc", "readelf", "/usr/lib/x86_64-linux-gnu/libm.a");
    let fixture = Fixture::new();
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(prog C)\nfind_library(M NAMES m)\n\
                 if(M MATCHES gnu)\nmessage(FATAL_ERROR \"the machine's own: ${M}\")\nendif()\n\
                 add_executable(prog prog.c)\nadd_executable(other prog.c)\n";
    put(&fixture, "a project/CMakeLists.txt", lists);
    put(&fixture, "a project/prog.c", PROGRAM);
    let output = builds(&fixture, "a project", &["--bin", "prog"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(ran(&fixture.join("out/prog")), "ran\n");
    assert!(!fixture.join("out/other").exists());
    assert_eq!(names(&fixture.join("a project")), ["CMakeLists.txt", "prog.c"]);
}

#[test]
fn a_library_that_cmake_is_told_to_share_becomes_an_archive_beside_another_of_its_name() {
    need!("cmake", "make", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    // Like cmark: one library of each kind, both called `libpart`, and a program that is linked with the shared one;
    // with policies as old as brotli's.
    let lists = "cmake_minimum_required(VERSION 3.2)\nproject(prog C)\nadd_subdirectory(lib)\n\
                 add_executable(prog prog.c)\ntarget_link_libraries(prog part_shared)\n\
                 add_executable(other prog.c)\ntarget_link_libraries(other part_static)\n";
    let parts = "add_library(part_static STATIC part.c)\nadd_library(part_shared SHARED part.c)\n\
                 set_target_properties(part_static part_shared PROPERTIES OUTPUT_NAME part)\n\
                 target_compile_definitions(part_shared PRIVATE WHICH=\"shared\")\n\
                 target_compile_definitions(part_static PRIVATE WHICH=\"static\")\nadd_library(plugin MODULE part.c)\n\
                 target_compile_definitions(plugin PRIVATE WHICH=\"plugin\")\n";
    put(&fixture, "p/CMakeLists.txt", lists);
    put(&fixture, "p/lib/CMakeLists.txt", parts);
    put(&fixture, "p/lib/part.c", "const char *part(void) { return WHICH; }\n");
    let program = "#include <stdio.h>\nconst char *part(void);\nint main(void) { return puts(part()) < 0; }\n";
    put(&fixture, "p/prog.c", program);
    let output = builds(&fixture, "p", &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(ran(&fixture.join("out/prog")), "shared\n");
    assert_eq!(ran(&fixture.join("out/other")), "static\n");
}

#[test]
fn variables_for_another_build_stay_valid_after_the_command() {
    need!("musl-gcc", "readelf");
    let fixture = Fixture::new();
    put(&fixture, "a.c", PROGRAM);
    let mut command = underpin(["build", "--as", "musl+system-overlay", "--print-env"]);
    let output = Output::of(command.env("XDG_CACHE_HOME", fixture.join("cache")).current_dir(fixture.path()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let script = format!("{}\n$CC -c a.c && $AR rcs liba.a a.o && $CC liba.a -o a", output.stdout);
    let built = Output::of(Command::new("sh").args(["-ec", &script]).current_dir(fixture.path()));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    assert_eq!(ran(&fixture.join("a")), "ran\n");
    // What a build script of Rust compiles for this machine is not for musl: the crate cc looks for HOST_CC before CC.
    let script = format!("{}\n$HOST_CC a.c -o here", output.stdout);
    let built = Output::of(Command::new("sh").args(["-ec", &script]).current_dir(fixture.path()));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let headers = fixture.must("readelf", ["-lW", "here"]);
    assert!(headers.contains("ld-linux"), "{headers}");
}

#[test]
fn a_makefile_that_names_a_compiler_of_cxx_for_a_test_alone_needs_none() {
    need!("make", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    put(&fixture, "p/Makefile", "prog: prog.c\n\t$(CC) -o prog prog.c\ntest: test.cpp\n\t$(CXX) -o test test.cpp\n");
    put(&fixture, "p/prog.c", PROGRAM);
    put(&fixture, "p/test.cpp", "int main() {}\n");
    // musl's wrapper of this kind has no C++.
    let output = builds(&fixture, "p", &["--cc", "gcc"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(ran(&fixture.join("out/prog")), "ran\n");
    let refused = builds(&fixture, "p", &["--cc", "gcc", "--", "test"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("no C++ compiler"), "{}", refused.stderr);
}

/// What a build into a folder delivers, and that the remark names what it leaves out.
fn delivered(fixture: &Fixture, project: &str, left_out: &str) -> Vec<String> {
    let output = builds(fixture, project, &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let wanted = format!("left out: {left_out} (");
    assert!(left_out.is_empty() || output.stdout.contains(&wanted), "{}", output.stdout);
    names(&fixture.join("out"))
}

#[test]
fn cmake_delivers_what_it_installs_and_without_an_install_rule_no_tool_or_test_of_the_build() {
    need!("cmake", "make", "musl-gcc", "readelf");
    let tool = "add_executable(gen prog.c)\nadd_custom_command(OUTPUT made.c COMMAND gen > x COMMAND ${CMAKE_COMMAND} -E copy \
                ${CMAKE_SOURCE_DIR}/prog.c made.c DEPENDS gen)\n";
    let head = format!("cmake_minimum_required(VERSION 3.10)\nproject(x C)\n{tool}add_executable(prog made.c)\n");
    for (rest, wanted, left) in [
        ("install(TARGETS prog DESTINATION bin)\n", &["prog"][..], "gen, helper"),
        ("install(PROGRAMS ${CMAKE_BINARY_DIR}/prog DESTINATION bin)\n", &["prog"], "gen, helper"),
        ("", &["helper", "prog"], "gen, part_test"),
    ] {
        let fixture = Fixture::new();
        let test = if rest.is_empty() { "add_executable(part_test prog.c)\n" } else { "" };
        let lists = format!(
            "{head}add_executable(helper prog.c)\nenable_testing()\nadd_test(NAME t COMMAND prog)\n{test}{rest}"
        );
        put(&fixture, "p/CMakeLists.txt", &lists);
        put(&fixture, "p/prog.c", PROGRAM);
        assert_eq!(delivered(&fixture, "p", left), wanted, "{rest}");
    }
}

#[test]
fn meson_delivers_what_it_installs() {
    need!("meson", "ninja", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    let text = "project('x', 'c')\nexecutable('prog', 'prog.c', install: true)\nexecutable('gen', 'prog.c')\n\
                t = executable('check', 'prog.c')\ntest('check', t)\n";
    put(&fixture, "p/meson.build", text);
    put(&fixture, "p/prog.c", PROGRAM);
    assert_eq!(delivered(&fixture, "p", "check, gen"), ["prog"]);
}

#[test]
fn make_is_asked_what_it_would_install_and_runs_nothing_of_it() {
    need!("make", "musl-gcc", "readelf");
    let rules =
        "all: prog gen sub/tool\nprog gen: prog.c\n\t$(CC) -o $@ prog.c\nsub/tool: prog.c\n\t$(CC) -o $@ prog.c\n";
    for (install, wanted, left) in [
        (
            "install: all\n\tinstall -m755 prog $(DESTDIR)/WITNESS/bin\n\t$(MAKE) -C sub install\n",
            &["prog", "tool"][..],
            "gen",
        ),
        // A line that make would run: it is not asked.
        ("install: all\n\t$(MAKE) -C sub install && cp prog /WITNESS\n", &["gen", "prog", "tool"], ""),
        ("", &["gen", "prog", "tool"], ""),
    ] {
        let fixture = Fixture::new();
        let witness = fixture.join("witness");
        let install = install.replace("/WITNESS", &witness.display().to_string());
        put(&fixture, "p/Makefile", &format!("{rules}{install}"));
        put(&fixture, "p/sub/Makefile", "install:\n\tcp ./t* $(DESTDIR)/bin\n");
        put(&fixture, "p/prog.c", PROGRAM);
        assert_eq!(delivered(&fixture, "p", left), wanted, "{install}");
        assert!(!witness.exists());
    }
}

#[test]
fn autoconf_delivers_what_its_makefiles_install() {
    need!("make", "musl-gcc", "readelf");
    let fixture = Fixture::new();
    // As automake writes it: the rule's own shell has the names in a list, and make calls itself.
    let makefile = "bin_PROGRAMS = prog\nall: prog gen\nprog gen: prog.c\n\t$(CC) -o $@ prog.c\ninstall-binPROGRAMS: $(bin_PROGRAMS)\n\
                    \t@list='$(bin_PROGRAMS)'; for p in $$list; do install $$p $(DESTDIR)/bin; done\n\
                    install:\n\t@$(MAKE) install-binPROGRAMS\n";
    let script = "#!/bin/sh\n# Generated by GNU Autoconf 2.71.\ncp made.in Makefile\n";
    put(&fixture, "p/configure", script);
    put(&fixture, "p/made.in", makefile);
    put(&fixture, "p/prog.c", PROGRAM);
    assert_eq!(delivered(&fixture, "p", "gen"), ["prog"]);
}
