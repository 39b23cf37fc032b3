/* getrandom for static programs on musl without a system call: since version 6.11 Linux has a function for it in the
 * memory of every process (vDSO), which glibc calls from version 2.41 on and musl does not know. On an older kernel,
 * and whenever that function cannot be had, this is the system call. (vDSO: Documentation/ABI/stable/vdso, and
 * drivers/char/random.c's vgetrandom_alloc for how states are laid out.)
 *
 * The kernel's function wants a state, which no two calls may use at the same time. glibc gives one to each thread.
 * Here a few of them form an array, each with a mark that it is taken, and a call takes one near an index derived
 * from its thread's stack address: no thread has to give anything back at its end, and a signal handler that
 * interrupts a call of its own thread finds the mark and takes another. If all that a call looks at are taken, it
 * makes the system call. */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifdef OVERLAY_REPLACES
#define NAME(name) name
#else
#define NAME(name) overlay_##name
#endif

#ifdef __x86_64__
#define FUNCTION "__vdso_getrandom"
enum { SYS_GETRANDOM = 318 };
#elif defined __aarch64__
#define FUNCTION "__kernel_getrandom"
enum { SYS_GETRANDOM = 278 };
#else
#error "there is an overlay for x86-64 and aarch64"
#endif

extern long syscall(long number, ...);
extern unsigned long getauxval(unsigned long key);
extern void *mmap(void *at, size_t size, int protection, int flags, int file, long offset);
extern int munmap(void *at, size_t size);
extern int *__errno_location(void);

typedef long Function(void *buffer, size_t size, unsigned flags, void *state, size_t state_size);

/* What the function returns for a state size of ~0. */
typedef struct {
  uint32_t state_size, protection, flags, reserved[13];
} Parameters;

enum { STATES = 32, TRIES = 4, LINE = 64, AT_PAGESZ = 6, AT_SYSINFO_EHDR = 33 };
enum { PROT_READ_WRITE = 3, MAP_PRIVATE_ANONYMOUS = 0x22 };

/* One cache line each. They are not beside their states: the kernel may zero those at any time. Nor are they variables, which
 * would lie among the C library's own in each program that has this object. */
typedef struct {
  _Alignas(LINE) atomic_bool taken;
} Mark;

enum { UNKNOWN, LOOKING, THERE, NEVER };
static atomic_int known;
/* Written before `known` becomes THERE (release), read after it was seen so (acquire). */
static Function *function;
static Mark *marks;
static char *states;
static size_t state_size, stride, page, states_in_page;

/* ---- the kernel's object in this process ---- */

typedef struct { unsigned char ident[16]; uint16_t type, machine; uint32_t version; uint64_t entry, program_headers, sections;
                 uint32_t flags; uint16_t size, entry_size, entries; } Header;
typedef struct { uint32_t type, flags; uint64_t offset, address, physical, size, memory, alignment; } Segment;
typedef struct { int64_t tag; uint64_t value; } Dynamic;
typedef struct { uint32_t name; unsigned char info, other; uint16_t section; uint64_t value, size; } Symbol;
enum { PT_LOAD = 1, PT_DYNAMIC = 2, DT_HASH = 4, DT_STRTAB = 5, DT_SYMTAB = 6 };
#define DT_GNU_HASH 0x6ffffef5

static int
same(const char *one, const char *other)
{
  while (*one && *one == *other) one++, other++;
  return *one == *other;
}

/* The number of symbols is not stored; it follows from either hash table. */
static uint32_t
count_symbols(const uint32_t *hash, const uint32_t *gnu)
{
  if (hash) return hash[1];
  if (!gnu) return 0;
  const uint32_t buckets = gnu[0], first = gnu[1], filter = gnu[2];
  const uint32_t *bucket = gnu + 4 + filter * 2, *chain = bucket + buckets;
  uint32_t last = 0;
  for (uint32_t at = 0; at < buckets; at++)
    if (bucket[at] > last) last = bucket[at];
  if (last < first) return first;
  while (!(chain[last - first] & 1)) last++;
  return last + 1;
}

