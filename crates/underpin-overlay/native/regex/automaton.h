/* The automaton without choices: its states are sets of steps, made when they are first come to. One look into a table for each
 * character, of which those that no step tells apart are one symbol. (K. Thompson, "Regular Expression Search Algorithm"; R. Cox,
 * "Regular Expression Matching Can Be Simple And Fast".)
 *
 * What is before and behind a place decides on conditions (`^`, `\b`). A state knows what is before it; what is behind is known with
 * the next symbol, so a state holds conditions as they are, and whether it is a match is known one symbol later. */

/* Symbols. LOOK is that of bytes which are no character by themselves: zero, which may be the text's end, and in UTF-8 all beyond
 * ASCII, if any step tells those apart. No state has anything under it. */
enum { LOOK, END, END_OF_NO_LINE, FIRST_SYMBOL };
/* Symbols of characters beyond ASCII; a text with more kinds of them for one expression is for the threads. */
enum { MOST_WIDE = 24, MOST_SYMBOLS = FIRST_SYMBOL + 257 + MOST_WIDE };

/* What stands in the table instead of a state: nothing yet; no match from here on; the match before this symbol was the last. All other
 * numbers below 0 are states that are come to behind a match. The last three are answers only. */
enum { NOT_YET, DEAD = -1, LAST = -2, NO_MEMORY = -3, TOO_MANY = -4 };

/* Bytes of the table and of the sets, at most; then it begins anew. */
enum { MOST_NUMBERS = 1 << 17, HEADS = 64, RECENT = 64 };

typedef struct {
  /* Its steps, in the pool. */
  int first, count, link;
  unsigned hash;
  Side before;
  /* It begins again at each character; it has conditions. */
  bool searches, asks;
} State;

struct Cache {
  const Program *program;
  unsigned char of_byte[256];
  int symbols, width, state_count, state_room, table_room, pool_count, pool_room;
  /* A character of each symbol, and what it is beside another. */
  Character examples[MOST_SYMBOLS];
  Side sides[MOST_SYMBOLS];
  struct {
    Character character;
    int symbol;
  } recent[RECENT];
  int *table, *pool, heads[HEADS];
  /* The first states, by whether they search and by what is before them; or NOT_YET. */
  int starts[2][8];
  /* How often it began anew. */
  unsigned generation;
  State *states;
  /* Bits of steps: those of a state with conditions, those of the next one; and steps to follow. */
  uint64_t *now, *next;
  int *stack;
  int words;
  /* All matches begin at the text's start; all begin with this byte, or 0. */
  bool at_start;
  unsigned char first_byte;
};

static void
drop_cache(Cache *cache)
{
  free(cache->table);
  free(cache->pool);
  free(cache->states);
  free(cache->now);
  free(cache);
}

/* ---- symbols ---- */

/* Gives those characters of ASCII (or bytes) a symbol of their own that are in the set and share one with others. */
static void
tell_apart(Cache *cache, const uint64_t *set, int limit)
{
  unsigned char other[256] = {0};
  bool is_split[256] = {0};
  for (int byte = 1; byte < limit; byte++)
    if (!has_bit(set, byte)) is_split[cache->of_byte[byte]] = true;
  for (int byte = 1; byte < limit; byte++) {
    const unsigned char symbol = cache->of_byte[byte];
    if (!has_bit(set, byte) || !is_split[symbol]) continue;
    if (!other[symbol]) other[symbol] = (unsigned char)cache->symbols++;
    cache->of_byte[byte] = other[symbol];
  }
}

/* The same for a letter, in both cases if they are one. A symbol too many does no harm. */
static void
tell_letter_apart(Cache *cache, Character letter)
{
  cache->of_byte[letter] = (unsigned char)cache->symbols++;
  if (cache->program->characters.without_case && is_between(letter, 'A', 'Z')) cache->of_byte[letter | 32] = cache->of_byte[letter];
}

/* A set of what is in `folded` once it is folded. */
static void
unfolded(const Program *program, const uint64_t *set, uint64_t *into)
{
  for (int byte = 0; byte < 256; byte++)
    if (has_bit(set, byte < ASCII ? folded(program->characters, byte) : byte)) set_bit(into, byte);
}

