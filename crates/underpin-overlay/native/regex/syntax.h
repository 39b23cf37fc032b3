/* From a pattern to a program, in one pass: each part appends its steps, and what is repeated or chosen from is moved to make room
 * for the choice in front of it. Steps name others by distance, so what has been written can be moved and copied. (Grammar: POSIX
 * XBD 9; where a repetition may stand, and what one of nothing is: glibc's RE_SYNTAX_POSIX_BASIC and _EXTENDED.) */

typedef enum { T_END, T_CHARACTER, T_ANY, T_BRACKET, T_WORD, T_SPACE, T_BAR, T_OPEN, T_CLOSE, T_REPEAT, T_BRACE, T_CLOSE_BRACE, T_CONDITION,
               T_AGAIN, T_BACKSLASH } TokenKind;

typedef struct {
  TokenKind kind;
  /* The character that it is, where it stands for itself; of T_CONDITION the Condition, of T_AGAIN the group. */
  Character character;
  /* Of T_WORD and T_SPACE. */
  bool negated;
} Token;

typedef struct {
  Reading reading;
  const char *start;
  Token token;
  /* Bits of the groups that are closed. */
  unsigned closed;
  int depth;
} Pattern;

/* Parentheses in each other: more would need more stack than some threads have. */
enum { MOST_DEPTH = 2000, MOST_TIMES = 0x7fff };

static Token
escaped(const Pattern *pattern, Character character)
{
  const bool basic = !pattern->reading.program->extended;
  switch (character) {
  case '|': return (Token){basic ? T_BAR : T_CHARACTER, character, false};
  case '(': return (Token){basic ? T_OPEN : T_CHARACTER, character, false};
  case ')': return (Token){basic ? T_CLOSE : T_CHARACTER, character, false};
  case '{': return (Token){basic ? T_BRACE : T_CHARACTER, character, false};
  case '}': return (Token){basic ? T_CLOSE_BRACE : T_CHARACTER, character, false};
  case '+':
  case '?': return (Token){basic ? T_REPEAT : T_CHARACTER, character, false};
  case '<': return (Token){T_CONDITION, WORD_START, false};
  case '>': return (Token){T_CONDITION, WORD_END, false};
  case 'b': return (Token){T_CONDITION, WORD_EDGE, false};
  case 'B': return (Token){T_CONDITION, NO_WORD_EDGE, false};
  case '`': return (Token){T_CONDITION, TEXT_START, false};
  case '\'': return (Token){T_CONDITION, TEXT_END, false};
  case 'w': return (Token){T_WORD, character, false};
  case 'W': return (Token){T_WORD, character, true};
  case 's': return (Token){T_SPACE, character, false};
  case 'S': return (Token){T_SPACE, character, true};
  default: return (Token){is_between(character, '1', '9') ? T_AGAIN : T_CHARACTER, character, false};
  }
}

/* In a basic expression `$` is one at the end of the pattern, of a group or of an alternative. */
static bool
is_last(const Pattern *pattern, const char *behind)
{
  return pattern->reading.program->extended || !*behind || (*behind == '\\' && (behind[1] == ')' || behind[1] == '|'));
}

/* The next token; `^` is a condition in a basic expression only at its start, and behind what opens a group or an alternative. */
static void
fetch(Pattern *pattern, bool at_start)
{
  Reading *reading = &pattern->reading;
  const bool extended = reading->program->extended;
  const char *const at = reading->at;
  Token *token = &pattern->token;
  int bytes = 0;
  if (!*at) {
    *token = (Token){T_END, 0, false};
    return;
  }
  const Character character = character_at(reading->program->characters, at, NULL, &bytes);
  *token = (Token){T_CHARACTER, character, false};
  reading->at += bytes;
  switch (character) {
  case '\\':
    if (!at[1]) {
      token->kind = T_BACKSLASH;
      return;
    }
    *token = escaped(pattern, character_at(reading->program->characters, at + 1, NULL, &bytes));
    reading->at += bytes;
    return;
  case '[': token->kind = T_BRACKET; return;
  case '.': token->kind = T_ANY; return;
  case '*': token->kind = T_REPEAT; return;
  case '^':
    if (extended || at_start || at == pattern->start) *token = (Token){T_CONDITION, LINE_START, false};
    return;
  case '$':
    if (is_last(pattern, reading->at)) *token = (Token){T_CONDITION, LINE_END, false};
    return;
  default: break;
  }
  if (!extended) return;
  switch (character) {
  case '+':
  case '?': token->kind = T_REPEAT; return;
  case '|': token->kind = T_BAR; return;
  case '(': token->kind = T_OPEN; return;
  case ')': token->kind = T_CLOSE; return;
  case '{': token->kind = T_BRACE; return;
  case '}': token->kind = T_CLOSE_BRACE; return;
  default: return;
  }
}

