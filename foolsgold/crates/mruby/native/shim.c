/* Making an interpreter, entering it from Rust, calling Rust from it, and stopping it. */
#include "fg.h"
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/gc.h>
#include <mruby/internal.h>
#include <mruby/istruct.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <stdlib.h>
#include <string.h>

/* The representation of values that src/value.rs assumes. */
_Static_assert(MRB_Qnil == 0 && MRB_Qfalse == 4 && MRB_Qtrue == 12 && MRB_Qundef == 20, "constants");
_Static_assert(WORDBOX_FIXNUM_FLAG == 1 && WORDBOX_FIXNUM_SHIFT == 1, "small integers");
_Static_assert(WORDBOX_SYMBOL_FLAG == 2 && WORDBOX_SYMBOL_SHIFT == 2, "symbols");
_Static_assert(MRB_TT_FLOAT == 5 && MRB_TT_INTEGER == 6 && MRB_TT_CLASS == 9 && MRB_TT_MODULE == 10 && MRB_TT_SCLASS == 12 &&
               MRB_TT_PROC == 13 && MRB_TT_ARRAY == 14 && MRB_TT_HASH == 15 && MRB_TT_STRING == 16 && MRB_TT_RANGE == 17 &&
               MRB_TT_EXCEPTION == 18 && MRB_TT_CDATA == 20 && MRB_TT_FIBER == 21 && MRB_TT_BREAK == 24, "types");
_Static_assert(sizeof(mrb_value) == 8 && sizeof(mrb_int) == 8 && sizeof(mrb_float) == 8, "sizes");

/* ---- entering */

/* Makes room for one more value that the collector must keep; 0 if there is no memory for it. */
int
fg_room(struct fg *s)
{
  mrb_gc *gc = &s->mrb->gc;
  if (gc->arena_idx + 1 < gc->arena_capa) return 1;
  int capacity = gc->arena_capa * 2;
  struct RBasic **more = mrb_realloc_simple(s->mrb, gc->arena, sizeof *more * (size_t)capacity);
  if (!more) return 0;
  gc->arena = more;
  gc->arena_capa = capacity;
  return 1;
}

/* Ends the calls above a level, as the virtual machine does; but if memory is short, variables that a closure captured
 * from them are lost instead of raising again. */
static void
pop_calls(mrb_state *mrb, struct mrb_context *context, ptrdiff_t level)
{
  while (context->ci - context->cibase > level) {
    mrb_callinfo *ci = context->ci;
    struct REnv *env = mrb_vm_ci_env(ci);
    mrb_vm_ci_env_set(ci, NULL);
    struct RProc *block = ci->blk;
    if (block && !mrb_object_dead_p(mrb, (struct RBasic*)block) && block->tt == MRB_TT_PROC &&
        !MRB_PROC_STRICT_P(block) && MRB_PROC_ENV(block) == mrb_vm_ci_env(ci - 1)) {
      block->flags |= MRB_PROC_ORPHAN;
    }
    if (env) mrb_env_unshare(mrb, env, TRUE);
    context->ci--;
  }
}

enum { FINISHED = 0, EXCEPTION = 1 };

