//! `check` of a folder and of a wheel, compared with auditwheel: both name the same oldest tag.

mod common;

use common::{json, says};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_test_support::{Fixture, Output, auditwheel, need, skip};

/// Builds `pkg/NAME.so` with these arguments after the source, and puts the folder into a wheel.
struct Wheel {
    dir: Fixture,
}

const CLAIM: &str = "manylinux_2_17_x86_64";

impl Wheel {
    fn new() -> Wheel {
        let dir = Fixture::new();
        dir.write("pkg/__init__.py", "");
        dir.write("pkg-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n");
        Wheel { dir }
    }

    /// An object that is an extension module by its name and its function.
    fn extension(&self, name: &str, body: &str, arguments: &[&str]) {
        let source = format!("pkg/{name}.c");
        // The linker drops libraries of which nothing is needed, and auditwheel expects a C library.
        let of_libc = "int getpid(void); int process(void){return getpid();}";
        self.dir.write(&source, format!("{body}\n{of_libc}\nvoid *PyInit_{name}(void){{return 0;}}"));
        self.object(&source, &format!("pkg/{name}.so"), arguments);
        std::fs::remove_file(self.dir.join(&source)).expect("the source is there");
    }

    fn object(&self, source: &str, to: &str, arguments: &[&str]) {
        self.dir.cc([&["-shared", "-fPIC", "-o", to, source][..], arguments].concat());
    }

    fn packed(&self, platform: &str) -> PathBuf {
        let name = format!("pkg-1-py3-none-{platform}.whl");
        // auditwheel takes the files from the record.
        let list = Output::of(self.dir.command("find").args(["pkg", "-type", "f", "-printf", "%p,,\\n"]));
        self.dir.write("pkg-1.dist-info/RECORD", format!("{}pkg-1.dist-info/RECORD,,\n", list.stdout));
        let zip = ["-m", "zipfile", "-c", &name, "pkg", "pkg-1.dist-info"];
        let output = Output::of(self.dir.command("python3").args(zip));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        self.dir.join(&name)
    }

    /// The tag, once auditwheel has confirmed it.
    fn tag(&self) -> String {
        let wheel = self.packed("linux_x86_64");
        let ours = json(["check".as_ref(), "--json".as_ref(), wheel.as_os_str()]);
        assert_eq!(ours["tag"], judged(&wheel), "{ours:#}");
        ours["tag"].as_str().unwrap_or_default().to_owned()
    }
}

fn judged(wheel: &Path) -> Value {
    let mut command = Command::new("python3");
    command.args(["-m", "auditwheel", "show", "--json"]).arg(wheel).env("PYTHONPATH", auditwheel().unwrap_or_default());
    let output = Output::of(command.env_remove("LD_LIBRARY_PATH"));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    serde_json::from_str::<Value>(&output.stdout).expect("a document of auditwheel")["overall_tag"].clone()
}

macro_rules! need_auditwheel {
    () => {
        need!("cc", "python3");
        if auditwheel().is_none() {
            return skip("auditwheel is missing: cargo xtask test --install");
        }
    };
}

#[test]
fn an_object_that_asks_for_little_meets_the_oldest_tag() {
    need_auditwheel!();
    let wheel = Wheel::new();
    wheel.extension("little", "#include <stdlib.h>\nint f(void){return abs(-1);}", &[]);
    assert_eq!(wheel.tag(), "manylinux_2_5_x86_64");
}

#[test]
fn a_function_of_a_newer_glibc_rules_older_tags_out_by_name() {
    need_auditwheel!();
    let wheel = Wheel::new();
    wheel.extension(
        "young",
        "#define _GNU_SOURCE\n#include <threads.h>\nint f(void){return thrd_create(0, 0, 0);}",
        &[],
    );
    wheel.extension("old", "int f(void){return 1;}", &[]);
    assert_eq!(wheel.tag(), "manylinux_2_34_x86_64");
    let document = json(["check", "--json", wheel.dir.join("pkg").to_str().unwrap()]);
    assert_eq!(document["ruled_out"], "manylinux_2_31_x86_64");
    let obstacle = &document["obstacles"][0];
    assert_eq!((&obstacle["object"], &obstacle["what"]), (&"young.so".into(), &"GLIBC_2.34".into()));
    assert_eq!(obstacle["symbols"][0], "thrd_create");
}

#[test]
fn a_library_from_outside_leaves_no_tag_and_one_that_travels_with_the_set_does_not_count() {
    need_auditwheel!();
    let wheel = Wheel::new();
    wheel.dir.write("inner.c", "int inner(void){return 1;}");
    wheel.object("inner.c", "pkg/libinner.so", &["-Wl,-soname,libinner.so"]);
    let body = "int inner(void); int f(void){return inner();}";
    wheel.extension("user", body, &["-Lpkg", "-linner", "-Wl,-rpath,$ORIGIN"]);
    assert_eq!(wheel.tag(), "manylinux_2_5_x86_64");
    // Nothing finds it without a search path.
    wheel.extension("user", body, &["-Lpkg", "-linner"]);
    assert_eq!(wheel.tag(), "linux_x86_64");
}