/* ---- steps ---- */

/* Makes room for steps at a place, and moves what is behind it. */
static bool
open_gap(Program *program, int at, int steps)
{
  if (program->count > MOST_STEPS - steps) return false;
  if (!grown((void**)&program->steps, at_least(program->count + steps, SOME), &program->room, sizeof(Step))) return false;
  memmove(program->steps + at + steps, program->steps + at, (size_t)(program->count - at) * sizeof(Step));
  program->count += steps;
  return true;
}

static Error
insert(Program *program, int at, Step step)
{
  if (!open_gap(program, at, 1)) return REG_ESPACE;
  program->steps[at] = step;
  return REG_NOERROR;
}

static Error
append(Program *program, Kind kind, int argument)
{
  return insert(program, program->count, (Step){.kind = kind, .argument = argument});
}

/* The same steps once more, at the end. What is optional in them is so only the first time (as in glibc, whose copies forget it). */
static Error
copy(Program *program, int start, int steps)
{
  const int at = program->count;
  if (!open_gap(program, at, steps)) return REG_ESPACE;
  memcpy(program->steps + at, program->steps + start, (size_t)steps * sizeof(Step));
  for (int copied = at; copied < program->count; copied++) program->steps[copied].optional = false;
  return REG_NOERROR;
}

/* ---- repetitions ---- */

/* What is repeated: steps from `start` to the end. */
typedef struct {
  int start;
  /* It is a group, or has one. */
  bool is_group, has_groups;
} Atom;

/* How often; `most` is -1 where there is no end to it. */
typedef struct {
  int least, most;
} Times;

static void
mark_optional(Program *program, int start, bool is_group)
{
  if (!is_group) return;
  const int group = program->steps[start].argument;
  for (int at = start; at < program->count; at++) {
    Step *step = &program->steps[at];
    if (step->kind == CLOSE && step->argument == group) step->optional = program->optional = true;
  }
}

/* `(x)*` from there on; `x{0,3}` is `(((x)?x)?x)?`, so that all of three are tried first, also where one can match nothing. */
static Error
repeat_any(Program *program, Atom atom, int most)
{
  const int start = atom.start, steps = program->count - start;
  mark_optional(program, start, atom.is_group);
  if (most < 0) {
    const Error error = insert(program, start, (Step){.kind = SPLIT, .to = steps + 2});
    return error ? error : insert(program, program->count, (Step){.kind = JUMP, .to = -steps - 1});
  }
  Error error = REG_NOERROR;
  for (int time = 1; time < most && !error; time++) error = copy(program, start, steps);
  for (int time = 1; time <= most && !error; time++) error = insert(program, start, (Step){.kind = SPLIT, .to = time * steps + time});
  return error;
}

static Error
repeat(Program *program, Atom atom, Times times)
{
  const int steps = program->count - atom.start;
  if (!times.most) {
    program->count = atom.start;
    return REG_NOERROR;
  }
  if (!steps) return REG_NOERROR;
  if (!times.least) return repeat_any(program, atom, times.most);
  /* Without groups, what is repeated need not be there twice. */
  if (times.least == 1 && times.most < 0 && !atom.has_groups)
    return insert(program, program->count, (Step){.kind = LOOP, .to = -steps});
  Error error = REG_NOERROR;
  for (int time = 1; time < times.least && !error; time++) error = copy(program, atom.start, steps);
  if (error || times.least == times.most) return error;
  atom.start = program->count;
  error = copy(program, atom.start - steps, steps);
  return error ? error : repeat_any(program, atom, times.most < 0 ? -1 : times.most - times.least);
}

