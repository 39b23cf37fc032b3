//! `image doctor` against the kernel: an image without a finding runs in a chroot without network, and each omission that is
//! planted into one is found, and breaks it there.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use std::fs;
use std::path::{Path, PathBuf};
use underpin_image::doctor::{Diagnosis, LackKind, diagnose};
use underpin_image::oci::{self, Config, Limits, Output as Form, Settings};
use underpin_image::{Content, Entry, Tree};
use underpin_test_support::{Fixture, Output, need};

/// Uses what images forget; what fails is printed as `NAME no`.
const PROBE: &str = r#"
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void *end(void *value) { pthread_exit(value); }
static void say(const char *name, int works) { printf("%s %s\n", name, works ? "yes" : "no"); }
int main(void) {
    struct addrinfo *list, hint;
    memset(&hint, 0, sizeof hint);
    hint.ai_socktype = SOCK_STREAM;
    say("name", getaddrinfo("example", "80", &hint, &list) == 0);
    say("account", getpwuid(getuid()) != NULL);
    say("charset", iconv_open("UTF-8", "ISO-8859-1") != (iconv_t)-1);
    say("locale", setlocale(LC_ALL, "") != NULL);
    say("temporary", tmpfile() != NULL);
    time_t zero = 0;
    say("zone", localtime(&zero)->tm_hour == 1);
    pthread_t thread;
    pthread_create(&thread, NULL, end, NULL);
    say("thread", pthread_join(thread, NULL) == 0);
    return 0;
}
"#;

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu";
/// No program of C names it as needed.
const UNWINDER: &str = "/lib/x86_64-linux-gnu/libgcc_s.so.1";

/// A root file system and how it is started.
struct Image {
    dir: Fixture,
    command: Vec<String>,
    environment: Vec<String>,
    architecture: String,
}

impl Image {
    /// A program of this machine with what ldd names, an account, and a folder for temporary files.
    fn of(program: &Path, arguments: &[&str]) -> Image {
        let dir = Fixture::new();
        let name = format!("/usr/bin/{}", program.file_name().unwrap().to_str().unwrap());
        let command = std::iter::once(name.as_str()).chain(arguments.iter().copied()).map(str::to_owned).collect();
        let image =
            Image { dir, command, environment: vec!["PATH=/usr/bin".to_owned()], architecture: "amd64".to_owned() };
        image.copy(program, &name);
        image.libraries(program);
        image.write("etc/passwd", "app:x:65532:65532::/:/usr/bin/none\n");
        image.write("etc/hosts", "10.0.0.1 example\n");
        image.dir.mkdir("root/tmp");
        image.dir.chmod("root/tmp", 0o1777);
        image
    }

    fn copy(&self, from: impl AsRef<Path>, to: &str) {
        self.dir.copy(from, format!("root{to}"));
    }

    fn libraries(&self, program: &Path) {
        let said = Output::of(self.dir.command("ldd").arg(program)).stdout;
        for path in said.split_whitespace().filter(|word| word.starts_with('/') && Path::new(word).is_file()) {
            self.copy(path, path);
        }
    }

    fn write(&self, name: &str, text: &str) {
        self.dir.write(format!("root/{name}"), text);
    }

