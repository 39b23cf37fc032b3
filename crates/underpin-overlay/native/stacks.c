/* Reuses the stacks of ended threads in static programs on musl, which itself maps a stack for each thread and unmaps
 * it at the thread's end: three system calls, and a page fault for each page that is touched.
 *
 * musl's pthread_create and thrd_create are one function, __pthread_create. It calls, in this order and in the creating
 * thread, __acquire_ptc (a lock that keeps forks out), __mmap for the whole stack without any access, __mprotect for
 * all but the guard page, and __release_ptc; where no guard is wanted, __mmap with access and no __mprotect. pthread_join and its relatives end with __munmap of exactly the mapping,
 * once the kernel has let go of the thread; a detached thread calls __unmapself. These are replaced here. Between
 * __acquire_ptc and __release_ptc a mapping comes from those kept, if there is one of its size; every other call is
 * what it was.
 *
 * Why no stack is handed out while a thread may still run on it. Joined threads: musl unmaps there, so the memory is no
 * longer needed. Detached ones: musl calls __unmapself with __thread_list_lock held, and the kernel releases that lock
 * (CLONE_CHILD_CLEARTID) when the thread has left for good. This is checked (the lock must hold the thread's number),
 * the stack is marked as LEAVING, and a thread that takes it from there first waits until the holder of the lock has
 * released it, as pthread_join does (__tl_sync).
 *
 * If a musl works otherwise (this was read in 1.2.3 and 1.2.5): all names here are weak, and so are the references to
 * musl's (__tl_sync, __vm_wait, __thread_list_lock). So the link succeeds, and a function that is not called as
 * described leaves the stacks to musl: nothing is kept without all of mmap, mprotect and an end in the expected order.
 * tests/stacks.rs checks the archives of the machine against this description.
 *
 * A program's own munmap, mprotect or fixed mmap over a stack takes it out of the table. There is no lock, so that a
 * fork at any moment leaves the child a table it can use. */

#ifdef OVERLAY_REPLACES

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

extern void *memset(void *at, int byte, size_t size);
extern unsigned long getauxval(unsigned long key);
extern int *__errno_location(void);
/* musl's own; absent if the program has no threads. */
extern void __tl_sync(void *unused) __attribute__((weak));
extern void __vm_wait(void) __attribute__((weak));
extern volatile int __thread_list_lock __attribute__((weak));

#include "stacks/kernel.h"

/* Stacks that are tracked, in use or not; idle ones among them; bytes of the address space that the idle take: seven of the usual
 * 8 MiB with their guards (glibc keeps 40 MiB of addresses; with as much, eight threads at once took 0.81 of its time instead of 0.4,
 * Intel model 207). Of a stack only what the next thread needs at once stays in memory: its thread-local storage, up to a size, and the
 * outermost calls. Stacks that end one after the other need no more than one or two, so a few of musl's usual size stay as they
 * are, without a call of the kernel. */
enum { SLOTS = 128, MOST_IDLE = 64, MOST_BYTES = 64 << 20, MOST_PARTS = 128 << 10, MOST_WHOLE = 192 << 10, MOST_CLEARED = 48 << 10,
       CALLS = 8 << 10 };

/* CHANGING belongs to the thread that set it. TOUCHED is in use, and not to be kept. */
enum { UNUSED, CHANGING, LIVE, TOUCHED, IDLE, LEAVING };

enum { NOT_KNOWN = 0, NO_GUARD = 1 };

typedef struct {
  atomic_int state;
  /* Bytes that were not given back when it became idle. */
  atomic_size_t stays;
  /* The higher, the later it became idle. */
  atomic_ulong since;
  _Atomic(uintptr_t) base;
  /* Bytes of the whole mapping and of the guard at its start, or one of the two above. */
  atomic_size_t size, guard;
} Slot;

/* Mapped with the first stack. As a variable of its size it would lie among the C library's own, and each program, also one
 * without threads, would touch a page more to reach those on both sides of it. */
static _Atomic(Slot *) slots;
/* No slot from here on was ever used. Written after `slots` (release), and read before it (acquire). */
static atomic_int ever;
static atomic_ulong ticks;
/* Bytes of the idle stacks, and in the bits below the page size their number. */
static atomic_size_t idle;
/* Bytes that stay, of stacks that stay as they are and of others. */
static atomic_size_t whole, parts;

/* What this thread is doing: inside __pthread_create before its mmap, and between that and its mprotect. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
  int asks;
  Slot *got;
} creating;

#define get(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define set(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

#include "stacks/parts.h"

/* ---- the table ---- */

