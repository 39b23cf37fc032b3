//! getrandom in static programs on musl: the kernel's own numbers, without a system call where the kernel allows that.

use underpin_overlay::Part;
use underpin_test_support::{Fixture, Output, need, skip};

/// Sixteen bytes each from four threads, from a child's four, and in between from a signal handler: none may appear
/// twice.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { EACH = 20000, THREADS = 4, ALL = EACH * THREADS * 2 + 4096 };
typedef struct { uint64_t a, b; } Drawn;
static Drawn *drawn;
static volatile int by_signal;
static void handler(int unused) {
    (void)unused;
    int at = __atomic_fetch_add(&by_signal, 1, __ATOMIC_RELAXED);
    if (at < 4096 && getrandom(drawn + EACH * THREADS * 2 + at, 16, 0) != 16) _exit(9);
}
static void *draw(void *first) {
    Drawn *at = first;
    for (int i = 0; i < EACH; i++) if (getrandom(at + i, 16, 0) != 16) _exit(8);
    return 0;
}
static void threads(Drawn *into) {
    pthread_t started[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&started[i], 0, draw, into + i * EACH);
    for (int i = 0; i < THREADS; i++) pthread_join(started[i], 0);
}
static int order(const void *one, const void *other) { return memcmp(one, other, sizeof(Drawn)); }
int main(int count, char **arguments) {
    (void)arguments;
    drawn = mmap(0, ALL * sizeof(Drawn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned char first[16], last[100000] = { 0 };
    if (getrandom(first, 0xff, 0xf000) != -1 || errno != EINVAL) return 2;
    if (getrandom(last, sizeof last, GRND_NONBLOCK) != sizeof last || !(last[0] | last[1] | last[99998] | last[99999])) return 3;
    if (getentropy(last, 256)) return 4;
    if (count > 1) { for (int i = 0; i < 1000; i++) getrandom(first, 16, 0); return 0; }
    signal(SIGALRM, handler);
    struct itimerval often = { { 0, 500 }, { 0, 500 } };
    setitimer(ITIMER_REAL, &often, 0);
    pid_t child = fork();
    threads(drawn + (child ? 0 : EACH * THREADS));
    if (!child) _exit(0);
    int status;
    while (waitpid(child, &status, 0) < 0) {}
    if (status) return 5;
    signal(SIGALRM, SIG_IGN);
    int some = EACH * THREADS * 2 + (by_signal < 4096 ? by_signal : 4096);
    qsort(drawn, some, sizeof(Drawn), order);
    for (int i = 1; i < some; i++) if (!order(drawn + i - 1, drawn + i)) return 6;
    puts("all different");
}
"#;

fn object(dir: &Fixture, processor: &str) -> String {
    let object = Part::Random.object(processor).expect("on board");
    dir.write(format!("random-{processor}.o"), object.bytes).to_str().expect("a UTF-8 path").to_owned()
}

fn program(dir: &Fixture) {
    let object = object(dir, std::env::consts::ARCH);
    dir.write("random.c", PROGRAM);
    dir.musl_cc(["-static", "-O1", "-w", &object, "random.c", "-o", "random"]);
}

#[test]
fn no_thread_child_or_signal_handler_gets_the_bytes_of_another() {
    need!("musl-gcc");
    let dir = Fixture::new();
    program(&dir);
    let output = Output::of(&mut dir.command(dir.join("random")));
    assert_eq!((output.code, output.stdout.trim()), (Some(0), "all different"), "{}", output.stderr);
}

#[test]
fn no_system_call_is_made_where_the_kernel_has_its_function_in_the_process() {
    need!("musl-gcc", "strace", "cc");
    let dir = Fixture::new();
    // Whether the kernel has the function is decided by its own image, which another program reads.
    dir.write(
        "image.c",
        "#include <stdio.h>\n#include <sys/auxv.h>\n\
         int main(void) { fwrite((void *)getauxval(AT_SYSINFO_EHDR), 1, 8192, stdout); }",
    );
    dir.cc(["image.c", "-o", "image"]);
    let image = dir.command(dir.join("image")).output().expect("the image").stdout;
    if !image.windows(14).any(|bytes| bytes == b"vdso_getrandom" || bytes == b"rnel_getrandom") {
        return skip("this kernel has no vDSO getrandom (Linux 6.11)");
    }
    program(&dir);
    let output =
        Output::of(dir.command("strace").args(["-f", "-e", "trace=getrandom"]).arg(dir.join("random")).arg("few"));
    let calls = output.stderr.matches("getrandom(").count();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    // The kernel itself refuses one for its flags, and one may seed a state; a thousand others make no system call.
    assert!(calls < 20, "{calls} calls:\n{}", output.stderr);
}

/// qemu has no such function for its programs.
#[test]
fn without_the_kernels_function_it_is_the_system_call() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64");
    let dir = Fixture::new();
    let object = object(&dir, "aarch64");
    dir.write("random.c", PROGRAM);
    // glibc's own getrandom comes later; the names that the object wants it has too.
    dir.must("aarch64-linux-gnu-gcc", ["-static", "-O1", "-w", &object, "random.c", "-o", "random", "-pthread"]);
    let output = Output::of(dir.command("qemu-aarch64").arg(dir.join("random")));
    assert_eq!((output.code, output.stdout.trim()), (Some(0), "all different"), "{}", output.stderr);
}
