//! Changes of mruby 3.2.0 so that everything it does can be stopped, and nothing takes longer or goes deeper than it must.
//!
//! A run is left by a signal wherever it is in mruby's C (native/stop.c), so nothing here looks at a flag.

use crate::repairs::Repair;

pub const REPAIRS: &[Repair] = &[
    // The C library holds a lock in these.
    Repair {
        file: "mrbgems/mruby-time/src/time.c",
        old: "#include <mruby/presym.h>\n",
        new: "#include <mruby/presym.h>\n#include <time.h>\n\
              struct tm *fg_gmtime_r(const time_t*, struct tm*);\nstruct tm *fg_localtime_r(const time_t*, struct tm*);\n\
              time_t fg_mktime(struct tm*);\nchar *fg_asctime_r(const struct tm*, char*);\n\
              size_t fg_strftime(char*, size_t, const char*, const struct tm*);\n\
              #define gmtime_r fg_gmtime_r\n#define localtime_r fg_localtime_r\n#define mktime fg_mktime\n\
              #define asctime_r fg_asctime_r\n#define strftime fg_strftime\n",
    },
    // To append to a list, the parser walked to its end: 30,000 lines took seconds. It remembers the last ends that it found, by
    // the lists' first nodes. A remembered node must stay in its list: nothing takes one out, and none is used again before
    // the parser is done.
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "  cons->cdr = p->cells;\n  p->cells = cons;\n",
        new: "  (void)p; (void)cons;\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "static node*\nappend_gen(parser_state *p, node *a, node *b)\n{\n  node *c = a;\n\n",
        new: "/* They lie behind the parser. Collisions cost a walk. */\n#define FG_ENDS 256\n\
              struct fg_end { const node *first; node *last; };\n\n\
              static node*\nfg_last(parser_state *p, node *list)\n{\n  \
              uint64_t hash = (uint64_t)((uintptr_t)list / sizeof(void*)) * 0x9E3779B97F4A7C15u;\n  \
              struct fg_end *end = (struct fg_end*)(p + 1) + (hash >> 32) % FG_ENDS;\n  \
              node *last = end->first == list ? end->last : list;\n  \
              while (last->cdr) last = last->cdr;\n  end->first = list;\n  end->last = last;\n  \
              return last;\n}\n\n\
              static node*\nappend_gen(parser_state *p, node *a, node *b)\n{\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "  if (!b) return a;\n  while (c->cdr) {\n    c = c->cdr;\n  }\n  c->cdr = b;\n  return a;\n",
        new: "  if (!b) return a;\n  fg_last(p, a)->cdr = b;\n  return a;\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "    for (c = a; c->cdr != NULL; c = c->cdr) ;\n\n    if (string_node_p(b)) {\n",
        new: "    c = fg_last(p, a);\n\n    if (string_node_p(b)) {\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "  p = (parser_state*)mrb_pool_alloc(pool, sizeof(parser_state));\n  if (!p) return NULL;\n",
        new: "  p = (parser_state*)mrb_pool_alloc(pool, sizeof(parser_state) + FG_ENDS * sizeof(struct fg_end));\n  \
              if (!p) return NULL;\n  memset(p + 1, 0, FG_ENDS * sizeof(struct fg_end));\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "#include \"node.h\"\n",
        // The compiler for this machine (mrbc) has mruby's own header instead of native/include/mruby/throw.h, and only our texts.
        new: "#include \"node.h\"\n#ifdef FG_CALL_LEVELS\n\
              #define FG_DEEP(mrb) if (fg_stack_is_low(mrb)) mrb_exc_raise(mrb, mrb_obj_value((mrb)->stack_err));\n\
              #else\n#define FG_DEEP(mrb)\n#endif\n",
    },
    // Recursion in C with nothing to bound it: a text or an array of a few hundred thousand levels ended the process. What
    // stands on the left of an `and` was looked at when that was made, and again for each further one on the right.
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "      void_expr_error(p, n->cdr->car);\n      void_expr_error(p, n->cdr->cdr);\n",
        new: "      FG_DEEP(p->mrb)\n      void_expr_error(p, n->cdr->cdr);\n",
    },
    Repair {
        file: "mrbgems/mruby-compiler/core/y.tab.c",
        old: "read_escape(parser_state *p)\n{\n  int32_t c;\n",
        new: "read_escape(parser_state *p)\n{\n  int32_t c;\n\n  \
              FG_DEEP(p->mrb)\n",
    },
    Repair {
        file: "src/array.c",
        old: "  mrb_value result, val, tmp;\n\n  /* check recursive */\n",
        // Each level is compared with all above it: the limit is that of Ruby's own calls.
        new: "  mrb_value result, val, tmp;\n\n  \
              if (RARRAY_LEN(list) >= 10000) mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));\n  /* check recursive */\n",
    },
    Repair {
        file: "src/array.c",
        old: "#include \"value_array.h\"\n",
        new: "#include <mruby/error.h>\n#include \"value_array.h\"\n",
    },
];
