//! The files that tell build systems about an SDK. Each names the tools relative to itself or by names in PATH, and no file
//! says where the SDK is.

use super::{Manifest, Wanted};
use std::fmt::Write as _;
use underpin_build::Kit;
use underpin_build::tool::Tool;

/// Name and text of each.
pub fn all(wanted: &Wanted, kit: &Kit, manifest: &Manifest) -> Vec<(&'static str, String)> {
    let mut files = vec![
        ("environment.sh", environment(wanted, kit, manifest)),
        ("toolchain.cmake", cmake(wanted, kit, manifest)),
        ("meson.cross", meson(wanted, manifest)),
        ("README.md", readme(wanted, kit, manifest)),
    ];
    if kit.tools.rust.is_some() {
        files.push(("cargo/config.toml", cargo(wanted, manifest)));
    }
    files
}

fn named(manifest: &Manifest, tool: Tool) -> String {
    format!("{}-{}", manifest.prefix, tool.name())
}

const FOLDER: &str = r#"# Written by underpin. Sourced by bash or zsh; another shell sets UNDERPIN_SDK to this folder before.
if [ -n "${BASH_SOURCE:-}" ]; then
    UNDERPIN_SDK=$(cd -- "$(dirname -- "$BASH_SOURCE")" && pwd)
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval 'UNDERPIN_SDK=${${(%):-%x}:A:h}'
fi
if [ ! -f "${UNDERPIN_SDK:-}/sdk.json" ]; then
    echo 'environment.sh: set UNDERPIN_SDK to the folder of the SDK first' >&2
    return 1
fi
export UNDERPIN_SDK
export PATH="$UNDERPIN_SDK/bin:$PATH"
"#;

fn environment(wanted: &Wanted, kit: &Kit, manifest: &Manifest) -> String {
    let mut text = FOLDER.to_owned();
    let mut set = |name: &str, value: &str| {
        let _ = writeln!(text, "export {name}={value}");
    };
    // Names, since make and configure scripts take no path with a space in it.
    for (name, tool) in
        [("CC", Tool::Cc), ("CXX", Tool::Cxx), ("AR", Tool::Ar), ("RANLIB", Tool::Ranlib), ("LD", Tool::RawLd)]
    {
        set(name, &named(manifest, tool));
    }
    // The last three are what build scripts of Rust look for before CC, when they compile for this machine.
    let here = ["CC_FOR_BUILD", "BUILD_CC", "HOSTCC", "HOST_CC"].map(|name| (name, "cc"));
    for (name, tool) in here.into_iter().chain([("HOST_CXX", "c++"), ("HOST_AR", "ar")]) {
        set(name, &format!("${{{name}:-{tool}}}"));
    }
    set("PKG_CONFIG_LIBDIR", "\"$UNDERPIN_SDK/sysroot/usr/lib/pkgconfig\"");
    set("PKG_CONFIG_SYSROOT_DIR", "\"$UNDERPIN_SDK/sysroot\"");
    set("CMAKE_TOOLCHAIN_FILE", "\"$UNDERPIN_SDK/toolchain.cmake\"");
    if kit.tools.rust.is_some() {
        let triple = wanted.request.spec.rust_triple();
        let (low, high) = (triple.replace('-', "_"), triple.replace('-', "_").to_uppercase());
        set("CARGO_BUILD_TARGET", &triple);
        set("CARGO_BUILD_RUSTC_WRAPPER", &named(manifest, Tool::Rustc));
        set(&format!("CARGO_TARGET_{high}_RUNNER"), &named(manifest, Tool::Run));
        for (name, tool) in [("CC", Tool::Cc), ("CXX", Tool::Cxx), ("AR", Tool::Ar)] {
            set(&format!("{name}_{low}"), &named(manifest, tool));
        }
    }
    text
}

fn cmake(wanted: &Wanted, kit: &Kit, manifest: &Manifest) -> String {
    let spec = &wanted.request.spec;
    let mut text = format!(
        "# Written by underpin.\nset(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {})\n",
        spec.processor
    );
    let mut set = |name: &str, tool: Tool| {
        let _ = writeln!(text, "set({name} \"${{CMAKE_CURRENT_LIST_DIR}}/bin/{}\")", named(manifest, tool));
    };
    for (name, tool) in [
        ("CMAKE_C_COMPILER", Tool::Cc),
        ("CMAKE_ASM_COMPILER", Tool::Cc),
        ("CMAKE_CXX_COMPILER", Tool::Cxx),
        ("CMAKE_AR", Tool::Ar),
        ("CMAKE_C_COMPILER_AR", Tool::Ar),
        ("CMAKE_CXX_COMPILER_AR", Tool::Ar),
        ("CMAKE_RANLIB", Tool::Ranlib),
        ("CMAKE_C_COMPILER_RANLIB", Tool::Ranlib),
        ("CMAKE_CXX_COMPILER_RANLIB", Tool::Ranlib),
        ("CMAKE_CROSSCOMPILING_EMULATOR", Tool::Run),
    ] {
        set(name, tool);
    }
    if kit.tools.cxx.is_none() {
        // A project without a language means C++ too, even if none of its files is C++.
        text.push_str("set(CMAKE_CXX_COMPILER_WORKS 1)\n");
    }
    text.push_str("set(CMAKE_FIND_ROOT_PATH \"${CMAKE_CURRENT_LIST_DIR}/sysroot\" ${CMAKE_PREFIX_PATH})\n");
    for (what, mode) in [("LIBRARY", "ONLY"), ("INCLUDE", "ONLY"), ("PACKAGE", "ONLY"), ("PROGRAM", "NEVER")] {
        let _ = writeln!(text, "set(CMAKE_FIND_ROOT_PATH_MODE_{what} {mode})");
    }
    if spec.linkage.is_static() {
        text.push_str("set(BUILD_SHARED_LIBS OFF CACHE BOOL \"programs are static\")\n");
    }
    text
}

