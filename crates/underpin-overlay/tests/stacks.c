/* What a program may rely on of its threads, one rule for each word of the command line. It says "held" or ends with the line
 * that failed. Compiled for static musl with and without the overlay's stacks. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define CHECK(holds) \
  do { \
    if (!(holds)) { \
      dprintf(2, "line %d: %s (errno %d)\n", __LINE__, #holds, errno); \
      _exit(1); \
    } \
  } while (0)

#ifndef TLS
#define TLS 3000
#endif
#ifndef ALIGNMENT
#define ALIGNMENT 64
#endif
#ifdef WITHOUT
/* As many bytes as the object has of its own in each thread. */
static _Thread_local volatile char as_many[16];
#endif
static _Thread_local char image[40] = "from the file's own image";
static _Thread_local _Alignas(ALIGNMENT) char zeros[TLS];
static pthread_key_t keys[8];

static void *
nothing(void *given)
{
  return given;
}

static int
nothing_c11(void *given)
{
  return (int)(intptr_t)given;
}

static void
run(const pthread_attr_t *how, void *(*what)(void *), void *given)
{
  pthread_t thread;
  void *result = NULL;
  CHECK(!pthread_create(&thread, how, what, given));
  CHECK(!pthread_join(thread, &result) && result == given);
}

/* For strace. */
static void
serial(void)
{
  for (int i = 0; i < 1000; i++) {
    thrd_t thread;
    int result;
    run(NULL, nothing, &thread);
    CHECK(thrd_create(&thread, nothing_c11, (void*)(intptr_t)i) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == i);
  }
}

/* The same without guards, on the smallest stacks and on others. */
static void
unguarded(void)
{
  pthread_attr_t how;
  pthread_attr_init(&how);
  CHECK(!pthread_attr_setguardsize(&how, 0));
  for (int i = 0; i < 2000; i++) {
    CHECK(!pthread_attr_setstacksize(&how, i < 1000 ? 4096 : 1 << 20));
    run(&how, nothing, &how);
  }
}

/* ---- detached threads ---- */

static volatile int alive, ended;

static void *
fill(void *given)
{
  volatile uintptr_t own[500];
  for (int i = 0; i < 500; i++) own[i] = (uintptr_t)given + (uintptr_t)i;
  sched_yield();
  for (int i = 0; i < 500; i++) CHECK(own[i] == (uintptr_t)given + (uintptr_t)i);
  __atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
  return given;
}

enum { CREATORS = 4, EACH = 2500 };

static void *
create_many(void *given)
{
  for (int i = 0; i < EACH; i++) {
    pthread_t thread;
    while (__atomic_load_n(&alive, __ATOMIC_SEQ_CST) > 40) sched_yield();
    __atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST);
    int failed;
    while ((failed = pthread_create(&thread, NULL, fill, (char*)given + i * 1000)) == EAGAIN) sched_yield();
    CHECK(!failed);
    /* Before its end, after it, and not at all. */
    if (i % 3 == 0) CHECK(!pthread_detach(thread));
    if (i % 3 == 1) {
      sched_yield();
      CHECK(!pthread_detach(thread));
    }
    if (i % 3 == 2) CHECK(!pthread_join(thread, NULL));
  }
  return given;
}

static void
tick(int unused)
{
  volatile char used[2000];
  (void)unused;
  for (int i = 0; i < 2000; i++) used[i] = (char)i;
  (void)used[0];
}

static void
detached(void)
{
  pthread_t creators[CREATORS];
  struct itimerval often = { { 0, 700 }, { 0, 700 } };
  signal(SIGALRM, tick);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < CREATORS; i++) CHECK(!pthread_create(&creators[i], NULL, create_many, (char*)0 + i * 1000000));
  for (int i = 0; i < CREATORS; i++) CHECK(!pthread_join(creators[i], NULL));
  while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < CREATORS * EACH) usleep(1000);
}

static void *
count(void *given)
{
  __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
  return given;
}

