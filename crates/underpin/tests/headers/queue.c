/* Every list and queue of <sys/queue.h> through random changes; prints what is in it after each, in both directions where it has
 * two. What this prints with one header it has to print with another. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/cdefs.h>
#include <sys/queue.h>

__BEGIN_DECLS
extern int puts(const char *) __THROW;
__END_DECLS

enum { ELEMENTS = 9, ROUNDS = 400 };
static uint32_t state = 12345;

static uint32_t
chance(uint32_t below)
{
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

struct element {
  char name;
  int in;
  SLIST_ENTRY(element) single;
  LIST_ENTRY(element) list;
  STAILQ_ENTRY(element) tailed;
  SIMPLEQ_ENTRY(element) simple;
  TAILQ_ENTRY(element) both;
  CIRCLEQ_ENTRY(element) ring;
};
static struct element all[ELEMENTS];

SLIST_HEAD(singles, element) singles = SLIST_HEAD_INITIALIZER(singles);
LIST_HEAD(lists, element) lists = LIST_HEAD_INITIALIZER(lists);
STAILQ_HEAD(taileds, element) taileds = STAILQ_HEAD_INITIALIZER(taileds), other_taileds;
SIMPLEQ_HEAD(simples, element) simples = SIMPLEQ_HEAD_INITIALIZER(simples);
TAILQ_HEAD(boths, element) boths = TAILQ_HEAD_INITIALIZER(boths), other_boths;
CIRCLEQ_HEAD(rings, element) rings = CIRCLEQ_HEAD_INITIALIZER(rings);

/* One that is in, or one that is not. */
static struct element *
one(int in)
{
  for (int tries = 0; tries < 100; tries++) {
    struct element *found = &all[chance(ELEMENTS)];
    if (found->in == in) return found;
  }
  return NULL;
}

static void
begin(const char *what)
{
  puts(what);
  for (int at = 0; at < ELEMENTS; at++) all[at].name = (char)('a' + at), all[at].in = 0;
}

#define SHOW(each) do { each putchar(at->name); putchar(' '); } while (0)

/* The changes that all of them have; `more` are a kind's own, from 4 on. */
#define CHANGES(empty, insert_head, insert_after, remove_one, remove_head, kinds, more, show) \
  for (int round = 0; round < ROUNDS; round++) { \
    struct element *at = NULL, *old = one(1), *fresh = one(0); \
    const uint32_t what = chance(kinds); \
    if (what == 0 && fresh) { insert_head; fresh->in = 1; } \
    else if (what == 1 && old && fresh) { insert_after; fresh->in = 1; } \
    else if (what == 2 && old) { remove_one; old->in = 0; } \
    else if (what == 3 && old) { remove_head; } \
    more \
    show \
    puts((empty) ? "empty" : ""); \
  }

static void
check_singles(void)
{
  begin("SLIST");
  SLIST_INIT(&singles);
  CHANGES(SLIST_EMPTY(&singles), SLIST_INSERT_HEAD(&singles, fresh, single), SLIST_INSERT_AFTER(old, fresh, single),
          SLIST_REMOVE(&singles, old, element, single),
          SLIST_FIRST(&singles)->in = 0; SLIST_REMOVE_HEAD(&singles, single), 4, , SHOW(SLIST_FOREACH(at, &singles, single));)
}

static void
check_lists(void)
{
  begin("LIST");
  LIST_INIT(&lists);
  CHANGES(LIST_EMPTY(&lists), LIST_INSERT_HEAD(&lists, fresh, list), LIST_INSERT_AFTER(old, fresh, list), LIST_REMOVE(old, list),
          at = LIST_FIRST(&lists); at->in = 0; LIST_REMOVE(at, list), 5,
          else if (what == 4 && old && fresh) { LIST_INSERT_BEFORE(old, fresh, list); fresh->in = 1; }
          , SHOW(LIST_FOREACH(at, &lists, list));)
}

