/* regcomp, regexec, regfree and regerror for static programs on musl, with glibc's answers. musl's own know another language (a
 * group again in an extended expression, `a{,2}`, `\'`, and `\d` for a digit), and follow all states of an expression at once, which
 * takes up to fifteen times what glibc's automaton does. The rules are POSIX's and, where it leaves a choice or is silent, what glibc
 * 2.36 does, which the tests compare with: which of the longest matches a group is from, for one.
 *
 * An expression becomes a program (regex/syntax.h, regex/program.h). Matches are found by an automaton without choices that is made
 * of it while a text is read, and kept for the next one (regex/automaton.h); the texts are read character by character, where
 * characters that no part of the program tells apart are one symbol. What groups matched is found by a second look at the match alone
 * (regex/groups.h). Back-references need trial and error (regex/trial.h).
 *
 * A search for whether there is a match takes time that grows with the length of the text; glibc's begins again at each
 * character, and takes the square of it where there is none.
 *
 * All of musl's regcomp.o, regexec.o and regerror.o is here, or the linker would take those files for what is missing. */

#ifdef OVERLAY_REPLACES

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern void *malloc(size_t size);
extern void *calloc(size_t count, size_t size);
extern void *realloc(void *at, size_t size);
extern void free(void *at);
extern void *memcpy(void *restrict to, const void *restrict from, size_t size);
extern void *memmove(void *to, const void *from, size_t size);
extern void *memset(void *at, int byte, size_t size);
extern int memcmp(const void *one, const void *other, size_t size);
extern int strcmp(const char *one, const char *other);
extern size_t strlen(const char *text);
extern char *strchr(const char *text, int byte);
extern void *memchr(const void *at, int byte, size_t size);
extern size_t __ctype_get_mb_cur_max(void);
extern unsigned towupper(unsigned character);
extern unsigned long wctype(const char *name);
extern int iswctype(unsigned character, unsigned long class);
extern int iswalnum(unsigned character);

/* musl's <regex.h>; the last is of glibc and the BSDs, and of the header that `underpin build` has in front of musl's. */
enum { REG_EXTENDED = 1, REG_ICASE = 2, REG_NEWLINE = 4, REG_NOSUB = 8, REG_NOTBOL = 1, REG_NOTEOL = 2, REG_STARTEND = 4 };

/* The last three are glibc's, of which it returns the first alone. */
typedef enum {
  REG_NOERROR, REG_NOMATCH, REG_BADPAT, REG_ECOLLATE, REG_ECTYPE, REG_EESCAPE, REG_ESUBREG, REG_EBRACK, REG_EPAREN, REG_EBRACE,
  REG_BADBR, REG_ERANGE, REG_ESPACE, REG_BADRPT, REG_EEND, REG_ESIZE, REG_ERPAREN,
} Error;

typedef struct Program Program;

typedef struct {
  size_t groups;
  Program *program;
  /* Not used. */
  void *padding[4];
  size_t more_padding;
  char last_padding;
} Compiled;

/* Offsets of bytes in a text; -1 where a group matched nothing. */
typedef struct {
  ptrdiff_t start, end;
} Found;

#include "regex/characters.h"
#include "regex/program.h"
#include "regex/brackets.h"
#include "regex/syntax.h"
#include "regex/groups.h"
#include "regex/automaton.h"
#include "regex/trial.h"

int
regcomp(Compiled *restrict into, const char *restrict pattern, int flags)
{
  into->groups = 0;
  into->program = NULL;
  Program *program = calloc(1, sizeof *program);
  if (!program) return REG_ESPACE;
  program->extended = flags & REG_EXTENDED;
  program->lines = flags & REG_NEWLINE;
  program->only_whether = flags & REG_NOSUB;
  program->characters = (Characters){.wide = __ctype_get_mb_cur_max() > 1, .without_case = flags & REG_ICASE};
  const Error error = parse(program, pattern);
  if (error) {
    drop(program);
    return (int)(error == REG_ERPAREN ? REG_EPAREN : error);
  }
  into->groups = (size_t)program->groups;
  into->program = program;
  return 0;
}

/* What a search without back-references finds: whether, where, and the groups, as far as it is asked. */
static Error
find(const Program *program, Cache *cache, const Text *text, size_t wanted, Found *found)
{
  const char *end;
  if (!wanted) return search(cache, text, &end);
  const Error error = leftmost(cache, text, &found[0]);
  if (error != REG_NOERROR || wanted == 1) return error;
  return groups_of(program, text, found, wanted);
}

int
regexec(const Compiled *restrict compiled, const char *restrict string, size_t count, Found found[], int flags)
{
  Program *program = compiled->program;
  if (!program || flags & ~(REG_NOTBOL | REG_NOTEOL | REG_STARTEND)) return REG_BADPAT;
  if (program->only_whether) count = 0;
  const size_t all = (size_t)program->groups + 1, wanted = count < all ? count : all;
  Text text = {.start = string, .not_first = flags & REG_NOTBOL, .not_last = flags & REG_NOTEOL};
  if (flags & REG_STARTEND) {
    text.from = found[0].start;
    text.end = string + found[0].end;
  }
  Error error;
  if (program->references) {
    error = try_all(program, &text, wanted, found);
  } else {
    Cache *cache = borrow(program);
    if (!cache) return REG_ESPACE;
    error = find(program, cache, &text, wanted, found);
    give_back(program, cache);
  }
  if (error == REG_NOERROR)
    for (size_t at = wanted; at < count; at++) found[at] = (Found){-1, -1};
  return (int)error;
}

void
regfree(Compiled *compiled)
{
  if (compiled->program) drop(compiled->program);
  compiled->program = NULL;
}

/* One text, for pointers would have to be adjusted at each start. */
static const char MESSAGES[] =
  "Success\0"
  "No match\0"
  "Invalid regular expression\0"
  "Invalid collation character\0"
  "Invalid character class name\0"
  "Trailing backslash\0"
  "Invalid back reference\0"
  "Unmatched [, [^, [:, [., or [=\0"
  "Unmatched ( or \\(\0"
  "Unmatched \\{\0"
  "Invalid content of \\{\\}\0"
  "Invalid range end\0"
  "Memory exhausted\0"
  "Invalid preceding regular expression\0"
  "Premature end of regular expression\0"
  "Regular expression too big\0"
  "Unmatched ) or \\)\0"
  /* For others; glibc ends the program there. */
  "Unknown error";

size_t
regerror(int error, const Compiled *restrict compiled, char *restrict into, size_t room)
{
  (void)compiled;
  const char *text = MESSAGES;
  for (unsigned left = (unsigned)error <= REG_ERPAREN ? (unsigned)error : REG_ERPAREN + 1; left; left--) text += strlen(text) + 1;
  const size_t size = strlen(text) + 1;
  if (room) {
    const size_t part = size < room ? size - 1 : room - 1;
    memcpy(into, text, part);
    into[part] = 0;
  }
  return size;
}

#endif
