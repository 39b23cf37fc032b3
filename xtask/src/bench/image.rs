//! What `underpin image run` costs beside a bare QEMU with the same kernel, initramfs and flags, and what an image costs.

use super::image_container::beside_umoci;
use super::image_mmdebstrap::beside_mmdebstrap;
use super::stats::{Estimate, Sample};
use super::table::{self, Goal, Limit};
use crate::build::Processor;
use crate::run;
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use underpin_image::boot::{Accelerator, Machine, Qemu, arguments};
use underpin_image::protocol::Request;
use underpin_image::{Image, Target};

const SAYS: &str = "#include <stdio.h>\nint main(void) { return puts(\"up\") < 0; }\n";
/// The goal: each of so many starts gives the result.
const STARTS: usize = 20;
/// No start takes so long.
const PATIENCE: Duration = Duration::from_secs(300);

/// One image, and what it is compared with.
struct Tried {
    target: Target,
    folder: PathBuf,
    program: PathBuf,
}

/// Measures and returns the page.
///
/// # Errors
/// If an emulator or a compiler is missing, or an image does not build.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let underpin = run::release_binary()?;
    let released = crate::build::program(&run::workspace(), &run::target(), "underpin", Processor::X86_64)?;
    let folder = run::scratch("bench-image")?;
    let mut text = table::machine("Images", "cargo xtask bench image");
    let _ = writeln!(
        text,
        "At its beginning the load of the last minute was {}. Software emulation (TCG); a static C program that prints one \
         line. Starts of `underpin image run` and of a bare QEMU with the same kernel, initramfs and flags interleave \
         (ABBA); medians, and the ratio with its 95 % interval.\n\n\
         | target | QEMU | bare | `underpin image run` | ratio | starts with a result | initramfs | of it the program | build, nothing to do |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        table::load()
    );
    let (mut ratios, mut programs) = (Vec::new(), Vec::new());
    for target in Target::VIRTUAL {
        let tried = build(&underpin, target, &folder)?;
        programs.push(tried.program.clone());
        let (row, measured) = measure(&underpin, &tried, rounds)?;
        text += &row;
        ratios.push(measured);
    }
    // It starts no guest, so there is time for more rounds.
    let (container, beside) = beside_umoci([&released, &underpin], &programs[0], &folder, 4 * rounds)?;
    let distribution = beside_mmdebstrap(&underpin, &folder, rounds)?;
    fs::remove_dir_all(&folder)?;
    let mut goals = vec![
        Goal { text: CONTAINER[0], ratio: beside[0], limit: Limit::AtMost(0.2) },
        Goal { text: CONTAINER[1], ratio: beside[1], limit: Limit::AtMost(0.2) },
        Goal { text: CLOSURE, ratio: distribution.time, limit: Limit::AtMost(0.5) },
        Goal { text: CLOSURE_SIZE, ratio: distribution.size, limit: Limit::AtMost(1.0) },
    ];
    for (measured, words) in ratios.iter().zip([X86, ARM]) {
        let values = [measured.ratio, measured.starts, measured.beyond, measured.nothing];
        let limits = [Limit::AtMost(1.2), Limit::AtLeast(STARTS as f64), Limit::AtMost(80.0), Limit::AtMost(0.5)];
        goals.extend(words.into_iter().zip(values).zip(limits).map(|((text, ratio), limit)| Goal {
            text,
            ratio,
            limit,
        }));
    }
    text += &container;
    text += &distribution.text;
    text += &table::goals(&goals);
    Ok(text)
}

const CONTAINER: [&str; 2] = [
    "an image for containers, by the released file, over umoci by hand: at most 0.2",
    "an image for containers, by `cargo install`'s, over umoci by hand: at most 0.2",
];
const CLOSURE: &str = "a program of the distribution, over mmdebstrap's time: at most 0.5";
const CLOSURE_SIZE: &str = "a program of the distribution, over mmdebstrap's bytes: smaller";
const X86: [&str; 4] = [
    "qemu-x86_64: from `image run` to the result, over a bare start: at most 1.2",
    "qemu-x86_64: starts with the result, of 20",
    "qemu-x86_64: initramfs beyond the program, in KB: at most 80",
    "qemu-x86_64: build with nothing to do, in seconds: at most 0.5",
];
const ARM: [&str; 4] = [
    "qemu-aarch64: from `image run` to the result, over a bare start: at most 1.2",
    "qemu-aarch64: starts with the result, of 20",
    "qemu-aarch64: initramfs beyond the program, in KB: at most 80",
    "qemu-aarch64: build with nothing to do, in seconds: at most 0.5",
];