static void
check_taileds(void)
{
  begin("STAILQ");
  STAILQ_INIT(&taileds);
  STAILQ_INIT(&other_taileds);
  CHANGES(STAILQ_EMPTY(&taileds), STAILQ_INSERT_HEAD(&taileds, fresh, tailed), STAILQ_INSERT_AFTER(&taileds, old, fresh, tailed),
          STAILQ_REMOVE(&taileds, old, element, tailed),
          STAILQ_FIRST(&taileds)->in = 0; STAILQ_REMOVE_HEAD(&taileds, tailed), 6,
          else if (what == 4 && fresh) { STAILQ_INSERT_TAIL(&taileds, fresh, tailed); fresh->in = 1; }
          else if (what == 5) {
            if (fresh) { STAILQ_INSERT_TAIL(&other_taileds, fresh, tailed); fresh->in = 1; }
            STAILQ_CONCAT(&taileds, &other_taileds);
            printf("%d ", STAILQ_EMPTY(&other_taileds));
          }
          , SHOW(STAILQ_FOREACH(at, &taileds, tailed));)
}

static void
check_simples(void)
{
  begin("SIMPLEQ");
  SIMPLEQ_INIT(&simples);
  CHANGES(SIMPLEQ_EMPTY(&simples), SIMPLEQ_INSERT_HEAD(&simples, fresh, simple), SIMPLEQ_INSERT_AFTER(&simples, old, fresh, simple),
          SIMPLEQ_REMOVE(&simples, old, element, simple),
          SIMPLEQ_FIRST(&simples)->in = 0; SIMPLEQ_REMOVE_HEAD(&simples, simple), 5,
          else if (what == 4 && fresh) { SIMPLEQ_INSERT_TAIL(&simples, fresh, simple); fresh->in = 1; }
          , SHOW(SIMPLEQ_FOREACH(at, &simples, simple));)
}

static void
check_boths(void)
{
  begin("TAILQ");
  TAILQ_INIT(&boths);
  TAILQ_INIT(&other_boths);
  CHANGES(TAILQ_EMPTY(&boths), TAILQ_INSERT_HEAD(&boths, fresh, both), TAILQ_INSERT_AFTER(&boths, old, fresh, both),
          TAILQ_REMOVE(&boths, old, both), at = TAILQ_LAST(&boths, boths); at->in = 0; TAILQ_REMOVE(&boths, at, both), 7,
          else if (what == 4 && fresh) { TAILQ_INSERT_TAIL(&boths, fresh, both); fresh->in = 1; }
          else if (what == 5 && old && fresh) { TAILQ_INSERT_BEFORE(old, fresh, both); fresh->in = 1; }
          else if (what == 6) {
            if (fresh) { TAILQ_INSERT_HEAD(&other_boths, fresh, both); fresh->in = 1; }
            TAILQ_CONCAT(&boths, &other_boths, both);
            printf("%d ", TAILQ_EMPTY(&other_boths));
          }
          , SHOW(TAILQ_FOREACH(at, &boths, both)); SHOW(TAILQ_FOREACH_REVERSE(at, &boths, boths, both));)
}

static void
check_rings(void)
{
  begin("CIRCLEQ");
  CIRCLEQ_INIT(&rings);
  CHANGES(CIRCLEQ_EMPTY(&rings), CIRCLEQ_INSERT_HEAD(&rings, fresh, ring), CIRCLEQ_INSERT_AFTER(&rings, old, fresh, ring),
          CIRCLEQ_REMOVE(&rings, old, ring), at = CIRCLEQ_LAST(&rings); at->in = 0; CIRCLEQ_REMOVE(&rings, at, ring), 7,
          else if (what == 4 && fresh) { CIRCLEQ_INSERT_TAIL(&rings, fresh, ring); fresh->in = 1; }
          else if (what == 5 && old && fresh) { CIRCLEQ_INSERT_BEFORE(&rings, old, fresh, ring); fresh->in = 1; }
          else if (what == 6 && old) {
            printf("%c%c ", CIRCLEQ_LOOP_NEXT(&rings, old, ring)->name, CIRCLEQ_LOOP_PREV(&rings, old, ring)->name);
          }
          , SHOW(CIRCLEQ_FOREACH(at, &rings, ring)); SHOW(CIRCLEQ_FOREACH_REVERSE(at, &rings, ring));)
}

int
main(void)
{
  check_singles();
  check_lists();
  check_taileds();
  check_simples();
  check_boths();
  check_rings();
  return 0;
}
