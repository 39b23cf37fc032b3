//! Mistakes of mruby 3.2.0 put right in copies of its files, and one door opened.
//!
//! Each change is a text that must stand in the file exactly once, so another version of mruby cannot be changed by
//! mistake: the build stops and says which one did not fit.

use crate::{Failure, Place};
use std::fs;
use std::path::{Path, PathBuf};

struct Repair {
    /// Below the source tree.
    file: &'static str,
    old: &'static str,
    new: &'static str,
}

const REPAIRS: &[Repair] = &[
    // `def m(hash)` called as `m(key: 1)` raised ArgumentError: the short way for methods with plain parameters only did
    // not look for keywords. The long way takes them as a Hash.
    Repair {
        file: "src/vm.c",
        old: "if ((a & ~0x7c0001) == 0 && argc < 15 && MRB_PROC_STRICT_P(proc)) {",
        new: "if ((a & ~0x7c0001) == 0 && argc < 15 && ci->nk == 0 && MRB_PROC_STRICT_P(proc)) {",
    },
    // `hash[key]`, `array[index]` and `string[index]` did not call the `[]` of a subclass.
    Repair {
        file: "src/vm.c",
        old: "        if (!mrb_integer_p(vb)) goto getidx_fallback;\n        regs[a] = mrb_ary_entry",
        new: "        if (!mrb_integer_p(vb) || mrb_obj_ptr(va)->c != mrb->array_class) goto getidx_fallback;\n        regs[a] = mrb_ary_entry",
    },
    Repair {
        file: "src/vm.c",
        old: "        va = mrb_hash_get(mrb, va, vb);\n        regs[a] = va;\n",
        new: "        if (mrb_obj_ptr(va)->c != mrb->hash_class) goto getidx_fallback;\n        va = mrb_hash_get(mrb, va, vb);\n        regs[a] = va;\n",
    },
    Repair {
        file: "src/vm.c",
        old: "      case MRB_TT_STRING:\n        switch (mrb_type(vb)) {\n        case MRB_TT_INTEGER:\n",
        new: "      case MRB_TT_STRING:\n        if (mrb_obj_ptr(va)->c != mrb->string_class) goto getidx_fallback;\n        switch (mrb_type(vb)) {\n        case MRB_TT_INTEGER:\n",
    },
    // `Module::Name` found a constant of the top level where the module has none, so its `const_missing` was not asked.
    Repair {
        file: "src/vm.c",
        old: "      mrb_value v = mrb_const_get(mrb, regs[a], syms[b]);\n",
        new: "      mrb_value v;\n      if (mrb_type(regs[a]) == MRB_TT_MODULE && !mrb_const_defined(mrb, regs[a], syms[b])) {\n        \
              mrb_value name = mrb_symbol_value(syms[b]);\n        \
              v = mrb_funcall_argv(mrb, regs[a], MRB_SYM(const_missing), 1, &name);\n      }\n      \
              else v = mrb_const_get(mrb, regs[a], syms[b]);\n",
    },
    // `$!`, and with it `raise` without arguments, which raised an empty RuntimeError.
    Repair {
        file: "src/vm.c",
        old: "        mrb->exc = NULL;\n      }\n      regs[a] = exc;\n",
        new: "        mrb->exc = NULL;\n        if (mrb_exception_p(exc)) mrb_gv_set(mrb, mrb_intern_lit(mrb, \"$!\"), exc);\n      }\n      regs[a] = exc;\n",
    },
    Repair {
        file: "src/vm.c",
        old: "#include \"value_array.h\"\n",
        new: "#include <mruby/variable.h>\n#include \"value_array.h\"\n",
    },
    Repair {
        file: "src/kernel.c",
        old: "    mrb_raise(mrb, E_RUNTIME_ERROR, \"\");\n    break;\n",
        new: "    exc = mrb_gv_get(mrb, mrb_intern_lit(mrb, \"$!\"));\n    if (mrb_exception_p(exc)) mrb_exc_raise(mrb, exc);\n    mrb_raise(mrb, E_RUNTIME_ERROR, \"unhandled exception\");\n    break;\n",
    },
    // A method or class in a text for `eval` took the caller's local variables for its own.
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "  node *prev = p->locals;\n\n  p->locals = cons(0, 0);\n  return prev;\n",
        new: "  node *prev = cons(p->locals, (node*)p->upper);\n\n  p->locals = cons(0, 0);\n  p->upper = NULL;\n  return prev;\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "  p->locals = prev;\n",
        new: "  p->locals = prev->car;\n  p->upper = (const struct RProc*)prev->cdr;\n",
    },
    // `Enumerator#next`, `zip` and fibers raised FiberError in everything that Rust called. What lies below in the resuming context
    // does not matter: a fiber comes back to the very place that resumed it.
    Repair {
        file: "mrbgems/mruby-fiber/src/fiber.c",
        old: "  fiber_check_cfunc(mrb, mrb->c);\n  mrb_get_args(mrb, \"*!\", &a, &len);\n  if (mrb->c->ci->cci > 0) {\n",
        new: "  mrb_get_args(mrb, \"*!\", &a, &len);\n  if (mrb->c->ci->cci > 0) {\n",
    },
    // `2.32` was 2.3200000000000003: the last digit of every fiftieth number was wrong. The extent is found as before, the
    // value by the C library.
    Repair {
        file: "src/readfloat.c",
        old: "#include <math.h>\n\nMRB_API mrb_bool\nmrb_read_float(const char *str, char **endp, double *fp)\n{\n",
        new: "#include <math.h>\n#include <stdlib.h>\n\nstatic mrb_bool read_float_roughly(const char*, char**, double*);\n\n\
              MRB_API mrb_bool\nmrb_read_float(const char *str, char **endp, double *fp)\n{\n  char *end = (char*)str;\n  char digits[512];\n  \
              mrb_bool read = read_float_roughly(str, &end, fp);\n  if (endp) *endp = end;\n  if (read && end - str < (ptrdiff_t)sizeof(digits)) {\n    \
              memcpy(digits, str, end - str);\n    digits[end - str] = '\\0';\n    *fp = strtod(digits, NULL);\n  }\n  return read;\n}\n\n\
              static mrb_bool\nread_float_roughly(const char *str, char **endp, double *fp)\n{\n",
    },
    // A full collection that came while an incremental one was sweeping freed what was in use: what had been marked stayed
    // marked, so nothing below it was looked at again, and what the write barrier had noted was forgotten.
    Repair {
        file: "src/gc.c",
        old: "    incremental_gc_finish(mrb, gc);\n  }\n  else {\n    /* Sweep the dead objects, then reset all the live objects\n",
        new: "    incremental_gc_finish(mrb, gc);\n  }\n  {\n    /* Sweep the dead objects, then reset all the live objects\n",
    },
    // The reader of bytecode can leave instructions and strings where they are, but its functions never ask it to.
    Repair {
        file: "src/load.c",
        old: "MRB_API mrb_value\nmrb_load_irep_buf_cxt(",
        new: "mrb_value\nfg_load_irep_in_place(mrb_state *mrb, const void *buf, size_t bufsize, mrbc_context *c)\n{\n  \
              return load_irep(mrb, read_irep(mrb, (const uint8_t *)buf, bufsize, FLAG_SRC_STATIC), c);\n}\n\n\
              MRB_API mrb_value\nmrb_load_irep_buf_cxt(",
    },
];

