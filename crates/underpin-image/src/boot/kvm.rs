//! Whether KVM works for a guest: a /dev/kvm that opens may belong to a hypervisor that cannot run a stock kernel, so an image
//! is started under it once, under a short deadline, and the answer is kept.

use super::{Accelerator, Boot, GuestEnd, Machine, Patience, Qemu, Receiver, boot};
use crate::protocol::Request;
use crate::store::{hex, sha256_of};
use crate::{ImageError, init};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// Under a KVM that works a small guest is up within a second; one that fails often stops without a word.
const TRIAL: Patience = Patience { up: Duration::from_secs(10), command: Duration::from_secs(5) };
const WORKS: &str = "works";

/// What runs the guest's instructions, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which.
    pub accelerator: Accelerator,
    /// Why, in words.
    pub because: String,
}

impl Chosen {
    fn tcg(because: impl Into<String>) -> Chosen {
        Chosen { accelerator: Accelerator::Tcg, because: because.into() }
    }
}

/// Chooses for a machine; its own `accelerator` is ignored. The answer of a trial is kept in `cache`.
///
/// # Errors
/// If QEMU cannot be started at all.
pub fn choose(qemu: &Qemu, machine: &Machine<'_>, cache: &Path) -> Result<Chosen, ImageError> {
    if machine.icount {
        return Ok(Chosen::tcg("instructions are counted, which only emulation does"));
    }
    if machine.target == crate::Target::Rpi4 {
        return Ok(Chosen::tcg("QEMU emulates the board as a whole"));
    }
    if machine.target.processor() != std::env::consts::ARCH {
        return Ok(Chosen::tcg(format!("this host is {}", std::env::consts::ARCH)));
    }
    if let Err(error) = File::options().read(true).write(true).open("/dev/kvm") {
        return Ok(Chosen::tcg(format!("/dev/kvm cannot be opened: {error}")));
    }
    let verdict = cache.join(format!("kvm-{}", identity(qemu, machine)?));
    let answer = match fs::read_to_string(&verdict) {
        Ok(answer) => answer,
        Err(_) => {
            let answer = trial(qemu, machine)?;
            // If it cannot be kept, the next run tries again.
            let _ = fs::create_dir_all(cache).and_then(|()| fs::write(&verdict, &answer));
            answer
        }
    };
    Ok(if answer == WORKS {
        Chosen { accelerator: Accelerator::Kvm, because: "a trial boot under it worked".to_owned() }
    } else {
        Chosen::tcg(format!("a trial boot under KVM failed: {answer}"))
    })
}

/// What the answer depends on.
fn identity(qemu: &Qemu, machine: &Machine<'_>) -> Result<String, ImageError> {
    let host = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = sha256_of(machine.kernel)?;
    let text = format!("{} {:?} {host} {kernel}", qemu.path.display(), qemu.version);
    Ok(hex(&Sha256::digest(text))[..16].to_owned())
}

/// Asks for a command that no image has: the guest that says so has come up.
fn trial(qemu: &Qemu, machine: &Machine<'_>) -> Result<String, ImageError> {
    let machine = Machine { accelerator: Accelerator::Kvm, ..machine.clone() };
    let absent = format!("{}-trial", init::PATH);
    let request = Request { arguments: vec![absent.into()], directory: "/".into(), ..Request::default() };
    let boot = boot(qemu, &machine, &request, TRIAL, &mut Nothing)?;
    Ok(match &boot.outcome {
        GuestEnd::Ended(status) if status.exec_errno != 0 => WORKS.to_owned(),
        GuestEnd::Interrupted => return Err(ImageError::Interrupted),
        _ => reason(&boot),
    })
}

fn reason(boot: &Boot) -> String {
    let said = boot.said.lines().next().or(boot.console.last().map(String::as_str));
    said.map_or_else(|| format!("nothing within {} s", TRIAL.up.as_secs()), str::to_owned)
}

/// The trial's command does not run, so nothing comes.
struct Nothing;

impl Receiver for Nothing {}
