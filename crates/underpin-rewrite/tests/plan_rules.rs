//! One test per rule of a plan; if files are rewritten, the real loader checks the result.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod plan_support;

use plan_support::*;
use underpin_resolve::{Environment, MemoryRoot};
use underpin_rewrite::SearchPathEdit;
use underpin_rewrite::plan::{Decision, EdgeNote, Exclusion, LeftAlone, Origin, Pattern, Policy, RefusedBecause};
use underpin_rewrite::plan::{Planner, Scope};
use underpin_test_support::{Fixture, need};

/// loader.md 2.3: two libraries, each with its own RUNPATH, need one soname; the loader uses the first for both.
fn two_runpaths() -> (Fixture, std::path::PathBuf) {
    let fixture = Fixture::new();
    Library::new("v1/libx.so").build(&fixture);
    Library::new("v2/libx.so").build(&fixture);
    Library::new("l/libb.so").needs(&["v1/libx.so"]).flags(&["-Wl,--enable-new-dtags,-rpath,@/v1"]).build(&fixture);
    Library::new("l/libc5.so").needs(&["v2/libx.so"]).flags(&["-Wl,--enable-new-dtags,-rpath,@/v2"]).build(&fixture);
    let flags = ["-Wl,--enable-new-dtags,-rpath,@/l"];
    let program = program(&fixture, "bin/prog", &["l/libb.so", "l/libc5.so"], &flags);
    (fixture, program)
}

#[test]
fn the_global_winner_is_bound_and_exactly_one_copy_is_loaded() {
    need!("cc");
    let (fixture, program) = two_runpaths();
    let before = loaded(&program);
    assert!(before.contains(&fixture.join("v1/libx.so")) && !before.contains(&fixture.join("v2/libx.so")));
    let plan = plan_all(&fixture);
    for library in ["l/libb.so", "l/libc5.so"] {
        assert_eq!(becomes(&plan, &fixture.join(library), "libx.so"), fixture.join("v1/libx.so"), "{library}");
    }
    assert_eq!(carry_out(&plan), 5, "every file: each needs libc at least");
    assert_eq!(loaded(&program), before);
    runs(&program);
}

#[test]
fn a_plan_says_what_the_start_costs_after_and_strace_agrees_that_nothing_is_searched() {
    need!("cc", "strace");
    let (fixture, program) = two_runpaths();
    let plan = plan_all(&fixture);
    let start = plan.programs.iter().find(|one| one.path.ends_with(b"/prog")).unwrap();
    let after = start.after.unwrap();
    assert!(start.differences.is_empty() && start.before.failed > after.failed, "{start:?}");
    carry_out(&plan);
    let output = fixture.must("strace", ["-f", "-o", "trace", "-e", "trace=openat,newfstatat", &text(&program)]);
    assert_eq!(output, "");
    let trace = std::fs::read_to_string(fixture.join("trace")).unwrap();
    assert_eq!(trace.matches("ENOENT").count(), 0, "{trace}");
    assert!(!trace.contains("ld.so.cache"), "{trace}");
}

#[test]
fn one_file_has_one_spelling_in_the_whole_plan() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("x/lib/libx.so").build(&fixture);
    fixture.mkdir("y");
    let plain = ["-Wl,-rpath,@/x/lib"];
    let roundabout = ["-Wl,-rpath,@/y/../x/./lib"];
    let one = program(&fixture, "bin/one", &["x/lib/libx.so"], &plain);
    let two = program(&fixture, "bin/two", &["x/lib/libx.so"], &roundabout);
    let plan = plan_all(&fixture);
    assert_eq!(becomes(&plan, &one, "libx.so"), fixture.join("x/lib/libx.so"));
    assert_eq!(becomes(&plan, &two, "libx.so"), fixture.join("x/lib/libx.so"));
    let libc = becomes(&plan, &one, "libc.so.6");
    assert_eq!(becomes(&plan, &two, "libc.so.6"), libc);
    assert_eq!(becomes(&plan, &fixture.join("x/lib/libx.so"), "libc.so.6"), libc);
}

