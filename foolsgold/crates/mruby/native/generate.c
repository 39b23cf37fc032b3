/* mruby's code generator with one guard: it does not check whether its first few allocations succeeded. */
#define mrb_generate_code fg_unguarded_generate_code
#include "codegen.c"
#undef mrb_generate_code

/* A pool and its first page, for the outermost scope and for the one inside it; and the first procedure. */
static const size_t first_blocks[] = {
  24, 24, 16000 + 64, 16000 + 64, sizeof(mrb_irep), sizeof(mrb_irep)
};
#define FIRST_BLOCKS (sizeof first_blocks / sizeof *first_blocks)

MRB_API struct RProc*
mrb_generate_code(mrb_state *mrb, parser_state *p)
{
  void *blocks[FIRST_BLOCKS];
  mrb_bool enough = TRUE;
  for (size_t i = 0; i < FIRST_BLOCKS; i++) {
    blocks[i] = mrb_malloc_simple(mrb, first_blocks[i]);
    if (!blocks[i]) enough = FALSE;
  }
  /* The blocks freed now are those that the generator will get. */
  for (size_t i = FIRST_BLOCKS; i-- > 0;) {
    mrb_free(mrb, blocks[i]);
  }
  if (!enough) {
    mrb->exc = mrb->nomem_err;
    return NULL;
  }
  return fg_unguarded_generate_code(mrb, p);
}
