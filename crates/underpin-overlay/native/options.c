/* getopt, getopt_long and getopt_long_only for static programs on musl, as glibc has them: musl's getopt ends at the first word that
 * is no option, so that `program FILE -v` is another command on it; its messages are other ones, and what optind, optopt and the
 * order of the words are after an error differs. The rules are those of getopt(3) and, where it is silent, what glibc 2.36 does, which
 * the tests compare with.
 *
 * By default words that are no options are passed over, and stand behind all options in the end. They are those from `passed` to
 * `passed_end`; behind them come the options that were read since, up to optind. A program may set optind to 0 to begin again, as in
 * glibc, or to 1, with optreset or without: on musl the latter is enough, where glibc would keep what the marks in front of the first
 * letters said.
 *
 * All of musl's getopt.o and getopt_long.o is here, or the linker would take those files for what is missing, and with them getopt.
 * A program that has a getopt of its own keeps it: these names are weak. */

#ifdef OVERLAY_REPLACES

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

#ifdef __x86_64__
enum { SYS_WRITEV = 20 };
#elif defined __aarch64__
enum { SYS_WRITEV = 66 };
#else
#error "there is an overlay for x86-64 and aarch64"
#endif

extern long syscall(long number, ...);
extern char *getenv(const char *name);

typedef struct {
  const char *name;
  int has_argument;
  int *flag;
  int value;
} Long;

enum { NONE, REQUIRED, OPTIONAL };
enum { END = -1, IN_ORDER = 1, UNKNOWN = '?' };

char *optarg;
int optind = 1, opterr = 1, optopt = '?';
int __optpos, __optreset;
extern int optreset __attribute__((weak, alias("__optreset")));

/* What becomes of words that are no options. */
typedef enum { BEHIND, ENDS, AS_OPTIONS } Words;

static struct {
  bool begun;
  Words words;
  /* Within a word: the letters that are left of it. */
  char *letters;
  int passed, passed_end;
  /* What optopt becomes after each call, whatever a program wrote into it. */
  int wrong;
} state;

/* One call: the command line, and what the program takes. */
typedef struct {
  int count;
  char **line;
  const char *letters;
  const Long *longs;
  int *index;
  bool is_quiet;
  /* One dash is enough. */
  bool by_one;
} Call;

/* What the program takes behind a letter, or null: `x:` in its list is that of `x`. */
static const char *
found(const char *letters, char letter)
{
  for (; *letters; letters++) {
    if (*letters == letter) return letters;
  }
  return NULL;
}

/* To standard error without its buffer, which glibc's has not either. The texts of one message, the last one null. */
static void
say(const char *const *texts)
{
  struct {
    const char *start;
    size_t size;
  } parts[8];
  int count = 0;
  for (; texts[count]; count++) {
    parts[count].start = texts[count];
    parts[count].size = length(texts[count]);
  }
  (void)syscall(SYS_WRITEV, 2L, parts, (long)count);
}

#define SAY(...) say((const char *const[]){__VA_ARGS__, NULL})

static void
swap(char **line, int first, int end)
{
  for (end--; first < end; first++, end--) {
    char *const word = line[first];
    line[first] = line[end];
    line[end] = word;
  }
}

/* The words that were passed over change places with the options behind them; both keep their order. */
static void
put_behind(char **line)
{
  swap(line, state.passed, state.passed_end);
  swap(line, state.passed_end, optind);
  swap(line, state.passed, optind);
  state.passed += optind - state.passed_end;
  state.passed_end = optind;
}

static bool
is_option(const char *word)
{
  return word[0] == '-' && word[1];
}

/* Begins if it has to, and returns the program's letters without the mark in front of them. */
static const char *
begin(const char *letters, bool is_posix)
{
  const bool is_marked = *letters == '-' || *letters == '+';
  const bool is_within = state.letters && *state.letters;
  if (!optind || __optreset || !state.begun || (optind == 1 && !is_within)) {
    if (!optind) optind = 1;
    state.passed = state.passed_end = optind;
    state.letters = NULL;
    state.words = *letters == '-' ? AS_OPTIONS : is_marked || is_posix || getenv("POSIXLY_CORRECT") ? ENDS : BEHIND;
    state.begun = true;
    __optreset = 0;
  }
  return letters + is_marked;
}