#[test]
fn a_path_that_lexically_leads_elsewhere_is_not_shortened() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("real/lib/libx.so").build(&fixture);
    fixture.mkdir("real/sub");
    fixture.symlink(fixture.join("real/sub"), "link");
    // link/../lib is real/lib, and lib beside the link does not exist.
    let program = program(&fixture, "bin/prog", &["real/lib/libx.so"], &["-Wl,-rpath,@/link/../lib"]);
    let plan = plan_all(&fixture);
    assert_eq!(text(&becomes(&plan, &program, "libx.so")), format!("{}/link/../lib/libx.so", fixture.text()));
    let before = loaded(&program);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
}

#[test]
fn the_loader_is_never_bound_and_libc_is() {
    need!("cc");
    let fixture = Fixture::new();
    // With thread-local data in a library, the loader itself is a needed object.
    fixture.write("src/t.c", "__thread int t; int *f(void){return &t;}");
    let loader = "/lib64/ld-linux-x86-64.so.2";
    need!("/lib64/ld-linux-x86-64.so.2");
    fixture.cc(["-shared", "-fPIC", "-o", "libt.so", "src/t.c", "-Wl,-soname,libt.so", "-Wl,--no-as-needed", loader]);
    let program = program(&fixture, "prog", &["libt.so"], &["-Wl,-rpath,@"]);
    let plan = plan_all(&fixture);
    let library = fixture.join("libt.so");
    assert_eq!(left_alone(&plan, &library, "ld-linux-x86-64.so.2"), &LeftAlone::Loader);
    assert!(becomes(&plan, &library, "libc.so.6").is_absolute());
    let before = loaded(&program);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
    runs(&program);
}

#[test]
fn versions_follow_the_names_also_those_that_are_not_needed() {
    need!("cc", "readelf");
    let fixture = Fixture::new();
    fixture.write("src/v.map", "V1 { global: *; };");
    let script = format!("-Wl,--version-script={}", text(&fixture.join("src/v.map")));
    Library::new("d/libv.so").flags(&[&script]).build(&fixture);
    // Linked against libv for its version, which is then not in DT_NEEDED: another library of the program loads it.
    fixture.write("src/u.c", "int f_d_libv_so(void); int u(void){return f_d_libv_so();}");
    let dir = text(&fixture.join("d"));
    let rpath = format!("-Wl,-rpath,{dir}");
    fixture.cc(["-shared", "-fPIC", "-o", "d/libu.so", "src/u.c", "-Wl,-soname,libu.so", "d/libv.so", &rpath]);
    fixture.must("patchelf", ["--remove-needed", "libv.so", "d/libu.so"]);
    let program = program(&fixture, "prog", &["d/libv.so", "d/libu.so"], &["-Wl,-rpath,@/d"]);
    runs(&program);
    let plan = plan_all(&fixture);
    let edge = edge(&plan, &fixture.join("d/libu.so"), "libv.so");
    assert_eq!((edge.origin, edge.has_versions), (Origin::VersionFile, true));
    assert_eq!(becomes(&plan, &fixture.join("d/libu.so"), "libv.so"), fixture.join("d/libv.so"));
    carry_out(&plan);
    let versions = fixture.must("readelf", ["-VW", "d/libu.so"]);
    assert!(!versions.contains("File: libv.so"), "{versions}");
    runs(&program);
}