int
fg_protect(struct fg *s, fg_body *body, void *data, mrb_value *result)
{
  mrb_state *mrb = s->mrb;
  *result = mrb_nil_value();
  if (atomic_load_explicit(&s->stop, memory_order_relaxed)) return FG_STOPPED;
  if (!fg_room(s)) {
    *result = mrb_obj_value(mrb->nomem_err);
    return FG_RAISED;
  }
  struct mrb_jmpbuf *jmp = mrb->jmp;
  struct mrb_context *context = mrb->c;
  ptrdiff_t level = context->ci - context->cibase;
  int kept = mrb_gc_arena_save(mrb);
  struct fg_entry entry = { s->entries };
  int status = FG_OK;
  s->entries = &entry;
  switch (setjmp(entry.jmp.impl)) {
    case FINISHED:
      mrb->jmp = &entry.jmp;
      /* From here until it is left, a stop may jump back at any moment; so there must be a place to jump to first. */
      fg_step_in(s);
      *result = body(s, data);
      fg_step_out();
      break;
    case EXCEPTION:
      fg_step_out();
      *result = mrb_obj_value(mrb->exc);
      /* A Fiber that was ended by an exception may still be current. */
      if (mrb->c != context) {
        mrb->c = context;
        context->status = MRB_FIBER_RUNNING;
      }
      pop_calls(mrb, context, level);
      status = FG_RAISED;
      break;
    default:
      mrb->c = context;
      context->ci = context->cibase + level;
      s->interrupted = 1;
      status = FG_STOPPED;
      break;
  }
  mrb->exc = NULL;
  mrb->jmp = jmp;
  s->entries = entry.outer;
  mrb_gc_arena_restore(mrb, kept);
  /* There is room for it. */
  if (!mrb_immediate_p(*result)) mrb->gc.arena[mrb->gc.arena_idx++] = mrb_basic_ptr(*result);
  return status;
}

/* ---- Rust called from Ruby */

#define MANY 15 /* from this number on, mruby passes arguments in an Array */

static mrb_value
trampoline(mrb_state *mrb, mrb_value self)
{
  struct fg *s = mrb->ud;
  mrb_callinfo *ci = mrb->c->ci;
  mrb_value local[MANY], result = mrb_nil_value();
  const mrb_value *args = local;
  size_t count = ci->n;

  if (fg_stack_is_low(mrb)) mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));
  uint32_t index = (uint32_t)mrb_integer(MRB_PROC_ENV(ci->proc)->stack[1]);
  mrb_value block = ci->stack[mrb_ci_bidx(ci)];
  mrb_value keywords = mrb_undef_value();
  if (ci->nk > 0) {
    mrb_value given = ci->stack[ci->n == MANY ? 2 : ci->n + 1];
    if (mrb_hash_p(given)) keywords = given;
  }
  if (ci->n == MANY) {
    /* A copy, out of Ruby's reach. */
    mrb_value all = mrb_ary_new_from_values(mrb, RARRAY_LEN(ci->stack[1]), RARRAY_PTR(ci->stack[1]));
    args = RARRAY_PTR(all);
    count = (size_t)RARRAY_LEN(all);
  }
  else {
    memcpy(local, ci->stack + 1, count * sizeof *local);
  }
  fg_step_out();
  int status = s->call.native(s->host, index, self, args, count, keywords, block, &result);
  fg_step_in(s);
  switch (status) {
    case FG_OK: return result;
    case FG_RAISED: mrb_exc_raise(mrb, result);
    default: fg_leave(s);
  }
}

/* Yielding takes self from the first element. */
static struct RProc*
native_proc(mrb_state *mrb, uint32_t index)
{
  mrb_value env[2] = { mrb_nil_value(), mrb_fixnum_value(index) };
  return mrb_proc_new_cfunc_with_env(mrb, trampoline, 2, env);
}

mrb_value
fg_native_proc(mrb_state *mrb, uint32_t index)
{
  return mrb_obj_value(native_proc(mrb, index));
}

void
fg_define_native(mrb_state *mrb, struct RClass *class, mrb_sym name, uint32_t index)
{
  mrb_method_t method;
  MRB_METHOD_FROM_PROC(method, native_proc(mrb, index));
  mrb_define_method_raw(mrb, class, name, method);
}

/* ---- objects that hold Rust values */

static void
release(mrb_state *mrb, void *resource)
{
  struct fg *s = mrb->ud;
  if (!s || !resource) return;
  struct fg *was = fg_step_out();
  s->call.release(s->host, (size_t)resource);
  fg_step_in(was);
}

const struct mrb_data_type fg_resource = { "resource", release };

/* ---- what differs from mruby's own behaviour */

/* An object's id is its address only if a snapshot holds the object (or there is no snapshot); objects that a request
 * makes have ids that never recur, although their addresses do. */
