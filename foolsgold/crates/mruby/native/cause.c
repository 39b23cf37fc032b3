/* Exception#cause: the exception being handled when another was raised.
 *
 * The repaired code generator records in the table of catch handlers where a `rescue` or `ensure` clause is, and which
 * register holds its exception. So the cause is searched for only on a raise; code that does not raise pays nothing. */
#include <mruby.h>
#include <mruby/dump.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/irep.h>
#include <mruby/proc.h>
#include <mruby/variable.h>
#include <mruby/internal.h>
#include "cause.h"

#define CAUSE mrb_intern_lit(mrb, "cause")

/* The exception of the innermost clause that contains a call, or nil. */
static mrb_value
handled_in(const mrb_callinfo *ci)
{
  const struct RProc *proc = ci->proc;
  if (!proc || MRB_PROC_CFUNC_P(proc) || !ci->pc) return mrb_nil_value();
  const mrb_irep *irep = proc->body.irep;
  const struct mrb_irep_catch_handler *handlers = mrb_irep_catch_handler_table(irep);
  ptrdiff_t at = ci->pc - irep->iseq;
  for (size_t i = irep->clen; i-- > 0;) {
    const struct mrb_irep_catch_handler *one = &handlers[i];
    /* The program counter is at the next instruction. */
    if (one->type == FG_CATCH_CLAUSE && at > (ptrdiff_t)mrb_irep_catch_handler_unpack(one->begin) &&
        at <= (ptrdiff_t)mrb_irep_catch_handler_unpack(one->end)) {
      mrb_value exc = ci->stack[mrb_irep_catch_handler_unpack(one->target)];
      /* nil in an `ensure` that no exception led to. */
      if (mrb_exception_p(exc)) return exc;
    }
  }
  return mrb_nil_value();
}

mrb_value
fg_handled_exception(mrb_state *mrb)
{
  const struct mrb_context *context = mrb->c;
  if (!context || !context->cibase) return mrb_nil_value();
  for (const mrb_callinfo *ci = context->ci; ci >= context->cibase; ci--) {
    mrb_value exc = handled_in(ci);
    if (!mrb_nil_p(exc)) return exc;
  }
  return mrb_nil_value();
}

static mrb_bool
leads_to(mrb_state *mrb, mrb_value from, mrb_value to)
{
  for (; mrb_exception_p(from); from = mrb_iv_get(mrb, from, CAUSE)) {
    if (mrb_obj_ptr(from) == mrb_obj_ptr(to)) return TRUE;
  }
  return FALSE;
}

void
fg_note_cause(mrb_state *mrb, mrb_value exc)
{
  struct RObject *object = mrb_obj_ptr(exc);
  /* Exceptions that exist once per interpreter keep no cause. */
  if (object == mrb->nomem_err || object == mrb->stack_err || mrb_frozen_p(object)) return;
  mrb_value cause = fg_handled_exception(mrb);
  if (mrb_nil_p(cause) || mrb_iv_defined(mrb, exc, CAUSE) || leads_to(mrb, cause, exc)) return;
  mrb_iv_set(mrb, exc, CAUSE, cause);
}

mrb_int
fg_take_cause(mrb_state *mrb, mrb_int argc, mrb_value *argv, mrb_value *cause)
{
  if (argc == 0 || !mrb_hash_p(argv[argc - 1])) return argc;
  mrb_value key = mrb_symbol_value(CAUSE);
  if (!mrb_hash_key_p(mrb, argv[argc - 1], key)) return argc;
  mrb_value rest = mrb_hash_dup(mrb, argv[argc - 1]);
  *cause = mrb_hash_delete_key(mrb, rest, key);
  if (argc == 1) mrb_raise(mrb, E_ARGUMENT_ERROR, "only cause is given with no arguments");
  if (!mrb_nil_p(*cause) && !mrb_exception_p(*cause)) mrb_raise(mrb, E_TYPE_ERROR, "exception object expected");
  if (mrb_hash_empty_p(mrb, rest)) return argc - 1;
  argv[argc - 1] = rest;
  return argc;
}

void
fg_set_cause(mrb_state *mrb, mrb_value exc, mrb_value cause)
{
  if (mrb_undef_p(cause)) {
    fg_note_cause(mrb, exc);
    return;
  }
  if (mrb_exception_p(cause)) {
    if (mrb_obj_ptr(cause) == mrb_obj_ptr(exc)) return;
    if (leads_to(mrb, cause, exc)) mrb_raise(mrb, E_ARGUMENT_ERROR, "circular causes");
  }
  mrb_iv_set(mrb, exc, CAUSE, cause);
}

mrb_value
fg_cause(mrb_state *mrb, mrb_value exc)
{
  return mrb_iv_get(mrb, exc, CAUSE);
}