#[test]
fn programs_that_disagree_leave_a_shared_librarys_name_alone_and_are_named() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("v1/libx.so").build(&fixture);
    Library::new("v2/libx.so").build(&fixture);
    Library::new("s/libs.so").needs(&["v1/libx.so"]).build(&fixture);
    let one = program(&fixture, "bin/one", &["s/libs.so"], &["-Wl,--disable-new-dtags,-rpath,@/s:@/v1"]);
    let two = program(&fixture, "bin/two", &["s/libs.so"], &["-Wl,--disable-new-dtags,-rpath,@/s:@/v2"]);
    let before = (loaded(&one), loaded(&two));
    let plan = plan_all(&fixture);
    let reason = left_alone(&plan, &fixture.join("s/libs.so"), "libx.so");
    let LeftAlone::ProgramsDisagree { choices } = reason else { panic!("{reason:?}") };
    let choices: Vec<String> =
        choices.iter().map(|choice| format!("{} {}", choice.path.as_ref().unwrap(), choice.programs[0])).collect();
    let expected = [("v1", "one"), ("v2", "two")]
        .map(|(version, program)| format!("{0}/{version}/libx.so {0}/bin/{program}", fixture.text()));
    assert_eq!(choices, expected);
    assert!(reason.to_string().contains("--flatten"), "{reason}");
    assert_eq!(becomes(&plan, &one, "libs.so"), fixture.join("s/libs.so"));
    carry_out(&plan);
    assert_eq!((loaded(&one), loaded(&two)), before);
}

#[test]
fn a_plugin_is_bound_only_where_nobody_has_another_object_of_that_name() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("v1/libx.so").build(&fixture);
    Library::new("v2/libx.so").build(&fixture);
    Library::new("v2/liby.so").build(&fixture);
    let plugin = Library::new("plugins/libp.so")
        .needs(&["v2/libx.so", "v2/liby.so"])
        .flags(&["-Wl,--enable-new-dtags,-rpath,@/v2"])
        .build(&fixture);
    program(&fixture, "bin/prog", &["v1/libx.so"], &["-Wl,-rpath,@/v1"]);
    let plan = plan_all(&fixture);
    let reason = left_alone(&plan, &plugin, "libx.so");
    let LeftAlone::PluginConflict { own, other, program } = reason else { panic!("{reason:?}") };
    let path = |name: &str| text(&fixture.join(name));
    assert_eq!((own.to_string(), other.to_string()), (path("v2/libx.so"), path("v1/libx.so")));
    assert_eq!(program.to_string(), path("bin/prog"));
    assert_eq!(becomes(&plan, &plugin, "liby.so"), fixture.join("v2/liby.so"));
    assert_eq!(edge(&plan, &plugin, "liby.so").programs, 0);
}

#[test]
fn a_missing_library_is_left_alone() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("gone/libx.so").build(&fixture);
    let program = program(&fixture, "prog", &["gone/libx.so"], &[]);
    let plan = plan_of(&[&program], &Policy::default());
    assert_eq!(left_alone(&plan, &program, "libx.so"), &LeftAlone::Missing);
    assert!(becomes(&plan, &program, "libc.so.6").is_absolute());
}

#[test]
fn a_path_that_depends_on_the_current_directory_is_left_alone() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libx.so").soname(None).build(&fixture);
    // Without a soname the linker writes the path as given.
    fixture.write("src/m.c", "int main(void){return 0;}");
    fixture.cc(["-o", "prog", "src/m.c", "-Wl,--no-as-needed", "l/libx.so"]);
    let mut root = MemoryRoot::new();
    root.file("/prog", std::fs::read(fixture.join("prog")).unwrap());
    root.file("/l/libx.so", std::fs::read(fixture.join("l/libx.so")).unwrap());
    let scope = Scope::find(&root, &["/prog".into()]);
    let plan = Planner::new(&root, Environment::empty(), Policy::default()).plan(&scope);
    let edge = plan.objects[0].edges.iter().find(|edge| edge.name == "l/libx.so").unwrap();
    let reason = LeftAlone::CurrentDirectory { path: "l/libx.so".into() };
    assert_eq!(edge.decision, Decision::LeftAlone { reason });
}