    fn remove(&self, name: &str) {
        let path = self.dir.join(format!("root/{name}"));
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// A folder of this machine, links as what they lead to.
    fn folder(&self, path: &str) {
        self.dir.mkdir(format!("root{}", Path::new(path).parent().unwrap().display()));
        self.dir.must("cp", ["-rL", path, &format!("{}/root{path}", self.dir.text())]);
    }

    fn set(&mut self, variable: &str) {
        self.environment.push(variable.to_owned());
    }

    /// Runs it as its user in a chroot, without network. Engines bring /dev, so it is no part of the image.
    fn run(&self) -> Output {
        self.dir.mkdir("root/dev");
        self.dir.must("mknod", ["-m", "666", "root/dev/null", "c", "1", "3"]);
        let mut command = self.dir.command("unshare");
        command.arg("-n").arg("env").arg("-i").args(&self.environment);
        command.args(["/usr/sbin/chroot", "--userspec=65532:65532"]).arg(self.dir.join("root")).args(&self.command);
        Output::of(&mut command)
    }

    /// What the doctor says of it as an OCI image. The modes are those of the files.
    fn diagnosis(&self) -> Diagnosis {
        let mut tree = Tree::new(0);
        add(&mut tree, &self.dir.join("root"), Path::new(""));
        let settings = Settings {
            config: Config {
                architecture: self.architecture.clone(),
                entrypoint: self.command.clone(),
                command: Vec::new(),
                environment: self.environment.clone(),
                user: "65532".to_owned(),
                directory: String::new(),
            },
            labels: Default::default(),
            tag: "latest".to_owned(),
            time: 0,
        };
        let target = self.dir.join("image.tar");
        oci::write(&[("test".to_owned(), tree)], &settings, &target, Form::Archive, true, oci::Ahead::default())
            .unwrap();
        diagnose(&oci::open(&target, Limits::default()).unwrap(), &[])
    }
}

fn add(tree: &mut Tree, folder: &Path, below: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), below.join(entry.file_name()));
        let data = fs::symlink_metadata(&path).unwrap();
        let mode = data.permissions().mode() & 0o7777;
        if data.is_dir() {
            tree.add(&name, Entry::directory(mode)).unwrap();
            add(tree, &path, &name);
        } else if data.is_symlink() {
            tree.add(&name, Entry::symlink(fs::read_link(&path).unwrap())).unwrap();
        } else {
            tree.add(&name, Entry::file(Content::host(&path).unwrap(), mode)).unwrap();
        }
    }
}

fn missing_here() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can run an image in a chroot");
    }
    (std::env::consts::ARCH != "x86_64").then_some("the images are made of the libraries of x86_64")
}

/// The probe with all that it uses.
fn probe() -> Image {
    let build = Fixture::new();
    build.write("probe.c", PROBE);
    build.cc(["-o", "probe", "probe.c"]);
    let mut image = Image::of(&build.join("probe"), &[]);
    image.folder(&format!("{LIBRARY}/gconv"));
    image.folder("/usr/share/zoneinfo/Europe");
    image.copy(UNWINDER, UNWINDER);
    image.folder("/usr/lib/locale/C.utf8");
    image.write("etc/nsswitch.conf", "hosts: files dns\n");
    image.set("TZ=Europe/Berlin");
    image.set("LANG=C.UTF-8");
    image
}

/// A program that needs version 2 of a library.
fn versioned(of_image: u32) -> Image {
    let build = Fixture::new();
    build.write("main.c", "int f(void); int main(void) { return f(); }");
    build.write("f.c", "int f(void) { return 0; }");
    for version in [1, 2] {
        build.write("map", format!("F_{version} {{ global: f; }};"));
        build.mkdir(format!("v{version}"));
        build.cc([
            "-shared",
            "-fPIC",
            "-Wl,--version-script=map",
            "-Wl,-soname,libf.so",
            "-o",
            &format!("v{version}/libf.so"),
            "f.c",
        ]);
    }
    build.cc(["-o", "app", "main.c", "v2/libf.so"]);
    let image = Image::of(&build.join("app"), &[]);
    image.copy(build.join(format!("v{of_image}/libf.so")), "/lib/x86_64-linux-gnu/libf.so");
    image
}

fn script() -> Image {
    let mut image = Image::of(Path::new("/usr/bin/dash"), &[]);
    image.write("app", "#!/usr/bin/dash\necho 42\n");
    image.dir.chmod("root/app", 0o755);
    image.command = vec!["/app".to_owned()];
    image
}

fn openssl() -> Image {
    let image = Image::of(Path::new("/usr/bin/openssl"), &["verify", "/root.pem"]);
    let bundle = fs::read_to_string("/etc/ssl/certs/ca-certificates.crt").unwrap();
    let first = bundle.find("-----END CERTIFICATE-----\n").unwrap() + "-----END CERTIFICATE-----\n".len();
    image.write("root.pem", &bundle[..first]);
    image.write("usr/lib/ssl/cert.pem", &bundle[..first]);
    image
}

fn python() -> Image {
    let program = fs::canonicalize("/usr/bin/python3").unwrap();
    let version = program.file_name().unwrap().to_str().unwrap().to_owned();
    let image = Image::of(&program, &["-I", "-S", "-c", "import json; print(json.loads('42'))"]);
    image.copy(UNWINDER, UNWINDER);
    image.dir.mkdir(format!("root/usr/lib/{version}"));
    let from = PathBuf::from(format!("/usr/lib/{version}"));
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".py") || ["encodings", "json", "collections", "re", "importlib"].contains(&name) {
            image.dir.must("cp", ["-r", path.to_str().unwrap(), &format!("root/usr/lib/{version}/")]);
        }
    }
    image
}

