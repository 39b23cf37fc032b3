//! How `underpin bench` ends: with every built-in allocator beneath every kind of server, when it is asked to, and when
//! it is killed. Nothing that it started may outlive it.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod common;

use common::underpin;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use underpin_test_support::{Fixture, Output, need};

/// Far longer than anything here takes on a busy machine; it only turns a hang into a failure.
const DEADLINE: Duration = Duration::from_secs(120);

/// A child that is killed, with its group, if the test ends before it does.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guarded {
    /// The tests may have been started with signals ignored (nohup, a shell's background job), and children inherit
    /// that: `env` restores the defaults, then becomes the command.
    fn start(command: &mut Command) -> Guarded {
        let mut plain = Command::new("env");
        plain.arg("--default-signal").arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => plain.env(name, value),
                None => plain.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            plain.current_dir(folder);
        }
        Guarded(plain.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits for its end within the deadline, and returns what it wrote.
    fn end(&mut self, what: &str) -> (ExitStatus, String, String) {
        let status = until(what, || self.0.try_wait().expect("it can be waited for"));
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status, stdout, stderr)
    }
}

/// Polls until there is a result.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "{what}: nothing after {} s", DEADLINE.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

/// Processes other than underpin's own that have a text among their arguments.
fn running(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let is_ours = line.split(' ').next().is_some_and(|word| word.ends_with("underpin"));
        if line.contains(text) && !is_ours {
            found.push(line);
        }
    }
    found
}

const LOAD: [&str; 12] = [
    "bench",
    "-r",
    "1",
    "--memory-runs",
    "1",
    "--duration",
    "100ms",
    "--warmup-load",
    "0ms",
    "--settle",
    "10ms",
    "--load",
];
const GET: &str = "GET http://127.0.0.1:{PORT}/";

/// One kind of server beneath every built-in allocator, each in its default settings.
fn ends_on_every_allocator(dir: &Fixture, serve: &str) {
    let mut command = underpin(LOAD);
    command.args([GET, "--malloc", "system,jemalloc,mimalloc,snmalloc", "--serve", serve]);
    command.args(["--env", "PORT={PORT}"]).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.path());
    let (status, stdout, stderr) = Guarded::start(&mut command).end(serve);
    assert_eq!(status.code(), Some(0), "{stdout}{stderr}");
    for allocator in ["system", "jemalloc", "mimalloc", "snmalloc"] {
        assert!(stdout.contains(allocator), "{allocator}: {stdout}");
    }
    let folder = dir.path().display().to_string();
    assert_eq!(running(&folder), Vec::<String>::new());
}

#[test]
fn node_is_measured_on_every_allocator() {
    need!("node");
    let dir = Fixture::new();
    let script = "require('http').createServer((q, r) => r.end('ok')).listen(process.env.PORT, '127.0.0.1')";
    let path = dir.write("server.js", script);
    ends_on_every_allocator(&dir, &format!("node {}", path.display()));
}

#[test]
fn puma_is_measured_on_every_allocator() {
    need!("puma");
    let dir = Fixture::new();
    let path = dir.write("config.ru", "run ->(_) { [200, {'content-type' => 'text/plain'}, ['ok']] }\n");
    ends_on_every_allocator(&dir, &format!("puma -t 1:1 -b tcp://127.0.0.1:{{PORT}} {}", path.display()));
}

#[test]
fn nginx_is_measured_on_every_allocator() {
    need!("/usr/sbin/nginx");
    let dir = Fixture::new();
    let folder = dir.path().display().to_string();
    // Its configuration file cannot use variables: each start writes one.
    dir.write(
        "start",
        format!(
            "#!/bin/sh\nd=$(mktemp -d {folder}/nginx.XXXXXX)\ncat >$d/conf <<END\nerror_log stderr;\npid $d/pid;\ndaemon off;\n\
             worker_processes 2;\nevents {{}}\nhttp {{ access_log off; client_body_temp_path $d/a; proxy_temp_path $d/b;\n\
             fastcgi_temp_path $d/c; uwsgi_temp_path $d/d; scgi_temp_path $d/e;\n\
             server {{ listen 127.0.0.1:$1; location / {{ return 200 ok; }} }} }}\nEND\nexec /usr/sbin/nginx -c $d/conf\n"
        ),
    );
    dir.chmod("start", 0o755);
    ends_on_every_allocator(&dir, &format!("{folder}/start {{PORT}}"));
}

#[test]
fn python_is_measured_on_every_allocator() {
    need!("/usr/bin/python3");
    let dir = Fixture::new();
    let folder = dir.mkdir("www");
    let serve = format!("/usr/bin/python3 -m http.server --bind 127.0.0.1 -d {} {{PORT}}", folder.display());
    ends_on_every_allocator(&dir, &serve);
}

/// A thread for each connection, each with memory of its own, and one that lives as long as the process.
const THREADED: &str = r#"
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *idle(void *arg) { for (;;) pause(); return arg; }
static void *serve(void *arg) {
    int client = (int)(long)arg; char *request = malloc(4096); ssize_t got;
    const char *answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    while ((got = read(client, request, 4096)) > 0 && write(client, answer, strlen(answer)) > 0) {}
    close(client); free(request); return 0;
}
int main(int argc, char **argv) {
    (void)argc;
    pthread_t thread; pthread_create(&thread, 0, idle, 0);
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (bind(server, (void *)&to, sizeof to) || listen(server, 64)) return 1;
    for (;;) {
        long client = accept(server, 0, 0);
        if (client >= 0 && pthread_create(&thread, 0, serve, (void *)client) == 0) pthread_detach(thread);
    }
}
"#;