#[test]
fn drivers_are_left_to_the_machine_and_the_reason_is_a_sentence() {
    need!("cc");
    let fixture = Fixture::new();
    for path in ["l/libGL.so.1", "l/libmpi.so.12", "l/stubs/libcudax.so.1", "l/libz9.so"] {
        Library::new(path).build(&fixture);
    }
    let needs = ["l/libGL.so.1", "l/libmpi.so.12", "l/stubs/libcudax.so.1", "l/libz9.so"];
    let program = program(&fixture, "prog", &needs, &["-Wl,-rpath,@/l:@/l/stubs"]);
    let plan = plan_all(&fixture);
    let by = |name: &str| match left_alone(&plan, &program, name) {
        LeftAlone::Excluded { by } => by.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(by("libGL.so.1"), Exclusion::GraphicsDriver);
    assert_eq!(by("libmpi.so.12"), Exclusion::Mpi);
    assert_eq!(by("libcudax.so.1"), Exclusion::Stubs);
    let sentence = left_alone(&plan, &program, "libGL.so.1").to_string();
    assert!(sentence.contains("driver of the machine"), "{sentence}");
    assert_eq!(becomes(&plan, &program, "libz9.so"), fixture.join("l/libz9.so"));
    let before = loaded(&program);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
}

#[test]
fn patterns_of_the_user_decide() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/liba.so").build(&fixture);
    Library::new("l/libb.so").build(&fixture);
    let program = program(&fixture, "prog", &["l/liba.so", "l/libb.so"], &["-Wl,-rpath,@/l"]);
    let exclude = Policy { exclude: vec![Pattern("liba*".into())], glibc: false, ..Policy::default() };
    let plan = plan_of(&[&program], &exclude);
    let pattern = Exclusion::Pattern { pattern: "liba*".into() };
    assert_eq!(left_alone(&plan, &program, "liba.so"), &LeftAlone::Excluded { by: pattern });
    assert_eq!(left_alone(&plan, &program, "libc.so.6"), &LeftAlone::Excluded { by: Exclusion::Glibc });
    assert_eq!(becomes(&plan, &program, "libb.so"), fixture.join("l/libb.so"));
    let only = Policy { only: vec![Pattern(format!("{}/*", fixture.text()))], ..Policy::default() };
    let plan = plan_of(&[&program], &only);
    assert_eq!(left_alone(&plan, &program, "libc.so.6"), &LeftAlone::Excluded { by: Exclusion::NotListed });
    assert_eq!(becomes(&plan, &program, "liba.so"), fixture.join("l/liba.so"));
}

#[test]
fn what_only_ld_library_path_provides_is_left_alone() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("own/liba.so").build(&fixture);
    Library::new("own/libb.so").build(&fixture);
    Library::new("env/libb.so").build(&fixture);
    Library::new("env/libc7.so").build(&fixture);
    let needs = ["own/liba.so", "own/libb.so", "env/libc7.so"];
    let program = program(&fixture, "prog", &needs, &["-Wl,--enable-new-dtags,-rpath,@/own"]);
    let mut environment = Environment::empty();
    environment.set(b"LD_LIBRARY_PATH", text(&fixture.join("env")).into());
    let plan = plan_in(&[&program], &Policy::default(), environment);
    let provided = LeftAlone::Excluded { by: Exclusion::LibraryPath };
    assert_eq!(becomes(&plan, &program, "liba.so"), fixture.join("own/liba.so"));
    assert_eq!(left_alone(&plan, &program, "libb.so"), &provided, "another file without the variable");
    assert_eq!(left_alone(&plan, &program, "libc7.so"), &provided, "no file without the variable");
    let variables = [("LD_LIBRARY_PATH", text(&fixture.join("env")))];
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let before = (loaded_in(&program, &variables), loaded(&program));
    carry_out(&plan);
    assert_eq!((loaded_in(&program, &variables), loaded(&program)), before);
}

#[test]
fn one_programs_reason_counts_for_a_shared_library() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("v1/libx.so").build(&fixture);
    Library::new("s/libs.so").needs(&["v1/libx.so"]).build(&fixture);
    program(&fixture, "bin/one", &["s/libs.so"], &["-Wl,--disable-new-dtags,-rpath,@/s:@/v1"]);
    program(&fixture, "bin/two", &["s/libs.so"], &["-Wl,--disable-new-dtags,-rpath,@/s"]);
    let mut environment = Environment::empty();
    environment.set(b"LD_LIBRARY_PATH", text(&fixture.join("v1")).into());
    let plan = plan_in(&[fixture.path()], &Policy::default(), environment);
    let provided = LeftAlone::Excluded { by: Exclusion::LibraryPath };
    assert_eq!(left_alone(&plan, &fixture.join("s/libs.so"), "libx.so"), &provided);
}

