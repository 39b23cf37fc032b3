/* Calls that transfer a whole request or answer at once. */
#include "fg.h"
#include <mruby/array.h>
#include <mruby/hash.h>
#include <mruby/string.h>

/* A key and its value: bytes, or a Ruby value if `bytes` is NULL. */
struct fg_field {
  mrb_value key;
  const char *bytes;
  size_t rest;                 /* length of the bytes, or the value */
};

struct fill {
  mrb_value hash;
  const struct fg_field *fields;
  size_t count;
};

static mrb_value
fill(struct fg *s, void *data)
{
  struct fill *f = data;
  mrb_state *mrb = s->mrb;
  if (!mrb_hash_p(f->hash)) mrb_raisef(mrb, E_TYPE_ERROR, "%Y is not a Hash", f->hash);
  mrb_value hash = mrb_hash_dup(mrb, f->hash);
  int kept = mrb_gc_arena_save(mrb);
  for (const struct fg_field *field = f->fields, *end = field + f->count; field < end; field++) {
    mrb_value value;
    if (field->bytes) value = mrb_str_new(mrb, field->bytes, (mrb_int)field->rest);
    else value.w = field->rest;
    mrb_hash_set(mrb, hash, field->key, value);
    mrb_gc_arena_restore(mrb, kept);
  }
  return hash;
}

int
fg_hash_dup_with(struct fg *s, mrb_value hash, const struct fg_field *fields, size_t count, mrb_value *result)
{
  struct fill f = { hash, fields, count };
  return fg_protect(s, fill, &f, result);
}

typedef int fg_pair(void *data, const char *key, size_t key_length, const char *value, size_t value_length);

struct walk {
  fg_pair *pair;
  void *data;
  int all;                     /* 0: something was not a String; 2: Rust wants no more */
};

static int
pair(struct walk *w, mrb_value key, mrb_value value)
{
  if (!mrb_string_p(value)) {
    w->all = 0;
    return 1;
  }
  if (w->pair(w->data, RSTRING_PTR(key), (size_t)RSTRING_LEN(key), RSTRING_PTR(value), (size_t)RSTRING_LEN(value))) {
    w->all = 2;
    return 1;
  }
  return 0;
}

static int
entry(mrb_state *mrb, mrb_value key, mrb_value value, void *data)
{
  struct walk *w = data;
  (void)mrb;
  if (!mrb_string_p(key)) {
    w->all = 0;
    return 1;
  }
  if (!mrb_array_p(value)) return pair(w, key, value);
  for (mrb_int i = 0; i < RARRAY_LEN(value); i++) {
    if (pair(w, key, RARRAY_PTR(value)[i])) return 1;
  }
  return 0;
}

/* Nothing here runs Ruby, and Rust must not do so meanwhile: so nothing raises. */
int
fg_hash_strings(struct fg *s, mrb_value hash, fg_pair *each, void *data)
{
  struct walk w = { each, data, 1 };
  mrb_hash_foreach(s->mrb, mrb_hash_ptr(hash), entry, &w);
  return w.all;
}

static int
collect(mrb_state *mrb, mrb_value key, mrb_value value, void *data)
{
  mrb_value **next = data;
  (void)mrb;
  *(*next)++ = key;
  *(*next)++ = value;
  return 0;
}

/* Writes keys and values in turn, as many pairs as mrb_hash_size returns. */
void
fg_hash_pairs(struct fg *s, mrb_value hash, mrb_value *into)
{
  mrb_hash_foreach(s->mrb, mrb_hash_ptr(hash), collect, &into);
}
