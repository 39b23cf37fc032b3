/* open for static programs on musl, which after each open with O_CLOEXEC calls fcntl(2) to set it a second time, for kernels before 2.6.23:
 * a tenth of a microsecond for each file that a program in Rust opens and each folder that anyone reads. Its openat does not. */

#ifdef OVERLAY_REPLACES

#include <stdarg.h>

extern int openat(int folder, const char *path, int flags, ...);

/* Linux. O_TMPFILE has a second bit, which differs by processor. */
enum { AT_FDCWD = -100, O_CREAT = 0100, OF_O_TMPFILE = 020000000 };

__attribute__((weak)) int
open(const char *path, int flags, ...)
{
  unsigned mode = 0;
  if (flags & (O_CREAT | OF_O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, unsigned);
    va_end(arguments);
  }
  return openat(AT_FDCWD, path, flags, mode);
}

__attribute__((weak, alias("open"))) int open64(const char *path, int flags, ...);

#endif