#[test]
fn a_library_that_only_its_user_finds_is_inside() {
    need_auditwheel!();
    let wheel = Wheel::new();
    for (name, body, arguments) in [
        ("deep", "int deep(void){return 1;}", &[][..]),
        ("middle", "int deep(void); int middle(void){return deep();}", &["-Lpkg.libs", "-ldeep"]),
    ] {
        std::fs::create_dir_all(wheel.dir.join("pkg/libs")).unwrap();
        wheel.dir.write(format!("{name}.c"), body);
        let (to, soname) = (format!("pkg/libs/lib{name}.so"), format!("-Wl,-soname,lib{name}.so"));
        let arguments: Vec<&str> =
            arguments.iter().map(|word| if *word == "-Lpkg.libs" { "-Lpkg/libs" } else { word }).collect();
        wheel.object(&format!("{name}.c"), &to, &[&[soname.as_str()][..], &arguments].concat());
    }
    let body = "int middle(void); int deep(void); int f(void){return middle() + deep();}";
    // DT_RPATH of the extension applies to the whole chain below it, though the libraries have no path of their own.
    wheel.extension("top", body, &["-Lpkg/libs", "-lmiddle", "-ldeep", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/libs"]);
    assert_eq!(wheel.tag(), "manylinux_2_5_x86_64");
}

#[test]
fn instructions_of_newer_processors_leave_no_tag() {
    need_auditwheel!();
    let wheel = Wheel::new();
    wheel.extension("fast", "int f(void){return 1;}", &["-Wl,-z,x86-64-v3"]);
    assert_eq!(wheel.tag(), "linux_x86_64");
    let screen = says(["check", wheel.dir.join("pkg").to_str().unwrap()]);
    assert!(screen.stdout.contains("x86-64-v3"), "{}", screen.stdout);
}

#[test]
fn an_internal_function_of_zlib_is_not_promised() {
    need_auditwheel!();
    let wheel = Wheel::new();
    // The linker sees a library with the name of zlib and the function; which one is loaded is irrelevant.
    wheel.dir.write("z.c", "int inflate_fast(void){return 0;}");
    wheel.dir.cc(["-shared", "-fPIC", "-o", "libz.so.1", "z.c", "-Wl,-soname,libz.so.1"]);
    wheel.extension("z", "int inflate_fast(void); int f(void){return inflate_fast();}", &["-L.", "-l:libz.so.1"]);
    assert_eq!(wheel.tag(), "linux_x86_64");
}

#[test]
fn a_claim_that_does_not_hold_fails() {
    need!("cc", "python3");
    let wheel = Wheel::new();
    wheel.extension("young", "#include <threads.h>\nint f(void){return thrd_create(0, 0, 0);}", &[]);
    let claimed = says(["check", wheel.packed(CLAIM).to_str().unwrap()]);
    assert_eq!(claimed.code, Some(1), "{}", claimed.stderr);
    assert!(claimed.stdout.contains("does not hold"), "{}", claimed.stdout);
    assert_eq!(says(["check", wheel.packed("manylinux_2_39_x86_64").to_str().unwrap()]).code, Some(0));
}

#[test]
fn what_is_no_wheel_is_refused_in_one_sentence() {
    need!("python3");
    let dir = Fixture::new();
    dir.write("a-1-py3-none-any.whl", "not a zip file");
    dir.write("b.whl", "");
    dir.write("empty/readme", "text");
    for (name, words) in [
        ("a-1-py3-none-any.whl", "not a wheel"),
        ("b.whl", "NAME-VERSION-PYTHON-ABI-PLATFORM"),
        ("empty", "no program or library"),
    ] {
        let output = says(["check", dir.join(name).to_str().unwrap()]);
        assert_eq!(output.code, Some(2), "{}", output.stdout);
        assert!(output.stderr.contains(words) && output.stderr.lines().count() == 1, "{}", output.stderr);
    }
    let output = says(["check", "--on", "rhel8", dir.join("empty").to_str().unwrap()]);
    assert!(output.code == Some(2) && output.stderr.contains("--on"), "{}", output.stderr);
}

#[test]
fn an_entry_that_leads_out_of_the_wheel_is_not_unpacked() {
    need!("python3");
    let dir = Fixture::new();
    let script = "import zipfile,sys; zipfile.ZipFile(sys.argv[1],'w').writestr('../out.so', b'\\x7fELF' + bytes(100))";
    let path = dir.join("a-1-py3-none-linux_x86_64.whl");
    assert_eq!(Output::of(dir.command("python3").args(["-c", script]).arg(&path)).code, Some(0));
    let output = says(["check", path.to_str().unwrap()]);
    assert!(output.code == Some(2) && output.stderr.contains("leads out"), "{}", output.stderr);
}
