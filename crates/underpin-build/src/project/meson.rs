//! meson, in a folder of results beside the sources. A machine file of ours names the compilers.
//!
//! Arguments after `--` go to `meson setup`. Unless they say otherwise it is a release, and the libraries of a static
//! program are archives. Subprojects are not downloaded: meson writes them into the sources.

use super::{Context, Planned, shared};
use crate::tool::Tool;
use crate::{BuildError, Step};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use underpin_sys::{QUESTION_LIMIT, answer};

/// The file that marks such a project.
pub const MARK: &str = "meson.build";

fn project(folder: &Path) -> String {
    let text = shared::text(&folder.join(MARK));
    let call = text.split_once("project(").map(|(_, rest)| rest.split_once(')').map_or(rest, |(call, _)| call));
    call.unwrap_or_default().to_owned()
}

/// Whether C++ is one of its languages.
pub fn needs_cxx(folder: &Path) -> bool {
    project(folder).contains("'cpp'") || shared::text(&folder.join(MARK)).contains("add_languages('cpp'")
}

/// The name in `project()`.
pub fn name(folder: &Path) -> Option<String> {
    project(folder).split('\'').nth(1).map(str::to_owned)
}

/// The commands.
pub fn plan(folder: &Path, context: &Context<'_>) -> Result<Planned, BuildError> {
    let meson = shared::program(&["meson"], "meson")?;
    shared::program(&["ninja", "ninja-build", "samu"], "ninja-build")?;
    let (folder, copy) = shared::copied(folder, context);
    let kind = if copy.is_some() { "meson-copy" } else { "meson" };
    let results = shared::folder(context, kind, &[shared::text(&folder.join(MARK))]);
    let file = context.work.join("meson.ini");
    let text = |path: &Path| path.display().to_string();
    let says = |names: &[&str]| context.words.iter().any(|word| names.iter().any(|name| word.contains(name)));
    let own = context.spec.uses_machines_libraries();
    let mut arguments = vec!["setup".to_owned(), text(&results), text(&folder)];
    arguments.extend([if own { "--native-file" } else { "--cross-file" }.to_owned(), text(&file)]);
    let is_static = context.spec.linkage.is_static();
    // Dynamic programs too: a library of the project's own would stay behind when the program is delivered.
    let usual: [(&[&str], &str, bool); 4] = [
        (&["buildtype", "-Ddebug", "-Doptimization"], "--buildtype=release", true),
        (&["default-library", "default_library"], "--default-library=static", true),
        (&["prefer_static", "prefer-static"], "-Dprefer_static=true", is_static && knows_prefer_static(&meson)),
        (&["wrap-mode", "wrap_mode"], "--wrap-mode=nodownload", true),
    ];
    for (names, option, wanted) in usual {
        if wanted && !says(names) {
            arguments.push(option.to_owned());
        }
    }
    // An interrupted first run leaves a folder that neither is configured nor can be.
    if results.exists() && results.join("build.ninja").is_file() {
        arguments.push("--reconfigure".to_owned());
    }
    arguments.extend(context.words.iter().cloned());
    let variables = shared::around(context);
    let setup = Step::new("configure", meson.clone(), arguments, context.work).with(variables.clone());
    let build = vec!["compile".to_owned(), "-C".to_owned(), text(&results), "-j".to_owned(), shared::jobs()];
    let build = Step::new("build", meson, build, context.work).with(variables).makes(results);
    let files = vec![(file, machine_file(context, own))];
    Ok(Planned { steps: vec![setup, build], copy, files, ..Planned::default() })
}

/// Since meson 0.63.
fn knows_prefer_static(meson: &Path) -> bool {
    let output = answer(Command::new(meson).arg("--version"), QUESTION_LIMIT);
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut parts = version.trim().split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (0, 63)
}

/// The machine for which programs are built, in meson's syntax: strings in quotes, lists in brackets.
fn machine_file(context: &Context<'_>, own: bool) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let list = |words: &[String]| format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "));
    let toolchain = context.toolchain;
    let mut text = String::from("# Written by underpin.\n[binaries]\n");
    let tools = [
        ("c", Tool::Cc, toolchain.cc.is_some()),
        ("cpp", Tool::Cxx, toolchain.cxx.is_some()),
        ("ar", Tool::Ar, !toolchain.ar.is_empty()),
        ("ranlib", Tool::Ranlib, !toolchain.ranlib.is_empty()),
    ];
    for (name, tool, _) in tools.into_iter().filter(|(_, _, is_there)| *is_there) {
        let _ = writeln!(text, "{name} = {}", list(&[context.tool(tool)]));
    }
    if own {
        return text;
    }
    // Which looks only where [`shared::around`] lets it.
    if let Some(program) = shared::find("pkg-config") {
        let _ = writeln!(text, "pkgconfig = {}", quoted(&program.display().to_string()));
    }
    let starts = shared::starts_here(context);
    if let Some(words) = shared::emulator(context.spec) {
        let _ = writeln!(text, "exe_wrapper = {}", list(&words));
    }
    let name = context.spec.processor.name();
    let root = quoted(&shared::empty_root(context));
    let _ = write!(
        text,
        "\n[properties]\nneeds_exe_wrapper = {}\npkg_config_libdir = {root}\n\n[host_machine]\nsystem = 'linux'\n\
         cpu_family = '{name}'\ncpu = '{name}'\nendian = 'little'\n",
        !starts
    );
    text
}
