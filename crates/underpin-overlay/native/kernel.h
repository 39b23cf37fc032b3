/* A system call of Linux by its number: what the kernel answers, an error as a negative number. Not through the C library, some of whose
 * functions are replaced here, and whose errno is not wanted everywhere. */

#ifdef __x86_64__
enum { SYS_MMAP = 9, SYS_MUNMAP = 11 };
#elif defined __aarch64__
enum { SYS_MMAP = 222, SYS_MUNMAP = 215 };
#else
#error "there is an overlay for x86-64 and aarch64"
#endif
enum { PROT_READ_WRITE = 3, MAP_PRIVATE_ANONYMOUS = 0x22 };

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