/// What the goals are about.
struct Measured {
    ratio: Estimate,
    starts: Estimate,
    beyond: Estimate,
    nothing: Estimate,
}

fn build(underpin: &Path, target: Target, folder: &Path) -> anyhow::Result<Tried> {
    let (compiler, name) = match target {
        Target::QemuX86_64 => ("x86_64-linux-gnu-gcc", "says-x86_64"),
        Target::QemuAarch64 | Target::Rpi4 => ("aarch64-linux-gnu-gcc", "says-aarch64"),
    };
    let program = run::compile_with(compiler, folder, name, SAYS, &["-static", "-Os", "-s"])?;
    let image = folder.join(target.name());
    build_again(underpin, target, &program, &image)?;
    Ok(Tried { target, folder: image, program })
}

fn build_again(underpin: &Path, target: Target, program: &Path, image: &Path) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut command = Command::new(underpin);
    command.args(["image", "build", "--target", target.name(), "-o"]).arg(image).arg(program);
    let status = command.stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(begun.elapsed())
}

fn measure(underpin: &Path, tried: &Tried, rounds: usize) -> anyhow::Result<(String, Measured)> {
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    let (mut results, mut version) = (0, String::new());
    for round in 0..rounds {
        let order = if round % 2 == 0 { [true, false] } else { [false, true] };
        for is_bare in order {
            if is_bare {
                bare.push(start_bare(tried)?.as_secs_f64());
            } else {
                let (took, qemu) = start_ours(underpin, tried)?;
                (results, version) = (results + 1, qemu);
                ours.push(took.as_secs_f64());
            }
        }
    }
    while results < STARTS {
        start_ours(underpin, tried)?;
        results += 1;
    }
    let nothing: Vec<f64> = (0..rounds)
        .map(|_| Ok(build_again(underpin, tried.target, &tried.program, &tried.folder)?.as_secs_f64()))
        .collect::<anyhow::Result<_>>()?;
    let (initramfs, program) =
        (fs::metadata(tried.folder.join("initramfs.cpio"))?.len(), fs::metadata(&tried.program)?.len());
    let (bare, ours, nothing) = (Sample::new(bare), Sample::new(ours), Sample::new(nothing));
    let ratio = ours.ratio(&bare);
    let row = format!(
        "| {} | {version} | {:.2} s | {:.2} s | {:.2} ({:.2} to {:.2}) | {results} of {results} | {:.1} KB | {:.1} KB | {:.3} s |\n",
        tried.target,
        bare.median().value,
        ours.median().value,
        ratio.value,
        ratio.low,
        ratio.high,
        initramfs as f64 / 1000.0,
        program as f64 / 1000.0,
        nothing.median().value,
    );
    let beyond = Estimate::exact((initramfs - program) as f64 / 1000.0);
    Ok((row, Measured { ratio, starts: Estimate::exact(results as f64), beyond, nothing: nothing.median() }))
}

/// From the start of underpin to its end; anything but the line and exit code 0 is an error.
fn start_ours(underpin: &Path, tried: &Tried) -> anyhow::Result<(Duration, String)> {
    let begun = Instant::now();
    let mut command = Command::new(underpin);
    command.args(["image", "run", "--kvm", "off", "--json"]).arg(&tried.folder);
    let output = command.stderr(Stdio::piped()).output()?;
    let took = begun.elapsed();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if !output.status.success() || document["output"] != "up\n" {
        bail!("{command:?}: {}: {document} {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok((took, document["qemu"].as_str().unwrap_or_default().to_owned()))
}

/// From the start of QEMU to its end: the same guest is asked for the same, and nobody looks at what it sends.
fn start_bare(tried: &Tried) -> anyhow::Result<Duration> {
    let image = Image::open(&tried.folder)?;
    let qemu = Qemu::find(tried.target, std::env::var_os("PATH").as_deref())?;
    let (kernel, initramfs) = (image.kernel(), image.initramfs());
    let machine = Machine {
        target: tried.target,
        kernel: &kernel,
        initramfs: &initramfs,
        disk: None,
        device_tree: None,
        accelerator: Accelerator::Tcg,
        icount: false,
        memory_mib: 256,
    };
    let words = arguments(&qemu, &machine, Path::new("/dev/null"));
    let request =
        Request { arguments: vec![image.manifest.command.clone().into()], directory: "/".into(), ..Request::default() };
    let begun = Instant::now();
    let mut child = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().context("QEMU has no input")?;
    // The line feed lets the guest turn itself off when it has sent everything.
    input.write_all(&request.encoded()).and_then(|()| input.write_all(b"\n"))?;
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "QEMU alone: {status}");
            return Ok(begun.elapsed());
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("QEMU alone did not end within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