enum { NO_NUMBER = -1, NOT_A_NUMBER = -2 };

/* A number before a comma or the closing brace. */
static int
number(Pattern *pattern)
{
  int read = NO_NUMBER;
  for (;;) {
    fetch(pattern, false);
    const Token token = pattern->token;
    if (token.kind == T_END) return NOT_A_NUMBER;
    if (token.kind == T_CLOSE_BRACE || token.character == ',') return read;
    if (token.kind != T_CHARACTER || !is_between(token.character, '0', '9') || read == NOT_A_NUMBER) read = NOT_A_NUMBER;
    else read = read == NO_NUMBER ? token.character - '0' : read * 10 + token.character - '0';
    if (read > MOST_TIMES) read = MOST_TIMES + 1;
  }
}

/* Reads what stands in braces. */
static Error
times_of(Pattern *pattern, Times *times)
{
  const Token *const token = &pattern->token;
  const bool comma = (times->least = number(pattern), token->kind == T_CHARACTER && token->character == ',');
  if (times->least == NO_NUMBER) {
    if (!comma) return REG_BADBR;
    times->least = 0;
  }
  times->most = NOT_A_NUMBER;
  if (times->least != NOT_A_NUMBER) times->most = token->kind == T_CLOSE_BRACE ? times->least : comma ? number(pattern) : NOT_A_NUMBER;
  if (times->most == NOT_A_NUMBER) return token->kind == T_END ? REG_EBRACE : REG_BADBR;
  if ((times->most != NO_NUMBER && times->least > times->most) || token->kind != T_CLOSE_BRACE) return REG_BADBR;
  return (times->most == NO_NUMBER ? times->least : times->most) > MOST_TIMES ? REG_ESIZE : REG_NOERROR;
}

/* All repetitions behind an atom. */
static Error
repetitions(Pattern *pattern, Atom atom)
{
  Program *program = pattern->reading.program;
  while (pattern->token.kind == T_REPEAT || pattern->token.kind == T_BRACE) {
    Times times = {pattern->token.character == '+', pattern->token.character == '?' ? 1 : -1};
    if (pattern->token.kind == T_BRACE) {
      const Error error = times_of(pattern, &times);
      if (error) return error;
    }
    fetch(pattern, false);
    const Error error = repeat(program, atom, times);
    if (error) return error;
    atom.is_group = false;
    /* A second one is an error in a basic expression, but not `\+` and `\?`. */
    if (!program->extended && (pattern->token.kind == T_BRACE || (pattern->token.kind == T_REPEAT && pattern->token.character == '*')))
      return REG_BADRPT;
  }
  return REG_NOERROR;
}

/* ---- parts ---- */

static Error alternatives(Pattern *pattern);

static Error
group(Pattern *pattern)
{
  Program *program = pattern->reading.program;
  const int number = ++program->groups;
  if (++pattern->depth > MOST_DEPTH) return REG_ESPACE;
  fetch(pattern, true);
  Error error = append(program, OPEN, number);
  if (!error && pattern->token.kind != T_CLOSE) error = alternatives(pattern);
  if (error) return error;
  if (pattern->token.kind != T_CLOSE) return REG_EPAREN;
  pattern->depth--;
  if (number <= 9) pattern->closed |= 1u << number;
  return append(program, CLOSE, number);
}

/* `.`, `\w`, `\s` and those without. */
static Error
usual_set(Program *program, Token token)
{
  Set set = {.first_range = program->range_count};
  bool negated = token.negated;
  if (token.kind == T_ANY) {
    negated = true;
    if (program->lines) set_bit(set.low, '\n');
  } else {
    add_class(program, &set, token.kind == T_WORD ? ALNUM : SPACE);
    if (token.kind == T_WORD) set_bit(set.low, '_');
  }
  if (negated) negate(program, &set);
  if (token.kind == T_ANY) set.low[0] &= ~(uint64_t)1;
  const int number = kept(program, &set);
  return number < 0 ? REG_ESPACE : append(program, SET, number);
}

static Error
condition(Pattern *pattern)
{
  Program *program = pattern->reading.program;
  if (pattern->token.character >= WORD_START) program->words = true;
  const Error error = append(program, ASSERT, pattern->token.character);
  /* Nothing repeats a condition: what follows begins a new part. */
  fetch(pattern, false);
  return error;
}

