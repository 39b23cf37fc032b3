//! Kernels, small programs, and a receiver that keeps what a guest sends.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part, and a test may panic")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use underpin_image::boot::{Accelerator, Boot, Machine, Patience, Qemu, Receiver, boot};
use underpin_image::protocol::Request;
use underpin_image::store::{Access, Store};
use underpin_image::write::cpio;
use underpin_image::{Entry, Target, Tree, init};
use underpin_test_support::{all_required, available, skip};

/// Everything that a boot of a target needs; `None`, with the reason said, if something is missing.
pub fn kernel(target: Target) -> Option<PathBuf> {
    let (program, _) = underpin_image::boot::program(target);
    let compiler = compiler(target);
    for needed in [program, compiler[0]] {
        if !available(needed) {
            skip(&format!("{needed} is missing"));
            return None;
        }
    }
    // Fetched once for all tests, here and in the tests of the binary, by apt: a machine without it, or without a network, boots nothing.
    let store = Store::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("underpin/image"));
    match store.kernel(target, None, Access::Online) {
        Ok(kernel) => Some(kernel.path),
        Err(error) => {
            assert!(!all_required(), "{error}");
            skip(&error.to_string());
            None
        }
    }
}

fn compiler(target: Target) -> [&'static str; 2] {
    match target {
        Target::QemuX86_64 => ["x86_64-linux-gnu-gcc", "-static"],
        Target::QemuAarch64 | Target::Rpi4 => ["aarch64-linux-gnu-gcc", "-static"],
    }
}

/// Compiles a static program for a target.
pub fn static_program(target: Target, source: &str, folder: &Path) -> PathBuf {
    let [compiler, flag] = compiler(target);
    let (code, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&code, source).unwrap();
    let status = Command::new(compiler).args([flag, "-O1", "-o"]).arg(&program).arg(&code).status().unwrap();
    assert!(status.success());
    program
}

/// A tree with the guest's own init and one program, as one archive in a folder.
pub fn initramfs(target: Target, program: &Path, folder: &Path) -> PathBuf {
    let mut tree = Tree::new(0);
    for name in ["dev", "proc", "sys", "tmp"] {
        tree.add(name, Entry::directory(0o755)).unwrap();
    }
    tree.add(init::PATH, Entry::file(init::program(target.processor()).unwrap(), 0o755)).unwrap();
    tree.add("bin/program", Entry::file(underpin_image::Content::host(program).unwrap(), 0o755)).unwrap();
    let path = folder.join("initramfs.cpio");
    fs::write(&path, cpio::bytes(&tree).unwrap()).unwrap();
    path
}

/// What came from a guest.
#[derive(Default)]
pub struct Kept {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    pub files: Vec<Result<Vec<u8>, String>>,
}

impl Receiver for Kept {
    fn out(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.extend(bytes);
        Ok(())
    }
    fn err(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.err.extend(bytes);
        Ok(())
    }
    fn file(&mut self, _: usize, mode: Result<u32, io::Error>) -> io::Result<()> {
        self.files.push(mode.map(|_| Vec::new()).map_err(|error| error.to_string()));
        Ok(())
    }
    fn file_data(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.files.last_mut().unwrap().as_mut().unwrap().extend(bytes);
        Ok(())
    }
    fn file_end(&mut self, whole: Result<(), io::Error>) -> io::Result<()> {
        whole
    }
}

pub fn request(words: &[&str]) -> Request {
    Request {
        arguments: words.iter().map(Into::into).collect(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into()), ("GREETING".into(), "h\u{e9}".into())],
        directory: "/tmp".into(),
        files: Vec::new(),
    }
}

pub fn run(target: Target, kernel: &Path, initramfs: &Path, request: &Request, timeout: u64) -> (Boot, Kept) {
    // One guest at a time: each wants a processor of its own.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let qemu = Qemu::find(target, std::env::var_os("PATH").as_deref()).unwrap();
    let machine = Machine {
        target,
        kernel,
        initramfs,
        disk: None,
        device_tree: None,
        accelerator: Accelerator::Tcg,
        icount: false,
        memory_mib: 256,
    };
    let mut kept = Kept::default();
    let boot = boot(&qemu, &machine, request, Patience::command(Duration::from_secs(timeout)), &mut kept).unwrap();
    (boot, kept)
}
