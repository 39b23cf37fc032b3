//! Mistakes of mruby 3.2.0 put right in copies of its files, and one door opened.
//!
//! Each change is a text that must stand in the file exactly once, so another version of mruby cannot be changed by
//! mistake: the build stops and says which one did not fit.

use crate::{Failure, Place};
use std::fs;
use std::path::{Path, PathBuf};

pub struct Repair {
    /// Below the source tree.
    pub file: &'static str,
    pub old: &'static str,
    pub new: &'static str,
}

/// Those of this file and of [`crate::reach`].
fn all() -> impl Iterator<Item = &'static Repair> {
    REPAIRS.iter().chain(crate::reach::REPAIRS)
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
        new: "    exc = fg_handled_exception(mrb);\n    if (mrb_exception_p(exc)) mrb_exc_raise(mrb, exc);\n    mrb_raise(mrb, E_RUNTIME_ERROR, \"unhandled exception\");\n    break;\n",
    },
    // There was no `Exception#cause`, nor `raise` with a backtrace. native/cause.c says how it is found; for that, an exception
    // has its register for as long as its clause runs.
    Repair {
        file: "src/kernel.c",
        old: "  mrb_value a[2], exc;\n  mrb_int argc;\n\n  argc = mrb_get_args(mrb, \"|oo\", &a[0], &a[1]);\n",
        new: "  mrb_value a[4], exc, cause = mrb_undef_value();\n  mrb_int argc;\n\n  argc = mrb_get_args(mrb, \"|oooo\", &a[0], &a[1], &a[2], &a[3]);\n  \
              argc = fg_take_cause(mrb, argc, a, &cause);\n",
    },
    Repair {
        file: "src/kernel.c",
        old: "    exc = mrb_make_exception(mrb, argc, a);\n    mrb_exc_raise(mrb, exc);\n",
        new: "    exc = mrb_make_exception(mrb, argc, a);\n    if (mrb_exception_p(exc)) fg_set_cause(mrb, exc, cause);\n    mrb_exc_raise(mrb, exc);\n",
    },
    Repair {
        file: "src/kernel.c",
        old: "#include <mruby/istruct.h>\n",
        new: "#include <mruby/istruct.h>\n#include \"cause.h\"\n",
    },
    Repair {
        file: "src/error.c",
        old: "    if (!mrb->gc.out_of_memory && !mrb_frozen_p(mrb->exc)) {\n      mrb_keep_backtrace(mrb, exc);\n",
        new: "    if (!mrb->gc.out_of_memory && !mrb_frozen_p(mrb->exc)) {\n      \
              if (!mrb_exc_ptr(exc)->backtrace) fg_note_cause(mrb, exc);\n      mrb_keep_backtrace(mrb, exc);\n",
    },
    Repair {
        file: "src/error.c",
        old: "#include <mruby/throw.h>\n",
        new: "#include <mruby/throw.h>\n#include \"cause.h\"\n",
    },
    Repair {
        file: "src/error.c",
        old: "  mrb_define_method(mrb, exception, \"set_backtrace\",   exc_set_backtrace, MRB_ARGS_REQ(1));\n",
        new: "  mrb_define_method(mrb, exception, \"set_backtrace\",   exc_set_backtrace, MRB_ARGS_REQ(1));\n  \
              mrb_define_method(mrb, exception, \"cause\", fg_cause, MRB_ARGS_NONE());\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/codegen.c",
        old: "        push();\n        while (n2) {\n          node *n3 = n2->car;\n          node *n4 = n3->car;\n\n          dispatch(s, pos1);\n",
        new: "        push();\n        int clause = catch_handler_new(s);\n        uint32_t clause_begin = s->pc;\n        \
              while (n2) {\n          node *n3 = n2->car;\n          node *n4 = n3->car;\n\n          dispatch(s, pos1);\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/codegen.c",
        old: "          pop();\n          if (n3->cdr->car) {\n            gen_assignment(s, n3->cdr->car, NULL, exc, NOVAL);\n          }\n          \
              if (n3->cdr->cdr->car) {\n            codegen(s, n3->cdr->cdr->car, val);\n            if (val) pop();\n          }\n",
        new: "          if (n3->cdr->car) {\n            gen_assignment(s, n3->cdr->car, NULL, exc, NOVAL);\n          }\n          \
              if (n3->cdr->cdr->car) {\n            codegen(s, n3->cdr->cdr->car, val);\n            \
              if (val) {\n              pop();\n              gen_move(s, exc, cursp(), 0);\n            }\n          }\n          pop();\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/codegen.c",
        old: "          genop_1(s, OP_RAISEIF, exc);\n        }\n",
        new: "          genop_1(s, OP_RAISEIF, exc);\n        }\n        \
              catch_handler_set(s, clause, (enum mrb_catch_type)FG_CATCH_CLAUSE, clause_begin, s->pc, exc);\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/codegen.c",
        old: "      genop_1(s, OP_EXCEPT, idx);\n      push();\n      codegen(s, tree->cdr->cdr, NOVAL);\n      pop();\n",
        new: "      genop_1(s, OP_EXCEPT, idx);\n      push();\n      int clause = catch_handler_new(s);\n      uint32_t clause_begin = s->pc;\n      \
              codegen(s, tree->cdr->cdr, NOVAL);\n      \
              catch_handler_set(s, clause, (enum mrb_catch_type)FG_CATCH_CLAUSE, clause_begin, s->pc, idx);\n      pop();\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/codegen.c",
        old: "#include <mruby/throw.h>\n",
        new: "#include <mruby/throw.h>\n#include \"cause.h\"\n",
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
    // A fiber that ran out of memory before it had its call stack ended the process when it was collected.
    Repair {
        file: "src/gc.c",
        old: "        if (!end && c->status != MRB_FIBER_TERMINATED) {\n",
        new: "        if (!end && c->ci && c->status != MRB_FIBER_TERMINATED) {\n",
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
    let beside = all().filter_map(|repair| Path::new(repair.file).parent()).map(|folder| place.mruby.join(folder));
    beside.chain([place.native.clone()])
}

/// Where a copy of that file is found by who includes it.
pub fn folder_of(place: &Place, source: &Path) -> Result<PathBuf, Failure> {
    let copy = repaired(place, source)?;
    copy.parent().map(Path::to_owned).ok_or_else(|| Failure(format!("{} lies nowhere", copy.display())))
}

fn repaired(place: &Place, source: &Path) -> Result<PathBuf, Failure> {
    let Ok(name) = source.strip_prefix(&place.mruby) else { return Ok(source.to_owned()) };
    let mut wanted = all().filter(|repair| Path::new(repair.file) == name).peekable();
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
