/* Characters of patterns and texts: bytes, or UTF-8 where the program's locale has it, and which of them are one without case. */

/* A code point; for a byte that belongs to no character, that byte and this number. No class has one of those. */
typedef int Character;
enum { NO_CHARACTER = 0x110000, ASCII = 128 };

typedef struct {
  bool wide, without_case;
} Characters;

/* The character at a place that is not the text's end, and its bytes. `end` is NULL where a zero ends the text. */
static Character
decoded(const unsigned char *at, const unsigned char *end, int *bytes)
{
  const unsigned char lead = *at;
  *bytes = 1;
  if (lead < ASCII) return lead;
  const int more = lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xf0 && lead < 0xf5 ? 3 : 0;
  Character character = lead & (0x3f >> more);
  for (int next = 1; next <= more; next++) {
    /* The zero that ends a text is no such byte either. */
    if (at + next == end || (at[next] & 0xc0) != 0x80) return NO_CHARACTER + lead;
    character = character << 6 | (at[next] & 0x3f);
  }
  const bool is_short = (more == 2 && character < 0x800) || (more == 3 && character < 0x10000);
  if (!more || is_short || (character >= 0xd800 && character < 0xe000) || character >= NO_CHARACTER) return NO_CHARACTER + lead;
  *bytes = more + 1;
  return character;
}

static Character
character_at(Characters characters, const char *at, const char *end, int *bytes)
{
  if (characters.wide) return decoded((const unsigned char*)at, (const unsigned char*)end, bytes);
  *bytes = 1;
  return (unsigned char)*at;
}

/* What a character is compared as. */
static Character
folded(Characters characters, Character character)
{
  if (!characters.without_case || character >= NO_CHARACTER) return character;
  if (character < ASCII) return character >= 'a' && character <= 'z' ? character - 'a' + 'A' : character;
  return characters.wide ? (Character)towupper((unsigned)character) : character;
}

static bool
is_between(Character character, Character first, Character last)
{
  return character >= first && character <= last;
}

static bool
is_word(Characters characters, Character character)
{
  if (character >= ASCII) return characters.wide && character < NO_CHARACTER && iswalnum((unsigned)character);
  return is_between(character | 32, 'a', 'z') || is_between(character, '0', '9') || character == '_';
}

enum { ALNUM, ALPHA, BLANK, CNTRL, DIGIT, GRAPH, LOWER, PRINT, PUNCT, SPACE, UPPER, XDIGIT, CLASSES };

static const char CLASS_NAMES[CLASSES][7] = {
  "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit",
};

/* Whether a class has a character of ASCII. */
static bool
is_ascii_of(int class, Character character)
{
  const bool lower = is_between(character, 'a', 'z'), upper = is_between(character, 'A', 'Z'), digit = is_between(character, '0', '9');
  const bool graph = is_between(character, '!', '~');
  switch (class) {
  case ALNUM: return lower || upper || digit;
  case ALPHA: return lower || upper;
  case BLANK: return character == ' ' || character == '\t';
  case CNTRL: return character < ' ' || character == 127;
  case DIGIT: return digit;
  case GRAPH: return graph;
  case LOWER: return lower;
  case PRINT: return graph || character == ' ';
  case PUNCT: return graph && !lower && !upper && !digit;
  case SPACE: return character == ' ' || is_between(character, '\t', '\r');
  case UPPER: return upper;
  default: return digit || is_between(character | 32, 'a', 'f');
  }
}