/// By names in PATH: meson before 1.3 has no word for the folder of this file.
fn meson(wanted: &Wanted, manifest: &Manifest) -> String {
    let mut text = "# Written by underpin. environment.sh puts these names into PATH.\n[binaries]\n".to_owned();
    for (name, tool) in [("c", Tool::Cc), ("cpp", Tool::Cxx), ("ar", Tool::Ar), ("ranlib", Tool::Ranlib)] {
        let _ = writeln!(text, "{name} = '{}'", named(manifest, tool));
    }
    let processor = wanted.request.spec.processor;
    let _ = write!(
        text,
        "pkgconfig = 'pkg-config'\nexe_wrapper = '{}'\n\n[properties]\nneeds_exe_wrapper = true\n\n[built-in options]\n\
         default_library = 'static'\n\n[host_machine]\nsystem = 'linux'\ncpu_family = '{processor}'\n\
         cpu = '{processor}'\nendian = 'little'\n",
        named(manifest, Tool::Run),
    );
    text
}

/// cargo takes paths of a configuration from the folder above the file's own.
fn cargo(wanted: &Wanted, manifest: &Manifest) -> String {
    let triple = wanted.request.spec.rust_triple();
    let bin = |tool: Tool| format!("bin/{}", named(manifest, tool));
    let mut text = format!(
        "# Written by underpin.\n[build]\ntarget = \"{triple}\"\nrustc-wrapper = \"{}\"\n\n\
         [target.{triple}]\nrunner = \"{}\"\n\n[env]\n",
        bin(Tool::Rustc),
        bin(Tool::Run)
    );
    for (name, tool) in [("CC", Tool::Cc), ("CXX", Tool::Cxx), ("AR", Tool::Ar)] {
        let name = format!("{name}_{}", triple.replace('-', "_"));
        let _ = writeln!(text, "{name} = {{ value = \"{}\", relative = true }}", bin(tool));
    }
    text
}

fn readme(wanted: &Wanted, kit: &Kit, manifest: &Manifest) -> String {
    let mut text = format!(
        "# SDK: {} for {}\n\nMade by underpin {} with {}. The folder may be moved and copied.\n\n\
         | project | command |\n| --- | --- |\n\
         | any, first | `. ./environment.sh` |\n\
         | C, C++ | `$CC a.c -o a`, `$CXX a.cc -o a` |\n\
         | make, configure | `make`, `./configure --host={}` |\n\
         | CMake | `cmake --toolchain \"$UNDERPIN_SDK/toolchain.cmake\" ...` (needs no environment) |\n\
         | meson | `meson setup --cross-file \"$UNDERPIN_SDK/meson.cross\" ...` |\n",
        manifest.build,
        manifest.target,
        env!("CARGO_PKG_VERSION"),
        manifest.toolchain,
        wanted.request.spec.gnu_triple(),
    );
    if kit.tools.rust.is_some() {
        let line =
            "| cargo | `cargo build`, or `cargo build --config SDK/cargo/config.toml` without the environment |\n";
        text.push_str(line);
    }
    let _ = write!(
        text,
        "| run a program here | `{} ./a` |\n\n## What must be on the machine\n\n\
         A program that is not at its path is looked for by its name in PATH.\n\n",
        named(manifest, Tool::Run)
    );
    for path in &manifest.needs {
        let _ = writeln!(text, "- `{path}`");
    }
    if !manifest.packages.is_empty() {
        text.push_str("\n## What is in sysroot/\n\n");
    }
    for package in &manifest.packages {
        let _ = writeln!(text, "- {} {} of Debian {}", package.name, package.version, package.suite);
    }
    if !manifest.remarks.is_empty() {
        text.push_str("\n## Limits\n\n");
    }
    for remark in &manifest.remarks {
        let _ = writeln!(text, "- {remark}");
    }
    text
}
