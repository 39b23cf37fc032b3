/* POSIX's basename beside that of <string.h>: as in glibc the program that includes this header calls it by another name, which musl
 * has, too. */
#pragma GCC system_header
#undef basename
#define basename __xpg_basename
#include_next <libgen.h>
