//! The library for the target: generated C, mruby's own, and ours.

use crate::gems::Gem;
use crate::mrbc::Compiler;
use crate::{Failure, Place, files, presym, repairs};
use std::fmt::Write;
use std::path::PathBuf;

/// How mruby is set; native/shim.c checks what it relies on.
const DEFINES: &[(&str, Option<&str>)] = &[
    // `"é".size` is 1.
    ("MRB_UTF8_STRING", None),
    // No printing, no files: a server's log is not the interpreter's business.
    ("MRB_NO_STDIO", None),
    // What stops a run from another thread.
    ("MRB_USE_DEBUG_HOOK", None),
    // Integers of 64 bits in one word; floats keep all their digits.
    ("MRB_INT64", None),
    ("MRB_WORD_BOXING", None),
    ("MRB_WORDBOX_NO_FLOAT_TRUNCATE", None),
    // No limits but that of memory.
    ("MRB_STR_LENGTH_MAX", Some("0")),
    ("MRB_ARY_LENGTH_MAX", Some("0")),
    // Grows by doubling: deep recursion is not quadratic.
    ("MRB_STACK_EXTEND_DOUBLING", None),
    // A page of objects just fits a size class of the arena.
    ("MRB_HEAP_PAGE_SIZE", Some("1020")),
    ("NDEBUG", None),
];

/// Writes the C files that mruby's own build generates.
pub fn generate(place: &Place, gems: &[Gem], compiler: &Compiler) -> Result<Vec<PathBuf>, Failure> {
    let mut written = Vec::new();
    let core = compiler.to_c(&files(&place.mruby.join("mrblib"), "rb"), "mrblib_proc")?;
    let start = "void\nmrb_init_mrblib(mrb_state *mrb)\n{\n  mrblib_proc_init_syms(mrb);\n  mrb_load_proc(mrb, mrblib_proc);\n}\n";
    written.push(place.write("generated/mrblib.c", &format!("{core}{start}"))?);
    let (mut declared, mut called) = (String::new(), String::new());
    for gem in gems {
        let text = part(gem, compiler)?;
        written.push(place.write(&format!("generated/{}.c", gem.function), &text)?);
        let _ = writeln!(declared, "void fg_init_{}(mrb_state*);", gem.function);
        let _ = writeln!(called, "  fg_init_{}(mrb);", gem.function);
    }
    let all = format!("#include <mruby.h>\n{declared}void\nmrb_init_mrbgems(mrb_state *mrb)\n{{\n{called}}}\n");
    written.push(place.write("generated/gems.c", &all)?);
    Ok(written)
}

/// The start of one part: its C, then its Ruby. What its top level leaves open is closed.
fn part(gem: &Gem, compiler: &Compiler) -> Result<String, Failure> {
    let name = &gem.function;
    let mut text = String::from("#include <mruby.h>\n#include <mruby/proc.h>\n#include <mruby/internal.h>\n");
    let procedure = format!("gem_mrblib_{name}_proc");
    if !gem.ruby.is_empty() {
        text += &compiler.to_c(&gem.ruby, &procedure)?;
    }
    let mut body = String::from("  int ai = mrb_gc_arena_save(mrb);\n");
    if !gem.ruby.is_empty() {
        let _ = writeln!(body, "  {procedure}_init_syms(mrb);");
    }
    if !gem.c.is_empty() {
        let _ = writeln!(text, "void mrb_{name}_gem_init(mrb_state*);");
        let _ = writeln!(body, "  mrb_{name}_gem_init(mrb);");
    }
    if !gem.ruby.is_empty() {
        let _ = write!(
            body,
            "  mrb_load_proc(mrb, {procedure});\n  if (mrb->exc) mrb_exc_raise(mrb, mrb_obj_value(mrb->exc));\n  \
             struct REnv *e = mrb_vm_ci_env(mrb->c->cibase);\n  mrb_vm_ci_env_set(mrb->c->cibase, NULL);\n  \
             mrb_env_unshare(mrb, e, FALSE);\n"
        );
    }
    let _ = write!(text, "void\nfg_init_{name}(mrb_state *mrb)\n{{\n{body}  mrb_gc_arena_restore(mrb, ai);\n}}\n");
    Ok(text)
}

/// Compiles everything into one library.
pub fn compile(place: &Place, gems: &[Gem], generated: &[PathBuf]) -> Result<(), Failure> {
    let parser = place.mruby.join("mrbgems/mruby-compiler/core");
    let mut sources = files(&place.mruby.join("src"), "c");
    // The code generator is included by native/generate.c.
    sources.push(parser.join("y.tab.c"));
    sources.extend(gems.iter().flat_map(|gem| gem.c.iter().cloned()));
    sources.extend(generated.iter().cloned());
    sources.extend(files(&place.native, "c"));
    let sources = repairs::apply(place, &sources)?;
    let mut build = settings(place, gems);
    // First, as the folder that it comes from is among the others.
    let generator = repairs::folder_of(place, &parser.join("codegen.c"))?;
    build.flag(format!("-iquote{}", generator.display()));
    build.includes(repairs::folders(place));
    presym::write(place, &build.try_get_compiler()?, &sources)?;
    build.files(sources);
    build.try_compile("foolsgold_mruby")?;
    // For the test that looks into it.
    println!("cargo::rustc-env=MRUBY_LIBRARY={}", place.out.join("libfoolsgold_mruby.a").display());
    if place.sanitize {
        println!("cargo::rustc-cfg=mruby_sanitize");
        println!("cargo::rustc-link-arg=-lasan");
    }
    Ok(())
}

fn settings(place: &Place, gems: &[Gem]) -> cc::Build {
    let mut build = cc::Build::new();
    // Ruby must be fast in debug builds, too: tests and demonstrations run in them.
    build.opt_level(3).warnings(false).flag_if_supported("-w");
    // Our headers first: one of them stands in for mruby's (native/include/mruby/throw.h says why).
    build.include(place.native.join("include")).include(place.out.join("include"));
    build.include(place.mruby.join("include")).include(place.mruby.join("mrbgems/mruby-compiler/core"));
    build.includes(gems.iter().filter_map(|gem| gem.include.as_deref()));
    for (name, value) in DEFINES {
        build.define(name, *value);
    }
    if place.sanitize {
        build.flag("-fsanitize=address").flag("-fno-omit-frame-pointer").flag("-g1").define("FG_SANITIZE", None);
    }
    build
}