/* For strace: one after the other, never joined. */
static void
serial_detached(void)
{
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 1000; i++) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, &how, count, NULL));
    while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) <= i) sched_yield();
  }
}

/* ---- guards and sizes ---- */

typedef struct { char *low; size_t size, guard; int below; } Stack;

/* Uses the whole of its stack, and with `below` one byte more. */
static void *
whole(void *given)
{
  Stack *stack = given;
  pthread_attr_t how;
  CHECK(!pthread_getattr_np(pthread_self(), &how));
  CHECK(!pthread_attr_getstack(&how, (void**)&stack->low, &stack->size));
  CHECK(!pthread_attr_getguardsize(&how, &stack->guard));
  CHECK((char*)&stack > stack->low && (char*)&stack < stack->low + stack->size);
  volatile char *low = stack->low;
  for (char *at = (char*)&stack - 4096; at > stack->low; at -= 4096) *(volatile char*)at = 1;
  *low = 1;
  if (stack->below) low[-1] = 1;
  return given;
}

/* Whether a write right below the stack, in a child, ends it. */
static int
is_guarded(const pthread_attr_t *how)
{
  pid_t child = fork();
  CHECK(child >= 0);
  if (!child) {
    Stack stack = { .below = 1 };
    run(how, whole, &stack);
    _exit(0);
  }
  int status;
  while (waitpid(child, &status, 0) < 0) {}
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void
guards(void)
{
  Stack first = { 0 }, second = { 0 };
  run(NULL, whole, &first);
  run(NULL, whole, &second);
  #ifndef WITHOUT
  CHECK(first.low == second.low);
#endif
  CHECK(is_guarded(NULL));
  pthread_attr_t how;
  pthread_attr_init(&how);
  /* Guards of several sizes in mappings of the same size. */
  for (int round = 0; round < 3; round++)
    for (size_t guard = 1; guard <= 8; guard++) {
      CHECK(!pthread_attr_setguardsize(&how, guard << 16));
      CHECK(!pthread_attr_setstacksize(&how, (20 - guard) << 16));
      Stack stack = { 0 };
      run(&how, whole, &stack);
      CHECK(stack.guard == guard << 16 && stack.size >= (20 - guard) << 16);
      CHECK(is_guarded(&how));
      /* The whole mapping as a stack, and the next one has a guard again. */
      CHECK(!pthread_attr_setguardsize(&how, 0) && !pthread_attr_setstacksize(&how, 20 << 16));
      stack = (Stack){ 0 };
      run(&how, whole, &stack);
      CHECK(stack.size >= 20 << 16);
    }
}

/* What threads see of their stacks; musl's own answers are the judge. */
static void
sizes(void)
{
  static _Alignas(65536) char own[1 << 18];
  pthread_attr_t how;
  for (int round = 0; round < 3; round++) {
    for (size_t size = 16384; size <= 1 << 20; size = size * 3 / 2 + 1)
      for (size_t guard = 0; guard < 200000; guard = guard * 4 + 1000) {
        pthread_attr_init(&how);
        CHECK(!pthread_attr_setstacksize(&how, size + 65536) && !pthread_attr_setguardsize(&how, guard));
        Stack stack = { 0 };
        run(&how, whole, &stack);
        printf("%zu %zu: %zu %zu\n", size, guard, stack.size, stack.guard);
      }
    pthread_attr_init(&how);
    CHECK(!pthread_attr_setstack(&how, own, sizeof own));
    Stack stack = { 0 };
    run(&how, whole, &stack);
    CHECK(stack.low == own);
    printf("own: %zu %zu\n", stack.size, stack.guard);
  }
}

/* A thread that makes part of its own stack unwritable: the next has one that it can write to. */
static void *
spoil(void *given)
{
  Stack *stack = given;
  whole(stack);
  char *middle = (char*)(((uintptr_t)stack->low + stack->size / 2) & ~(uintptr_t)65535);
  CHECK(!mprotect(middle, 65536, PROT_READ));
  return given;
}

static void
spoiled(void)
{
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setstacksize(&how, 1 << 20);
  for (int i = 0; i < 20; i++) {
    Stack stack = { 0 };
    run(&how, spoil, &stack);
    run(&how, whole, &stack);
  }
}

/* ---- thread-local variables ---- */

static int destroyed;

static void
destroy(void *value)
{
  CHECK(value == keys);
  destroyed++;
}

static void *
look(void *given)
{
  CHECK(!strcmp(image, "from the file's own image") && (uintptr_t)zeros % ALIGNMENT == 0);
  for (size_t i = 0; i < TLS; i++) CHECK(!zeros[i]);
  for (int i = 0; i < 8; i++) CHECK(!pthread_getspecific(keys[i]));
  CHECK(!errno);
  memset(image, 'x', sizeof image);
  memset(zeros, 'y', TLS);
  for (int i = 0; i < 8; i++) CHECK(!pthread_setspecific(keys[i], keys));
  errno = 77;
  return given;
}

static void
variables(void)
{
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 8; i++) CHECK(!pthread_key_create(&keys[i], destroy));
  for (int i = 0; i < 300; i++) run(NULL, look, &how);
  CHECK(destroyed == 300 * 8);
  for (int i = 1; i <= 300; i++) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, &how, look, NULL));
    while (__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) < (300 + i) * 8) sched_yield();
  }
}

