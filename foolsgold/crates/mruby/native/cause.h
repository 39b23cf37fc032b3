/* What the repaired sources call; see cause.c. */
#ifndef FG_CAUSE_H
#define FG_CAUSE_H

#include <mruby.h>

/* A catch handler of this type catches nothing: it tells where a clause stands. Its target is a register. */
#define FG_CATCH_CLAUSE 2

/* The exception that is being handled, or nil. */
mrb_value fg_handled_exception(mrb_state *mrb);
/* Gives an exception that has no cause the one that is being handled. */
void fg_note_cause(mrb_state *mrb, mrb_value exc);
/* Takes `cause:` from the arguments of `raise`, and tells how many are left. */
mrb_int fg_take_cause(mrb_state *mrb, mrb_int argc, mrb_value *argv, mrb_value *cause);
/* The cause that `raise` was given; undef: none was. */
void fg_set_cause(mrb_state *mrb, mrb_value exc, mrb_value cause);
/* Exception#cause. */
mrb_value fg_cause(mrb_state *mrb, mrb_value exc);

#endif
