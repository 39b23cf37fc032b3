/* What Rust does with values: everything that can raise is an operation of fg_do, run inside fg_protect. */
#include "fg.h"
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/internal.h>
#include <mruby/presym.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <string.h>

extern const struct mrb_data_type fg_resource;
mrb_value fg_native_proc(mrb_state *mrb, uint32_t index);
void fg_define_native(mrb_state *mrb, struct RClass *class, mrb_sym name, uint32_t index);

/* The numbers are those of src/sys.rs. */
enum fg_operation {
  FG_STRING, FG_FLOAT, FG_INT, FG_ARRAY, FG_ARRAY_PUSH, FG_ARRAY_SET, FG_HASH, FG_HASH_GET, FG_HASH_FETCH, FG_HASH_SET,
  FG_HASH_DELETE, FG_HASH_DUP, FG_SEND, FG_YIELD, FG_CLASS, FG_MODULE, FG_METHOD, FG_SINGLETON_METHOD, FG_PROC,
  FG_CONST_GET, FG_CONST_SET, FG_CONST_DEFINED, FG_IVAR_GET, FG_IVAR_SET, FG_GVAR_GET, FG_GVAR_SET, FG_IS_A, FG_RESPOND_TO,
  FG_CLASS_NAME, FG_INSPECT, FG_TO_S, FG_RESOURCE, FG_ATTACH, FG_HOLDS_RESOURCES, FG_KEEP, FG_EXCEPTION, FG_BACKTRACE,
  FG_MESSAGE, FG_INTERN, FG_STRING_APPEND
};

struct fg_do {
  uint32_t operation;
  mrb_sym name;
  mrb_value a, b, c;
  const void *bytes;           /* bytes, values or nothing */
  size_t count;
};

static struct RClass*
as_class(mrb_state *mrb, mrb_value value)
{
  if (!mrb_class_p(value) && !mrb_module_p(value) && !mrb_sclass_p(value)) {
    mrb_raisef(mrb, E_TYPE_ERROR, "%T is not a class or module", value);
  }
  return mrb_class_ptr(value);
}

static mrb_value
want(mrb_state *mrb, mrb_value value, enum mrb_vtype type, const char *name)
{
  if (mrb_immediate_p(value) || mrb_type(value) != type) mrb_raisef(mrb, E_TYPE_ERROR, "%Y is no %s", value, name);
  return value;
}

#define HASH(value) want(mrb, value, MRB_TT_HASH, "Hash")
#define ARRAY(value) want(mrb, value, MRB_TT_ARRAY, "Array")
#define STRING(value) want(mrb, value, MRB_TT_STRING, "String")

static mrb_value
fetch(mrb_state *mrb, mrb_value hash, mrb_value key)
{
  return mrb_hash_fetch(mrb, HASH(hash), key, mrb_undef_value());
}

static void
holds_resources(struct RClass *class)
{
  MRB_SET_INSTANCE_TT(class, MRB_TT_CDATA);
}

static mrb_value
resource(mrb_state *mrb, mrb_value class, size_t number)
{
  struct RClass *c = as_class(mrb, class);
  if (MRB_INSTANCE_TT(c) != MRB_TT_CDATA) holds_resources(c);
  return mrb_obj_value(mrb_data_object_alloc(mrb, c, (void*)number, &fg_resource));
}

static mrb_value
attach(mrb_state *mrb, mrb_value object, size_t number)
{
  if (!mrb_data_p(object) || DATA_TYPE(object)) mrb_raisef(mrb, E_TYPE_ERROR, "%T cannot hold a resource", object);
  mrb_data_init(object, (void*)number, &fg_resource);
  return object;
}

static mrb_value
yield(mrb_state *mrb, mrb_value block, size_t count, const mrb_value *args)
{
  if (!mrb_proc_p(block)) mrb_raisef(mrb, E_TYPE_ERROR, "%Y is not a Proc", block);
  const struct RProc *proc = mrb_proc_ptr(block);
  if (!MRB_PROC_ENV_P(proc) || !MRB_PROC_ENV(proc)->stack) {
    return mrb_funcall_argv(mrb, block, mrb_intern_lit(mrb, "call"), (mrb_int)count, args);
  }
  return mrb_yield_argv(mrb, block, (mrb_int)count, args);
}

static mrb_value
define_class(mrb_state *mrb, mrb_value outer, mrb_sym name, mrb_value super)
{
  struct RClass *parent = mrb_nil_p(super) ? mrb->object_class : as_class(mrb, super);
  if (mrb_nil_p(outer)) return mrb_obj_value(mrb_define_class_id(mrb, name, parent));
  return mrb_obj_value(mrb_define_class_under_id(mrb, as_class(mrb, outer), name, parent));
}