#[test]
fn a_threaded_server_in_c_is_measured_on_every_allocator() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("server.c", THREADED);
    dir.cc(["-O1", "-pthread", "-o", "server", "server.c"]);
    ends_on_every_allocator(&dir, &format!("{} {{PORT}}", dir.join("server").display()));
}

/// A command that leaves a grandchild, and an orphan.
fn family(dir: &Fixture) -> String {
    let folder = dir.path().display().to_string();
    // `sleep` under a name that identifies this test.
    std::os::unix::fs::symlink(fs::canonicalize("/bin/sleep").unwrap(), dir.join("sleeper")).unwrap();
    dir.write("family", format!("#!/bin/sh\n({folder}/sleeper 1001 &)\nsh -c '{folder}/sleeper 1002; :'\n:\n"));
    dir.chmod("family", 0o755);
    format!("{folder}/family")
}

/// Starts a bench of it and waits until the whole family runs.
fn started(dir: &Fixture, more: &[&str]) -> Guarded {
    let family = family(dir);
    let mut command = underpin([&["bench", "-r", "4", "--memory-runs", "0"], more, &["--", &family]].concat());
    let guarded = Guarded::start(command.current_dir(dir.path()));
    let sleepers = format!("{}/sleeper 100", dir.path().display());
    until("the family", || (running(&sleepers).len() >= 3).then_some(()));
    guarded
}

fn all_gone(dir: &Fixture) {
    let folder = dir.path().display().to_string();
    until("the end of the family", || running(&folder).is_empty().then_some(()));
}

#[test]
fn killing_bench_leaves_no_process_behind() {
    let dir = Fixture::new();
    let mut guarded = started(&dir, &[]);
    // Without its parent only init would adopt the orphan: the guarantee is for the sleeper with a living parent.
    let worker = until("the worker", || {
        let children = format!("/proc/{0}/task/{0}/children", guarded.pid());
        fs::read_to_string(children).ok()?.split_whitespace().find_map(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            line.windows(14).any(|part| part == b"--memory-runs\0").then(|| pid.parse::<u32>().ok()).flatten()
        })
    });
    kill("-KILL", worker);
    let (status, _, stderr) = guarded.end("the supervisor");
    assert_eq!(status.code(), Some(128 + 9), "{stderr}");
    all_gone(&dir);
}

#[test]
fn killing_the_supervisor_ends_the_runs_too() {
    let dir = Fixture::new();
    let mut guarded = started(&dir, &["-c", "touch cleaned"]);
    kill("-KILL", guarded.pid());
    guarded.end("the supervisor");
    let sleeper = format!("{}/sleeper 1002", dir.path().display());
    until("the end of the run", || running(&sleeper).is_empty().then_some(()));
    until("the cleanup", || dir.join("cleaned").exists().then_some(()));
    // The orphan was adopted by init, so the supervisor cannot kill it.
    let orphans = Command::new("sh").args(["-c", "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q \"$0\" && echo ${p#/proc/}; done; :"]).arg(format!("^{}/sleeper 1001", dir.path().display())).output().unwrap();
    for pid in String::from_utf8_lossy(&orphans.stdout).split_whitespace() {
        kill("-KILL", pid.parse().unwrap());
    }
}

#[test]
fn asked_twice_to_end_it_stops_at_once_and_cleans_up() {
    let dir = Fixture::new();
    let mut guarded = started(&dir, &["-c", "touch cleaned"]);
    kill("-INT", guarded.pid());
    std::thread::sleep(Duration::from_millis(500));
    assert!(!running(&format!("{}/sleeper 1002", dir.path().display())).is_empty(), "once lets the block finish");
    kill("-INT", guarded.pid());
    let (status, _, stderr) = guarded.end("bench");
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(dir.join("cleaned").exists());
    all_gone(&dir);
}

/// One run after the other, until it is interrupted.
fn interrupted(signal: &str, code: i32) {
    let dir = Fixture::new();
    let args = ["bench", "-r", "100000", "-c", "touch cleaned", "sleep 0.01", "sleep 0.011"];
    let mut guarded = Guarded::start(underpin(args).current_dir(dir.path()));
    let folder = dir.join(".underpin/bench");
    let lines = |path: &Path| fs::read_to_string(path).unwrap_or_default().lines().count();
    let record = until("some runs", || {
        let path = fs::read_dir(&folder).ok()?.flatten().next()?.path();
        (lines(&path) > 8).then_some(path)
    });
    kill(signal, guarded.pid());
    let (status, stdout, stderr) = guarded.end("bench");
    assert_eq!(status.code(), Some(code), "{stdout}{stderr}");
    assert!(stdout.contains("interrupted") && stdout.contains("sleep 0.011"), "{stdout}");
    let stem = record.file_stem().unwrap().to_string_lossy().into_owned();
    assert!(stderr.contains(&format!("`underpin report {stem}`")), "{stderr}");
    assert!(dir.join("cleaned").exists());
    // Whole blocks: each command ran equally often.
    let text = fs::read_to_string(&record).unwrap();
    let of = |variant: &str| {
        text.lines().filter(|line| line.contains("\"line\":\"sample\"") && line.contains(variant)).count()
    };
    assert_eq!(of("\"variant\":0,"), of("\"variant\":1,"));
    let shown = Output::of(underpin(["report", &stem]).current_dir(dir.path()));
    assert_eq!(shown.stdout, stdout);
}

#[test]
fn interrupted_it_finishes_the_block_cleans_up_and_shows_what_there_is() {
    interrupted("-INT", 130);
}

#[test]
fn terminated_it_does_the_same() {
    interrupted("-TERM", 143);
}