static void
tell_bytes_apart(Cache *cache)
{
  const Program *program = cache->program;
  const int limit = program->characters.wide ? ASCII : 256;
  for (int byte = 1; byte < limit; byte++) cache->of_byte[byte] = FIRST_SYMBOL;
  cache->symbols = FIRST_SYMBOL + 1;
  for (int at = 0; at < program->set_count; at++) {
    uint64_t set[4] = {0};
    unfolded(program, program->sets[at].low, set);
    tell_apart(cache, set, limit);
  }
  /* The sets first: no symbol of a letter is one that a set divides. */
  uint64_t literals[4] = {0}, sides[4] = {0};
  for (int byte = 0; program->words && byte < ASCII; byte++)
    if (is_word(program->characters, byte)) set_bit(sides, byte);
  if (program->words) tell_apart(cache, sides, limit);
  for (int at = 0; at < program->count; at++) {
    const Step *step = &program->steps[at];
    if (step->kind != LITERAL || step->argument >= limit || has_bit(literals, step->argument)) continue;
    set_bit(literals, step->argument);
    if (step->argument) tell_letter_apart(cache, step->argument);
  }
  if (program->lines && !has_bit(literals, '\n')) tell_letter_apart(cache, '\n');
  for (int byte = 1; byte < limit; byte++) cache->examples[cache->of_byte[byte]] = folded(program->characters, byte);
  for (int symbol = FIRST_SYMBOL; symbol < cache->symbols; symbol++) cache->sides[symbol] = side_of(program, cache->examples[symbol]);
}

/* Whether characters beyond ASCII are told apart, from each other or from bytes that are none. */
static bool
decodes(const Program *program)
{
  if (!program->characters.wide) return false;
  if (program->words || program->characters.without_case) return true;
  for (int at = 0; at < program->set_count; at++)
    if (program->sets[at].ranges || program->sets[at].classes || program->sets[at].negated) return true;
  for (int at = 0; at < program->count; at++)
    if (program->steps[at].kind == LITERAL && program->steps[at].argument >= ASCII) return true;
  return false;
}

static bool
are_one(const Program *program, Character one, Character other)
{
  if (side_of(program, one) != side_of(program, other)) return false;
  for (int at = 0; at < program->set_count; at++)
    if (is_in(program, &program->sets[at], one) != is_in(program, &program->sets[at], other)) return false;
  for (int at = 0; at < program->count; at++) {
    const Step *step = &program->steps[at];
    if (step->kind == LITERAL && (step->argument == one) != (step->argument == other)) return false;
  }
  return true;
}

/* The symbol of zero or of a character beyond ASCII, or LOOK if there is none left. */
static int
symbol_of(Cache *cache, Character character)
{
  const Program *program = cache->program;
  const int place = character % RECENT;
  if (cache->recent[place].symbol != LOOK && cache->recent[place].character == character) return cache->recent[place].symbol;
  const Character as = folded(program->characters, character);
  int symbol = as && as < ASCII ? cache->of_byte[as] : FIRST_SYMBOL;
  if (!as || as >= ASCII)
    while (symbol < cache->symbols && !are_one(program, cache->examples[symbol], as)) symbol++;
  if (symbol == cache->width) return LOOK;
  if (symbol == cache->symbols) {
    cache->sides[symbol] = side_of(program, as);
    cache->examples[cache->symbols++] = as;
  }
  cache->recent[place].character = character;
  cache->recent[place].symbol = symbol;
  return symbol;
}

/* ---- states ---- */

/* Marks the steps that one leads to without a character and without a condition. */
static void
follow(Cache *cache, uint64_t *into, int first)
{
  const Step *steps = cache->program->steps;
  int depth = 0;
  if (has_bit(into, first)) return;
  set_bit(into, first);
  cache->stack[depth++] = first;
  while (depth) {
    const int number = cache->stack[--depth];
    const Step *step = &steps[number];
    int after[2] = {-1, -1};
    if (step->kind == JUMP || step->kind == SPLIT || step->kind == LOOP) after[0] = number + step->to;
    if (step->kind == OPEN || step->kind == CLOSE || step->kind == SPLIT || step->kind == LOOP) after[1] = number + 1;
    for (int at = 0; at < 2; at++) {
      if (after[at] < 0 || has_bit(into, after[at])) continue;
      set_bit(into, after[at]);
      cache->stack[depth++] = after[at];
    }
  }
}

