//! Flattened programs, farms, and trees that may be moved, checked by the real loader.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod plan_support;

use plan_support::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_rewrite::SearchPathEdit;
use underpin_rewrite::plan::{
    BindPlan, Decision, EdgeNote, Exclusion, LeftAlone, Origin, Policy, ProgramNote, RefusedBecause, Shape,
};
use underpin_test_support::{Fixture, Output, need};

fn shaped(shape: Shape) -> Policy {
    Policy { shape, ..Policy::default() }
}

/// prog -> b, a; b -> d; a -> c; d -> e: each in a prefix of its own, with a DT_RUNPATH to its direct needs.
fn tree(fixture: &Fixture, compiler: &str) -> PathBuf {
    let build = |path: &str, needs: &[&str]| {
        let directories: Vec<String> =
            needs.iter().map(|need| format!("@/{}", need.rsplit_once('/').unwrap().0)).collect();
        let flag = format!("-Wl,--enable-new-dtags,-rpath,{}", directories.join(":"));
        let flags: &[&str] = if needs.is_empty() { &[] } else { &[&flag] };
        Library::new(path).needs(needs).flags(flags).build_with(fixture, compiler);
    };
    build("e/lib/libe.so", &[]);
    build("c/lib/libc1.so", &[]);
    build("d/lib/libd.so", &["e/lib/libe.so"]);
    build("a/lib/liba.so", &["c/lib/libc1.so"]);
    build("b/lib/libb.so", &["d/lib/libd.so"]);
    let flags = ["-Wl,--enable-new-dtags,-rpath,@/a/lib:@/b/lib"];
    program_with(fixture, compiler, "p/bin/prog", &["b/lib/libb.so", "a/lib/liba.so"], &flags)
}

/// Constructors as the loader calls them, by real path.
fn constructors(program: &Path) -> Vec<PathBuf> {
    let output = Output::of(Command::new(program).env("LD_DEBUG", "files").env_remove("LD_LIBRARY_PATH"));
    let paths = output.stderr.lines().filter_map(|line| Some(line.split_once("calling init: ")?.1));
    paths.map(|path| Path::new(path).canonicalize().unwrap()).collect()
}

fn refusal<'p>(plan: &'p BindPlan, path: &Path) -> &'p RefusedBecause {
    let path = text(&path.canonicalize().unwrap());
    let found = plan.refused.iter().find(|refused| refused.path == path);
    &found.unwrap_or_else(|| panic!("{path} is not refused: {:?}", plan.refused)).because
}

#[test]
fn a_flattened_program_loads_and_initialises_in_the_same_order_and_only_it_changes() {
    need!("cc", "readelf");
    let fixture = Fixture::new();
    let program = tree(&fixture, "cc");
    let before = (loaded(&program), constructors(&program));
    assert_eq!(before.0.len(), 7, "five libraries, libc and the loader: {before:?}");
    let plan = plan_of(&[fixture.path()], &shaped(Shape::Flatten));
    assert_eq!(plan.refused, []);
    assert_eq!(carry_out(&plan), 1);
    let edge = edge(&plan, &program, "libe.so");
    assert_eq!((edge.origin, becomes(&plan, &program, "libe.so")), (Origin::Closure, fixture.join("e/lib/libe.so")));
    assert_eq!((loaded(&program), constructors(&program)), before);
    runs(&program);
    let dynamic = fixture.must("readelf", ["-dW", &text(&program)]);
    assert!(!dynamic.contains("[libc.so.6]"), "{dynamic}");
    assert!(dynamic.contains("[ld-linux-x86-64.so.2]"), "the loader at its place in the order, by name: {dynamic}");
    assert!(plan.programs[0].after.unwrap().failed <= 1, "/etc/ld.so.preload alone: {:?}", plan.programs);
}

#[test]
fn flattening_is_refused_for_musl() {
    need!("musl-gcc", "/lib/ld-musl-x86_64.so.1");
    let fixture = Fixture::new();
    let program = tree(&fixture, "musl-gcc");
    let plan = plan_of(&[&program], &shaped(Shape::Flatten));
    assert_eq!(refusal(&plan, &program), &RefusedBecause::FlattenMusl);
    assert_eq!(plan.objects.len(), 0);
}