/* Brings optind to the next option and returns 0, or says what there is instead of one. */
static int
next_word(const Call *call)
{
  /* A program may have gone back. */
  if (state.passed_end > optind) state.passed_end = optind;
  if (state.passed > optind) state.passed = optind;
  if (state.words == BEHIND) {
    if (state.passed == state.passed_end) state.passed = optind;
    else if (state.passed_end != optind) put_behind(call->line);
    while (optind < call->count && !is_option(call->line[optind])) optind++;
    state.passed_end = optind;
  }
  if (optind != call->count && call->line[optind][0] == '-' && call->line[optind][1] == '-' && !call->line[optind][2]) {
    optind++;
    if (state.passed == state.passed_end) state.passed = optind;
    else if (state.passed_end != optind) put_behind(call->line);
    optind = state.passed_end = call->count;
  }
  if (optind == call->count) {
    if (state.passed != state.passed_end) optind = state.passed;
    return END;
  }
  if (is_option(call->line[optind])) return 0;
  if (state.words == ENDS) return END;
  optarg = call->line[optind++];
  return IN_ORDER;
}

/* An option without the argument that it needs. */
static int
lacks(const Call *call, int option)
{
  state.wrong = option;
  return *call->letters == ':' ? ':' : UNKNOWN;
}

/* Whether it is not clear which of two options an abbreviation means. By one dash it may be letters as well. */
static bool
differ(const Call *call, const Long *one, const Long *other)
{
  return call->by_one || one->has_argument != other->has_argument || one->flag != other->flag || one->value != other->value;
}

/* The option of a name: an exact one, or the first that begins so; the others may mean the same. */
static const Long *
look_up(const Call *call, const char *name, size_t size, bool *is_ambiguous)
{
  const Long *first = NULL;
  *is_ambiguous = false;
  for (const Long *one = call->longs; one->name; one++) {
    if (!is_same(one->name, name, size)) continue;
    if (!one->name[size]) {
      *is_ambiguous = false;
      return one;
    }
    if (!first) first = one;
    else if (differ(call, first, one)) *is_ambiguous = true;
  }
  return first;
}

static int
ambiguous(const Call *call, const Long *first, size_t size, const char *dashes)
{
  const char *const name = state.letters;
  if (!call->is_quiet) {
    SAY(call->line[0], ": option '", dashes, name, "' is ambiguous; possibilities:");
    for (const Long *one = first; one->name; one++) {
      if (is_same(one->name, name, size) && (one == first || differ(call, first, one))) SAY(" '", dashes, one->name, "'");
    }
    SAY("\n");
  }
  state.letters += length(state.letters);
  optind++;
  state.wrong = 0;
  return UNKNOWN;
}

/* The argument of a long option, if it wants one; `given` is behind the sign in its own word. Returns what getopt does. */
static int
with_argument(const Call *call, const Long *option, char *given, const char *dashes)
{
  if (given && option->has_argument == NONE) {
    if (!call->is_quiet) SAY(call->line[0], ": option '", dashes, option->name, "' doesn't allow an argument\n");
    state.wrong = option->value;
    return UNKNOWN;
  }
  if (given) {
    optarg = given;
  } else if (option->has_argument == REQUIRED && optind < call->count) {
    optarg = call->line[optind++];
  } else if (option->has_argument == REQUIRED) {
    if (!call->is_quiet) SAY(call->line[0], ": option '", dashes, option->name, "' requires an argument\n");
    return lacks(call, option->value);
  }
  if (call->index) *call->index = (int)(option - call->longs);
  if (!option->flag) return option->value;
  *option->flag = option->value;
  return 0;
}

