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
    // Integers beyond 62 bits were compared by their addresses, an Integer and a Float after the Integer had lost its last bits.
    Repair {
        file: "src/vm.c",
        old: "#include \"value_array.h\"\n",
        new: "#include \"value_array.h\"\n#include \"number.h\"\n",
    },
    Repair {
        file: "src/vm.c",
        old: "#define OP_CMP(op, sym) do {\\\n  int result;\\\n  /* need to check if - is overridden */\\\n  switch (TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) {\\\n  case TYPES2(MRB_TT_INTEGER,MRB_TT_INTEGER):\\\n    result = OP_CMP_BODY(op,mrb_fixnum,mrb_fixnum);\\\n",
        new: "#define OP_CMP(op, sym) do {\\\n  int result;\\\n  /* need to check if - is overridden */\\\n  switch (TYPES2(mrb_type(regs[a]),mrb_type(regs[a+1]))) {\\\n  case TYPES2(MRB_TT_INTEGER,MRB_TT_INTEGER):\\\n    result = OP_CMP_BODY(op,FG_INTEGER,FG_INTEGER);\\\n",
    },
    Repair {
        file: "src/vm.c",
        old: "    result = OP_CMP_BODY(op,mrb_fixnum,mrb_float);\\\n    break;\\\n  case TYPES2(MRB_TT_FLOAT,MRB_TT_INTEGER):\\\n    result = OP_CMP_BODY(op,mrb_float,mrb_fixnum);\\\n",
        new: "    result = !FG_NAN_P(regs[a+1]) && fg_compare(mrb_integer(regs[a]), mrb_float(regs[a+1])) op 0;\\\n    break;\\\n  case TYPES2(MRB_TT_FLOAT,MRB_TT_INTEGER):\\\n    result = !FG_NAN_P(regs[a]) && 0 op fg_compare(mrb_integer(regs[a+1]), mrb_float(regs[a]));\\\n",
    },
    // `<=>`, and with it `sort`, made Floats of two Integers; NaN was equal to everything.
    Repair {
        file: "src/numeric.c",
        old: "static mrb_int\ncmpnum(mrb_state *mrb, mrb_value v1, mrb_value v2)\n{\n",
        new: "static mrb_int\ncmpnum(mrb_state *mrb, mrb_value v1, mrb_value v2)\n{\n  if (mrb_integer_p(v1) && mrb_integer_p(v2)) {\n    mrb_int i = mrb_integer(v1), j = mrb_integer(v2);\n    return i < j ? -1 : i > j;\n  }\n  if (FG_NAN_P(v1) || FG_NAN_P(v2)) return -2;\n  if (mrb_integer_p(v1) && mrb_float_p(v2)) return fg_compare(mrb_integer(v1), mrb_float(v2));\n  if (mrb_float_p(v1) && mrb_integer_p(v2)) return -fg_compare(mrb_integer(v2), mrb_float(v1));\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "  if (n == -2) cmperr(mrb, self, other);\n  if (n < 0) return mrb_true_value();\n",
        new: "  if (n == -2 && (FG_NAN_P(other) || (FG_NAN_P(self) && mrb_integer_p(other)))) return mrb_false_value();\n  if (n == -2) cmperr(mrb, self, other);\n  if (n < 0) return mrb_true_value();\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "  if (n == -2) cmperr(mrb, self, other);\n  if (n <= 0) return mrb_true_value();\n",
        new: "  if (n == -2 && (FG_NAN_P(other) || (FG_NAN_P(self) && mrb_integer_p(other)))) return mrb_false_value();\n  if (n == -2) cmperr(mrb, self, other);\n  if (n <= 0) return mrb_true_value();\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "  if (n == -2) cmperr(mrb, self, other);\n  if (n > 0) return mrb_true_value();\n",
        new: "  if (n == -2 && (FG_NAN_P(other) || (FG_NAN_P(self) && mrb_integer_p(other)))) return mrb_false_value();\n  if (n == -2) cmperr(mrb, self, other);\n  if (n > 0) return mrb_true_value();\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "  if (n == -2) cmperr(mrb, self, other);\n  if (n >= 0) return mrb_true_value();\n",
        new: "  if (n == -2 && (FG_NAN_P(other) || (FG_NAN_P(self) && mrb_integer_p(other)))) return mrb_false_value();\n  if (n == -2) cmperr(mrb, self, other);\n  if (n >= 0) return mrb_true_value();\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "    return mrb_bool_value((mrb_float)mrb_integer(x) == mrb_float(y));\n",
        new: "    return mrb_bool_value(!FG_NAN_P(y) && fg_compare(mrb_integer(x), mrb_float(y)) == 0);\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "    return mrb_bool_value(mrb_float(x) == (mrb_float)mrb_integer(y));\n",
        new: "    return mrb_bool_value(!FG_NAN_P(x) && fg_compare(mrb_integer(y), mrb_float(x)) == 0);\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "#include <mruby/presym.h>\n#include <string.h>\n",
        new: "#include <mruby/presym.h>\n#include <string.h>\n#include \"number.h\"\n\nstatic mrb_value fg_float_div(mrb_state*, mrb_float, mrb_float);\n",
    },
    // `7.0.div(0.5)` made Integers of both first. `0 % 0` raises, and a remainder of zero has the sign of what is divided.
    Repair {
        file: "src/numeric.c",
        old: "  mrb_int y;\n\n  mrb_get_args(mrb, \"i\", &y);\n  return mrb_div_int_value(mrb, mrb_integer(x), y);\n",
        new: "  mrb_value y = mrb_get_arg1(mrb);\n\n  if (mrb_float_p(y)) return fg_float_div(mrb, (mrb_float)mrb_integer(x), mrb_float(y));\n  return mrb_div_int_value(mrb, mrb_integer(x), mrb_as_int(mrb, y));\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "  mrb_int y;\n\n  mrb_get_args(mrb, \"i\", &y);\n  return mrb_div_int_value(mrb, (mrb_int)mrb_float(xv), y);\n",
        new: "  return fg_float_div(mrb, mrb_float(xv), mrb_as_float(mrb, mrb_get_arg1(mrb)));\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "static mrb_value\nflo_rounding(mrb_state *mrb, mrb_value num, double (*func)(double))\n",
        new: "static mrb_value\nfg_float_div(mrb_state *mrb, mrb_float x, mrb_float y)\n{\n  mrb_float div;\n\n  if (y == 0.0) mrb_int_zerodiv(mrb);\n  div = floor(x / y);\n  mrb_check_num_exact(mrb, div);\n  return flo_rounding_int(mrb, div);\n}\n\nstatic mrb_value\nflo_rounding(mrb_state *mrb, mrb_value num, double (*func)(double))\n",
    },
    Repair {
        file: "src/numeric.c",
        old: "  if (y == 0.0) {\n    mrb_int_zerodiv(mrb);\n  }\n  if (isinf(y) && !isinf(x)) {\n",
        new: "  if (y == 0.0) {\n    mrb_int_zerodiv(mrb);\n  }\n  if (x == 0.0 || (isinf(y) && !isinf(x))) {\n",
    },
    Repair { file: "src/numeric.c", old: "  if (div == 0) div = 0.0;\n  if (mod == 0) mod = 0.0;\n", new: "" },
    Repair {
        file: "src/numeric.c",
        old: "  if (a == 0) return x;\n  if (mrb_integer_p(y)) {\n    b = mrb_integer(y);\n    if (b == 0) mrb_int_zerodiv(mrb);\n",
        new: "  if (mrb_integer_p(y)) {\n    b = mrb_integer(y);\n    if (b == 0) mrb_int_zerodiv(mrb);\n",
    },
    // `7.divmod(2.5)` read the Integer's word as the address of a Float.
    Repair {
        file: "src/numeric.c",
        old: "  flodivmod(mrb, mrb_float(x), mrb_as_float(mrb, y), &div, &mod);\n  if (!FIXABLE_FLOAT(div))\n    a = mrb_float_value(mrb, div);\n  else\n    a = mrb_int_value(mrb, (mrb_int)div);\n",
        new: "  flodivmod(mrb, mrb_as_float(mrb, x), mrb_as_float(mrb, y), &div, &mod);\n  mrb_check_num_exact(mrb, div);\n  a = flo_rounding_int(mrb, div);\n",
    },
    // `inherited` came after the block of `Class.new`, which may rely on it.
    Repair {
        file: "src/class.c",
        old: "  mid = MRB_SYM(initialize);\n  if (mrb_func_basic_p(mrb, new_class, mid, mrb_class_initialize)) {\n    mrb_class_initialize(mrb, new_class);\n",
        new: "  mrb_class_inherited(mrb, mrb_class_ptr(super), mrb_class_ptr(new_class));\n  mid = MRB_SYM(initialize);\n  if (mrb_func_basic_p(mrb, new_class, mid, mrb_class_initialize)) {\n    mrb_class_initialize(mrb, new_class);\n",
    },
    Repair {
        file: "src/class.c",
        old: "    mrb_funcall_with_block(mrb, new_class, mid, n, &super, blk);\n  }\n  mrb_class_inherited(mrb, mrb_class_ptr(super), mrb_class_ptr(new_class));\n  return new_class;\n",
        new: "    mrb_funcall_with_block(mrb, new_class, mid, n, &super, blk);\n  }\n  return new_class;\n",
    },
    // The message did not say which variable of what.
    Repair {
        file: "src/variable.c",
        old: "    mrb_raise(mrb, E_ARGUMENT_ERROR, \"cannot set instance variable\");\n",
        new: "    mrb_raisef(mrb, E_ARGUMENT_ERROR, \"cannot set %n: instances of %C, as of other classes below String, Array, Proc and Range, have no instance variables here\", sym, mrb_obj_class(mrb, obj));\n",
    },
    // `b` and `B` did nothing in `pack` and `unpack`, and neither did letters that are not directives.
    Repair {
        file: "mrbgems/mruby-pack/src/pack.c",
        old: "  PACK_DIR_HEX,       /* h */\n",
        new: "  PACK_DIR_HEX,       /* h */\n  PACK_DIR_BITS,      /* b */\n",
    },
    Repair {
        file: "mrbgems/mruby-pack/src/pack.c",
        old: "  case 'h':\n    dir = PACK_DIR_HEX;\n",
        new: "  case 'B':\n    dir = PACK_DIR_BITS;\n    type = PACK_TYPE_STRING;\n    flags |= PACK_FLAG_COUNT2;\n    break;\n  case 'b':\n    dir = PACK_DIR_BITS;\n    type = PACK_TYPE_STRING;\n    flags |= PACK_FLAG_COUNT2 | PACK_FLAG_LSB;\n    break;\n  case 'h':\n    dir = PACK_DIR_HEX;\n",
    },
    Repair {
        file: "mrbgems/mruby-pack/src/pack.c",
        old: "  default:\n    dir = PACK_DIR_INVALID;\n    type = PACK_TYPE_NONE;\n    break;\n  }\n\n  /* read suffix",
        new: "  default:\n    if (!ISSPACE(t)) mrb_raisef(mrb, E_ARGUMENT_ERROR, \"unknown pack directive '%c'\", (char)t);\n    dir = PACK_DIR_INVALID;\n    type = PACK_TYPE_NONE;\n    break;\n  }\n\n  /* read suffix",
    },
    Repair {
        file: "mrbgems/mruby-pack/src/pack.c",
        old: "        ridx += pack_hex(mrb, o, result, ridx, count, flags);\n        break;\n",
        new: "        ridx += pack_hex(mrb, o, result, ridx, count, flags);\n        break;\n      case PACK_DIR_BITS:\n        ridx += fg_pack_bits(mrb, o, result, ridx, count, flags);\n        break;\n",
    },
    Repair {
        file: "mrbgems/mruby-pack/src/pack.c",
        old: "      srcidx += unpack_hex(mrb, sptr, srclen - srcidx, result, count, flags);\n      continue;\n",
        new: "      srcidx += unpack_hex(mrb, sptr, srclen - srcidx, result, count, flags);\n      continue;\n    case PACK_DIR_BITS:\n      srcidx += fg_unpack_bits(mrb, sptr, srclen - srcidx, result, count, flags);\n      continue;\n",
    },
    Repair {
        file: "mrbgems/mruby-pack/src/pack.c",
        old: "static int\npack_base64(mrb_state *mrb,",
        new: "static int\nfg_pack_bits(mrb_state *mrb, mrb_value src, mrb_value dst, mrb_int didx, int count, unsigned int flags)\n{\n  int given = (int)RSTRING_LEN(src), bytes, i;\n  int beyond = count > given ? (count - given + 1) / 2 : 0;\n  if (count == -1 || count > given) count = given;\n  /* CRuby adds half a byte for each bit that is missing. */\n  bytes = count / 8 + (count % 8 != 0) + beyond;\n  dst = str_len_ensure(mrb, dst, didx + bytes);\n  memset(RSTRING_PTR(dst) + didx, 0, bytes);\n  for (i=0; i<count; i++) {\n    if (RSTRING_PTR(src)[i] & 1) RSTRING_PTR(dst)[didx + i/8] |= (flags & PACK_FLAG_LSB) ? 1 << i%8 : 128 >> i%8;\n  }\n  return bytes;\n}\n\nstatic int\nfg_unpack_bits(mrb_state *mrb, const unsigned char *src, int slen, mrb_value ary, int count, unsigned int flags)\n{\n  mrb_value dst;\n  int i;\n  if (count == -1 || count / 8 >= slen) count = slen * 8;\n  dst = mrb_str_new(mrb, NULL, count);\n  for (i=0; i<count; i++) {\n    RSTRING_PTR(dst)[i] = src[i/8] & ((flags & PACK_FLAG_LSB) ? 1 << i%8 : 128 >> i%8) ? '1' : '0';\n  }\n  mrb_ary_push(mrb, ary, dst);\n  return count / 8 + (count % 8 != 0);\n}\n\nstatic int\npack_base64(mrb_state *mrb,",
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
