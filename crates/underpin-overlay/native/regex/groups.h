/* Follows all ways through a program at once, in their order: a thread for each step that takes a character, of those that came to it
 * the first. Time is steps times characters, whatever the expression.
 *
 * This finds what the groups of a match took, once it is known where the match is: the first thread that is done at its end. And it
 * finds the leftmost match where the automaton would take too long, or has too many symbols; its threads are then in the order of
 * where they began. (R. Cox, "Regular Expression Matching: the Virtual Machine Approach".) */

/* ---- the values of a thread: where it began, or its groups ---- */

/* A thread's groups: two offsets for each; if a group is optional the same once more, as they were when one was last closed that had
 * matched something; and, from `last` on, for back-references what each matched last, which nothing undoes. */
typedef struct {
  int groups;
  size_t size, last;
} Shape;

static Shape
shape_of(const Program *program, size_t wanted)
{
  const size_t groups = wanted - 1, own = groups * (program->optional ? 4 : 2);
  return (Shape){(int)groups, program->references ? own + 2 * groups : own, program->references ? own : 0};
}

static void
open_group(Shape shape, ptrdiff_t *values, int group, ptrdiff_t at)
{
  if (group > shape.groups) return;
  values[2 * group - 2] = at;
  values[2 * group - 1] = -1;
  if (!shape.last) return;
  values[shape.last + 2 * (size_t)group - 2] = at;
  values[shape.last + 2 * (size_t)group - 1] = -1;
}

/* A group that may be left out, and that matched nothing this time, is undone, with those in it, if it had matched before. (glibc
 * posix/regexec.c, update_regs) */
static void
close_group(Shape shape, ptrdiff_t *values, const Step *step, ptrdiff_t at)
{
  const int group = step->argument;
  if (group > shape.groups) return;
  const size_t half = 2 * (size_t)shape.groups;
  const bool keeps = (shape.last ? shape.last : shape.size) > half, is_empty = values[2 * group - 2] == at;
  if (shape.last) values[shape.last + 2 * (size_t)group - 1] = at;
  if (is_empty && step->optional && values[half + 2 * (size_t)group - 2] != -1) {
    memcpy(values, values + half, half * sizeof *values);
    return;
  }
  values[2 * group - 1] = at;
  if (keeps && !is_empty) memcpy(values + half, values, half * sizeof *values);
}

/* ---- threads ---- */

typedef struct {
  int count;
  int *steps;
  ptrdiff_t *values;
} Threads;

typedef struct {
  const Program *program;
  const Text *text;
  Shape shape;
  Threads now, next;
  /* Steps that were reached at this place have its number. */
  unsigned *marks, mark;
  int *stack;
  ptrdiff_t *stack_values;
  /* The match that is looked for ends here, or -1: the longest of the leftmost ones. */
  ptrdiff_t end;
  /* The values of the best one. */
  bool is_found;
  Found match;
  ptrdiff_t *best;
} Machine;

/* A place in the text: the character there, and what is on both sides. */
typedef struct {
  ptrdiff_t at;
  Character character;
  int bytes;
  Side before, after;
} Place;

static void
look(const Program *program, const Text *text, Place *place)
{
  place->bytes = 0;
  place->after = last_side(text);
  const char *const at = text->start + place->at;
  if (is_end(text, at)) return;
  place->character = folded(program->characters, character_at(program->characters, at, text->end, &place->bytes));
  place->after = side_of(program, place->character);
}

static Place
next_place(const Program *program, const Text *text, const Place *place)
{
  Place next = {.at = place->at + place->bytes, .before = place->after};
  look(program, text, &next);
  return next;
}

/* What is before a place that is not the first: the character whose last byte is there. */
static Side
side_before(const Program *program, const Text *text, ptrdiff_t at)
{
  if (!at) return first_side(text);
  ptrdiff_t start = at - 1;
  int bytes = 1;
  if (program->characters.wide) {
    /* The longest that ends here, or the byte alone. */
    for (ptrdiff_t from = at - 1; from >= 0 && from >= at - 4; from--) {
      character_at(program->characters, text->start + from, text->end, &bytes);
      if (from + bytes == at) start = from;
    }
  }
  return side_of(program, character_at(program->characters, text->start + start, text->end, &bytes));
}

static void
done(Machine *machine, const ptrdiff_t *values, ptrdiff_t at)
{
  if (machine->end >= 0) {
    if (at != machine->end || machine->is_found) return;
    memcpy(machine->best, values, machine->shape.size * sizeof *values);
  } else if (machine->is_found && values[0] > machine->match.start) {
    return;
  } else {
    machine->match = (Found){values[0], at};
  }
  machine->is_found = true;
}

/* Adds the threads that a step leads to without a character. A step waits on the stack with the values of its thread; the first of two
 * is pushed last. It counts as reached when it is taken from there, or a later one would be before it. */