static mrb_value
define_module(mrb_state *mrb, mrb_value outer, mrb_sym name)
{
  if (mrb_nil_p(outer)) return mrb_obj_value(mrb_define_module_id(mrb, name));
  return mrb_obj_value(mrb_define_module_under_id(mrb, as_class(mrb, outer), name));
}

static mrb_value
exception(mrb_state *mrb, mrb_value class, const char *message, size_t length)
{
  mrb_value text = mrb_str_new(mrb, message, (mrb_int)length);
  return mrb_obj_new(mrb, as_class(mrb, class), 1, &text);
}

static mrb_value
backtrace(mrb_state *mrb, mrb_value exc)
{
  return mrb_exception_p(exc) ? mrb_exc_backtrace(mrb, exc) : mrb_nil_value();
}

/* As Ruby does: an object may define `respond_to?` or `respond_to_missing?` itself. */
static mrb_bool
responds(mrb_state *mrb, mrb_value object, mrb_sym name)
{
  struct RClass *owner = mrb_class(mrb, object);
  mrb_method_t method = mrb_method_search_vm(mrb, &owner, MRB_SYM_Q(respond_to));
  mrb_bool kernel = !MRB_METHOD_UNDEF_P(method) && owner->tt == MRB_TT_ICLASS && owner->c == mrb->kernel_module;
  if (kernel) {
    if (mrb_respond_to(mrb, object, name)) return TRUE;
    if (!mrb_respond_to(mrb, object, MRB_SYM_Q(respond_to_missing))) return FALSE;
  }
  return mrb_test(mrb_funcall_id(mrb, object, MRB_SYM_Q(respond_to), 1, mrb_symbol_value(name)));
}

static mrb_value
operate(struct fg *s, void *data)
{
  mrb_state *mrb = s->mrb;
  struct fg_do *d = data;
  switch ((enum fg_operation)d->operation) {
    case FG_STRING: return mrb_str_new(mrb, d->bytes, (mrb_int)d->count);
    case FG_STRING_APPEND: return mrb_str_cat(mrb, STRING(d->a), d->bytes, d->count);
    case FG_FLOAT: return mrb_float_value(mrb, *(const double*)d->bytes);
    case FG_INT: return mrb_int_value(mrb, (mrb_int)d->count);
    case FG_ARRAY: return d->bytes ? mrb_ary_new_from_values(mrb, (mrb_int)d->count, d->bytes) : mrb_ary_new_capa(mrb, (mrb_int)d->count);
    case FG_ARRAY_PUSH: mrb_ary_push(mrb, ARRAY(d->a), d->b); return d->a;
    case FG_ARRAY_SET: mrb_ary_set(mrb, ARRAY(d->a), (mrb_int)d->count, d->b); return d->a;
    case FG_HASH: return mrb_hash_new_capa(mrb, (mrb_int)d->count);
    case FG_HASH_GET: return mrb_hash_get(mrb, HASH(d->a), d->b);
    case FG_HASH_FETCH: return fetch(mrb, d->a, d->b);
    case FG_HASH_SET: mrb_hash_set(mrb, HASH(d->a), d->b, d->c); return d->a;
    case FG_HASH_DELETE: return mrb_hash_delete_key(mrb, HASH(d->a), d->b);
    case FG_HASH_DUP: return mrb_hash_dup(mrb, HASH(d->a));
    case FG_SEND: return mrb_funcall_with_block(mrb, d->a, d->name, (mrb_int)d->count, d->bytes, d->b);
    case FG_YIELD: return yield(mrb, d->a, d->count, d->bytes);
    case FG_CLASS: return define_class(mrb, d->a, d->name, d->b);
    case FG_MODULE: return define_module(mrb, d->a, d->name);
    case FG_METHOD: fg_define_native(mrb, as_class(mrb, d->a), d->name, (uint32_t)d->count); return d->a;
    case FG_SINGLETON_METHOD:
      fg_define_native(mrb, mrb_class_ptr(mrb_singleton_class(mrb, d->a)), d->name, (uint32_t)d->count);
      return d->a;
    case FG_PROC: return fg_native_proc(mrb, (uint32_t)d->count);
    case FG_CONST_GET: as_class(mrb, d->a); return mrb_const_get(mrb, d->a, d->name);
    case FG_CONST_SET: as_class(mrb, d->a); mrb_const_set(mrb, d->a, d->name, d->b); return d->b;
    case FG_CONST_DEFINED: as_class(mrb, d->a); return mrb_bool_value(mrb_const_defined(mrb, d->a, d->name));
    case FG_IVAR_GET: return mrb_iv_get(mrb, d->a, d->name);
    case FG_IVAR_SET: mrb_iv_set(mrb, d->a, d->name, d->b); return d->b;
    case FG_GVAR_GET: return mrb_gv_get(mrb, d->name);
    case FG_GVAR_SET: mrb_gv_set(mrb, d->name, d->b); return d->b;
    case FG_IS_A: return mrb_bool_value(mrb_obj_is_kind_of(mrb, d->a, as_class(mrb, d->b)));
    case FG_RESPOND_TO: return mrb_bool_value(responds(mrb, d->a, d->name));
    case FG_CLASS_NAME: return mrb_mod_to_s(mrb, mrb_obj_value(mrb_obj_class(mrb, d->a)));
    case FG_INSPECT: return mrb_inspect(mrb, d->a);
    case FG_TO_S: return mrb_obj_as_string(mrb, d->a);
    case FG_RESOURCE: return resource(mrb, d->a, d->count);
    case FG_ATTACH: return attach(mrb, d->a, d->count);
    case FG_HOLDS_RESOURCES: holds_resources(as_class(mrb, d->a)); return d->a;
    case FG_KEEP: mrb_ary_push(mrb, s->roots, d->a); return mrb_fixnum_value(RARRAY_LEN(s->roots) - 1);
    case FG_EXCEPTION: return exception(mrb, d->a, d->bytes, d->count);
    case FG_BACKTRACE: return backtrace(mrb, d->a);
    case FG_MESSAGE: return mrb_exception_p(d->a) ? mrb_exc_mesg_get(mrb, mrb_exc_ptr(d->a)) : mrb_nil_value();
    case FG_INTERN: return mrb_symbol_value(mrb_intern(mrb, d->bytes, d->count));
  }
  return mrb_nil_value();
}

