/* Ruby source text and bytecode: compiling, loading, running. */
#include "fg.h"
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/compile.h>
#include <mruby/dump.h>
#include <mruby/error.h>
#include <mruby/internal.h>
#include <mruby/irep.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <string.h>

struct source {
  const char *text;
  size_t length;
  const char *file;            /* ends with NUL */
  uint32_t line;
  uint8_t *bytecode;           /* the result of compiling, in the arena */
  size_t size;
  int stays;                   /* the text lives as long as the interpreter */
};

/* See build/repairs.rs. */
mrb_value fg_load_irep_in_place(mrb_state *mrb, const void *bytecode, size_t size, mrbc_context *context);

static mrb_noreturn void
syntax_error(mrb_state *mrb, struct source *source, struct mrb_parser_state *parser, mrbc_context *context)
{
  const struct mrb_parser_message *first = &parser->error_buffer[0];
  const char *message = first->message ? first->message : "cannot be compiled";
  mrb_value place = mrb_format(mrb, "%s:%d", source->file, (int)first->lineno);
  /* The parser's own message would not say that this is valid Ruby, which mruby lacks. */
  const char *hint = strstr(message, "unexpected keyword_in") ? "; pattern matching (case/in) is not in mruby, use case/when" : "";
  mrb_value text = mrb_format(mrb, "%v: %s%s", place, message, hint);
  mrb_parser_free(parser);
  mrbc_context_free(mrb, context);
  mrb_value error = mrb_exc_new_str(mrb, mrb_class_get(mrb, "SyntaxError"), text);
  mrb_value trace = mrb_ary_new_from_values(mrb, 1, &place);
  mrb_exc_ptr(error)->backtrace = mrb_obj_ptr(trace);
  mrb_field_write_barrier(mrb, mrb_basic_ptr(error), mrb_basic_ptr(trace));
  mrb_exc_raise(mrb, error);
}

/* Raises the error that the parser or the code generator recorded, if any. */
static void
raise_left(mrb_state *mrb, struct mrb_parser_state *parser, mrbc_context *context)
{
  if (!mrb->exc) return;
  mrb_value exc = mrb_obj_value(mrb->exc);
  mrb->exc = NULL;
  mrb_parser_free(parser);
  mrbc_context_free(mrb, context);
  mrb_exc_raise(mrb, exc);
}

static struct RProc*
parse(mrb_state *mrb, struct source *source)
{
  mrbc_context *context = mrbc_context_new(mrb);
  context->capture_errors = TRUE;
  context->lineno = (uint16_t)source->line;
  mrbc_filename(mrb, context, source->file);
  struct mrb_parser_state *parser = mrb_parse_nstring(mrb, source->text, source->length, context);
  if (!parser) {
    mrbc_context_free(mrb, context);
    mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));
  }
  raise_left(mrb, parser, context);
  if (!parser->tree || parser->nerr) syntax_error(mrb, source, parser, context);
  struct RProc *proc = mrb_generate_code(mrb, parser);
  /* "too complex expression" and the like are reported by the code generator. */
  if (!proc) {
    raise_left(mrb, parser, context);
    syntax_error(mrb, source, parser, context);
  }
  mrb_parser_free(parser);
  mrbc_context_free(mrb, context);
  return proc;
}

static mrb_value
run(mrb_state *mrb, struct RProc *proc)
{
  MRB_PROC_SET_TARGET_CLASS(proc, mrb->object_class);
  mrb_bool outermost = mrb->c->ci == mrb->c->cibase;
  if (outermost) mrb_vm_ci_target_class_set(mrb->c->ci, mrb->object_class);
  mrb_value result = mrb_top_run(mrb, proc, mrb_top_self(mrb), 0);
  if (mrb->exc) {
    /* At the outermost level the virtual machine returns instead of throwing. */
    mrb_value exc = mrb_obj_value(mrb->exc);
    mrb->exc = NULL;
    mrb_exc_raise(mrb, exc);
  }
  if (outermost) {
    /* Its local variables belong to its own closures, not to the next text run here. */
    mrb_gc_protect(mrb, result);
    struct REnv *env = mrb_vm_ci_env(mrb->c->cibase);
    mrb_vm_ci_env_set(mrb->c->cibase, NULL);
    mrb_env_unshare(mrb, env, FALSE);
  }
  return result;
}

static mrb_value
eval(struct fg *s, void *data)
{
  return run(s->mrb, parse(s->mrb, data));
}

int
fg_eval(struct fg *s, struct source *source, mrb_value *result)
{
  return fg_protect(s, eval, source, result);
}

static mrb_value
compile(struct fg *s, void *data)
{
  struct source *source = data;
  struct RProc *proc = parse(s->mrb, source);
  if (mrb_dump_irep(s->mrb, proc->body.irep, MRB_DUMP_DEBUG_INFO, &source->bytecode, &source->size) != MRB_DUMP_OK) {
    mrb_raise(s->mrb, mrb_class_get(s->mrb, "ScriptError"), "cannot be written as bytecode");
  }
  return mrb_nil_value();
}

int
fg_compile(struct fg *s, struct source *source, mrb_value *result)
{
  return fg_protect(s, compile, source, result);
}

void fg_free_bytecode(struct fg *s, struct source *source) { mrb_free(s->mrb, source->bytecode); }

static mrb_value
load(struct fg *s, void *data)
{
  struct source *source = data;
  mrb_state *mrb = s->mrb;
  mrbc_context *context = mrbc_context_new(mrb);
  context->no_exec = TRUE;
  mrb_value (*read)(mrb_state*, const void*, size_t, mrbc_context*) =
    source->stays ? fg_load_irep_in_place : mrb_load_irep_buf_cxt;
  mrb_value proc = read(mrb, source->text, source->length, context);
  mrbc_context_free(mrb, context);
  if (mrb->exc) {
    mrb_value exc = mrb_obj_value(mrb->exc);
    mrb->exc = NULL;
    mrb_exc_raise(mrb, exc);
  }
  if (!mrb_proc_p(proc)) mrb_raise(mrb, mrb_class_get(mrb, "ScriptError"), "not bytecode of this version of mruby");
  return run(mrb, mrb_proc_ptr(proc));
}

int
fg_load(struct fg *s, struct source *source, mrb_value *result)
{
  return fg_protect(s, load, source, result);
}