/* A long option, of which state.letters is the name. END: it is none, and by one dash it may be letters. */
static int
long_option(const Call *call, const char *dashes)
{
  char *const name = state.letters;
  size_t size = 0;
  while (name[size] && name[size] != '=') size++;
  bool is_ambiguous;
  const Long *const option = look_up(call, name, size, &is_ambiguous);
  if (is_ambiguous) return ambiguous(call, option, size, dashes);
  if (!option && call->by_one && call->line[optind][1] != '-' && found(call->letters, *name)) return END;
  state.letters = NULL;
  optind++;
  if (option) return with_argument(call, option, name[size] ? name + size + 1 : NULL, dashes);
  if (!call->is_quiet) SAY(call->line[0], ": unrecognized option '", dashes, name, "'\n");
  state.wrong = 0;
  return UNKNOWN;
}

static int
say_of_letter(const Call *call, const char *what, char letter)
{
  if (!call->is_quiet) SAY(call->line[0], what, ((const char[]){letter, 0}), "'\n");
  state.wrong = letter;
  return UNKNOWN;
}

/* The argument of a letter: the rest of its word, or the next one. */
static int
letter_with_argument(const Call *call, char letter, bool is_optional)
{
  char *const rest = state.letters;
  state.letters = NULL;
  if (*rest) {
    optarg = rest;
    optind++;
  } else if (is_optional) {
    optarg = NULL;
  } else if (optind == call->count) {
    (void)say_of_letter(call, ": option requires an argument -- '", letter);
    return lacks(call, letter);
  } else {
    optarg = call->line[optind++];
  }
  return letter;
}

static int
one_letter(const Call *call)
{
  const char letter = *state.letters++;
  const char *const kind = found(call->letters, letter);
  if (!*state.letters) optind++;
  if (!kind || letter == ':' || letter == ';') return say_of_letter(call, ": invalid option -- '", letter);
  /* `-W name` for `--name`. */
  if (kind[0] == 'W' && kind[1] == ';' && call->longs) {
    if (!*state.letters && optind == call->count) {
      (void)say_of_letter(call, ": option requires an argument -- '", letter);
      return lacks(call, letter);
    }
    if (!*state.letters) state.letters = call->line[optind];
    optarg = NULL;
    Call by_two = *call;
    by_two.by_one = false;
    return long_option(&by_two, "-W ");
  }
  return kind[1] == ':' ? letter_with_argument(call, letter, kind[2] == ':') : letter;
}

static int
next_option(Call call, bool is_posix)
{
  optarg = NULL;
  call.letters = begin(call.letters, is_posix);
  call.is_quiet = !opterr || *call.letters == ':';
  if (!state.letters || !*state.letters) {
    const int other = next_word(&call);
    if (other) return other;
    char *const word = call.line[optind];
    if (call.longs && word[1] == '-') {
      state.letters = word + 2;
      return long_option(&call, "--");
    }
    state.letters = word + 1;
    if (call.longs && call.by_one && (word[2] || !found(call.letters, word[1]))) {
      const int option = long_option(&call, "-");
      if (option != END) return option;
      state.letters = word + 1;
    }
  }
  return one_letter(&call);
}

static int
next(Call call, bool is_posix)
{
  const int option = call.count < 1 ? END : next_option(call, is_posix);
  optopt = state.wrong;
  return option;
}

int
getopt(int count, char *const line[], const char *letters)
{
  return next((Call){.count = count, .line = (char**)line, .letters = letters}, false);
}

/* What <unistd.h> means by getopt in a program that asks for POSIX and nothing more. */
int
__posix_getopt(int count, char *const line[], const char *letters)
{
  return next((Call){.count = count, .line = (char**)line, .letters = letters}, true);
}

int
getopt_long(int count, char *const line[], const char *letters, const Long *longs, int *index)
{
  return next((Call){.count = count, .line = (char**)line, .letters = letters, .longs = longs, .index = index}, false);
}

int
getopt_long_only(int count, char *const line[], const char *letters, const Long *longs, int *index)
{
  const Call call = {.count = count, .line = (char**)line, .letters = letters, .longs = longs, .index = index, .by_one = true};
  return next(call, false);
}

/* musl's, for its own two files alone. */
void
__getopt_msg(const char *program, const char *text, const char *option, size_t size)
{
  (void)size;
  SAY(program, text, option, "\n");
}

#endif