#[test]
fn flattening_is_refused_where_an_object_would_not_answer_to_its_name() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libn.so").soname(None).build(&fixture);
    fixture.write("src/main.c", "int main(void){return 0;}");
    let dir = text(&fixture.join("l"));
    let rpath = format!("-Wl,-rpath,{dir}");
    let find = format!("-L{dir}");
    fixture.cc(["-o", "prog", "src/main.c", "-Wl,--no-as-needed", &find, "-l:libn.so", &rpath]);
    let program = fixture.join("prog");
    let plan = plan_of(&[&program], &shaped(Shape::Flatten));
    let because = refusal(&plan, &program);
    assert!(matches!(because, RefusedBecause::OtherSoname { soname: None, .. }), "{because:?}");
    assert!(because.to_string().contains("no soname"), "{because}");
    // In a farm it is requested by its name, so it stays known by it.
    let plan = plan_of(&[&program], &shaped(Shape::Farm));
    let before = loaded(&program);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
}

#[test]
fn an_excluded_name_keeps_its_place_in_a_flattened_program() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("l/libz1.so").build(&fixture);
    Library::new("l/libGL.so.1").build(&fixture);
    Library::new("l/liba.so").needs(&["l/libz1.so"]).flags(&["-Wl,-rpath,@/l"]).build(&fixture);
    let needs = ["l/liba.so", "l/libGL.so.1"];
    let program = program(&fixture, "prog", &needs, &["-Wl,--enable-new-dtags,-rpath,@/l"]);
    let before = (loaded(&program), constructors(&program));
    let plan = plan_of(&[&program], &shaped(Shape::Flatten));
    let excluded = LeftAlone::Excluded { by: Exclusion::GraphicsDriver };
    assert_eq!(left_alone(&plan, &program, "libGL.so.1"), &excluded);
    let needed = object(&plan, &program).edits.needed.clone().unwrap();
    assert_eq!(needed[1], "libGL.so.1");
    carry_out(&plan);
    assert_eq!((loaded(&program), constructors(&program)), before);
}

#[test]
fn a_missing_library_refuses_what_needs_the_whole_closure() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("gone/libx.so").build(&fixture);
    let program = program(&fixture, "prog", &["gone/libx.so"], &[]);
    for shape in [Shape::Flatten, Shape::Farm, Shape::Relative] {
        let plan = plan_of(&[&program], &shaped(shape));
        assert_eq!(refusal(&plan, &program), &RefusedBecause::MissingName { name: "libx.so".into() });
    }
}

#[test]
fn programs_that_disagree_are_each_flattened_to_their_own_winner() {
    need!("cc");
    let fixture = Fixture::new();
    Library::new("v1/libx.so").build(&fixture);
    Library::new("v2/libx.so").build(&fixture);
    Library::new("s/libs.so").needs(&["v1/libx.so"]).build(&fixture);
    for shape in [Shape::Flatten, Shape::Farm] {
        let one = program(&fixture, "bin/one", &["s/libs.so"], &["-Wl,--disable-new-dtags,-rpath,@/s:@/v1"]);
        let two = program(&fixture, "bin/two", &["s/libs.so"], &["-Wl,--disable-new-dtags,-rpath,@/s:@/v2"]);
        let before = (loaded(&one), loaded(&two));
        let plan = plan_of(&[fixture.path()], &shaped(shape));
        assert_eq!(becomes(&plan, &one, "libx.so"), fixture.join("v1/libx.so"));
        assert_eq!(becomes(&plan, &two, "libx.so"), fixture.join("v2/libx.so"));
        carry_out(&plan);
        assert_eq!((loaded(&one), loaded(&two)), before, "{shape:?}");
    }
}

