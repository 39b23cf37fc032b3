/* Expressions with back-references: each way through the program is tried in its order, from each place on, and of the matches that
 * begin there the longest is taken, of those the first. A way is tried once: a second one that comes to the same step at the same
 * place, with the same in the groups that are referred to, could find nothing new. So the time grows with the text's length to some
 * power, not exponentially. */

typedef struct {
  int step;
  ptrdiff_t at;
} Way;

typedef struct {
  const Program *program;
  const Text *text;
  Shape shape;
  /* Ways to be tried, with the values of each. */
  Way *ways;
  ptrdiff_t *values;
  int count, room;
  /* Those that were tried: step, place, and where the groups that are referred to are; -1 in the first where there is none. */
  ptrdiff_t *tried;
  size_t tried_count, tried_room, tried_size;
  ptrdiff_t *best;
  ptrdiff_t end;
} Trial;

/* At most some 128 MiB; then the search ends without an answer (REG_ESPACE), as glibc's does. */
enum { FIRST_TRIED = 64, MOST_TRIED = 1 << 22 };

static size_t
hash_of(const ptrdiff_t *key, size_t size)
{
  size_t hash = 0;
  for (size_t at = 0; at < size; at++) hash = (hash ^ (size_t)key[at]) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

static ptrdiff_t *
place_of(Trial *trial, const ptrdiff_t *key)
{
  for (size_t at = hash_of(key, trial->tried_size);; at++) {
    ptrdiff_t *entry = trial->tried + (at & (trial->tried_room - 1)) * trial->tried_size;
    if (entry[0] < 0 || !memcmp(entry, key, trial->tried_size * sizeof *key)) return entry;
  }
}

static bool
more_room(Trial *trial)
{
  ptrdiff_t *old = trial->tried;
  const size_t old_room = trial->tried_room, size = trial->tried_size;
  const size_t room = old_room ? old_room * 2 : FIRST_TRIED;
  ptrdiff_t *table = room > MOST_TRIED ? NULL : malloc(room * size * sizeof *table);
  if (!table) return false;
  memset(table, 0xff, room * size * sizeof *table);
  trial->tried = table;
  trial->tried_room = room;
  for (size_t at = 0; at < old_room; at++)
    if (old[at * size] >= 0) memcpy(place_of(trial, old + at * size), old + at * size, size * sizeof *table);
  free(old);
  return true;
}

typedef enum { NEW, TRIED, NO_ROOM } Entry;

static Entry
enter(Trial *trial, Way way, const ptrdiff_t *values)
{
  enum { MOST_KEY = 2 + 2 * 9 };
  ptrdiff_t key[MOST_KEY] = {way.step, way.at};
  size_t size = 2;
  for (int group = 1; group <= 9; group++) {
    if (!(trial->program->referred >> group & 1)) continue;
    key[size++] = values[trial->shape.last + 2 * (size_t)group - 2];
    key[size++] = values[trial->shape.last + 2 * (size_t)group - 1];
  }
  if (trial->tried_count * 2 >= trial->tried_room && !more_room(trial)) return NO_ROOM;
  ptrdiff_t *entry = place_of(trial, key);
  if (entry[0] >= 0) return TRIED;
  memcpy(entry, key, size * sizeof *key);
  trial->tried_count++;
  return NEW;
}

static bool
push(Trial *trial, Way way, const ptrdiff_t *values)
{
  const size_t size = trial->shape.size;
  if (trial->count == trial->room) {
    const int room = trial->room ? trial->room * 2 : 32;
    Way *ways = realloc(trial->ways, (size_t)room * sizeof *ways);
    if (!ways) return false;
    trial->ways = ways;
    ptrdiff_t *more = realloc(trial->values, (size_t)room * (size + 1) * sizeof *more);
    if (!more) return false;
    trial->values = more;
    trial->room = room;
  }
  trial->ways[trial->count] = way;
  memcpy(trial->values + (size_t)trial->count++ * size, values, size * sizeof *values);
  return true;
}

/* Where the text of a group ends if it comes again at a place, or -1. */
static ptrdiff_t
again_at(const Trial *trial, Found group, ptrdiff_t at)
{
  const Characters characters = trial->program->characters;
  const char *const text = trial->text->start, *const end = trial->text->end;
  if (group.start < 0 || group.end < 0) return -1;
  for (ptrdiff_t of = group.start; of < group.end;) {
    int bytes, others;
    if (is_end(trial->text, text + at)) return -1;
    const Character one = character_at(characters, text + of, end, &bytes), other = character_at(characters, text + at, end, &others);
    if (folded(characters, one) != folded(characters, other)) return -1;
    of += bytes;
    at += others;
  }
  return at;
}

/* Follows one way until it ends; where there are two, the second waits. `values` are the way's own. False: no memory. */
static bool
try_way(Trial *trial, Way way, ptrdiff_t *values)
{
  const Program *program = trial->program;
  for (;;) {
    const Step *step = &program->steps[way.step];
    Place place = {.at = way.at, .before = 0};
    int other = 0;
    switch ((Kind)step->kind) {
    case LITERAL:
    case SET:
      look(program, trial->text, &place);
      if (!place.bytes || !takes(program, step, place.character)) return true;
      way.at += place.bytes;
      break;
    case SPLIT:
    case LOOP:
      other = step->kind == SPLIT ? step->to : 1;
      switch (enter(trial, way, values)) {
      case NO_ROOM: return false;
      /* Perhaps by a repetition of nothing, which comes back to where it began: it goes on behind it. */
      case TRIED: way.step += other - 1; break;
      case NEW:
        if (!push(trial, (Way){way.step + other, way.at}, values)) return false;
        way.step += step->kind == SPLIT ? 0 : step->to - 1;
      }
      break;
    case JUMP: way.step += step->to - 1; break;
    case OPEN: open_group(trial->shape, values, step->argument, way.at); break;
    case CLOSE: close_group(trial->shape, values, step, way.at); break;
    case AGAIN: {
      const ptrdiff_t *const group = values + trial->shape.last + 2 * step->argument - 2;
      way.at = again_at(trial, (Found){group[0], group[1]}, way.at);
      if (way.at < 0) return true;
      break;
    }
    case ASSERT:
      look(program, trial->text, &place);
      if (!holds(step->argument, side_before(program, trial->text, way.at), place.after)) return true;
      break;
    case MATCH:
      if (way.at > trial->end) {
        trial->end = way.at;
        memcpy(trial->best, values, trial->shape.size * sizeof *values);
      }
      return true;
    }
    way.step++;
  }
}

/* All ways from one place on. `values` has room for a way's. What was tried from places before stays so: it led to no match, and how
 * a way goes on does not depend on where it began. */
static bool
try_from(Trial *trial, ptrdiff_t from, ptrdiff_t *values)
{
  const size_t size = trial->shape.size;
  trial->end = -1;
  trial->count = 0;
  for (size_t at = 0; at < size; at++) values[at] = -1;
  bool has_memory = try_way(trial, (Way){0, from}, values);
  while (has_memory && trial->count) {
    const int last = --trial->count;
    memcpy(values, trial->values + (size_t)last * size, size * sizeof *values);
    has_memory = try_way(trial, trial->ways[last], values);
  }
  return has_memory;
}

static Error
try_all(const Program *program, const Text *text, size_t wanted, Found *found)
{
  /* The groups that are referred to are followed in any case. */
  const size_t groups = (size_t)program->groups + 1;
  Trial trial = {.program = program, .text = text, .shape = shape_of(program, groups), .end = -1};
  trial.tried_size = 2;
  for (unsigned left = program->referred; left; left &= left - 1) trial.tried_size += 2;
  trial.best = calloc(2, trial.shape.size * sizeof *trial.best);
  Error error = trial.best && more_room(&trial) ? REG_NOMATCH : REG_ESPACE;
  Place place = {.at = text->from};
  while (error == REG_NOMATCH) {
    if (!try_from(&trial, place.at, trial.best + trial.shape.size)) error = REG_ESPACE;
    else if (trial.end >= 0) error = REG_NOERROR;
    look(program, text, &place);
    if (error == REG_NOMATCH && !place.bytes) break;
    if (error == REG_NOMATCH) place.at += place.bytes;
  }
  if (error == REG_NOERROR && wanted) {
    found[0] = (Found){place.at, trial.end};
    for (size_t group = 1; group < wanted; group++) found[group] = (Found){trial.best[2 * group - 2], trial.best[2 * group - 1]};
  }
  free(trial.best);
  free(trial.ways);
  free(trial.values);
  free(trial.tried);
  return error;
}