#define EACH_BIT(bit, bits, words)                                                                                             \
  for (int word_ = 0; word_ < (words); word_++)                                                                                \
    for (uint64_t left_ = (bits)[word_], bit = 0; left_ && (bit = (uint64_t)word_ * 64 + (uint64_t)__builtin_ctzll(left_), 1); \
         left_ &= left_ - 1)

static void
forget(Cache *cache)
{
  cache->state_count = 0;
  cache->pool_count = 0;
  cache->generation++;
  for (int at = 0; at < HEADS; at++) cache->heads[at] = -1;
  memset(cache->starts, 0, sizeof cache->starts);
}

static bool
has_room(Cache *cache, int steps)
{
  if (cache->pool_count + steps > MOST_NUMBERS || (cache->state_count + 2) * cache->width > MOST_NUMBERS) forget(cache);
  const int states = at_least(cache->state_count + 1, SOME);
  return grown((void**)&cache->pool, at_least(cache->pool_count + steps, MANY), &cache->pool_room, sizeof(int))
    && grown((void**)&cache->table, (states + 1) * cache->width, &cache->table_room, sizeof(int))
    && grown((void**)&cache->states, states, &cache->state_room, sizeof(State));
}

/* The state of the marked steps, as its place in the table. */
static int
state_of(Cache *cache, const uint64_t *marked, Side before, bool searches)
{
  const Step *steps = cache->program->steps;
  State state = {.hash = searches, .searches = searches, .link = -1};
  int most = 0;
  /* Not the compiler's own count of bits, which may be a function of its library. */
  for (int word = 0; word < cache->words; word++)
    for (uint64_t left = marked[word]; left; left &= left - 1) most++;
  if (!has_room(cache, most)) return NO_MEMORY;
  int *const into = cache->pool + cache->pool_count;
  EACH_BIT(step, marked, cache->words) {
    const Kind kind = steps[step].kind;
    if (kind != LITERAL && kind != SET && kind != ASSERT && kind != MATCH) continue;
    into[state.count++] = (int)step;
    state.asks |= kind == ASSERT;
    state.hash = (state.hash ^ (unsigned)step) * 0x9e3779b1;
  }
  state.first = cache->pool_count;
  state.before = state.asks ? before : 0;
  state.hash += state.before;
  int *head = &cache->heads[state.hash >> 16 & (HEADS - 1)];
  for (int at = *head; at >= 0; at = cache->states[at].link) {
    const State *other = &cache->states[at];
    if (other->hash == state.hash && other->count == state.count && other->before == state.before && other->searches == searches
        && !memcmp(cache->pool + other->first, into, (size_t)state.count * sizeof *into))
      return (at + 1) * cache->width;
  }
  state.link = *head;
  *head = cache->state_count;
  cache->states[cache->state_count++] = state;
  cache->pool_count += state.count;
  const int place = cache->state_count * cache->width;
  memset(cache->table + place, 0, (size_t)cache->width * sizeof *cache->table);
  return place;
}

/* Follows those conditions that hold. What they lead to is marked too, other conditions included. */
static void
follow_conditions(Cache *cache, uint64_t *marked, Side before, Side after)
{
  const Step *steps = cache->program->steps;
  for (bool again = true; again;) {
    again = false;
    EACH_BIT(step, marked, cache->words) {
      if (steps[step].kind != ASSERT || has_bit(marked, (int)step + 1) || !holds(steps[step].argument, before, after)) continue;
      follow(cache, marked, (int)step + 1);
      again = true;
    }
  }
}

/* What is come to from a state by a symbol; it is written into the table. */
static int
transition(Cache *cache, int place, int symbol)
{
  const Program *program = cache->program;
  const Step *steps = program->steps;
  const State from = cache->states[place / cache->width - 1];
  const Side side = cache->sides[symbol];
  const bool is_end = symbol == END || symbol == END_OF_NO_LINE;
  bool is_match = false, is_dead = true;
  memset(cache->now, 0, (size_t)cache->words * sizeof(uint64_t));
  memset(cache->next, 0, (size_t)cache->words * sizeof(uint64_t));
  for (int at = 0; at < from.count; at++) set_bit(cache->now, cache->pool[from.first + at]);
  if (from.asks) follow_conditions(cache, cache->now, from.before, side);
  EACH_BIT(step, cache->now, cache->words) {
    is_match |= steps[step].kind == MATCH;
    if (is_end || !takes(program, &steps[step], cache->examples[symbol])) continue;
    follow(cache, cache->next, (int)step + 1);
    is_dead = false;
  }
  int answer = is_match ? LAST : DEAD;
  if (from.searches && !is_end) follow(cache, cache->next, 0), is_dead = false;
  if (!is_dead) {
    const unsigned generation = cache->generation;
    const int to = state_of(cache, cache->next, side, from.searches);
    if (to == NO_MEMORY) return to;
    answer = is_match ? -to : to;
    /* It began anew, and the place is another state's. */
    if (cache->generation != generation) return answer;
  }
  return cache->table[place + symbol] = answer;
}