static void
follow_thread(Machine *machine, Threads *into, int first, const ptrdiff_t *of, const Place *place)
{
  const Program *program = machine->program;
  const size_t size = machine->shape.size;
  int depth = 0;
  machine->stack[depth] = first;
  memcpy(machine->stack_values, of, size * sizeof *of);
  for (depth = 1; depth--;) {
    const int number = machine->stack[depth];
    const Step *step = &program->steps[number];
    ptrdiff_t *values = machine->stack_values + (size_t)depth * size;
    /* A repetition of nothing, which comes back to where it began, goes on behind it. */
    const bool is_again = machine->marks[number] == machine->mark;
    if (is_again && step->kind != SPLIT && step->kind != LOOP) continue;
    machine->marks[number] = machine->mark;
    int after[2] = {number + 1, -1};
    switch ((Kind)step->kind) {
    case JUMP: after[0] = number + step->to; break;
    case SPLIT: after[1] = number + step->to; break;
    case LOOP: after[1] = after[0], after[0] = number + step->to; break;
    case OPEN: if (machine->end >= 0) open_group(machine->shape, values, step->argument, place->at); break;
    case CLOSE: if (machine->end >= 0) close_group(machine->shape, values, step, place->at); break;
    case ASSERT: if (!holds(step->argument, place->before, place->after)) after[0] = -1; break;
    case MATCH:
      done(machine, values, place->at);
      after[0] = -1;
      break;
    default:
      into->steps[into->count] = number;
      memcpy(into->values + (size_t)into->count++ * size, values, size * sizeof *values);
      after[0] = -1;
    }
    if (is_again) {
      after[0] = after[1];
    } else if (after[1] >= 0) {
      memcpy(values + size, values, size * sizeof *values);
      machine->stack[depth++] = after[1];
    }
    if (after[0] >= 0) machine->stack[depth++] = after[0];
  }
}

/* Room for all threads that a program can have: one block, to be freed, or NULL. */
static void *
assemble(Machine *machine)
{
  const size_t steps = (size_t)machine->program->count, size = machine->shape.size;
  /* A step that is taken from the stack leaves two there, and does so once. */
  const size_t values = (2 * steps + (steps + 2) + 1) * size, numbers = 2 * steps + (steps + 2) + steps;
  ptrdiff_t *block = calloc(1, values * sizeof(ptrdiff_t) + numbers * sizeof(int));
  if (!block) return NULL;
  machine->now.values = block;
  machine->next.values = block + steps * size;
  machine->stack_values = block + 2 * steps * size;
  machine->best = block + (3 * steps + 2) * size;
  machine->now.steps = (int*)(block + values);
  machine->next.steps = machine->now.steps + steps;
  machine->stack = machine->next.steps + steps;
  machine->marks = (unsigned*)(machine->stack + steps + 2);
  return block;
}

/* Runs the threads from a place on, to the end that is looked for, or until none of them can become better than what was found. */
static void
run_threads(Machine *machine, Place place, ptrdiff_t *values)
{
  const Program *program = machine->program;
  const size_t size = machine->shape.size;
  machine->mark++;
  follow_thread(machine, &machine->now, 0, values, &place);
  while (place.bytes && place.at != machine->end) {
    const Character character = place.character;
    const Place next = next_place(program, machine->text, &place);
    machine->mark++;
    machine->next.count = 0;
    for (int at = 0; at < machine->now.count; at++) {
      const int step = machine->now.steps[at];
      const ptrdiff_t *of = machine->now.values + (size_t)at * size;
      if (machine->end < 0 && machine->is_found && of[0] > machine->match.start) break;
      if (takes(program, &program->steps[step], character)) follow_thread(machine, &machine->next, step + 1, of, &next);
    }
    place = next;
    if (machine->end < 0 && !machine->is_found) {
      values[0] = place.at;
      follow_thread(machine, &machine->next, 0, values, &place);
    }
    const Threads threads = machine->now;
    machine->now = machine->next;
    machine->next = threads;
    if (!machine->now.count && (machine->is_found || machine->end >= 0)) return;
  }
}

/* The leftmost match, of which the longest. */
static Error
by_threads(const Program *program, const Text *text, Found *found)
{
  Machine machine = {.program = program, .text = text, .shape = {.size = 1}, .end = -1};
  void *block = assemble(&machine);
  if (!block) return REG_ESPACE;
  Place place = {.at = text->from, .before = side_before(program, text, text->from)};
  look(program, text, &place);
  ptrdiff_t start = text->from;
  run_threads(&machine, place, &start);
  *found = machine.match;
  free(block);
  return machine.is_found ? REG_NOERROR : REG_NOMATCH;
}

/* The groups of the match in `found[0]`, as many as there is room for. */
static Error
groups_of(const Program *program, const Text *text, Found *found, size_t wanted)
{
  Machine machine = {.program = program, .text = text, .shape = shape_of(program, wanted), .end = found[0].end};
  void *block = assemble(&machine);
  if (!block) return REG_ESPACE;
  for (size_t at = 0; at < machine.shape.size; at++) machine.best[at] = -1;
  Place place = {.at = found[0].start, .before = side_before(program, text, found[0].start)};
  look(program, text, &place);
  run_threads(&machine, place, machine.best);
  for (size_t group = 1; group < wanted; group++) found[group] = (Found){machine.best[2 * group - 2], machine.best[2 * group - 1]};
  free(block);
  return REG_NOERROR;
}
