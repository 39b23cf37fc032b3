/* ---- what a stack is made of ---- */

typedef struct { uint32_t type, flags; uint64_t offset, address, physical, file, memory, alignment; } Segment;

/* Bytes at the end of a stack that musl wants to be zero: the thread-local variables, its own description of the
 * thread (some 200 bytes) and the values of pthread_setspecific (1,024). The variables' size is the program's, as
 * musl reads it; for the rest half a page is assumed: with a page, each thread that takes a stack would touch one page more
 * than one on a new stack. Any excess is stack that was used. */
static size_t
to_clear(void)
{
  static atomic_size_t known;
  size_t bytes = get(known);
  if (bytes) return bytes;
  const char *segment = (const char*)getauxval(AT_PHDR);
  const size_t each = getauxval(AT_PHENT), count = getauxval(AT_PHNUM);
  bytes = segment ? 2048 : SIZE_MAX;
  for (size_t at = 0; segment && at < count; at++) {
    const Segment *one = (const Segment*)(segment + at * each);
    if (one->type == PT_TLS) bytes += one->memory + 3 * one->alignment;
  }
  bytes = bytes > SIZE_MAX / 2 ? SIZE_MAX : (bytes + 63) & ~(size_t)63;
  set(known, bytes);
  return bytes;
}

static size_t
page_size(void)
{
#ifdef __x86_64__
  return 4096;
#else
  return getauxval(AT_PAGESZ);
#endif
}

/* Bytes at the end of an idle stack that stay in memory at least, unless there are many. 0: the program has so many thread-local
 * variables that a new mapping, which is zero, costs no more. */
static size_t
left(void)
{
  const size_t page = page_size(), clear = to_clear();
  if (clear > MOST_CLEARED) return 0;
  return (clear + CALLS + page - 1) & -page;
}

/* To Valgrind, memory below an ended thread's stack pointer is inaccessible, and musl writes there before it starts
 * the next. By these instructions, which do nothing, it recognises a request of the program: here that the memory
 * may be written to. (Valgrind manual, "The Client Request mechanism"; MAKE_MEM_UNDEFINED of memcheck.h.) */
static void
tell_valgrind(uintptr_t from, size_t size)
{
  const volatile uint64_t request[6] = { 0x4d430001, from, size };
#ifdef __x86_64__
  uint64_t result = 0;
  __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
      : "+d"(result) : "a"(request) : "cc", "memory");
#else
  register uint64_t result __asm__("x3") = 0;
  register const volatile uint64_t *which __asm__("x4") = request;
  __asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\torr x10, x10, x10"
      : "+r"(result) : "r"(which) : "cc", "memory");
#endif
}