static mrb_value
object_id(mrb_state *mrb, mrb_value self)
{
  struct fg *s = mrb->ud;
  if (s->born && !mrb_immediate_p(self) && !mrb_integer_p(self) && !mrb_float_p(self)) {
    size_t bit = ((uintptr_t)mrb_ptr(self) - (uintptr_t)s->arena) / 16;
    if (bit >= s->born_bits || !(s->born[bit / 64] >> (bit % 64) & 1)) {
      struct fg *was = fg_step_out();
      int64_t id = s->call.fresh_id(s->host, (uintptr_t)mrb_ptr(self));
      fg_step_in(was);
      return mrb_int_value(mrb, id);
    }
  }
  return mrb_int_value(mrb, mrb_obj_id(self));
}

static void
randomise(struct fg *s, uint32_t *state)
{
  struct fg *was = fg_step_out();
  uint64_t words[2] = { s->call.random(s->host), s->call.random(s->host) };
  fg_step_in(was);
  /* An all-zero state would stay zero. */
  if (!words[0] && !words[1]) words[0] = 1;
  memcpy(state, words, sizeof words);
}

void
fg_randomise(struct fg *s)
{
  if (s->random) randomise(s, s->random);
}

/* mruby gives every generator without a seed the same seed. */
static mrb_value
random_initialize(mrb_state *mrb, mrb_value self)
{
  mrb_value seed;
  if (mrb_get_args(mrb, "|o", &seed) == 0) randomise(mrb->ud, mrb_istruct_ptr(self));
  else mrb_funcall_argv(mrb, self, mrb_intern_lit(mrb, "srand"), 1, &seed);
  return self;
}

static mrb_value
complete(struct fg *s, void *data)
{
  mrb_state *mrb = s->mrb;
  (void)data;
  mrb_define_method(mrb, mrb->kernel_module, "object_id", object_id, MRB_ARGS_NONE());
  mrb_define_method(mrb, mrb->kernel_module, "__id__", object_id, MRB_ARGS_NONE());
  struct RClass *random = mrb_class_get(mrb, "Random");
  mrb_define_method(mrb, random, "initialize", random_initialize, MRB_ARGS_OPT(1));
  mrb_value generator = mrb_iv_get(mrb, mrb_obj_value(random), mrb_intern_lit(mrb, "mruby_Random"));
  if (!mrb_istruct_p(generator)) mrb_raise(mrb, E_RUNTIME_ERROR, "no default random generator");
  s->random = mrb_istruct_ptr(generator);
  randomise(s, s->random);
  s->roots = mrb_ary_new(mrb);
  mrb_gc_register(mrb, s->roots);
  return mrb_nil_value();
}

/* ---- making and dropping */

/* How much of a full collection is done in each step (one step per 1024 objects), in percent; mruby's default is 200.
 * With that, a small application allocates as much again during such a collection, and its heap never shrinks: 1.4 MB
 * instead of 1.0 MB. A step marks at most 10,000 objects, which takes less than a millisecond. */
#define STEP_RATIO 1000

void fg_close(struct fg *s);

struct fg*
fg_open(void *region, size_t size, size_t limit, const char *stack_limit, void *host, const struct fg_callbacks *callbacks)
{
  struct fg *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->arena = region;
  s->thread = fg_this_thread();
  s->host = host;
  s->call = *callbacks;
  fg_arena_init(s->arena, size, limit);
  s->mrb = mrb_open_allocf(fg_alloc, s->arena);
  if (!s->mrb) {
    free(s);
    return NULL;
  }
  s->mrb->ud = s;
  s->mrb->gc.step_ratio = STEP_RATIO;
  s->stack.limit = stack_limit;
  s->arena->mrb = s->mrb;
  mrb_value result;
  if (fg_protect(s, complete, NULL, &result) != FG_OK) {
    fg_close(s);
    return NULL;
  }
  mrb_gc_arena_restore(s->mrb, 0);
  return s;
}

/* The region is about to be unmapped, and nothing in it needs to be freed by itself; unless each block is an allocation
 * of its own: then whatever mruby forgets to free is reported. */
