/* glibc's <string.h> has a basename of its own for _GNU_SOURCE, which leaves its argument alone and has nothing for "folder/" where
 * POSIX's, in <libgen.h>, has "folder" (basename(3)). musl has POSIX's alone: until 1.2.4 its <string.h> declared it without
 * arguments, since then not at all. `gnu_inline`: a definition of the program's own wins. Not in C++, where it would not. */
#pragma GCC system_header
#include <features.h>
#if defined _GNU_SOURCE && !defined __cplusplus && !defined basename
#define basename __underpin_not_declared
#include_next <string.h>
#undef basename
#ifndef __UNDERPIN_BASENAME
#define __UNDERPIN_BASENAME
extern char *basename(const char *__path);
extern __inline__ __attribute__((__gnu_inline__, __always_inline__, __unused__)) char *basename(const char *__path) {
  char *const __last = strrchr(__path, '/');
  return __last ? __last + 1 : (char*)__path;
}
#endif
#else
#include_next <string.h>
#endif