#[test]
fn ten_working_images_have_no_finding() {
    need!(
        "cc",
        "ldd",
        "unshare",
        "musl-gcc",
        "git",
        "curl",
        "/usr/bin/python3",
        "/usr/bin/openssl",
        "/etc/ssl/certs/ca-certificates.crt"
    );
    if let Some(reason) = missing_here() {
        underpin_test_support::skip(reason);
        return;
    }
    let build = Fixture::new();
    build.write("hello.c", "#include <stdio.h>\nint main(void) { puts(\"42\"); return 0; }");
    build.cc(["-static", "-o", "static", "hello.c"]);
    build.musl_cc(["-o", "musl", "hello.c"]);
    let musl = Image::of(&build.join("musl"), &[]);
    musl.copy("/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-x86_64.so.1");
    let with_later = |image: Image| {
        image.folder(&format!("{LIBRARY}/gconv"));
        image.copy(UNWINDER, UNWINDER);
        image
    };
    let curl = Image::of(Path::new("/usr/bin/curl"), &["-s", "file:///answer"]);
    curl.write("answer", "42\n");
    curl.write("etc/ssl/certs/ca-certificates.crt", "one\n");
    let images = [
        (probe(), "name yes\naccount yes\ncharset yes\nlocale yes\ntemporary yes\nzone yes\nthread yes\n"),
        (Image::of(&build.join("static"), &[]), "42\n"),
        (musl, "42\n"),
        (versioned(2), ""),
        (script(), "42\n"),
        (openssl(), "/root.pem: OK\n"),
        (python(), "42\n"),
        (curl, "42\n"),
        (with_later(Image::of(Path::new("/usr/bin/bash"), &["-c", "echo $((6*7))"])), "42\n"),
        (with_later(Image::of(Path::new("/usr/bin/git"), &["hash-object", "/etc/hosts"])), "9"),
    ];
    for (image, expected) in images {
        let (found, said) = (image.diagnosis(), image.run());
        let name = &image.command;
        assert!(said.code == Some(0), "{name:?}: {said:?}");
        let answers = if expected == "9" { said.stdout.trim().len() == 40 } else { said.stdout == expected };
        assert!(answers, "{name:?}: {said:?}");
        assert!(found.configured && !found.programs.is_empty(), "{name:?}");
        assert!(found.findings.is_empty() && found.unknown.is_empty(), "{name:?}: {found:#?}");
    }
}