int
fg_do(struct fg *s, struct fg_do *d, mrb_value *result)
{
  return fg_protect(s, operate, d, result);
}

/* ---- functions that cannot raise */

/* Protects a value from the collector until the frame ends; 0 if there is no memory for that. */
int
fg_keep_alive(struct fg *s, mrb_value value)
{
  mrb_gc *gc = &s->mrb->gc;
  if (mrb_immediate_p(value)) return 1;
  if (!fg_room(s)) return 0;
  gc->arena[gc->arena_idx++] = mrb_basic_ptr(value);
  return 1;
}

/* The type tag of an object; Rust recognises immediate values itself. */
uint32_t fg_type(mrb_value value) { return mrb_type(value); }
double fg_float(mrb_value value) { return mrb_float(value); }
int64_t fg_integer(mrb_value value) { return mrb_integer(value); }

const char*
fg_string(mrb_value string, size_t *length)
{
  *length = (size_t)RSTRING_LEN(string);
  return RSTRING_PTR(string);
}

const mrb_value*
fg_array(mrb_value array, size_t *length)
{
  *length = (size_t)RARRAY_LEN(array);
  return RARRAY_PTR(array);
}

size_t fg_hash_size(struct fg *s, mrb_value hash) { return (size_t)mrb_hash_size(s->mrb, hash); }
int fg_is_frozen(mrb_value value) { return mrb_immediate_p(value) || mrb_frozen_p(mrb_basic_ptr(value)); }

void
fg_set_frozen(mrb_value value, int on)
{
  if (mrb_immediate_p(value)) return;
  if (on) MRB_SET_FROZEN_FLAG(mrb_basic_ptr(value));
  else MRB_UNSET_FROZEN_FLAG(mrb_basic_ptr(value));
}

uint32_t fg_intern_check(struct fg *s, const char *name, size_t length) { return length < UINT16_MAX ? mrb_intern_check(s->mrb, name, length) : 0; }

const char*
fg_symbol(struct fg *s, mrb_sym name, size_t *length)
{
  mrb_int size = 0;
  const char *text = mrb_sym_name_len(s->mrb, name, &size);
  *length = (size_t)size;
  return text;
}

mrb_value fg_object_class(struct fg *s) { return mrb_obj_value(s->mrb->object_class); }
mrb_value fg_top_self(struct fg *s) { return mrb_top_self(s->mrb); }
mrb_value fg_class_of(struct fg *s, mrb_value value) { return mrb_obj_value(mrb_obj_class(s->mrb, value)); }
mrb_value fg_no_memory(struct fg *s) { return mrb_obj_value(s->mrb->nomem_err); }

/* Preallocated exceptions would otherwise carry data of their last use into the next. */
void
fg_forget_traces(struct fg *s)
{
  ((struct RException*)s->mrb->nomem_err)->backtrace = NULL;
  ((struct RException*)s->mrb->stack_err)->backtrace = NULL;
}

/* The number of a resource, or 0. */
size_t
fg_resource_of(mrb_value value)
{
  return mrb_data_p(value) && DATA_TYPE(value) == &fg_resource ? (size_t)DATA_PTR(value) : 0;
}

mrb_value
fg_kept(struct fg *s, size_t place)
{
  return place < (size_t)RARRAY_LEN(s->roots) ? RARRAY_PTR(s->roots)[place] : mrb_nil_value();
}