#[test]
fn a_capability_directory_is_left_to_the_processor() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libx.so").build(&fixture);
    Library::new("l/glibc-hwcaps/x86-64-v2/libx.so").build(&fixture);
    Library::new("l/liby.so").build(&fixture);
    let program = program(&fixture, "prog", &["l/libx.so", "l/liby.so"], &["-Wl,-rpath,@/l"]);
    let plan = plan_all(&fixture);
    let reason = left_alone(&plan, &program, "libx.so");
    let LeftAlone::Excluded { by: Exclusion::Hwcaps { variant } } = reason else { panic!("{reason:?}") };
    assert_eq!(variant.to_string(), text(&fixture.join("l/glibc-hwcaps/x86-64-v2/libx.so")));
    assert_eq!(becomes(&plan, &program, "liby.so"), fixture.join("l/liby.so"));
    let before = loaded(&program);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
}

#[test]
fn a_better_variant_that_this_processor_does_not_take_still_keeps_the_name_free() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libx.so").build(&fixture);
    Library::new("l/glibc-hwcaps/x86-64-v4/libx.so").build(&fixture);
    let program = program(&fixture, "prog", &["l/libx.so"], &["-Wl,-rpath,@/l"]);
    let mut environment = Environment::empty();
    environment.processor = underpin_resolve::Processor::of_level(underpin_resolve::IsaLevel::V2);
    let plan = plan_in(&[&program], &Policy::default(), environment);
    let reason = left_alone(&plan, &program, "libx.so");
    assert!(matches!(reason, LeftAlone::Excluded { by: Exclusion::Hwcaps { .. } }), "{reason:?}");
}

#[test]
fn a_name_that_is_not_the_soname_is_bound_and_noted() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libx.so.1").build(&fixture);
    let program = program(&fixture, "prog", &["l/libx.so.1"], &["-Wl,-rpath,@/l"]);
    fixture.symlink("libx.so.1", "l/libother.so");
    fixture.must("patchelf", ["--replace-needed", "libx.so.1", "libother.so", &text(&program)]);
    let plan = plan_of(&[&program], &Policy::default());
    assert_eq!(becomes(&plan, &program, "libother.so"), fixture.join("l/libother.so"));
    let notes = &edge(&plan, &program, "libother.so").notes;
    assert_eq!(notes, &[EdgeNote::SonameDiffers { soname: Some("libx.so.1".into()) }]);
    let before = loaded(&program);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
}

#[test]
fn a_name_that_is_not_the_soname_stays_where_somebody_else_asks_by_it() {
    need!("cc");
    let fixture = Fixture::new();
    // No soname: a later request finds the object only by the name under which it was loaded.
    Library::new("l/libn.so").soname(None).build(&fixture);
    Library::new("l/libq.so").build(&fixture);
    let dir = text(&fixture.join("l"));
    let mut command = fixture.command("cc");
    let arguments = ["-shared", "-fPIC", "-o", "libq.so", "-Wl,-soname,libq.so", "../src/l_libq_so.c"];
    command.current_dir(&dir).args(arguments).args(["-Wl,--no-as-needed", "-L.", "-l:libn.so"]);
    assert!(command.status().unwrap().success());
    let mut command = fixture.command("cc");
    fixture.write("src/main.c", "int main(void){return 0;}\n");
    command.current_dir(&dir).args(["-o", "../prog", "../src/main.c", "-Wl,--no-as-needed"]);
    command.args(["-L.", "-l:libn.so", "-l:libq.so", "-Wl,--enable-new-dtags", &format!("-Wl,-rpath,{dir}")]);
    assert!(command.status().unwrap().success());
    let program = fixture.join("prog");
    let before = loaded(&program);
    // libq is not in scope and has no search path of its own: it finds libn only as "libn.so".
    let plan = plan_of(&[&program], &Policy::default());
    let reason = left_alone(&plan, &program, "libn.so");
    assert!(matches!(reason, LeftAlone::OtherName { soname: None, .. }), "{reason:?}");
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
    runs(&program);
}