/* ---- ends of all kinds ---- */

static void *
wait_for_cancel(void *given)
{
  if (given) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;)
    if (!given) usleep(100000);
}

static void
deep(int levels)
{
  volatile char used[4096];
  used[levels] = (char)levels;
  if (used[levels]) deep(levels - 1);
  pthread_exit(keys);
}

static void *
exit_deep(void *given)
{
  deep(given ? 20 : 0);
  return NULL;
}

static void
ends(void)
{
  for (int i = 0; i < 200; i++) {
    pthread_t thread;
    void *result;
    CHECK(!pthread_create(&thread, NULL, wait_for_cancel, i % 2 ? keys : NULL));
    CHECK(!pthread_cancel(thread));
    CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    CHECK(!pthread_create(&thread, NULL, exit_deep, i % 2 ? keys : NULL));
    CHECK(!pthread_join(thread, &result) && result == keys);
    /* Detached, from a depth that is not kept in memory. */
    CHECK(!pthread_create(&thread, NULL, exit_deep, keys) && !pthread_detach(thread));
    /* Cancelled before it is detached: else it may end while pthread_cancel looks at it, which musl alone does not survive. */
    CHECK(!pthread_create(&thread, NULL, wait_for_cancel, NULL) && !pthread_cancel(thread));
    CHECK(!pthread_detach(thread));
  }
}

/* ---- children ---- */

static volatile int stop;

static void *
create_until(void *given)
{
  for (int i = 0; !stop; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, given)) continue;
    if (i % 2) pthread_detach(thread);
    else pthread_join(thread, NULL);
  }
  return given;
}

static void
children(void)
{
  pthread_t creators[2];
  for (int i = 0; i < 2; i++) CHECK(!pthread_create(&creators[i], NULL, create_until, NULL));
  for (int i = 0; i < 100; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
      Stack stack = { 0 };
      for (int each = 0; each < 40; each++) run(NULL, whole, &stack);
      _exit(0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0) {}
    CHECK(!status);
  }
  stop = 1;
  for (int i = 0; i < 2; i++) CHECK(!pthread_join(creators[i], NULL));
}

/* ---- memory ---- */

static long
kilobytes(const char *what)
{
  char line[200];
  long found = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, what, strlen(what))) found = atol(line + strlen(what));
  if (file) fclose(file);
  CHECK(found >= 0);
  return found;
}

static pthread_barrier_t all;

static void *
whole_at_once(void *given)
{
  Stack stack = { 0 };
  whole(&stack);
  pthread_barrier_wait(&all);
  return given;
}

enum { MANY = 100 };