#[test]
fn a_farm_serves_every_name_and_ld_library_path_still_comes_first() {
    need!("cc");
    let fixture = Fixture::new();
    let program = tree(&fixture, "cc");
    Library::new("mine/libe.so").build(&fixture);
    let before = (loaded(&program), constructors(&program));
    let plan = plan_of(&[&program], &shaped(Shape::Farm));
    let farm = text(&program) + ".underpin-farm";
    assert_eq!((plan.farms.len(), &plan.farms[0].directory), (1, &farm));
    let names: Vec<&str> = plan.farms[0].links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["liba.so", "libb.so", "libc.so.6", "libc1.so", "libd.so", "libe.so"]);
    // It answers for a/lib and b/lib too.
    assert_eq!(object(&plan, &program).edits.search_path, SearchPathEdit::Runpath(farm.as_str().into()));
    assert_eq!(edge(&plan, &program, "libe.so").notes, [EdgeNote::Linked]);
    assert!(matches!(edge(&plan, &program, "libe.so").decision, Decision::Becomes { .. }));
    carry_out(&plan);
    assert_eq!((loaded(&program), constructors(&program)), before);
    let mine = text(&fixture.join("mine"));
    let replaced = loaded_in(&program, &[("LD_LIBRARY_PATH", &mine)]);
    assert!(replaced.contains(&fixture.join("mine/libe.so")), "{replaced:?}");
    // Planned again with the farm in place, the plan is the same.
    let again = plan_of(&[&program], &shaped(Shape::Farm));
    assert_eq!(again.farms, plan.farms);
    assert_eq!(object(&again, &program).rewrite, object(&plan, &program).rewrite);
}

#[test]
fn farms_work_for_musl() {
    need!("musl-gcc", "/lib/ld-musl-x86_64.so.1");
    let fixture = Fixture::new();
    let program = tree(&fixture, "musl-gcc");
    let before = loaded(&program);
    let plan = plan_of(&[&program], &shaped(Shape::Farm));
    assert_eq!(plan.refused, []);
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
    runs(&program);
}

#[test]
fn a_farm_can_stand_elsewhere_and_does_not_take_a_place_that_is_taken() {
    need!("cc");
    let fixture = Fixture::new();
    let program = tree(&fixture, "cc");
    let elsewhere = fixture.mkdir("farms");
    let policy = Policy { farm_directory: Some(text(&elsewhere)), ..shaped(Shape::Farm) };
    let before = loaded(&program);
    let plan = plan_of(&[&program], &policy);
    assert_eq!(plan.farms[0].directory, text(&elsewhere.join("prog.underpin-farm")));
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
    let other = Fixture::new();
    let program = tree(&other, "cc");
    other.write("p/bin/prog.underpin-farm/precious", "data");
    let plan = plan_of(&[&program], &shaped(Shape::Farm));
    let because = refusal(&plan, &program);
    assert!(matches!(because, RefusedBecause::FarmInTheWay { .. }), "{because:?}");
}

/// A library that opens a neighbour by its own `$ORIGIN`.
fn opener(fixture: &Fixture) -> PathBuf {
    Library::new("o/libplug.so").build(fixture);
    let code = "#include <dlfcn.h>\n__attribute__((constructor)) static void s(void){\
                if(!dlopen(\"libplug.so\",RTLD_NOW)) __builtin_trap();}\n";
    let source = text(&fixture.write("src/o.c", code));
    let origin = "-Wl,--enable-new-dtags,-rpath,$ORIGIN";
    fixture.cc(["-shared", "-fPIC", "-o", "o/libo.so", "-Wl,-soname,libo.so", &source, origin]);
    program(fixture, "p/bin/prog", &["o/libo.so"], &["-Wl,-rpath,@/o"])
}

#[test]
fn a_library_that_opens_its_neighbours_is_named_by_path_beside_the_farm() {
    need!("cc");
    let fixture = Fixture::new();
    let program = opener(&fixture);
    runs(&program);
    let before = loaded(&program);
    let plan = plan_of(&[&program], &shaped(Shape::Farm));
    let needed = object(&plan, &program).edits.needed.clone().unwrap();
    assert_eq!(needed[0], text(&fixture.join("o/libo.so")));
    assert!(!plan.farms[0].links.iter().any(|link| link.name == "libo.so"));
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
    runs(&program);
    // A tree that may be moved cannot do that.
    let fresh = Fixture::new();
    let program = opener(&fresh);
    let plan = plan_of(&[fresh.path()], &shaped(Shape::Relative));
    let because = refusal(&plan, &program);
    assert!(matches!(because, RefusedBecause::OriginInFarm { .. }), "{because:?}");
}