#[test]
fn filters_are_not_touched() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libreal.so").build(&fixture);
    Library::new("l/libf.so").flags(&["-Wl,-F,libreal.so", "-Wl,-rpath,@/l"]).build(&fixture);
    let program = program(&fixture, "prog", &["l/libf.so"], &["-Wl,-rpath,@/l"]);
    let before = loaded(&program);
    let plan = plan_all(&fixture);
    let edge = edge(&plan, &fixture.join("l/libf.so"), "libreal.so");
    assert_eq!(edge.origin, Origin::Filter);
    assert_eq!(edge.decision, Decision::LeftAlone { reason: LeftAlone::Filter });
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
}

#[test]
fn a_search_path_is_dead_only_where_nothing_can_be_searched_by_it() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libx.so").build(&fixture);
    let runpath = "-Wl,--enable-new-dtags,-rpath,@/l";
    let rpath = "-Wl,--disable-new-dtags,-rpath,@/l";
    Library::new("l/dead.so").needs(&["l/libx.so"]).flags(&[runpath]).build(&fixture);
    Library::new("l/inherited.so").needs(&["l/libx.so"]).flags(&[rpath]).build(&fixture);
    Library::new("l/libGL.so.1").build(&fixture);
    Library::new("l/partly.so").needs(&["l/libx.so", "l/libGL.so.1"]).flags(&[runpath]).build(&fixture);
    fixture.write("src/o.c", "#include <dlfcn.h>\nvoid *o(const char *p){return dlopen(p,1);}");
    let (source, flag) = (text(&fixture.join("src/o.c")), runpath.replace('@', fixture.text()));
    fixture.cc(["-shared", "-fPIC", "-o", "l/opens.so", "-Wl,-soname,opens.so", &source, &flag, "l/libx.so"]);
    let needs = ["l/dead.so", "l/inherited.so", "l/partly.so", "l/opens.so"];
    program(&fixture, "prog", &needs, &[runpath]);
    let plan = plan_all(&fixture);
    let search_path = |name: &str| object(&plan, &fixture.join(name)).edits.search_path.clone();
    assert_eq!(search_path("l/dead.so"), SearchPathEdit::Dead);
    for name in ["l/inherited.so", "l/partly.so", "l/opens.so"] {
        assert_eq!(search_path(name), SearchPathEdit::Keep, "{name}");
    }
}

#[test]
fn binding_twice_gives_the_same_bytes_and_what_moved_is_bound_anew() {
    need!("cc");
    let (fixture, program) = two_runpaths();
    let unbound = contents(fixture.path());
    let first = plan_all(&fixture);
    carry_out(&first);
    let bound = contents(fixture.path());
    let second = plan_all(&fixture);
    assert!(second.changes().all(|object| object.bound_before));
    assert_eq!(carry_out(&second), first.changes().count());
    assert_eq!(contents(fixture.path()), bound, "the same bytes");
    std::fs::rename(fixture.join("v1"), fixture.join("v3")).unwrap();
    let third = plan_all(&fixture);
    let library = fixture.join("l/libc5.so");
    assert_eq!(becomes(&third, &library, "libx.so"), fixture.join("v2/libx.so"), "the winner of today");
    carry_out(&third);
    assert!(loaded(&program).contains(&fixture.join("v2/libx.so")));
    std::fs::rename(fixture.join("v3"), fixture.join("v1")).unwrap();
    unbind_all(&plan_all(&fixture));
    assert_eq!(contents(fixture.path()), unbound);
}

#[test]
fn hard_links_are_one_file() {
    need!("cc");
    let fixture = Fixture::new();
    let one = program(&fixture, "a/one", &[], &[]);
    std::fs::hard_link(&one, fixture.join("a/two")).unwrap();
    fixture.symlink(&one, "a/link");
    let plan = plan_of(&[&fixture.join("a")], &Policy::default());
    assert_eq!(plan.objects.len(), 1);
    assert_eq!(plan.objects[0].hard_links, [text(&fixture.join("a/two"))]);
}