static void
hundred(size_t size)
{
  pthread_attr_t how;
  pthread_t threads[MANY];
  pthread_attr_init(&how);
  pthread_attr_setstacksize(&how, size);
  pthread_barrier_init(&all, NULL, MANY);
  for (int i = 0; i < MANY; i++) CHECK(!pthread_create(&threads[i], &how, whole_at_once, NULL));
  for (int i = 0; i < MANY; i++) CHECK(!pthread_join(threads[i], NULL));
}

static void
idle(void)
{
  run(NULL, nothing, NULL);
  const long resident = kilobytes("VmRSS:"), addresses = kilobytes("VmSize:");
  hundred(2 << 20);
  CHECK(kilobytes("VmHWM:") > resident + 150000);
  CHECK(kilobytes("VmRSS:") < resident + 1500);
  CHECK(kilobytes("VmSize:") < addresses + 67000);
  /* Other sizes: stacks of the first are not kept beside them. */
  for (size_t size = 100 << 10; size < 2 << 20; size *= 2) {
    hundred(size);
    CHECK(kilobytes("VmRSS:") < resident + 1500);
    CHECK(kilobytes("VmSize:") < addresses + 67000);
  }
}

/* The kernel's word on the mapping of an address: whether it gives out no huge pages there. */
static int
is_without_huge_pages(const void *at)
{
  char line[400];
  int inside = 0, found = -1;
  FILE *file = fopen("/proc/self/smaps", "r");
  CHECK(file);
  while (fgets(line, sizeof line, file)) {
    unsigned long low, high;
    if (sscanf(line, "%lx-%lx ", &low, &high) == 2) inside = low <= (unsigned long)at && (unsigned long)at < high;
    if (inside && !strncmp(line, "VmFlags:", 8)) found = strstr(line, " nh") != NULL;
  }
  fclose(file);
  CHECK(found >= 0);
  return found;
}

static void *
look_for_huge_pages(void *given)
{
  *(int*)given = is_without_huge_pages(&given);
  return given;
}

/* As on any mapping that is said to be a stack. */
static void
huge(void)
{
  const size_t size = 8 << 20;
  char *said = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  CHECK(said != MAP_FAILED);
  const int expected = is_without_huge_pages(said + size / 2);
  for (int guarded = 0; guarded < 2; guarded++) {
    pthread_attr_t how;
    int found = -1;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, size);
    if (!guarded) pthread_attr_setguardsize(&how, 0);
    run(&how, look_for_huge_pages, &found);
#ifndef WITHOUT
    CHECK(found == expected);
#endif
  }
}

/* Idle stacks must not make an allocation fail. */
static void
limit(void)
{
  run(NULL, nothing, NULL);
  /* Less than what a hundred stacks leave behind. */
  const rlim_t most = ((rlim_t)kilobytes("VmSize:") << 10) + (24 << 20);
  hundred(2 << 20);
  struct rlimit at = { most, most };
  CHECK(!setrlimit(RLIMIT_AS, &at));
  const size_t size = 16 << 20;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  pthread_attr_t how;
  pthread_t thread;
  pthread_attr_init(&how);
  pthread_attr_setstacksize(&how, (size_t)1 << 30);
  CHECK(pthread_create(&thread, &how, nothing, NULL) == EAGAIN);
  pthread_attr_setstacksize(&how, 1 << 20);
  for (int i = 0; i < 20; i++) run(&how, nothing, &how);
}

int
main(int argc, char **argv)
{
  static const struct { const char *name; void (*check)(void); } rules[] = {
    { "serial", serial }, { "serial_detached", serial_detached }, { "detached", detached }, { "guards", guards },
    { "unguarded", unguarded },
    { "sizes", sizes }, { "spoiled", spoiled }, { "variables", variables }, { "ends", ends }, { "children", children },
    { "idle", idle }, { "limit", limit },
    { "huge", huge },
  };
  alarm(300);
#ifdef WITHOUT
  as_many[0] = 1;
#endif
  for (size_t i = 0; argc == 2 && i < sizeof rules / sizeof *rules; i++)
    if (!strcmp(argv[1], rules[i].name)) {
      rules[i].check();
      puts("held");
      return 0;
    }
  return 2;
}
