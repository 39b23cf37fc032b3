//! The emulator: where it is, which version, and what it is started with.

use crate::{ImageError, Target};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_sys::{QUESTION_LIMIT, answer};

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// QEMU's own translation: works everywhere.
    Tcg,
    /// The processor itself, through /dev/kvm.
    Kvm,
}

impl Accelerator {
    /// QEMU's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Tcg => "tcg",
            Accelerator::Kvm => "kvm",
        }
    }
}

/// QEMU's name of the Raspberry Pi 4, and the first version that has it.
const BOARD: &str = "raspi4b";
const BOARD_SINCE: u32 = 9;

/// The name of the program, and Debian's package that has it.
#[must_use]
pub fn program(target: Target) -> (&'static str, &'static str) {
    match target {
        Target::QemuX86_64 => ("qemu-system-x86_64", "qemu-system-x86"),
        Target::QemuAarch64 | Target::Rpi4 => ("qemu-system-aarch64", "qemu-system-arm"),
    }
}

/// An emulator of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    /// The file.
    pub path: PathBuf,
    /// Its first two numbers.
    pub version: (u32, u32),
}

impl Qemu {
    /// Finds the emulator of a target in the folders of `path` (the value of PATH), and asks for its version.
    ///
    /// # Errors
    /// If it is not installed: with the command that installs it.
    pub fn find(target: Target, path: Option<&OsStr>) -> Result<Qemu, ImageError> {
        let (program, package) = program(target);
        let found = underpin_sys::find_program(OsStr::new(program), path);
        let file = found.map_err(|_| ImageError::NoEmulator { program, package, target: target.name() })?;
        let output = answer(Command::new(&file).arg("--version"), QUESTION_LIMIT).map_err(ImageError::io(&file))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = version(&text).ok_or_else(|| ImageError::Emulator {
            path: file.clone(),
            reason: format!("`--version` says no version: {}", text.lines().next().unwrap_or("nothing")),
        })?;
        if target == Target::Rpi4 && version.0 < BOARD_SINCE {
            return Err(ImageError::NoBoard {
                path: file,
                version: format!("{}.{}", version.0, version.1),
                board: BOARD,
                since: BOARD_SINCE,
                target: target.name(),
            });
        }
        Ok(Qemu { path: file, version })
    }
}

/// `QEMU emulator version 7.2.22 (Debian ...)`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_once("version ")?.1.split(|letter: char| letter == '.' || letter.is_whitespace());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// What is started.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// Which one.
    pub target: Target,
    /// The kernel.
    pub kernel: &'a Path,
    /// The first root file system.
    pub initramfs: &'a Path,
    /// The disk or card with the root file system, if that is not in memory. Nothing is written to it: QEMU keeps changes to
    /// itself and drops them.
    pub disk: Option<&'a Path>,
    /// The device tree, for a board whose firmware would hand it over.
    pub device_tree: Option<&'a Path>,
    /// What runs the instructions.
    pub accelerator: Accelerator,
    /// Count instructions instead of time.
    pub icount: bool,
    /// The guest's memory.
    pub memory_mib: u32,
}

impl Machine<'_> {
    /// Whether the guest's frames come over its console: the board has no other way.
    #[must_use]
    pub fn by_console(&self) -> bool {
        self.target == Target::Rpi4
    }
}

/// When a row of the table applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    X86Tcg { below_10: bool },
    X86,
    Aarch64,
    Aarch64Tcg,
    Board,
    Port,
    Kvm,
    Tcg,
    Icount,
}

/// Every fixed flag of QEMU, and why it is there.
const FLAGS: [(When, &[&str], &str); 16] = [
    (When::Always, &["-nodefaults", "-no-user-config", "-display", "none"], "only the devices that are named here"),
    (When::Always, &["-no-reboot"], "a panic (panic=-1 restarts) ends QEMU instead of booting again"),
    (When::X86, &["-M", "q35"], "PCI and ACPI, which turns the machine off"),
    (When::Aarch64, &["-M", "virt"], "PCI and PSCI; its device tree has a seed, so that getrandom(2) never waits"),
    (
        When::Board,
        &["-M", BOARD, "-smp", "4", "-accel", "tcg,thread=single"],
        "with a thread for each of its 4 processors it takes up to 5 times as long and sometimes hangs",
    ),
    (When::Board, &["-audio", "none"], "no sound library has to be installed"),
    (When::Board, &["-chardev", "stdio,id=port,signal=off", "-serial", "chardev:port"], "frames and console in one"),
    (When::Kvm, &["-accel", "kvm", "-cpu", "host"], "asked for only after a trial boot"),
    (When::Tcg, &["-accel", "tcg"], "never a kvm that only opens"),
    (
        When::X86Tcg { below_10: true },
        &["-cpu", "max,-cx16"],
        "before 10, cmpxchg16b sometimes corrupts EFLAGS: the guest panics",
    ),
    (When::X86Tcg { below_10: false }, &["-cpu", "max"], "every instruction that QEMU knows"),
    (When::Aarch64Tcg, &["-cpu", "cortex-a72"], "`max` takes twice as long to boot"),
    (When::Port, &["-device", "virtio-serial-pci,romfile="], "no option ROM has to be installed for it"),
    (
        When::Port,
        &["-chardev", "stdio,id=port,signal=off", "-device", "virtserialport,chardev=port,name=underpin.0"],
        "the port is QEMU's own input and output: no socket, no file",
    ),
    (When::Icount, &["-icount", "shift=0,sleep=off"], "a nanosecond for each instruction, however busy the host is"),
    (
        When::Icount,
        &["-seed", "1", "-rtc", "base=2024-01-01T00:00:00,clock=vm"],
        "the same random numbers and clock each time",
    ),
];