/* ---- a cache for a search ---- */

/* What is the same of all matches: that they begin with the text, or by which byte. */
static void
look_at_starts(Cache *cache)
{
  const Program *program = cache->program;
  int others = 0, starts = 0, bytes[2] = {-1, 0};
  follow(cache, cache->next, 0);
  EACH_BIT(number, cache->next, cache->words) {
    const Step *step = &program->steps[number];
    const bool is_start = step->kind == ASSERT && (step->argument == TEXT_START || (step->argument == LINE_START && !program->lines));
    const bool is_byte = step->kind == LITERAL && step->argument < ASCII && !program->characters.without_case;
    if (is_start) starts++;
    else if (is_byte && (bytes[0] < 0 || bytes[0] == step->argument)) bytes[0] = step->argument;
    else if (step->kind == LITERAL || step->kind == SET || step->kind == ASSERT || step->kind == MATCH) others++;
  }
  cache->at_start = starts && !others && bytes[0] < 0;
  cache->first_byte = (unsigned char)(others || starts || bytes[0] < 0 ? 0 : bytes[0]);
}

static Cache *
new_cache(const Program *program)
{
  Cache *cache = calloc(1, sizeof *cache);
  if (!cache) return NULL;
  cache->program = program;
  cache->words = (program->count + 63) / 64;
  cache->now = calloc(1, 2 * (size_t)cache->words * sizeof(uint64_t) + (size_t)program->count * sizeof(int));
  if (!cache->now) {
    drop_cache(cache);
    return NULL;
  }
  cache->next = cache->now + cache->words;
  cache->stack = (int*)(cache->next + cache->words);
  forget(cache);
  cache->sides[END] = IS_EDGE | IS_LINE_EDGE;
  cache->sides[END_OF_NO_LINE] = IS_EDGE;
  tell_bytes_apart(cache);
  /* One is zero's, in a text that may have it. */
  cache->width = cache->symbols + 1;
  if (decodes(program)) {
    cache->width += MOST_WIDE;
  } else if (program->characters.wide) {
    for (int byte = ASCII; byte < 256; byte++) cache->of_byte[byte] = (unsigned char)cache->symbols;
    cache->examples[cache->symbols++] = NO_CHARACTER;
    cache->width++;
  }
  look_at_starts(cache);
  return cache;
}

static Cache *
borrow(Program *program)
{
  Cache *cache = atomic_exchange_explicit(&program->cache, NULL, memory_order_acquire);
  return cache ? cache : new_cache(program);
}

static void
give_back(Program *program, Cache *cache)
{
  Cache *none = NULL;
  /* The release makes the states seen that this search made. */
  if (!atomic_compare_exchange_strong_explicit(&program->cache, &none, cache, memory_order_release, memory_order_relaxed)) drop_cache(cache);
}

/* ---- searches ---- */

/* Runs from a place on, to the end of the first match (`searches`: of one that begins anywhere) or of the longest. Without a match it
 * is NULL. */
typedef struct {
  const char *from, *match;
  Side before;
  bool searches, is_longest;
  /* Where it ended. */
  const char *stopped;
  Error error;
  bool too_many;
} Run;

static int
start_state(Cache *cache, const Run *run)
{
  int *known = &cache->starts[run->searches][run->before];
  if (*known != NOT_YET) return *known;
  memset(cache->next, 0, (size_t)cache->words * sizeof(uint64_t));
  follow(cache, cache->next, 0);
  const int state = state_of(cache, cache->next, run->before, run->searches);
  return state == NO_MEMORY ? state : (*known = state);
}

