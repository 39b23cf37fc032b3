/* Stopping a run from another thread, wherever it is in C.
 *
 * A flag that the virtual machine checks before an instruction is not enough: the parser, the code generator, the
 * collector and many methods are C that runs for as long as its input demands. So a stop also sends a signal to the
 * run's thread, and the handler leaves the innermost entry as fg_hook does. That is allowed anywhere in mruby's C:
 *
 * - Everything it changes is in the arena, which is restored or dropped after an interrupted run (fg.h, interrupted).
 * - It calls no function of the C library that holds a lock. Those that do (time zone functions) run outside, see
 *   below.
 * - Rust frames are never jumped over: `fg_running` is set while mruby's C has the thread, and at no other time.
 *
 * No stop is lost: the flag is set before the signal is sent, and code that sets `fg_running` checks the flag after
 * that. A signal that comes too early finds `fg_running` unset, and the flag is seen; a later one stops the run itself.
 * */
#include "fg.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Ignored by default, restarts system calls, and debuggers pass it on; Go's runtime uses it for the same purpose. */
#define STOP_SIGNAL SIGURG

/* The interpreter whose C this thread runs. Read by the handler on the same thread, so program order is enough. */
static _Thread_local struct fg *volatile fg_running __attribute__((tls_model("initial-exec")));

/* Leaves the innermost entry. Whatever mruby was doing is abandoned: the interpreter must be restored or dropped. */
mrb_noreturn void
fg_leave(struct fg *s)
{
  if (!s->entries) abort();
  fg_running = NULL;
  longjmp(s->entries->jmp.impl, FG_LEFT);
}

static void
on_signal(int number)
{
  (void)number;
  struct fg *s = fg_running;
  if (s && atomic_load(&s->stop)) fg_leave(s);
}

/* Once for each process; 0 if the system refuses. */
int
fg_catch_stops(void)
{
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  /* The handler may leave by longjmp, so the signal must not stay blocked. */
  action.sa_flags = SA_RESTART | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  return sigaction(STOP_SIGNAL, &action, NULL) == 0;
}

long
fg_this_thread(void)
{
  return syscall(SYS_gettid);
}

struct fg*
fg_step_out(void)
{
  struct fg *s = fg_running;
  fg_running = NULL;
  /* What follows must not begin before the handler can see it. */
  atomic_signal_fence(memory_order_seq_cst);
  return s;
}

void
fg_step_in(struct fg *s)
{
  atomic_signal_fence(memory_order_seq_cst);
  fg_running = s;
  atomic_signal_fence(memory_order_seq_cst);
  /* A stop that came while the thread was elsewhere. */
  if (s && atomic_load(&s->stop)) fg_leave(s);
}

/* Called before an instruction if a stop was requested or the stack is nearly used up. */
void
fg_hook(mrb_state *mrb, const struct mrb_irep *irep, const mrb_code *pc, mrb_value *regs)
{
  (void)irep; (void)pc; (void)regs;
  struct fg *s = mrb->ud;
  if (atomic_load(&s->stop)) fg_leave(s);
  __atomic_store_n(&mrb->code_fetch_hook, NULL, __ATOMIC_SEQ_CST);
  /* A stop requested in between. */
  if (atomic_load(&s->stop)) fg_leave(s);
  if (fg_stack_is_low(mrb)) mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));
}

/* From any thread. */
void
fg_stop(struct fg *s)
{
  atomic_store(&s->stop, 1);
  __atomic_store_n(&s->mrb->code_fetch_hook, fg_hook, __ATOMIC_SEQ_CST);
  /* After the flag: see above. */
  syscall(SYS_tgkill, getpid(), s->thread, STOP_SIGNAL);
}

int
fg_is_stopped(const struct fg *s)
{
  return atomic_load_explicit(&s->stop, memory_order_relaxed) != 0;
}

void
fg_clear_stop(struct fg *s)
{
  atomic_store(&s->stop, 0);
  __atomic_store_n(&s->mrb->code_fetch_hook, NULL, __ATOMIC_SEQ_CST);
}

/* ---- C library functions that take a lock: build/reach.rs makes mruby's Time call these */

#define OUTSIDE(type, call) do { \
    struct fg *s = fg_step_out(); \
    type result = call; \
    fg_step_in(s); \
    return result; \
  } while (0)

struct tm *fg_gmtime_r(const time_t *at, struct tm *into) { OUTSIDE(struct tm*, gmtime_r(at, into)); }
struct tm *fg_localtime_r(const time_t *at, struct tm *into) { OUTSIDE(struct tm*, localtime_r(at, into)); }
time_t fg_mktime(struct tm *fields) { OUTSIDE(time_t, mktime(fields)); }
char *fg_asctime_r(const struct tm *fields, char *into) { OUTSIDE(char*, asctime_r(fields, into)); }

size_t
fg_strftime(char *into, size_t size, const char *format, const struct tm *fields)
{
  OUTSIDE(size_t, strftime(into, size, format, fields));
}