void
fg_close(struct fg *s)
{
#ifdef FG_SANITIZE
  s->arena->limit = s->arena->end;
  s->arena->stress = 0;
  fg_clear_stop(s);
  if (s->interrupted) fg_free_all(s->arena);
  else mrb_close(s->mrb);
#endif
  free(s);
}

int fg_was_interrupted(struct fg *s) { return s->interrupted; }
void fg_forget_interruption(struct fg *s) { s->interrupted = 0; }
int fg_arena_level(struct fg *s) { return mrb_gc_arena_save(s->mrb); }
void fg_arena_back_to(struct fg *s, int level) { mrb_gc_arena_restore(s->mrb, level); }
int fg_is_idle(struct fg *s) { return s->mrb->jmp == NULL && s->entries == NULL && s->mrb->c == s->mrb->root_c; }
void fg_set_gc(struct fg *s, int on) { s->mrb->gc.disabled = !on; }
int fg_gc_is_on(struct fg *s) { return !s->mrb->gc.disabled; }
struct fg_arena *fg_arena_of(struct fg *s) { return s->arena; }
uint32_t *fg_random_of(struct fg *s) { return s->random; }

void
fg_set_born(struct fg *s, const uint64_t *born, size_t bits)
{
  s->born = born;
  s->born_bits = bits;
}

static int
mark_born(mrb_state *mrb, struct RBasic *object, void *data)
{
  struct fg *s = mrb->ud;
  if (object->tt != MRB_TT_FREE) {
    size_t bit = ((uintptr_t)object - (uintptr_t)s->arena) / 16;
    ((uint64_t*)data)[bit / 64] |= (uint64_t)1 << (bit % 64);
  }
  return MRB_EACH_OBJ_OK;
}

static mrb_value
mark_all(struct fg *s, void *data)
{
  mrb_objspace_each_objects(s->mrb, mark_born, data);
  return mrb_nil_value();
}

/* Sets a bit for each object; `born` has one bit for each 16 bytes of the arena. */
int
fg_mark_born(struct fg *s, uint64_t *born)
{
  mrb_value result;
  return fg_protect(s, mark_all, born, &result);
}

static mrb_value
collect(struct fg *s, void *data)
{
  (void)data;
  mrb_full_gc(s->mrb);
  return mrb_nil_value();
}

int
fg_full_gc(struct fg *s)
{
  mrb_value result;
  return fg_protect(s, collect, NULL, &result);
}

/* mruby shrinks the list of protected objects to its initial size when a method returns: done once here, not per
 * request. */
static void
shrink_arena(mrb_state *mrb)
{
  mrb_gc *gc = &mrb->gc;
  if (gc->arena_capa <= MRB_GC_ARENA_SIZE || gc->arena_idx >= MRB_GC_ARENA_SIZE) return;
  struct RBasic **objects = mrb_malloc(mrb, MRB_GC_ARENA_SIZE * sizeof *objects);
  memcpy(objects, gc->arena, (size_t)gc->arena_idx * sizeof *objects);
  mrb_free(mrb, gc->arena);
  gc->arena = objects;
  gc->arena_capa = MRB_GC_ARENA_SIZE;
}

/* Before a snapshot: later allocations go to new memory, so that requests write to few pages of the snapshot. Free
 * slots in old object pages are used only after an entirely free page, and free blocks are forgotten. */
static mrb_value
set_apart(struct fg *s, void *data)
{
  (void)data;
  mrb_state *mrb = s->mrb;
  mrb_gc *gc = &mrb->gc;
  shrink_arena(mrb);
  memset(s->arena->free, 0, sizeof s->arena->free);
  mrb_heap_page *old = gc->free_heaps;
  gc->free_heaps = NULL;
  mrb_obj_alloc(mrb, MRB_TT_OBJECT, mrb->object_class);
  if (gc->free_heaps) {
    gc->free_heaps->free_next = old;
    if (old) old->free_prev = gc->free_heaps;
  }
  else {
    gc->free_heaps = old;
  }
  return mrb_nil_value();
}

int
fg_set_apart(struct fg *s)
{
  mrb_value result;
  return fg_protect(s, set_apart, NULL, &result);
}