/* A byte whose symbol is not in the table: the end, or the first of a character. */
static int
looked_up(Cache *cache, const Text *text, const char *at, int *bytes)
{
  *bytes = 0;
  if (is_end(text, at)) return text->not_last ? END_OF_NO_LINE : END;
  return symbol_of(cache, character_at(cache->program->characters, at, text->end, bytes));
}

static int
symbol_at(Cache *cache, const Text *text, const char *at, int *bytes)
{
  *bytes = 1;
  /* Before the end of a text that has one, any byte may stand there. */
  const int symbol = at == text->end ? LOOK : cache->of_byte[(unsigned char)*at];
  return symbol == LOOK ? looked_up(cache, text, at, bytes) : symbol;
}

/* The steps of a run that are not in the table; false at its end. */
static bool
step_slowly(Cache *cache, const Text *text, Run *run, const char **at, int *state)
{
  int bytes;
  const int symbol = symbol_at(cache, text, *at, &bytes);
  if (symbol == LOOK) {
    run->too_many = true;
    return false;
  }
  int next = cache->table[*state + symbol];
  if (next == NOT_YET) next = transition(cache, *state, symbol);
  if (next == NO_MEMORY) run->error = REG_ESPACE;
  if (next == NO_MEMORY || next == DEAD) return false;
  if (next < 0) run->match = *at;
  if (next == LAST || (next < 0 && !run->is_longest) || !bytes) return false;
  *state = next < 0 ? -next : next;
  *at += bytes;
  return true;
}

static void
run_states(Cache *cache, const Text *text, Run *run)
{
  const char *at = run->from;
  int state = start_state(cache, run);
  if (state == NO_MEMORY) {
    run->error = REG_ESPACE;
    return;
  }
  for (;;) {
    const int *table = cache->table;
    for (int next; at != text->end && (next = table[state + cache->of_byte[(unsigned char)*at]]) > 0; at++) state = next;
    if (!step_slowly(cache, text, run, &at, &state)) break;
  }
  run->stopped = at;
}

/* The first place where a match may begin. */
static const char *
first_start(const Cache *cache, const Text *text)
{
  const char *const from = text->start + text->from;
  if (!cache->first_byte) return from;
  return text->end ? memchr(from, cache->first_byte, (size_t)(text->end - from)) : strchr(from, cache->first_byte);
}

/* The end of the match that ends first, or why there is none. */
static Error
search(Cache *cache, const Text *text, const char **end)
{
  const char *from = first_start(cache, text);
  if (!from) return REG_NOMATCH;
  Run run = {.from = from, .searches = !cache->at_start, .before = side_before(cache->program, text, from - text->start)};
  run_states(cache, text, &run);
  if (run.too_many) {
    Found found;
    const Error error = by_threads(cache->program, text, &found);
    if (error == REG_NOERROR) *end = text->start + found.end;
    return error;
  }
  *end = run.match;
  return run.error ? run.error : run.match ? REG_NOERROR : REG_NOMATCH;
}

/* The leftmost match, of which the longest. It begins before the first one ends, so it is tried from each place on; if that reads too
 * much, the threads do it in one pass. */
static Error
leftmost(Cache *cache, const Text *text, Found *found)
{
  enum { AT_LEAST = 4096, TIMES = 16 };
  const char *end = NULL;
  const Error error = search(cache, text, &end);
  if (error) return error;
  const char *at = first_start(cache, text);
  Side before = side_before(cache->program, text, at - text->start);
  ptrdiff_t left = AT_LEAST + TIMES * (end - text->start - text->from);
  while (at <= end && left > 0) {
    int bytes;
    const int symbol = symbol_at(cache, text, at, &bytes), start = cache->starts[0][before];
    /* Most often the first symbol is none that a match begins with. */
    if (symbol == LOOK || start == NOT_YET || cache->table[start + symbol] != DEAD) {
      Run run = {.from = at, .before = before, .is_longest = true};
      run_states(cache, text, &run);
      if (run.error) return run.error;
      if (run.too_many) break;
      if (run.match) {
        *found = (Found){at - text->start, run.match - text->start};
        return REG_NOERROR;
      }
      left -= run.stopped - at;
    }
    at += bytes;
    before = cache->sides[symbol];
    if (!bytes) break;
  }
  return by_threads(cache->program, text, found);
}