static int
used(void)
{
  return atomic_load_explicit(&ever, memory_order_acquire);
}

/* The table. NULL if there is no memory for it: then no stack is kept. */
static Slot *
table(void)
{
  Slot *there = atomic_load_explicit(&slots, memory_order_acquire);
  if (there) return there;
  const long made = call(SYS_MMAP, 0, SLOTS * sizeof(Slot), PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
  if (made < 0 && made > -4096) return NULL;
  if (atomic_compare_exchange_strong(&slots, &there, (Slot*)made)) return (Slot*)made;
  /* Another thread was first. */
  call(SYS_MUNMAP, made, SLOTS * sizeof(Slot), 0, 0, 0, 0);
  return there;
}

static int
reserve(size_t size)
{
  const size_t now = atomic_fetch_add(&idle, size + 1) + size + 1;
  if (now / 4096 * 4096 <= MOST_BYTES && now % 4096 <= MOST_IDLE) return 1;
  atomic_fetch_sub(&idle, size + 1);
  return 0;
}

static atomic_size_t *
held(size_t bytes)
{
  return bytes > left() ? &whole : &parts;
}

static int
hold(size_t bytes)
{
  atomic_size_t *all = held(bytes);
  if (atomic_fetch_add(all, bytes) + bytes <= (all == &whole ? MOST_WHOLE : MOST_PARTS)) return 1;
  atomic_fetch_sub(all, bytes);
  return 0;
}

static size_t
guard_bytes(Slot *slot)
{
  return get(slot->guard) & ~(size_t)NO_GUARD;
}

/* Undoes what `keep` did, for a slot that the caller has changed from IDLE or LEAVING. A thread that was leaving has left
 * afterwards. */
static void
unkeep(Slot *slot, int state)
{
  atomic_fetch_sub(&idle, get(slot->size) + 1);
  atomic_fetch_sub(held(get(slot->stays)), get(slot->stays));
  if (state == LEAVING) __tl_sync(NULL);
}

/* Keeps a stack that its thread no longer needs, in a state from which it can be taken. False: it is to be unmapped.
 * A leaving thread still runs on the part that is kept. */
static int
keep(Slot *slot, int state)
{
  const size_t size = get(slot->size), guard = guard_bytes(slot), use = size - guard, part = left() < use ? left() : use;
  if (get(slot->guard) == NOT_KNOWN || !part || !reserve(size)) return 0;
  size_t stays = 0;
  if (hold(use)) stays = use;
  else if (part < use && hold(part)) stays = part;
  set(slot->stays, stays);
  if ((state == LEAVING && !stays)
      || (stays < use && call(SYS_MADVISE, (long)(get(slot->base) + guard), (long)(use - stays), MADV_DONTNEED, 0, 0, 0))) {
    atomic_fetch_sub(held(stays), stays);
    atomic_fetch_sub(&idle, size + 1);
    return 0;
  }
  set(slot->since, atomic_fetch_add(&ticks, 1));
  atomic_store_explicit(&slot->state, state, memory_order_release);
  return 1;
}

/* An idle stack of a size, or of any size (0): the one used last, or with `longest` the one idle for longest. It
 * belongs to the caller, in the state CHANGING. */
static Slot *
take(size_t size, int longest)
{
  while (get(idle)) {
    Slot *best = NULL;
    for (int at = 0, end = used(); at < end; at++) {
      Slot *slot = get(slots) + at;
      const int state = get(slot->state);
      if ((state != IDLE && state != LEAVING) || (size && get(slot->size) != size)) continue;
      /* Of those that may be reused, prefer one whose pages are still there. */
      const size_t there = get(slot->stays), best_there = best ? get(best->stays) : 0;
      const int later = best && get(slot->since) > get(best->since);
      if (!best || (!longest && there > best_there) || ((longest || there == best_there) && later != longest)) best = slot;
    }
    if (!best) return NULL;
    int state = get(best->state);
    if (state != IDLE && state != LEAVING) continue;
    if (!atomic_compare_exchange_strong_explicit(&best->state, &state, CHANGING, memory_order_acquire, memory_order_relaxed)) continue;
    /* Between the look at it and the exchange another thread may have taken and released it. */
    if (size && get(best->size) != size) {
      atomic_store_explicit(&best->state, state, memory_order_release);
      continue;
    }
    unkeep(best, state);
    return best;
  }
  return NULL;
}

/* Gives back the stack that was idle for longest. */
static int
give_one_back(void)
{
  Slot *slot = take(0, 1);
  if (!slot) return 0;
  const uintptr_t base = get(slot->base);
  const size_t size = get(slot->size);
  atomic_store_explicit(&slot->state, UNUSED, memory_order_release);
  unmap(base, size);
  return 1;
}

/* A place in the table for a new mapping, if there is one. */
static Slot *
enter(uintptr_t base, size_t size, size_t guard)
{
  Slot *first = table();
  for (int at = 0; first && at < SLOTS; at++) {
    int state = UNUSED;
    Slot *slot = first + at;
    if (get(slot->state) != UNUSED) continue;
    if (!atomic_compare_exchange_strong_explicit(&slot->state, &state, CHANGING, memory_order_acquire, memory_order_relaxed)) continue;
    set(slot->base, base);
    set(slot->size, size);
    set(slot->guard, guard);
    atomic_store_explicit(&slot->state, LIVE, memory_order_release);
    for (int end = get(ever); end <= at && !atomic_compare_exchange_weak(&ever, &end, at + 1);) {}
    return slot;
  }
  return NULL;
}

/* The slot of a mapping that the caller owns; no other thread changes it meanwhile, except to TOUCHED. */
static Slot *
find(uintptr_t base, size_t size)
{
  for (int at = 0, end = used(); at < end; at++) {
    Slot *slot = get(slots) + at;
    if (get(slot->base) != base) continue;
    const int state = atomic_load_explicit(&slot->state, memory_order_acquire);
    if ((state == LIVE || state == TOUCHED) && get(slot->base) == base && get(slot->size) == size) return slot;
  }
  return NULL;
}

static int
overlaps(Slot *slot, uintptr_t from, size_t size)
{
  const uintptr_t base = get(slot->base);
  return from < base + get(slot->size) && from + size > base;
}

/* The program does something of its own with a part of its addresses: a stack there is no longer as musl left it. */
static void
touched(uintptr_t from, size_t size)
{
  for (int at = 0, end = used(); at < end; at++) {
    Slot *slot = get(slots) + at;
    if (!overlaps(slot, from, size)) continue;
    int state = LIVE;
    if (atomic_compare_exchange_strong(&slot->state, &state, TOUCHED) || state != IDLE) continue;
    if (!atomic_compare_exchange_strong(&slot->state, &state, CHANGING)) continue;
    /* It may have become another thread's while it was looked at. */
    const int still = overlaps(slot, from, size);
    if (still) unkeep(slot, state);
    atomic_store_explicit(&slot->state, still ? UNUSED : state, memory_order_release);
  }
}

/* ---- what musl's threads call ---- */

/* musl's lock of thread creation, which fork takes alone (__inhibit_ptc) and each creator with others: how many
 * these are, and EXCLUSIVE if a thread wants or has it alone. */
#define EXCLUSIVE 0x80000000u
static atomic_uint creation;

static void
wait_while(unsigned value)
{
  call(SYS_FUTEX, (long)&creation, FUTEX_WAIT_PRIVATE, (long)value, 0, 0, 0);
}

/* Spins before the call that sleeps: musl's own number, and those for its list of threads. */
enum { SPINS = 100, SPINS_WHILE_CREATING = 1000 };

/* musl's own wait function, changed only for the lock of its list of threads. That is held over a thread's creation, and over
 * its end until the kernel has done with it, which takes longer than a hundred spins (2 microseconds here). Who joins a thread
 * waits for its end: spinning, or yielding the processor once, only delays that (1.23 of glibc's time with it, and 1.01
 * without). But while threads are created, ends and creations meet at the lock all the time, and each sleep costs more than the
 * lock is held: 2,500 threads that nobody waits for were 71,000 changes of context and 1.22 of glibc's time without spins, 5,900
 * and 1.02 with a thousand (300: 1.12), 50 at once 0.88 and 0.55 (Zen 4; on one processor 0.66 and 0.71). */
__attribute__((weak)) void
__wait(volatile int *word, volatile int *waiters, int value, int private)
{
  const int is_list = &__thread_list_lock && word == &__thread_list_lock;
  for (int spins = !is_list ? SPINS : get(creation) ? SPINS_WHILE_CREATING : 0; spins-- && (!waiters || !*waiters);) {
    if (*word != value) return;
#ifdef __x86_64__
    __asm__ volatile("pause" : : : "memory");
#else
    __asm__ volatile("yield" : : : "memory");
#endif
  }
  if (waiters) __atomic_add_fetch(waiters, 1, __ATOMIC_SEQ_CST);
  while (*word == value) call(SYS_FUTEX, (long)word, private ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT, value, 0, 0, 0);
  if (waiters) __atomic_sub_fetch(waiters, 1, __ATOMIC_SEQ_CST);
}

__attribute__((weak)) void
__inhibit_ptc(void)
{
  unsigned now = get(creation);
  for (;;) {
    if (now & EXCLUSIVE) wait_while(now), now = get(creation);
    else if (atomic_compare_exchange_weak(&creation, &now, now | EXCLUSIVE)) break;
  }
  while ((now = atomic_load(&creation)) != EXCLUSIVE) wait_while(now);
}

/* A thread begins to create another, or to read the usual sizes of stacks. */
__attribute__((weak)) void
__acquire_ptc(void)
{
  unsigned now = get(creation);
  for (;;) {
    if (now & EXCLUSIVE) wait_while(now), now = get(creation);
    else if (atomic_compare_exchange_weak(&creation, &now, now + 1)) break;
  }
  creating.asks = 1;
  creating.got = NULL;
}

__attribute__((weak)) void
__release_ptc(void)
{
  creating.asks = 0;
  creating.got = NULL;
  if (atomic_load(&creation) == EXCLUSIVE) atomic_store(&creation, 0);
  else if (atomic_fetch_sub(&creation, 1) != EXCLUSIVE + 1) return;
  call(SYS_FUTEX, (long)&creation, FUTEX_WAKE_PRIVATE, 0x7fffffff, 0, 0, 0);
}

static void *
map(void *start, size_t size, int protection, int flags, int file, long offset)
{
  if (offset & 4095) return (void*)answer(-EINVAL);
  if (size >= PTRDIFF_MAX) return (void*)answer(-ENOMEM);
  if (flags & MAP_FIXED) wait_for_unlocks();
  long result;
  /* Gives back idle stacks before the program's request fails. */
  do result = call(SYS_MMAP, (long)start, (long)size, protection, flags, file, offset);
  while (result == -ENOMEM && give_one_back());
  /* The kernel's answer to an exhausted low memory, as musl corrects it. */
  if (result == -EPERM && !start && flags & MAP_ANONYMOUS && !(flags & MAP_FIXED)) result = -ENOMEM;
  return (void*)answer(result);
}

/* Makes the guard of an idle stack, if it has one, a part of the stack. */
static int
without_guard(Slot *slot)
{
  if (get(slot->guard) != NO_GUARD && protect(get(slot->base), guard_bytes(slot), PROT_READ_WRITE)) return 0;
  set(slot->guard, NO_GUARD);
  return 1;
}

/* Zero where musl wants it to be. Even if there is no memory: not every emulator does what MADV_DONTNEED says. */
static void
clear(Slot *slot)
{
  const size_t use = get(slot->size) - guard_bytes(slot), bytes = to_clear() < use ? to_clear() : use;
  const uintptr_t end = get(slot->base) + get(slot->size), told = left() < use ? left() : use;
  tell_valgrind(end - told, told);
  memset((void*)(end - bytes), 0, bytes);
}

static void *
stack(size_t size, int protection)
{
  Slot *slot = take(size, 0);
  if (slot && protection != PROT_NONE && !without_guard(slot)) {
    const uintptr_t base = get(slot->base);
    atomic_store_explicit(&slot->state, UNUSED, memory_order_release);
    unmap(base, size);
    slot = NULL;
  }
  if (slot) {
    const uintptr_t base = get(slot->base);
    clear(slot);
    atomic_store_explicit(&slot->state, LIVE, memory_order_release);
    if (protection == PROT_NONE) creating.got = slot;
    return (void*)base;
  }
  /* There may be idle ones of other sizes, which the program has perhaps left behind. */
  give_one_back();
  /* Where the kernel gives out huge pages unasked, the first byte of a stack of some MiB would take one. From Linux 6.7 on it does
   * not in a mapping that is said to be a stack, as glibc says and musl does not. */
  void *base = map(NULL, size, protection, MAP_PRIVATE_ANONYMOUS | MAP_STACK, -1, 0);
  if (base == (void*)-1) return base;
  slot = enter((uintptr_t)base, size, protection == PROT_NONE ? NOT_KNOWN : NO_GUARD);
  if (protection == PROT_NONE) creating.got = slot;
  return base;
}

__attribute__((weak)) void *
__mmap(void *start, size_t size, int protection, int flags, int file, long offset)
{
  const int is_stack = protection == PROT_NONE || protection == PROT_READ_WRITE;
  if (creating.asks && !start && is_stack && flags == MAP_PRIVATE_ANONYMOUS && file == -1 && !offset) {
    creating.asks = 0;
    return stack(size, protection);
  }
  return map(start, size, protection, flags, file, offset);
}

static long
protect_pages(uintptr_t start, size_t size, int protection)
{
  const uintptr_t page = page_size(), from = start & -page, end = (start + size + page - 1) & -page;
  return protect(from, end - from, protection);
}

__attribute__((weak)) int
__mprotect(void *start, size_t size, int protection)
{
  Slot *slot = creating.got;
  creating.got = NULL;
  if (slot) {
    const uintptr_t base = get(slot->base);
    const size_t guard = (uintptr_t)start - base, now = get(slot->guard);
    if ((uintptr_t)start > base && guard + size == get(slot->size) && protection == PROT_READ_WRITE) {
      if (guard == now) return 0;
      /* A new one, or one whose guard has another size. */
      set(slot->guard, NOT_KNOWN);
      long failed = now ? protect(base, guard, PROT_NONE) : 0;
      if (!failed) failed = protect((uintptr_t)start, size, PROT_READ_WRITE);
      if (!failed) set(slot->guard, guard);
      return (int)answer(failed);
    }
  }
  return (int)answer(protect_pages((uintptr_t)start, size, protection));
}

__attribute__((weak)) int
__munmap(void *start, size_t size)
{
  Slot *slot = find((uintptr_t)start, size);
  if (slot) {
    int state = LIVE;
    wait_for_unlocks();
    if (atomic_compare_exchange_strong(&slot->state, &state, CHANGING) && keep(slot, IDLE)) return 0;
    atomic_store_explicit(&slot->state, UNUSED, memory_order_release);
  }
  return (int)answer(unmap((uintptr_t)start, size));
}

/* Ends the calling thread, a detached one, and its stack with it. */
__attribute__((weak, noreturn)) void
__unmapself(void *start, size_t size)
{
  Slot *slot = find((uintptr_t)start, size);
  if (slot) {
    int state = LIVE;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    /* Some bytes for the functions called from here. */
    const int stands = here < (uintptr_t)start + size && here + left() > (uintptr_t)start + size + 1024;
    const int locked = __tl_sync && &__thread_list_lock && __thread_list_lock == call(SYS_GETTID, 0, 0, 0, 0, 0, 0);
    if (stands && locked && atomic_compare_exchange_strong(&slot->state, &state, CHANGING) && keep(slot, LEAVING))
      for (;;) call(SYS_EXIT, 0, 0, 0, 0, 0, 0);
    atomic_store_explicit(&slot->state, UNUSED, memory_order_release);
  }
  /* After the first call there is no stack. */
#ifdef __x86_64__
  __asm__ volatile("syscall\n\txorl %%edi, %%edi\n\tmovl %0, %%eax\n\tsyscall"
      : : "i"(SYS_EXIT), "a"(SYS_MUNMAP), "D"(start), "S"(size) : "rcx", "r11", "memory");
#else
  register long x8 __asm__("x8") = SYS_MUNMAP;
  register void *x0 __asm__("x0") = start;
  register size_t x1 __asm__("x1") = size;
  __asm__ volatile("svc 0\n\tmov x0, #0\n\tmov x8, %0\n\tsvc 0" : : "i"(SYS_EXIT), "r"(x8), "r"(x0), "r"(x1) : "memory");
#endif
  __builtin_unreachable();
}

/* ---- what programs call, which is in the same members of musl's archive ---- */

__attribute__((weak)) void *
mmap(void *start, size_t size, int protection, int flags, int file, long offset)
{
  if (flags & MAP_FIXED) touched((uintptr_t)start, size);
  return map(start, size, protection, flags, file, offset);
}

__attribute__((weak, alias("mmap"))) void *mmap64(void *, size_t, int, int, int, long);

__attribute__((weak)) int
munmap(void *start, size_t size)
{
  touched((uintptr_t)start, size);
  return (int)answer(unmap((uintptr_t)start, size));
}

__attribute__((weak)) int
mprotect(void *start, size_t size, int protection)
{
  touched((uintptr_t)start, size);
  return (int)answer(protect_pages((uintptr_t)start, size, protection));
}

#endif