/// The kernel's arguments. `quiet` leaves errors and panics on the console.
fn kernel_arguments(machine: &Machine<'_>) -> String {
    let console = match machine.target {
        Target::QemuX86_64 => "ttyS0",
        Target::QemuAarch64 => "ttyAMA0",
        // The others wait for a mailbox that QEMU lacks.
        Target::Rpi4 => "ttyAMA0,115200 maxcpus=1 underpin_port=console",
    };
    let repeatable = if machine.icount { " nokaslr norandmaps" } else { "" };
    // The kernel counts ticks of the timer for some milliseconds and panics if there are too few: on a busy host QEMU's thread is not
    // run in that time ("IO-APIC + timer doesn't work!").
    let emulated = machine.target == Target::QemuX86_64 && machine.accelerator == Accelerator::Tcg;
    let timer = if emulated { " no_timer_check" } else { "" };
    format!("console={console} quiet panic=-1 rdinit={}{timer}{repeatable}", crate::init::PATH)
}

/// The arguments of QEMU, its name first. `console` is the file that the guest's console is written to.
#[must_use]
pub fn arguments(qemu: &Qemu, machine: &Machine<'_>, console: &Path) -> Vec<OsString> {
    let mut words = vec![qemu.path.clone().into_os_string()];
    let tcg = machine.accelerator == Accelerator::Tcg;
    let x86 = machine.target == Target::QemuX86_64;
    let board = machine.target == Target::Rpi4;
    let applies = |when: When| match when {
        When::Always => true,
        When::X86 => x86,
        When::Aarch64 => !x86 && !board,
        When::Board => board,
        When::Port => !board,
        When::X86Tcg { below_10 } => x86 && tcg && (qemu.version.0 < 10) == below_10,
        When::Aarch64Tcg => !x86 && tcg && !board,
        When::Kvm => !tcg,
        When::Tcg => tcg && !board,
        When::Icount => machine.icount,
    };
    for (_, flags, _) in FLAGS.iter().filter(|(when, _, _)| applies(*when)) {
        words.extend(flags.iter().map(OsString::from));
    }
    // The board has soldered memory.
    let memory = if board { 2048 } else { machine.memory_mib };
    words.extend(["-m".into(), memory.to_string().into()]);
    if !board {
        let file = joined("file,id=console,path=", console);
        words.extend(["-chardev".into(), file, "-serial".into(), "chardev:console".into()]);
    }
    if let Some(disk) = machine.disk {
        let start = if board { "if=sd" } else { "if=none,id=root" };
        let how = format!("{start},format=raw,snapshot=on,file=");
        words.extend(["-drive".into(), joined(&how, disk)]);
        if !board {
            words.extend(["-device", "virtio-blk-pci,drive=root,romfile="].map(OsString::from));
        }
    }
    if let Some(tree) = machine.device_tree {
        words.extend(["-dtb".into(), tree.into()]);
    }
    words.extend(["-kernel".into(), machine.kernel.into()]);
    words.extend(["-initrd".into(), machine.initramfs.into(), "-append".into(), kernel_arguments(machine).into()]);
    words
}

/// One word of options; a comma in a path is written twice.
fn joined(options: &str, path: &Path) -> OsString {
    let mut bytes = options.as_bytes().to_vec();
    for byte in path.as_os_str().as_bytes() {
        bytes.extend(std::iter::repeat_n(*byte, if *byte == b',' { 2 } else { 1 }));
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_number_after_the_word() {
        assert_eq!(version("QEMU emulator version 7.2.22 (Debian 1:7.2)\n"), Some((7, 2)));
        assert_eq!(version("QEMU emulator version 10.0\n"), Some((10, 0)));
        assert_eq!(version("zsh: not found"), None);
    }

    fn line(target: Target, version: (u32, u32), accelerator: Accelerator, icount: bool) -> String {
        let qemu = Qemu { path: "qemu".into(), version };
        let (kernel, initramfs) = (Path::new("k"), Path::new("i"));
        let machine =
            Machine { target, kernel, initramfs, disk: None, device_tree: None, accelerator, icount, memory_mib: 64 };
        let words = arguments(&qemu, &machine, Path::new("c"));
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn cmpxchg16b_is_off_only_where_qemu_emulates_it_wrongly() {
        let of = |version, accelerator| line(Target::QemuX86_64, version, accelerator, false);
        assert!(of((7, 2), Accelerator::Tcg).contains("-cpu max,-cx16"));
        assert!(
            of((10, 0), Accelerator::Tcg).contains("-cpu max ") && of((7, 2), Accelerator::Kvm).contains("-cpu host ")
        );
    }

    #[test]
    fn an_emulated_x86_guest_does_not_test_its_timer() {
        let has = |target, accelerator| line(target, (7, 2), accelerator, false).contains("no_timer_check");
        assert!(has(Target::QemuX86_64, Accelerator::Tcg));
        assert!(!has(Target::QemuX86_64, Accelerator::Kvm) && !has(Target::QemuAarch64, Accelerator::Tcg));
    }

    #[test]
    fn counted_instructions_come_with_fixed_random_numbers_and_addresses() {
        for target in Target::ALL {
            let counted = line(target, (10, 0), Accelerator::Tcg, true);
            let timed = line(target, (10, 0), Accelerator::Tcg, false);
            for word in ["-icount", "-seed 1", "norandmaps"] {
                assert!(counted.contains(word) && !timed.contains(word), "{word}");
            }
        }
    }
}
