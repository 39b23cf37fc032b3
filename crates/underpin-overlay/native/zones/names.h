/* Names of zones. A program may keep the one that it has from a struct tm for as long as it likes, whatever becomes of TZ; so they stay,
 * each once. */

typedef struct Names Names;
struct Names {
  Names *next;
  size_t used;
  char text[];
};

enum { PAGE = 4096, ROOM = PAGE - sizeof(Names) };

static Names *all_names;

/* A page of zeros, or NULL. Large variables would lie among those of the C library, which every program touches. */
static void *
page(void)
{
  const long at = call(SYS_MMAP, 0, PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
  return at < 0 && at > -PAGE ? NULL : (void *)at;
}

/* Where a name stands among those kept, or NULL. */
static const char *
among(const Names *names, const char *name, size_t size)
{
  for (size_t at = 0; at < names->used; at += length(names->text + at) + 1)
    if (is_same(names->text + at, name, size) && !names->text[at + size]) return names->text + at;
  return NULL;
}

/* A name that stays, or the empty one if there is no memory for it. */
static const char *
kept(const char *name, size_t size)
{
  Names **link = &all_names;
  for (; *link; link = &(*link)->next) {
    const char *const found = among(*link, name, size);
    if (found) return found;
    if (!(*link)->next && ROOM - (*link)->used > size) break;
  }
  if (size >= ROOM || (!*link && !(*link = page()))) return "";
  char *const into = (*link)->text + (*link)->used;
  for (size_t at = 0; at < size; at++) into[at] = name[at];
  into[size] = 0;
  (*link)->used += size + 1;
  return into;
}

/* Is it one of them? */
static bool
is_kept(const char *name)
{
  for (const Names *names = all_names; names; names = names->next)
    if ((size_t)name - (size_t)names < PAGE) return true;
  return false;
}
