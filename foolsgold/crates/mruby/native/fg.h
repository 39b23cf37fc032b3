/* The interface between Rust (src/sys.rs has the same declarations) and the C around mruby.
 *
 * Rules: nothing here lets a longjmp cross a Rust frame. Code that can raise runs inside fg_protect and returns a
 * status; Rust that Ruby calls returns a status, and the C frame that called it raises. */
#ifndef FG_H
#define FG_H

#include <mruby.h>
#include <mruby/throw.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum fg_status { FG_OK = 0, FG_RAISED = 1, FG_STOPPED = 2 };

/* ---- arena.c: all memory of one interpreter, including its own bookkeeping, so that a copy of the bytes is a copy of
 * everything. */

#define FG_CLASSES 124

struct fg_arena {
  char *top;                   /* the first byte never used since the last snapshot, or at all */
  char *peak;                  /* the highest top so far */
  char *soft;                  /* beyond it, the collector is switched on again */
  char *limit;                 /* beyond it, memory is refused */
  char *end;                   /* end of the region */
  char *keep;                  /* below it, no page is given back: it belongs to a snapshot */
  size_t used;                 /* bytes in blocks that are in use */
  size_t used_peak;
  mrb_state *mrb;
  uint64_t stress;             /* 1: collect at each allocation; see arena.c */
  void *free[FG_CLASSES];      /* free blocks, by size class */
};

void fg_arena_init(struct fg_arena *arena, size_t size, size_t limit);
void *fg_alloc(mrb_state *mrb, void *p, size_t size, void *arena);
#ifdef FG_SANITIZE
void fg_free_all(struct fg_arena *arena);
int fg_misuse(mrb_state *mrb);
#endif

/* ---- shim.c */

/* One entry from Rust into Ruby; a stop leaves the innermost, and each Rust frame between two of them gets a status. */
struct fg_entry {
  struct fg_entry *outer;
  struct mrb_jmpbuf jmp;
};

typedef int fg_native(void *host, uint32_t index, mrb_value self, const mrb_value *args, size_t count,
                      mrb_value keywords, mrb_value block, mrb_value *result);

struct fg_callbacks {
  fg_native *native;
  void (*release)(void *host, size_t resource);
  int64_t (*fresh_id)(void *host, uintptr_t object);
  uint64_t (*random)(void *host);
};

struct fg {
  struct fg_stack stack;       /* first: see mruby/throw.h */
  mrb_state *mrb;
  struct fg_arena *arena;
  struct fg_entry *entries;
  atomic_uint stop;            /* set from any thread, together with mrb->code_fetch_hook */
  long thread;                 /* its thread, for the signal that goes with a stop */
  int interrupted;             /* a stop has left a run midway */
  void *host;
  struct fg_callbacks call;
  uint32_t *random;            /* state of the default generator: four words */
  const uint64_t *born;        /* which objects a snapshot holds: a bit for each 16 bytes of the arena */
  size_t born_bits;
  mrb_value roots;             /* an Array: what Rust keeps alive */
};

typedef mrb_value fg_body(struct fg *s, void *data);
int fg_protect(struct fg *s, fg_body *body, void *data, mrb_value *result);
int fg_room(struct fg *s);

/* ---- stop.c */

/* What an entry's setjmp returns after a stop; 1 means an exception (mruby/throw.h). */
#define FG_LEFT 2

mrb_noreturn void fg_leave(struct fg *s);
/* The thread leaves mruby's C, for Rust or for code that must not be interrupted; returns the argument for fg_step_in.
 * */
struct fg *fg_step_out(void);
/* The thread returns to C, or enters it for the first time; does not return if stopped. NULL if it was not inside. */
void fg_step_in(struct fg *s);
long fg_this_thread(void);
void fg_stop(struct fg *s);
void fg_clear_stop(struct fg *s);

#endif
