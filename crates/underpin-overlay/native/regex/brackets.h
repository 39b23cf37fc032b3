/* Bracket expressions (`[a-z]`, `[^[:space:]]`), as glibc's parse_bracket_exp takes them: the order of its questions decides which
 * error is told. */

typedef enum { B_END, B_CHARACTER, B_DASH, B_CLOSE, B_COLLATING, B_EQUIVALENT, B_CLASS } BracketKind;

typedef struct {
  BracketKind kind;
  Character character;
  int bytes;
} BracketToken;

/* An element: one character, or the class of that number. */
typedef struct {
  BracketKind kind;
  /* NO_NAME if there is none of its name, which is an error only once all is closed. */
  Character character;
  int class;
} Element;

/* Where the reading is. */
typedef struct {
  Program *program;
  const char *at;
} Reading;

enum { NO_NAME = -1 };

static BracketToken
bracket_token(const Reading *reading)
{
  const char *at = reading->at;
  if (!*at) return (BracketToken){B_END, 0, 0};
  if (*at == '[' && at[1] == '.') return (BracketToken){B_COLLATING, '.', 2};
  if (*at == '[' && at[1] == '=') return (BracketToken){B_EQUIVALENT, '=', 2};
  if (*at == '[' && at[1] == ':') return (BracketToken){B_CLASS, ':', 2};
  if (*at == ']') return (BracketToken){B_CLOSE, ']', 1};
  if (*at == '-') return (BracketToken){B_DASH, '-', 1};
  BracketToken token = {B_CHARACTER, 0, 0};
  token.character = character_at(reading->program->characters, at, NULL, &token.bytes);
  return token;
}

static int
class_of(const char *name, size_t size, bool without_case)
{
  for (int class = 0; class < CLASSES; class++)
    if (strlen(CLASS_NAMES[class]) == size && !memcmp(CLASS_NAMES[class], name, size))
      return without_case && (class == UPPER || class == LOWER) ? ALPHA : class;
  return CLASSES;
}

/* Reads what is between `[:` and `:]`, or dots or equals signs. There are no names of more than one byte but those of classes. */
static Error
bracket_name(Reading *reading, BracketToken token, Element *into)
{
  enum { MOST = 32 };
  const char *const name = reading->at;
  size_t size = 0;
  for (; !(name[size] == token.character && name[size + 1] == ']'); size++)
    if (!name[size] || size == MOST) return REG_EBRACK;
  reading->at += size + 2;
  into->kind = token.kind;
  if (token.kind == B_CLASS) {
    into->class = class_of(name, size, reading->program->characters.without_case);
    return REG_NOERROR;
  }
  into->character = size == 1 ? (unsigned char)*name : NO_NAME;
  return REG_NOERROR;
}

static Error
element(Reading *reading, BracketToken token, bool may_be_dash, Element *into)
{
  reading->at += token.bytes;
  if (token.kind == B_COLLATING || token.kind == B_EQUIVALENT || token.kind == B_CLASS) return bracket_name(reading, token, into);
  if (token.kind == B_DASH && !may_be_dash && bracket_token(reading).kind != B_CLOSE) return REG_ERANGE;
  *into = (Element){B_CHARACTER, token.character, 0};
  return REG_NOERROR;
}

static Error
add_range(Program *program, Set *set, Character first, Character last)
{
  if (first == NO_NAME || last == NO_NAME) return REG_ECOLLATE;
  first = folded(program->characters, first);
  last = folded(program->characters, last);
  if (first > last) return REG_ERANGE;
  const Character low = program->characters.wide ? ASCII : 256;
  for (Character each = first; each <= last && each < low; each++) set_bit(set->low, each);
  if (last < low || first >= NO_CHARACTER) return REG_NOERROR;
  if (!grown((void**)&program->range_pool, program->range_count + 1, &program->range_room, sizeof(Range))) return REG_ESPACE;
  program->range_pool[program->range_count++] = (Range){first < low ? low : first, last};
  set->ranges++;
  return REG_NOERROR;
}

static void
add_class(Program *program, Set *set, int class)
{
  const Characters characters = program->characters;
  for (Character each = 0; each < ASCII; each++)
    if (is_ascii_of(class, each)) set_bit(set->low, folded(characters, each));
  if (!characters.wide) return;
  set->classes |= 1u << class;
  if (!program->wide_classes[class]) program->wide_classes[class] = wctype(CLASS_NAMES[class]);
}

/* The characters of ASCII, or all bytes, that it did not have until now. */
static void
negate(const Program *program, Set *set)
{
  const int words = program->characters.wide ? 2 : 4;
  for (int at = 0; at < words; at++) set->low[at] = ~set->low[at];
  set->negated = true;
}

/* The set becomes a step's argument, or -1 if there is no memory. Two equal ones are one only if they have no ranges. */
static int
kept(Program *program, const Set *set)
{
  for (int at = 0; at < program->set_count && !set->ranges; at++) {
    const Set *other = &program->sets[at];
    if (!other->ranges && other->classes == set->classes && other->negated == set->negated
        && !memcmp(other->low, set->low, sizeof set->low))
      return at;
  }
  if (!grown((void**)&program->sets, program->set_count + 1, &program->set_room, sizeof *set)) return -1;
  program->sets[program->set_count] = *set;
  return program->set_count++;
}

/* One or two elements: a character, a class, or a range. */
static Error
elements(Reading *reading, Set *set, BracketToken *token, bool is_first)
{
  Program *program = reading->program;
  Element start, end;
  Error error = element(reading, *token, is_first, &start);
  if (error) return error;
  *token = bracket_token(reading);
  if (start.kind != B_CLASS && start.kind != B_EQUIVALENT) {
    if (token->kind == B_END) return REG_EBRACK;
    if (token->kind == B_DASH) {
      reading->at += token->bytes;
      BracketToken second = bracket_token(reading);
      if (second.kind == B_END) return REG_EBRACK;
      if (second.kind != B_CLOSE) {
        error = element(reading, second, true, &end);
        if (error) return error;
        *token = bracket_token(reading);
        return end.kind == B_CLASS || end.kind == B_EQUIVALENT ? REG_ERANGE : add_range(program, set, start.character, end.character);
      }
      /* The last dash is one. */
      reading->at -= token->bytes;
      token->kind = B_CHARACTER;
    }
  }
  if (start.kind != B_CLASS) return add_range(program, set, start.character, start.character);
  if (start.class == CLASSES) return REG_ECTYPE;
  add_class(program, set, start.class);
  return REG_NOERROR;
}

/* What stands behind `[`, to the bracket that closes it: the number of the set. */
static Error
brackets(Reading *reading, int *number)
{
  Program *program = reading->program;
  Set set = {.first_range = program->range_count};
  bool negated = false;
  BracketToken token = bracket_token(reading);
  if (token.kind == B_CHARACTER && token.character == '^') {
    negated = true;
    if (program->lines) set_bit(set.low, '\n');
    reading->at += token.bytes;
    token = bracket_token(reading);
  }
  if (token.kind == B_END) return REG_BADPAT;
  /* A bracket that comes first is one of the characters. */
  if (token.kind == B_CLOSE) token.kind = B_CHARACTER;
  for (bool is_first = true;; is_first = false) {
    const Error error = elements(reading, &set, &token, is_first);
    if (error) return error;
    if (token.kind == B_END) return REG_EBRACK;
    if (token.kind == B_CLOSE) break;
  }
  reading->at += token.bytes;
  if (negated) negate(program, &set);
  *number = kept(program, &set);
  return *number < 0 ? REG_ESPACE : REG_NOERROR;
}