static Error
again(Pattern *pattern)
{
  Program *program = pattern->reading.program;
  const int number = pattern->token.character - '0';
  if (!(pattern->closed >> number & 1)) return REG_ESUBREG;
  program->references = true;
  program->referred |= 1u << number;
  return append(program, AGAIN, number);
}

static Error
literal(Pattern *pattern)
{
  Program *program = pattern->reading.program;
  return append(program, LITERAL, folded(program->characters, pattern->token.character));
}

static Error
atom(Pattern *pattern)
{
  Program *program = pattern->reading.program;
  int set = 0;
  switch (pattern->token.kind) {
  case T_OPEN: return group(pattern);
  case T_BRACKET: {
    const Error error = brackets(&pattern->reading, &set);
    return error ? error : append(program, SET, set);
  }
  case T_ANY:
  case T_WORD:
  case T_SPACE: return usual_set(program, pattern->token);
  case T_AGAIN: return again(pattern);
  case T_BACKSLASH: return REG_EESCAPE;
  case T_BRACE: return REG_BADRPT;
  case T_REPEAT: return program->extended ? REG_BADRPT : literal(pattern);
  case T_CLOSE: return program->extended ? literal(pattern) : REG_ERPAREN;
  default: return literal(pattern);
  }
}

/* An atom and what repeats it. */
static Error
part(Pattern *pattern)
{
  Program *program = pattern->reading.program;
  if (pattern->token.kind == T_CONDITION) return condition(pattern);
  const int start = program->count, groups = program->groups;
  const bool is_group = pattern->token.kind == T_OPEN;
  const Error error = atom(pattern);
  if (error) return error;
  fetch(pattern, false);
  return repetitions(pattern, (Atom){start, is_group, program->groups > groups});
}

static Error
branch(Pattern *pattern)
{
  for (;;) {
    const TokenKind kind = pattern->token.kind;
    if (kind == T_END || kind == T_BAR || (kind == T_CLOSE && pattern->depth)) return REG_NOERROR;
    const Error error = part(pattern);
    if (error) return error;
  }
}

/* Ends a branch that another follows. */
static Error
end_branch(Program *program, int start, int *last_jump)
{
  Error error = insert(program, start, (Step){.kind = SPLIT, .to = program->count - start + 2});
  if (!error) error = insert(program, program->count, (Step){.kind = JUMP, .to = *last_jump});
  *last_jump = program->count - 1;
  return error;
}

/* Branches, each but the last with a SPLIT in front and a JUMP behind. The jumps are a list, by `to`, until the end is known. A group
 * that is closed in one branch is not in the others. If the first branch is empty, the second comes before it (in glibc an empty
 * branch is what follows all of them, and of two ways the one that was read first has precedence). */
static Error
alternatives(Pattern *pattern)
{
  Program *program = pattern->reading.program;
  const unsigned closed = pattern->closed;
  const int begin = program->count;
  unsigned all_closed = 0;
  int last_jump = -1;
  bool owes_empty = false;
  for (bool is_first = true;; is_first = false) {
    const int start = program->count;
    Error error = branch(pattern);
    if (error) return error;
    all_closed |= pattern->closed;
    pattern->closed = closed;
    const bool is_last = pattern->token.kind != T_BAR;
    if (is_first && !is_last && start == program->count) {
      owes_empty = true;
    } else {
      if (!is_last || owes_empty) error = end_branch(program, start, &last_jump);
      if (!error && !is_last && owes_empty) error = end_branch(program, program->count, &last_jump);
      owes_empty = false;
    }
    if (error) return error;
    if (is_last) break;
    fetch(pattern, true);
  }
  pattern->closed = all_closed;
  while (last_jump >= begin) {
    const int before = program->steps[last_jump].to;
    program->steps[last_jump].to = program->count - last_jump;
    last_jump = before;
  }
  return REG_NOERROR;
}

static Error
parse(Program *program, const char *text)
{
  Pattern pattern = {.reading = {.program = program, .at = text}, .start = text};
  fetch(&pattern, true);
  const Error error = alternatives(&pattern);
  return error ? error : append(program, MATCH, 0);
}