/// What the chroot shows of an omission.
enum Broken {
    /// It ends otherwise than with 0, saying this.
    Fails(&'static str),
    /// It prints this.
    Prints(&'static str),
    /// It says this on standard error.
    Warns(&'static str),
    /// A chroot does not read the configuration of an image.
    NotSeen,
}

type Planted = (&'static str, fn() -> Image, fn(&mut Image), LackKind, &'static str, Broken);

const PLANTED: [Planted; 18] = [
    (
        "the loader",
        probe,
        |image| image.remove("lib64"),
        LackKind::Interpreter,
        "/lib64/ld-linux",
        Broken::Fails("No such file"),
    ),
    (
        "a library",
        openssl,
        |image| image.remove("lib/x86_64-linux-gnu/libssl.so.3"),
        LackKind::Library,
        "libssl.so.3",
        Broken::Fails("libssl.so.3"),
    ),
    (
        "a library of a library",
        curl_with_roots,
        |image| image.remove("lib/x86_64-linux-gnu/libnghttp2.so.14"),
        LackKind::Library,
        "libnghttp2.so.14",
        Broken::Fails("libnghttp2.so.14"),
    ),
    (
        "a folder that the loader does not search",
        || versioned(2),
        |image| {
            image.dir.mkdir("root/opt");
            fs::rename(image.dir.join("root/lib/x86_64-linux-gnu/libf.so"), image.dir.join("root/opt/libf.so"))
                .unwrap();
        },
        LackKind::Library,
        "libf.so",
        Broken::Fails("libf.so"),
    ),
    ("an older library", || versioned(1), |_| {}, LackKind::SymbolVersion, "F_2", Broken::Fails("F_2")),
    (
        "a preload",
        probe,
        |image| image.set("LD_PRELOAD=/lib/libnone.so"),
        LackKind::Preload,
        "libnone.so",
        Broken::Warns("libnone.so"),
    ),
    (
        "the processor",
        probe,
        |image| image.architecture = "arm64".to_owned(),
        LackKind::Architecture,
        "arm64",
        Broken::NotSeen,
    ),
    (
        "roots of certificates",
        openssl,
        |image| image.remove("usr/lib/ssl/cert.pem"),
        LackKind::Certificates,
        "roots of certificates",
        Broken::Fails("verification failed"),
    ),
    (
        "a zone",
        probe,
        |image| image.remove("usr/share/zoneinfo"),
        LackKind::TimeZone,
        "Europe/Berlin",
        Broken::Prints("zone no"),
    ),
    ("/tmp", probe, |image| image.remove("tmp"), LackKind::Temporary, "/tmp", Broken::Prints("temporary no")),
    (
        "rights in /tmp",
        probe,
        |image| image.dir.chmod("root/tmp", 0o755),
        LackKind::Temporary,
        "mode 0755",
        Broken::Prints("temporary no"),
    ),
    (
        "the account",
        probe,
        |image| image.write("etc/passwd", "root:x:0:0::/:/\n"),
        LackKind::User,
        "user 65532",
        Broken::Prints("account no"),
    ),
    (
        "modules of the name service",
        probe,
        |image| image.write("etc/nsswitch.conf", "hosts: mdns4\n"),
        LackKind::NameService,
        "libnss_mdns4.so.2",
        Broken::Prints("name no"),
    ),
    (
        "charsets",
        probe,
        |image| image.remove("usr/lib/x86_64-linux-gnu/gconv"),
        LackKind::Charset,
        "charset modules",
        Broken::Prints("charset no"),
    ),
    (
        "the locale",
        probe,
        |image| image.remove("usr/lib/locale"),
        LackKind::Locale,
        "C.UTF-8",
        Broken::Prints("locale no"),
    ),
    (
        "what unwinds a stack",
        probe,
        |image| image.remove(UNWINDER.trim_start_matches('/')),
        LackKind::Unwinder,
        "libgcc_s.so.1",
        Broken::Fails("must be installed for pthread_exit"),
    ),
    (
        "the interpreter of a script",
        script,
        |image| image.remove("usr/bin/dash"),
        LackKind::ScriptInterpreter,
        "/usr/bin/dash",
        Broken::Fails("No such file"),
    ),
    (
        "the right to execute",
        script,
        |image| image.dir.chmod("root/app", 0o644),
        LackKind::Start,
        "may not be executed",
        Broken::Fails("Permission denied"),
    ),
];

fn curl_with_roots() -> Image {
    let image = Image::of(Path::new("/usr/bin/curl"), &["--version"]);
    image.write("etc/ssl/certs/ca-certificates.crt", "one\n");
    image
}

#[test]
fn each_planted_omission_is_found_and_breaks_the_image() {
    need!("cc", "ldd", "unshare", "curl", "/usr/bin/openssl", "/usr/bin/dash", "/etc/ssl/certs/ca-certificates.crt");
    if let Some(reason) = missing_here() {
        underpin_test_support::skip(reason);
        return;
    }
    for (name, image, omit, kind, words, broken) in PLANTED {
        let mut image = image();
        omit(&mut image);
        let found = image.diagnosis();
        let finding = found.findings.iter().find(|finding| finding.kind == kind && finding.missing.contains(words));
        let finding = finding.unwrap_or_else(|| panic!("{name}: {found:#?}"));
        assert!(!finding.evidence.is_empty() && !finding.fix.is_empty(), "{name}: {finding:#?}");
        for evidence in finding.evidence.iter().filter(|evidence| !evidence.file.is_empty()) {
            let path = image.dir.join(format!("root{}", evidence.file));
            let size = fs::metadata(&path).map_or(0, |data| data.len());
            assert!(evidence.offset.is_none_or(|offset| offset < size), "{name}: {evidence:?}");
        }
        // The loader's absence takes the libraries in its folder with it; every other omission is found alone.
        assert!(found.findings.len() == 1 || kind == LackKind::Interpreter, "{name}: {found:#?}");
        let said = image.run();
        match broken {
            Broken::Fails(words) => {
                assert!(said.code != Some(0) && said.stderr.contains(words), "{name}: {said:?}");
            }
            Broken::Prints(words) => assert!(said.stdout.contains(words), "{name}: {said:?}"),
            Broken::Warns(words) => assert!(said.stderr.contains(words), "{name}: {said:?}"),
            Broken::NotSeen => {}
        }
    }
}
