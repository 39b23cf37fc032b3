//! Real guests: what a command wrote, how it ended, what it used; and what is said when there is no result.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{initramfs, kernel, request, run, static_program};
use std::fs;
use std::time::{Duration, Instant};
use underpin_image::boot::GuestEnd;
use underpin_image::write::cpio;
use underpin_image::{Entry, Target, Tree};

const PROGRAM: &str = r#"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char folder[256];
    if (argc < 2) return 9;
    if (!strcmp(argv[1], "tell")) {
        printf("%d %s %s %s\n", argc, argv[2], getenv("GREETING"), getcwd(folder, sizeof folder));
        fprintf(stderr, "to stderr\n");
        /* Terminal input, devices and shared memory as programs expect them. */
        printf("%d %d %d\n", getchar(), access("/dev/null", W_OK), access("/dev/shm", X_OK));
        FILE *file = fopen("made", "w");
        for (int i = 0; i < 100000; i++) fprintf(file, "%d\n", i);
        fclose(file);
        mkfifo("fifo", 0600);
        return 7;
    }
    if (!strcmp(argv[1], "much")) {
        char line[4096];
        memset(line, 'x', sizeof line);
        for (int i = 0; i < 2048; i++) fwrite(line, sizeof line, 1, i % 2 ? stdout : stderr);
        return 0;
    }
    if (!strcmp(argv[1], "memory")) {
        size_t size = 48u << 20;
        char *block = malloc(size);
        for (size_t i = 0; i < size; i += 4096) block[i] = 1;
        /* A child that stays holds the pipes open; an orphan comes to the first process. */
        if (fork() == 0) { if (fork() == 0) sleep(1000); _exit(0); }
        wait(0);
        raise(SIGSEGV);
    }
    sleep(1000);
    return 0;
}
"#;

fn each(test: impl Fn(Target, &std::path::Path, &std::path::Path, &std::path::Path)) {
    for target in Target::VIRTUAL {
        let Some(kernel) = kernel(target) else { return };
        let folder = tempfile::tempdir().unwrap();
        let program = static_program(target, PROGRAM, folder.path());
        let initramfs = initramfs(target, &program, folder.path());
        test(target, &kernel, &initramfs, folder.path());
    }
}

fn status(outcome: GuestEnd) -> underpin_image::protocol::Status {
    match outcome {
        GuestEnd::Ended(status) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_guest_sends_output_status_figures_and_files() {
    each(|target, kernel, initramfs, _| {
        let mut asked = request(&["program", "tell", "two words"]);
        asked.files = ["/tmp/made", "/nothing", "/tmp", "/tmp/fifo"].map(Into::into).to_vec();
        let (boot, kept) = run(target, kernel, initramfs, &asked, 120);
        assert_eq!(status(boot.outcome).status, 7 << 8, "{boot:?}");
        assert_eq!(String::from_utf8_lossy(&kept.out), "3 two words h\u{e9} /tmp\n-1 0 0\n");
        assert_eq!(kept.err, b"to stderr\n");
        let made: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        assert!(kept.files[0].as_deref() == Ok(made.as_bytes()));
        assert!(kept.files[1..].iter().all(Result::is_err) && kept.files.len() == 4, "{:?}", kept.files[1..].to_vec());
        assert!(boot.console.iter().all(|line| !line.contains("two words")), "{:?}", boot.console);
    });
}

#[test]
fn what_the_guest_cannot_start_is_an_error_number() {
    let target = Target::QemuX86_64;
    let Some(kernel) = kernel(target) else { return };
    let folder = tempfile::tempdir().unwrap();
    let initramfs = initramfs(target, &static_program(target, PROGRAM, folder.path()), folder.path());
    for (word, errno) in [("absent", libc_errno::ENOENT), ("/tmp", libc_errno::EACCES)] {
        let (boot, _) = run(target, &kernel, &initramfs, &request(&[word]), 120);
        assert_eq!(status(boot.outcome).exec_errno, errno);
    }
}

/// From errno(3).
mod libc_errno {
    pub const ENOENT: i32 = 2;
    pub const EACCES: i32 = 13;
}

#[test]
fn megabytes_of_output_come_whole_and_in_order() {
    each(|target, kernel, initramfs, _| {
        let (boot, kept) = run(target, kernel, initramfs, &request(&["program", "much"]), 120);
        assert_eq!(status(boot.outcome).status, 0);
        assert_eq!((kept.out.len(), kept.err.len()), (4096 * 1024, 4096 * 1024));
    });
}

#[test]
fn a_signal_and_the_peak_of_memory_are_those_of_the_command_and_an_orphan_holds_nothing_up() {
    each(|target, kernel, initramfs, _| {
        let (boot, _) = run(target, kernel, initramfs, &request(&["program", "memory"]), 120);
        let status = status(boot.outcome);
        assert_eq!(status.status & 0x7f, 11, "{status:?}");
        assert!((48 << 10..60 << 10).contains(&status.max_rss_kib), "{status:?}");
        assert!(status.minor_faults >= 48 << 8, "{status:?}");
    });
}

#[test]
fn at_the_deadline_nothing_of_the_emulator_is_left() {
    each(|target, kernel, initramfs, _| {
        let since = Instant::now();
        let (boot, _) = run(target, kernel, initramfs, &request(&["program", "sleep"]), 2);
        assert_eq!(boot.outcome, GuestEnd::TimedOut, "{boot:?}");
        assert!(since.elapsed() < Duration::from_secs(60));
        let words = initramfs.display().to_string();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&line).contains(&words), "{:?} is left", entry.path());
        }
    });
}

#[test]
fn a_first_process_that_dies_is_told_from_a_command_by_the_kernels_last_words() {
    each(|target, kernel, _, folder| {
        let mut tree = Tree::new(0);
        tree.add("dev", Entry::directory(0o755)).unwrap();
        let program = underpin_image::Content::host(folder.join("program")).unwrap();
        tree.add(underpin_image::init::PATH, Entry::file(program, 0o755)).unwrap();
        let broken = folder.join("broken.cpio");
        fs::write(&broken, cpio::bytes(&tree).unwrap()).unwrap();
        let (boot, _) = run(target, kernel, &broken, &request(&["program"]), 60);
        assert_eq!(boot.outcome, GuestEnd::NoResult { was_up: false, gave_up: false });
        assert!(boot.console.iter().any(|line| line.contains("Kernel panic")), "{:?}", boot.console);
    });
}
