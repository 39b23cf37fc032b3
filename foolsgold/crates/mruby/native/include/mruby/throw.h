/* Replaces mruby's own header of this name, which the include order hides: the same macros over setjmp, with an added
 * check of how much of the C stack is left.
 *
 * mruby only counts calls, and counts them separately for each Fiber; a program that nests Fibers in C functions would
 * overflow the stack. So each entry of the virtual machine checks (MRB_TRY) and, if little is left, makes the first
 * instruction raise SystemStackError; and a call from C is refused (MRB_CALL_LEVEL_MAX). */
#ifndef MRB_THROW_H
#define MRB_THROW_H

#include <setjmp.h>

struct mrb_jmpbuf {
  jmp_buf impl;
};

/* At the start of what mrb->ud points to (struct fg in fg.h); NULL while an interpreter is being created. */
struct fg_stack {
  const char *limit;
};

void fg_hook(struct mrb_state *mrb, const struct mrb_irep *irep, const mrb_code *pc, mrb_value *regs);

static inline int
fg_stack_is_low(const struct mrb_state *mrb)
{
  const struct fg_stack *stack = (const struct fg_stack*)mrb->ud;
  return stack && (const char*)__builtin_frame_address(0) < stack->limit;
}

static inline void
fg_look_at_stack(struct mrb_state *mrb)
{
  if (fg_stack_is_low(mrb)) {
    __atomic_store_n(&mrb->code_fetch_hook, fg_hook, __ATOMIC_SEQ_CST);
  }
}

/* The limit of nested Ruby calls that use no C stack; about what other Rubies allow. */
#define FG_CALL_LEVELS 10000
#define MRB_CALL_LEVEL_MAX (fg_stack_is_low(mrb) ? -1 : FG_CALL_LEVELS)

#define MRB_TRY(buf) FG_LOOK if (setjmp((buf)->impl) == 0) {
#define MRB_CATCH(buf) } else {
#define MRB_END_EXC(buf) }
#define MRB_THROW(buf) longjmp((buf)->impl, 1)

/* Of the files that use MRB_TRY, only the virtual machine and the code generator have included the opcodes by now. */
#ifdef MRUBY_OPCODE_H
#define FG_LOOK fg_look_at_stack(mrb);
#else
#define FG_LOOK
#endif

#endif
