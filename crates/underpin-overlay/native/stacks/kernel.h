/* What stacks.c asks of the kernel. Numbers and constants are those of Linux for both processors. */

#include "../kernel.h"

enum { EINVAL = 22, ENOMEM = 12, EPERM = 1 };
enum { PROT_NONE = 0, MADV_DONTNEED = 4 };
enum { MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20, MAP_STACK = 0x20000 };
enum { AT_PHDR = 3, AT_PHENT = 4, AT_PHNUM = 5, AT_PAGESZ = 6, PT_TLS = 7 };
enum { FUTEX_WAIT = 0, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };
#ifdef __x86_64__
enum { SYS_MPROTECT = 10, SYS_MADVISE = 28, SYS_EXIT = 60, SYS_GETTID = 186, SYS_FUTEX = 202 };
#else
enum { SYS_MPROTECT = 226, SYS_MADVISE = 233, SYS_EXIT = 93, SYS_GETTID = 178, SYS_FUTEX = 98 };
#endif

static long
answer(long result)
{
  if (result < 0 && result > -4096) {
    *__errno_location() = (int)-result;
    return -1;
  }
  return result;
}

/* musl holds this back while another thread has just unlocked something in memory that may be unmapped. */
static void
wait_for_unlocks(void)
{
  if (__vm_wait) __vm_wait();
}

static long
unmap(uintptr_t base, size_t size)
{
  wait_for_unlocks();
  return call(SYS_MUNMAP, (long)base, (long)size, 0, 0, 0, 0);
}

static long
protect(uintptr_t base, size_t size, int protection)
{
  return call(SYS_MPROTECT, (long)base, (long)size, protection, 0, 0, 0);
}
