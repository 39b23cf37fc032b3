/* underpin's overlay: faster string functions for static programs on musl.
 *
 * There is nothing to call: link the object before everything else, and its functions take the place of musl's, except those
 * that the program has itself:
 *
 *     cc -static -o program underpin-overlay.o program.o ...
 *
 * They are those of <string.h> and qsort, and need no set-up; they may be called from constructors and before thread-local
 * storage exists. Which instructions are used (SSE2, AVX2, AVX-512; NEON on aarch64) is found out at the first call.
 *
 * x86-64 and aarch64: memmove memcmp bcmp memchr memrchr memmem strlen strnlen strchr strrchr strchrnul strcmp strncmp
 * strstr strcpy stpcpy strncpy stpncpy qsort qsort_r; x86-64 also memcpy and memset, which are ARM's own assembly in musl for
 * aarch64. */
#ifndef UNDERPIN_OVERLAY_H
#define UNDERPIN_OVERLAY_H
#include <string.h>
#endif
