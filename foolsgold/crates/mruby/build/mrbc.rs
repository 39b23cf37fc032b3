//! mruby's own compiler, for the machine that builds.

use crate::{Failure, Place, files, repairs, run, variable};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program.
pub struct Compiler(PathBuf);

/// Builds it: mruby's core without parts, its parser and its code generator.
pub fn build(place: &Place) -> Result<Compiler, Failure> {
    let host = variable("HOST")?;
    let parser = place.mruby.join("mrbgems/mruby-compiler/core");
    let mut build = cc::Build::new();
    // No optimisation: it compiles a hundred kilobytes of Ruby once, and takes longer to build than to run.
    build.target(&host).host(&host).opt_level(0).debug(false).warnings(false).cargo_metadata(false);
    // A compiler for this machine, if the target's is another though both have one name: the target may have a newer C library.
    println!("cargo::rerun-if-env-changed=HOST_CC");
    // One with words behind it is cc's to read.
    if let Some(compiler) = std::env::var_os("HOST_CC").map(PathBuf::from).filter(|path| path.is_file()) {
        build.compiler(compiler);
    }
    build.flag_if_supported("-w").out_dir(place.out.join("host"));
    build.include(place.mruby.join("include")).include(&parser);
    for define in ["MRB_NO_PRESYM", "MRB_NO_GEMS", "MRB_UTF8_STRING"] {
        build.define(define, None);
    }
    // Repaired like the library: numbers are read here.
    let mut sources = files(&place.mruby.join("src"), "c");
    sources.extend([parser.join("codegen.c"), parser.join("y.tab.c")]);
    build.files(repairs::apply(place, &sources)?);
    build.includes(repairs::folders(place));
    build.files(files(&place.mruby.join("mrbgems/mruby-bin-mrbc/tools/mrbc"), "c"));
    build.file(place.native.join("host/named.c"));
    // What repaired copies call.
    build.file(place.native.join("cause.c"));
    let objects = build.try_compile_intermediates()?;
    // Two programs of the same objects: mruby's own, and ours, which names what it compiles.
    let link = |name: &str, without: &str| -> Result<PathBuf, Failure> {
        let program = place.out.join("host").join(name);
        let mut link = build.try_get_compiler()?.to_command();
        let objects = objects.iter().filter(|object| !object.to_string_lossy().ends_with(without));
        run(link.args(objects).arg("-o").arg(&program).arg("-lm"))?;
        Ok(program)
    };
    println!("cargo::metadata=named={}", link("named", "-mrbc.o")?.display());
    Ok(Compiler(link("mrbc", "-named.o")?))
}

impl Compiler {
    /// Ruby files as C structures that need no loading, under a name.
    pub fn to_c(&self, ruby: &[PathBuf], name: &str) -> Result<String, Failure> {
        let mut command = Command::new(&self.0);
        command
            .arg(format!("-B{name}"))
            .args(["-S", "-s", "-o-"])
            .args(ruby.iter().map(|path| path as &dyn AsRef<Path>).map(AsRef::as_ref));
        let text = run(&mut command)?;
        let text = String::from_utf8(text);
        let text = text.map_err(|_| Failure(format!("mrbc wrote something else than text for {name}")))?;
        // Nothing writes these tables, so nothing should be able to.
        Ok(text.replace("static const mrb_irep *", "static const mrb_irep *const "))
    }
}
