/* <stdio.h> for programs that are linked with a musl of a known version: musl's own, and then what it has as functions only,
 * the unlocked reading and writing of a character, for the compiler to put into the caller. glibc's header does the same
 * (bits/stdio.h).
 *
 * `gnu_inline`: such a definition is never compiled by itself. A pointer to the function, a call that is not optimised and a
 * stream that has nothing left all mean musl's function, and a program may define one of the name. As functions and not
 * as macros they leave the names to programs that define macros or declare them again; where a program has a macro of the
 * name already, there is nothing here. The names that musl's own functions are called by have no other meaning: a call of
 * itself within an inline function would be inlined again.
 *
 * What is known about a stream is musl's struct _IO_FILE (src/internal/stdio_impl.h), which has not changed from 1.2.0 to
 * 1.2.6; `underpin build` has this folder searched for those only, and puts the folder of musl's headers in the place of @LIBC@. */
#ifdef __GNUC__
#pragma GCC system_header
#endif
/* Not `#include_next`, to which compilers object when they are told to judge system headers too. */
#include "@LIBC@/stdio.h"

/* Not for C++, where clang refuses a function of the name that the program defines. */
#if !defined UNDERPIN_STDIO_H && defined _STDIO_H && defined __GNUC__ && !defined __cplusplus && defined __LP64__ \
  && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__ && !defined __NO_INLINE__ \
  && (defined __GNUC_STDC_INLINE__ || defined __GNUC_GNU_INLINE__)
#define UNDERPIN_STDIO_H

/* musl declares the names for these only (features.h sets _BSD_SOURCE unless told a standard). */
#if defined _POSIX_SOURCE || defined _POSIX_C_SOURCE || defined _XOPEN_SOURCE || defined _GNU_SOURCE || defined _BSD_SOURCE

/* Not `__inline`, which musl defines as `inline` (features.h): a program may have defined that as nothing. */
#define __UNDERPIN_INLINE extern __inline__ __attribute__((__gnu_inline__))

struct __underpin_stream {
  unsigned __flags, __space;
  unsigned char *__read_at, *__read_end;
  int (*__close)(FILE *);
  unsigned char *__write_end, *__write_at;
  void *__others[8];
  int __file, __process;
  long __lock_count;
  int __mode, __lock;
  /* After this character the buffer is written: '\n' or none (-1). */
  int __last_of_line, __more_space;
} __attribute__((__may_alias__));

#ifdef __clang__
/* It would take a call by the function's own name for an endless recursion, and inline nothing; musl has these as well. */
int __underpin_getc(FILE *) __asm__("_IO_getc_unlocked");
int __underpin_putc(int, FILE *) __asm__("_IO_putc_unlocked");
#else
int __underpin_getc(FILE *) __asm__("getc_unlocked");
int __underpin_putc(int, FILE *) __asm__("putc_unlocked");
#endif

#define __UNDERPIN_GETC(stream) \
  struct __underpin_stream *const __stream = (struct __underpin_stream*)(void*)(stream); \
  if (__builtin_expect(__stream->__read_at != __stream->__read_end, 1)) return *__stream->__read_at++; \
  return __underpin_getc(stream);

#define __UNDERPIN_PUTC(character, stream) \
  struct __underpin_stream *const __stream = (struct __underpin_stream*)(void*)(stream); \
  const unsigned char __byte = (unsigned char)(character); \
  if (__builtin_expect(__stream->__write_at != __stream->__write_end && __byte != __stream->__last_of_line, 1)) \
    return *__stream->__write_at++ = __byte; \
  return __underpin_putc(__byte, stream);

#ifndef getc_unlocked
__UNDERPIN_INLINE int getc_unlocked(FILE *__from) { __UNDERPIN_GETC(__from) }
#endif
#ifndef getchar_unlocked
__UNDERPIN_INLINE int getchar_unlocked(void) { __UNDERPIN_GETC(stdin) }
#endif
#ifndef putc_unlocked
__UNDERPIN_INLINE int putc_unlocked(int __value, FILE *__into) { __UNDERPIN_PUTC(__value, __into) }
#endif
#ifndef putchar_unlocked
__UNDERPIN_INLINE int putchar_unlocked(int __value) { __UNDERPIN_PUTC(__value, stdout) }
#endif
#if defined _GNU_SOURCE || defined _BSD_SOURCE
#ifndef fgetc_unlocked
__UNDERPIN_INLINE int fgetc_unlocked(FILE *__from) { __UNDERPIN_GETC(__from) }
#endif
#ifndef fputc_unlocked
__UNDERPIN_INLINE int fputc_unlocked(int __value, FILE *__into) { __UNDERPIN_PUTC(__value, __into) }
#endif
#endif

#undef __UNDERPIN_PUTC
#undef __UNDERPIN_GETC
#undef __UNDERPIN_INLINE
#endif
#endif