#[test]
fn a_c_library_of_another_release_than_the_loader_is_refused() {
    need!("cc", "patchelf");
    let fixture = Fixture::new();
    let program = program(&fixture, "prog", &[], &["-Wl,-rpath,@"]);
    let libc = becomes(&plan_of(&[&program], &Policy::default()), &program, "libc.so.6");
    let mut bytes = std::fs::read(libc).unwrap();
    let banner = b"stable release version 2.";
    let at = bytes.windows(banner.len()).position(|window| window == banner).unwrap() + banner.len();
    bytes[at..at + 2].copy_from_slice(b"19");
    fixture.write("libc.so.6", bytes);
    let plan = plan_of(&[&program], &Policy::default());
    let refused: Vec<_> = plan.refused.iter().map(|one| &one.because).collect();
    let [RefusedBecause::LibcMismatch { libc_version, .. }] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!(libc_version.unwrap().minor, 19);
    assert!(plan.objects.is_empty());
}

#[test]
fn musl_programs_are_bound_per_object_and_libc_is_left_alone() {
    need!("musl-gcc", "/lib/ld-musl-x86_64.so.1");
    let fixture = Fixture::new();
    Library::new("a/liba.so").build_with(&fixture, "musl-gcc");
    Library::new("b/libb.so").needs(&["a/liba.so"]).flags(&["-Wl,-rpath,@/a"]).build_with(&fixture, "musl-gcc");
    let program = program_with(&fixture, "musl-gcc", "prog", &["b/libb.so", "a/liba.so"], &["-Wl,-rpath,@/b:@/a"]);
    let before = loaded(&program);
    let plan = plan_all(&fixture);
    assert_eq!(becomes(&plan, &program, "libb.so"), fixture.join("b/libb.so"));
    assert_eq!(becomes(&plan, &fixture.join("b/libb.so"), "liba.so"), fixture.join("a/liba.so"));
    assert_eq!(left_alone(&plan, &program, "libc.so"), &LeftAlone::Loader);
    let search_path = &object(&plan, &program).edits.search_path;
    let [farm] = plan.farms.as_slice() else { panic!("{:?}", plan.farms) };
    let one = SearchPathEdit::Runpath(farm.directory.as_str().into());
    assert_eq!(*search_path, one, "musl inherits DT_RUNPATH too, so it is never dead");
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
    runs(&program);
}

#[test]
fn an_absolute_name_is_left_as_it_is_and_a_roundabout_one_is_respelled() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libx.so").soname(None).build(&fixture);
    Library::new("l/liby.so").soname(None).build(&fixture);
    let program = program(&fixture, "bin/prog", &["l/libx.so", "l/../l/liby.so"], &[]);
    let plan = plan_of(&[&program], &Policy::default());
    let (x, y) = (text(&fixture.join("l/libx.so")), text(&fixture.join("l/../l/liby.so")));
    assert_eq!(edge(&plan, &program, &x).decision, Decision::Already { path: x.clone() });
    assert_eq!(becomes(&plan, &program, &y), fixture.join("l/liby.so"));
    assert_eq!(edge(&plan, &program, &y).notes, [EdgeNote::Respelled]);
    let before = loaded(&program);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
}

#[test]
fn a_plan_is_shown_as_json_without_its_bytes() {
    need!("cc");
    let (fixture, program) = two_runpaths();
    let plan = plan_of(&[&program], &Policy::default());
    let json = serde_json::to_value(&plan).unwrap();
    let object = &json["objects"][0];
    assert_eq!(object["edges"][0]["decision"], "becomes");
    assert_eq!(object["edges"][0]["path"], text(&fixture.join("l/libb.so")));
    assert!(object["rewrite"]["cost"]["segments"].is_number(), "{object}");
    assert!(object.get("edits").is_none() && json["shape"] == "per_object");
    assert!(program.ends_with("bin/prog") && json["programs"].as_array().unwrap().len() == 1);
}