/// The sources with repaired copies in the place of those that needed it. What these include lies in [`folders`].
pub fn apply(place: &Place, sources: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    sources.iter().map(|source| repaired(place, source)).collect()
}

/// Where the copies' own includes are found.
pub fn folders(place: &Place) -> impl Iterator<Item = PathBuf> {
    REPAIRS.iter().filter_map(|repair| Path::new(repair.file).parent()).map(|folder| place.mruby.join(folder))
}

fn repaired(place: &Place, source: &Path) -> Result<PathBuf, Failure> {
    let Ok(name) = source.strip_prefix(&place.mruby) else { return Ok(source.to_owned()) };
    let mut wanted = REPAIRS.iter().filter(|repair| Path::new(repair.file) == name).peekable();
    if wanted.peek().is_none() {
        return Ok(source.to_owned());
    }
    let mut text = fs::read_to_string(source).map_err(|error| Failure(format!("{}: {error}", source.display())))?;
    for repair in wanted {
        let found = text.matches(repair.old).count();
        if found != 1 {
            return Err(Failure(format!(
                "{} is not the one of mruby 3.2.0: {:?} stands in it {found} times",
                source.display(),
                repair.old
            )));
        }
        text = text.replace(repair.old, repair.new);
    }
    place.write(&format!("repaired/{}", name.display()), &text)
}