#[test]
fn a_relative_tree_runs_after_it_was_moved() {
    need!("cc", "strace");
    let fixture = Fixture::new();
    let program = tree(&fixture, "cc");
    let before = loaded(&program);
    let plan = plan_of(&[fixture.path()], &shaped(Shape::Relative));
    assert_eq!(plan.refused, []);
    let link = plan.farms[0].links.iter().find(|link| link.name == "libe.so").unwrap();
    assert_eq!(link.target, "../../../e/lib/libe.so");
    let expected = "$ORIGIN/prog.underpin-farm";
    assert_eq!(object(&plan, &program).edits.search_path, SearchPathEdit::Runpath(expected.into()));
    assert!(matches!(plan.programs[0].notes.as_slice(), [ProgramNote::OutsideTree { .. }]), "libc: {plan:?}");
    carry_out(&plan);
    assert_eq!(loaded(&program), before);
    let elsewhere = Fixture::new();
    for entry in ["a", "b", "c", "d", "e", "p"] {
        std::fs::rename(fixture.join(entry), elsewhere.join(entry)).unwrap();
    }
    let moved = elsewhere.join("p/bin/prog");
    runs(&moved);
    let place = |path: &PathBuf| match path.strip_prefix(fixture.path()) {
        Ok(inside) => elsewhere.join(inside),
        Err(_) => path.clone(),
    };
    assert_eq!(loaded(&moved), before.iter().map(place).collect::<Vec<_>>());
}

#[test]
fn a_relative_tree_keeps_to_itself() {
    need!("cc");
    let fixture = Fixture::new();
    let program = tree(&fixture, "cc");
    let plan = plan_of(&[&fixture.join("p")], &shaped(Shape::Relative));
    let because = refusal(&plan, &program);
    assert!(matches!(because, RefusedBecause::OutsideTree { .. }), "{because:?}");
    // If only the program is named, the tree is the common parent of the program and its libraries.
    assert_eq!(plan_of(&[&program], &shaped(Shape::Relative)).refused, []);
}

#[test]
fn a_loader_inside_the_tree_forbids_to_move_it() {
    need!("cc", "/lib64/ld-linux-x86-64.so.2");
    let fixture = Fixture::new();
    std::fs::copy("/lib64/ld-linux-x86-64.so.2", fixture.join("ld-linux-x86-64.so.2")).unwrap();
    let program = program(&fixture, "prog", &[], &["-Wl,--dynamic-linker,@/ld-linux-x86-64.so.2"]);
    let plan = plan_of(&[fixture.path()], &shaped(Shape::Relative));
    let because = refusal(&plan, &program);
    assert!(matches!(because, RefusedBecause::LoaderInTree { .. }), "{because:?}");
}

/// patchelf moves the string table of an ET_EXEC before its first segment, across the border of two.
#[test]
fn a_string_table_over_two_segments_is_not_cut() {
    need!("cc", "patchelf");
    let fixture = Fixture::new();
    Library::new("l/libx.so").build(&fixture);
    let functions: String =
        (0..3000).map(|number| format!("int function_number_{number}(void){{return 0;}}\n")).collect();
    fixture.write("src/many.c", functions + "int main(void){return 0;}\n");
    let rpath = format!("-Wl,-rpath,{}", text(&fixture.join("l")));
    let flags = ["-no-pie", "-rdynamic", "-o", "prog", "src/many.c", "-Wl,--no-as-needed", "l/libx.so", &rpath];
    fixture.cc(flags);
    let program = fixture.join("prog");
    let longer: String = (0..60).map(|number| format!(":/nowhere/number/{number}")).collect();
    let longer = text(&fixture.join("l")) + &longer;
    fixture.must("patchelf", ["--set-rpath", &longer, &text(&program)]);
    let symbols = fixture.must("readelf", ["--dyn-syms", "-W", "prog"]);
    for shape in [Shape::Flatten, Shape::PerObject] {
        let before = loaded(&program);
        let plan = plan_of(&[&program], &shaped(shape));
        assert_eq!((plan.refused.len(), carry_out(&plan)), (0, 1), "{shape:?}: {:?}", plan.refused);
        assert_eq!(loaded(&program), before);
        runs(&program);
        assert_eq!(fixture.must("readelf", ["--dyn-syms", "-W", "prog"]), symbols, "{shape:?}");
        unbind_all(&plan);
    }
}