static Function *
find(void)
{
  const char *image = (const char*)getauxval(AT_SYSINFO_EHDR);
  if (!image) return NULL;
  const Header *header = (const Header*)image;
  const Segment *segment = (const Segment*)(image + header->program_headers);
  const Dynamic *dynamic = NULL;
  const char *base = NULL;
  for (unsigned at = 0; at < header->entries; at++) {
    if (segment[at].type == PT_LOAD && !base) base = image + segment[at].offset - segment[at].address;
    if (segment[at].type == PT_DYNAMIC) dynamic = (const Dynamic*)(image + segment[at].offset);
  }
  if (!base || !dynamic) return NULL;
  const uint32_t *hash = NULL, *gnu = NULL;
  const char *names = NULL;
  const Symbol *symbols = NULL;
  for (; dynamic->tag; dynamic++) {
    const char *at = base + dynamic->value;
    if (dynamic->tag == DT_HASH) hash = (const uint32_t*)at;
    else if (dynamic->tag == DT_GNU_HASH) gnu = (const uint32_t*)at;
    else if (dynamic->tag == DT_STRTAB) names = at;
    else if (dynamic->tag == DT_SYMTAB) symbols = (const Symbol*)at;
  }
  if (!names || !symbols) return NULL;
  for (uint32_t at = 0, count = count_symbols(hash, gnu); at < count; at++)
    if (symbols[at].section && same(names + symbols[at].name, FUNCTION)) return (Function*)(base + symbols[at].value);
  return NULL;
}

/* ---- states ---- */

static int
prepare(void)
{
  Function *found = find();
  Parameters parameters = { 0 };
  if (!found || found(NULL, 0, 0, &parameters, ~(size_t)0) != 0) return NEVER;
  page = getauxval(AT_PAGESZ);
  state_size = parameters.state_size;
  stride = (state_size + LINE - 1) / LINE * LINE;
  if (!stride || stride > page) return NEVER;
  /* No state may cross the end of a page. */
  states_in_page = page / stride;
  const size_t pages = (STATES + states_in_page - 1) / states_in_page;
  void *of_marks = mmap(NULL, STATES * sizeof(Mark), PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
  if (of_marks == (void*)-1) return NEVER;
  void *mapped = mmap(NULL, pages * page, (int)parameters.protection, (int)parameters.flags, -1, 0);
  if (mapped == (void*)-1) {
    munmap(of_marks, STATES * sizeof(Mark));
    return NEVER;
  }
  marks = of_marks;
  states = mapped;
  function = found;
  return THERE;
}

/* Whether the function can be called. While one thread finds out, the others make the system call, and so does, for
 * good, the child of a fork at that moment. */
static int
is_there(void)
{
  int now = atomic_load_explicit(&known, memory_order_acquire);
  if (now == UNKNOWN && atomic_compare_exchange_strong(&known, &now, LOOKING)) {
    const int saved = *__errno_location();
    now = prepare();
    *__errno_location() = saved;
    atomic_store_explicit(&known, now, memory_order_release);
  }
  return now == THERE;
}

/* Unlike musl's own this is not a cancellation point unless it waits: it waits only before the kernel has collected
 * enough at boot, in the system call. */
__attribute__((visibility("default"))) long
NAME(getrandom)(void *buffer, size_t size, unsigned flags)
{
  if (is_there()) {
    const size_t start = (uintptr_t)&(char){ 0 } >> 16;
    for (size_t try = 0; try < TRIES; try++) {
      const size_t at = (start * 0x9e37 + try) % STATES;
      /* acquire and release: all that the last user wrote to the state is seen. */
      if (atomic_exchange_explicit(&marks[at].taken, 1, memory_order_acquire)) continue;
      void *state = states + at / states_in_page * page + at % states_in_page * stride;
      const long got = function(buffer, size, flags, state, state_size);
      atomic_store_explicit(&marks[at].taken, 0, memory_order_release);
      if (got >= 0) return got;
      *__errno_location() = (int)-got;
      return -1;
    }
  }
  return syscall(SYS_GETRANDOM, buffer, size, flags);
}
