/* A program: what an expression became. Its steps are tried in an order, which decides what groups match among matches of one length:
 * an alternative before those on its right, and once more before no more. */

typedef enum {
  /* The character `argument`, folded. */
  LITERAL,
  /* A character of the set `argument`. */
  SET,
  /* Goes on with the next step, or else `to` steps from here; LOOP the other way round. */
  SPLIT,
  LOOP,
  JUMP,
  /* The beginning and the end of the group `argument`, counted from 1. */
  OPEN,
  CLOSE,
  /* What the group `argument` matched, once more. */
  AGAIN,
  /* Nothing, at a place that the Condition `argument` holds for. */
  ASSERT,
  MATCH,
} Kind;

typedef enum { LINE_START, LINE_END, TEXT_START, TEXT_END, WORD_START, WORD_END, WORD_EDGE, NO_WORD_EDGE } Condition;

typedef struct {
  unsigned char kind;
  /* Of CLOSE: the group as a whole is repeated and may be left out. */
  bool optional;
  int argument, to;
} Step;

typedef struct {
  Character first, last;
} Range;

typedef struct {
  /* Of bytes, or in UTF-8 of ASCII. */
  uint64_t low[4];
  /* Of other characters: the ranges, those beyond ASCII of classes (bits), and whether it has all but these. */
  int first_range, ranges;
  unsigned classes;
  bool negated;
} Set;

typedef struct Cache Cache;

struct Program {
  Step *steps;
  Set *sets;
  Range *range_pool;
  int count, room, set_count, set_room, range_count, range_room, groups;
  Characters characters;
  /* REG_EXTENDED, REG_NEWLINE, REG_NOSUB. */
  bool extended, lines, only_whether;
  /* What it has: back-references, conditions about words, groups that are optional. */
  bool references, words, optional;
  /* Bits of the groups that are referred to. */
  unsigned referred;
  unsigned long wide_classes[CLASSES];
  /* The automaton so far. A search takes it out; a second search at the same time makes its own. */
  _Atomic(Cache *) cache;
};

/* A text, of which the part from an offset on is searched. `end` is NULL where a zero ends it. */
typedef struct {
  const char *start, *end;
  ptrdiff_t from;
  bool not_first, not_last;
} Text;

static bool
is_end(const Text *text, const char *at)
{
  return text->end ? at == text->end : !*at;
}

/* More steps than any expression of a person's: `((a{255}){255}){255}` would have 16 million. */
enum { MOST_STEPS = 1 << 20 };

/* Makes room in an array for as many elements. */
static bool
grown(void **array, int needed, int *room, size_t size)
{
  if (needed <= *room) return true;
  const int more = needed > *room * 2 ? needed : *room * 2;
  void *moved = realloc(*array, (size_t)more * size);
  if (!moved) return false;
  *array = moved;
  *room = more;
  return true;
}

/* Room for the first elements of an array: most expressions need no more. */
enum { SOME = 16, MANY = 128 };

static int
at_least(int needed, int least)
{
  return needed < least ? least : needed;
}

static bool
has_bit(const uint64_t *bits, int bit)
{
  return bits[bit >> 6] >> (bit & 63) & 1;
}

static void
set_bit(uint64_t *bits, int bit)
{
  bits[bit >> 6] |= (uint64_t)1 << (bit & 63);
}

static bool
is_in(const Program *program, const Set *set, Character character)
{
  if (character < (program->characters.wide ? ASCII : 256)) return has_bit(set->low, character);
  if (character >= NO_CHARACTER) return false;
  bool there = false;
  for (int at = set->first_range; !there && at < set->first_range + set->ranges; at++)
    there = is_between(character, program->range_pool[at].first, program->range_pool[at].last);
  for (int class = 0; !there && class < CLASSES; class++)
    there = set->classes >> class & 1 && iswctype((unsigned)character, program->wide_classes[class]);
  return there != set->negated;
}

/* Whether a step that takes a character takes this one, which is folded. */
static bool
takes(const Program *program, const Step *step, Character character)
{
  if (step->kind == LITERAL) return step->argument == character;
  return step->kind == SET && is_in(program, &program->sets[step->argument], character);
}

/* What a place between two characters knows of the one before, and of the one behind. */
enum { IS_EDGE = 1, IS_LINE_EDGE = 2, IS_WORD = 4 };
typedef unsigned char Side;

static Side
side_of(const Program *program, Character character)
{
  return (Side)((program->lines && character == '\n' ? IS_LINE_EDGE : 0) | (program->words && is_word(program->characters, character) ? IS_WORD : 0));
}

static Side
first_side(const Text *text)
{
  return IS_EDGE | (text->not_first ? 0 : IS_LINE_EDGE);
}

static Side
last_side(const Text *text)
{
  return IS_EDGE | (text->not_last ? 0 : IS_LINE_EDGE);
}

static bool
holds(int condition, Side before, Side after)
{
  const bool word_before = before & IS_WORD, word_after = after & IS_WORD;
  switch ((Condition)condition) {
  case LINE_START: return before & IS_LINE_EDGE;
  case LINE_END: return after & IS_LINE_EDGE;
  case TEXT_START: return before & IS_EDGE;
  case TEXT_END: return after & IS_EDGE;
  case WORD_START: return !word_before && word_after;
  case WORD_END: return word_before && !word_after;
  case WORD_EDGE: return word_before != word_after;
  default: return word_before == word_after;
  }
}

static void drop_cache(Cache *cache);

static void
drop(Program *program)
{
  Cache *cache = atomic_load_explicit(&program->cache, memory_order_acquire);
  if (cache) drop_cache(cache);
  free(program->steps);
  free(program->sets);
  free(program->range_pool);
  free(program);
}
