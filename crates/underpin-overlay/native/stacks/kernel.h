/* What stacks.c asks of the kernel, not through the C library's functions, some of which it replaces. Numbers and
 * constants are those of Linux for both processors. */
enum { EINVAL = 22, ENOMEM = 12, EPERM = 1 };
enum { PROT_NONE = 0, PROT_READ_WRITE = 3, MADV_DONTNEED = 4 };
enum { MAP_PRIVATE_ANONYMOUS = 0x22, MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20, MAP_STACK = 0x20000 };
enum { AT_PHDR = 3, AT_PHENT = 4, AT_PHNUM = 5, AT_PAGESZ = 6, PT_TLS = 7 };
enum { FUTEX_WAIT = 0, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };
#ifdef __x86_64__
enum { SYS_MMAP = 9, SYS_MPROTECT = 10, SYS_MUNMAP = 11, SYS_MADVISE = 28, SYS_EXIT = 60, SYS_GETTID = 186,
  SYS_FUTEX = 202 };
#elif defined __aarch64__
enum { SYS_MMAP = 222, SYS_MPROTECT = 226, SYS_MUNMAP = 215, SYS_MADVISE = 233, SYS_EXIT = 93, SYS_GETTID = 178,
  SYS_FUTEX = 98 };
#else
#error "there is an overlay for x86-64 and aarch64"
#endif

static inline long
call(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#endif
}

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
