/* Functions that the repaired sources call; see cause.c. */
#ifndef FG_CAUSE_H
#define FG_CAUSE_H

#include <mruby.h>

/* A catch handler of this type catches nothing: it records where a clause is. Its target is a register. */
#define FG_CATCH_CLAUSE 2

/* The exception that is being handled, or nil. */
mrb_value fg_handled_exception(mrb_state *mrb);
/* Gives an exception without a cause the one that is being handled. */
void fg_note_cause(mrb_state *mrb, mrb_value exc);
/* Takes `cause:` from the arguments of `raise`, and returns how many are left. */
mrb_int fg_take_cause(mrb_state *mrb, mrb_int argc, mrb_value *argv, mrb_value *cause);
/* The cause passed to `raise`; undef if there was none. */
void fg_set_cause(mrb_state *mrb, mrb_value exc, mrb_value cause);
/* Exception#cause. */
mrb_value fg_cause(mrb_state *mrb, mrb_value exc);

#endif
