/* Compiles a file of Ruby under another name than that of the file: `named NAME INPUT OUTPUT`.
 *
 * The name is what __FILE__ and backtraces have. mrbc takes it from the path that it reads, and what is embedded in a
 * program is seen under a path that the machine that builds does not have.
 */
#include <stdio.h>
#include <mruby.h>
#include <mruby/compile.h>
#include <mruby/dump.h>
#include <mruby/proc.h>

/* A compiler runs no Ruby. */
void mrb_init_mrblib(mrb_state *mrb) { (void)mrb; }

static int compile(mrb_state *mrb, const char *name, FILE *input, FILE *output) {
  mrbc_context *context = mrbc_context_new(mrb);
  context->no_exec = TRUE;
  mrbc_filename(mrb, context, name);
  mrb_value code = mrb_load_file_cxt(mrb, input, context);
  mrbc_context_free(mrb, context);
  if (mrb->exc || !mrb_proc_p(code)) return 1;
  const mrb_irep *irep = mrb_proc_ptr(code)->body.irep;
  return mrb_dump_irep_binary(mrb, irep, MRB_DUMP_DEBUG_INFO, output) != MRB_DUMP_OK;
}

int main(int count, char **words) {
  if (count != 4) {
    fprintf(stderr, "usage: named NAME INPUT OUTPUT\n");
    return 2;
  }
  FILE *input = fopen(words[2], "rb");
  FILE *output = input ? fopen(words[3], "wb") : NULL;
  if (!output) {
    perror(input ? words[3] : words[2]);
    return 2;
  }
  mrb_state *mrb = mrb_open();
  int failed = mrb == NULL || compile(mrb, words[1], input, output);
  if (mrb) mrb_close(mrb);
  fclose(input);
  return fclose(output) != 0 || failed;
}
