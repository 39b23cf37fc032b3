/* What glibc and musl define differently, or one of them not at all, for objects that serve both: to be preloaded, or
 * (LINKED) to be linked in. All but the second part of the latter is local to the object. References to a C library's own
 * extensions are weak: there, or null. */

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>

extern long syscall(long number, ...);

/* glibc: since 2.30. */
int gettid(void) { return (int)syscall(SYS_gettid); }

/* glibc's returns text, musl's a number. The number of the error is text enough for a diagnosis. */
static void number(int error, char *buffer, size_t size) {
    char digits[12];
    size_t at = 0, count = 0;
    unsigned value = error < 0 ? 0u - (unsigned)error : (unsigned)error;
    for (const char *word = "error "; *word && at + 1 < size; word++) buffer[at++] = *word;
    do { digits[count++] = (char)('0' + value % 10); value /= 10; } while (value);
    while (count && at + 1 < size) buffer[at++] = digits[--count];
    if (size) buffer[at] = 0;
}

#ifdef __GLIBC__
char *strerror_r(int error, char *buffer, size_t size) { number(error, buffer, size); return buffer; }
#else
int strerror_r(int error, char *buffer, size_t size) { number(error, buffer, size); return 0; }
#endif

/* musl: since 1.2.3. Only a profile asks for the name of a thread. */
int pthread_getname_np(unsigned long thread, char *name, size_t size) {
    (void)thread;
    if (size) *name = 0;
    return 0;
}

#ifndef LINKED

/* Shared libraries of glibc get these two from a static part (libc_nonshared.a). */
extern int __cxa_atexit(void (*function)(void *), void *argument, void *object);
int atexit(void (*function)(void)) { return __cxa_atexit((void (*)(void *))function, NULL, NULL); }

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
extern void *dlsym(void *, const char *);
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    if (__register_atfork) return __register_atfork(prepare, parent, child, NULL);
    int (*next)(void (*)(void), void (*)(void), void (*)(void)) = dlsym((void *)-1L /* RTLD_NEXT */, "pthread_atfork");
    return next ? next(prepare, parent, child) : 0;
}

#endif

/* Headers of glibc 2.38 and later send strtol and its kin to names that musl and older glibcs do not have. */
extern long plain_strtol(const char *, char **, int) __asm__("strtol");
extern unsigned long plain_strtoul(const char *, char **, int) __asm__("strtoul");
long __isoc23_strtol(const char *text, char **end, int base) { return plain_strtol(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return plain_strtoul(text, end, base); }

#ifdef LINKED

/* jemalloc looks for a pthread_create behind its own, which does not exist here; without an answer it calls the one
 * that the program was linked with. A static program's dlsym would bring the dynamic loader with it. */
void *dlsym(void *library, const char *name) {
    (void)library, (void)name;
    return NULL;
}

/* What follows is global. */
#pragma GCC visibility push(default)
#define WEAK __attribute__((weak))

extern void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t);
extern void free(void *);
extern void *aligned_alloc(size_t, size_t);
extern int posix_memalign(void **, size_t, size_t);
extern int *__errno_location(void);
extern long sysconf(int);
enum { OUT_OF_MEMORY = 12, SC_PAGESIZE = 30 };

static void *out_of_memory(void) {
    *__errno_location() = OUT_OF_MEMORY;
    return NULL;
}

/* Members of the family that not every allocator has. A name left undefined here is resolved from the C library,
 * whose file for it brings in a second malloc. */
WEAK void *memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
WEAK void *reallocarray(void *block, size_t count, size_t size) {
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? out_of_memory() : realloc(block, total);
}
WEAK void *valloc(size_t size) { return memalign((size_t)sysconf(SC_PAGESIZE), size); }
WEAK void *pvalloc(size_t size) {
    const size_t page = (size_t)sysconf(SC_PAGESIZE);
    return size > (size_t)-1 - page ? out_of_memory() : memalign(page, (size + page - 1) / page * page);
}
WEAK void free_sized(void *block, size_t size) { (void)size, free(block); }
WEAK void free_aligned_sized(void *block, size_t alignment, size_t size) { (void)alignment, (void)size, free(block); }

/* By these names C libraries call malloc from within: musl in atexit, dlerror, setlocale and its resolver, glibc in its
 * loader. Both keep them beside malloc, in a file that must not be linked too. */
void *__libc_malloc(size_t size) { return malloc(size); }
void *__libc_calloc(size_t count, size_t size) { return calloc(count, size); }
void *__libc_realloc(void *block, size_t size) { return realloc(block, size); }
void __libc_free(void *block) { free(block); }
void *__libc_memalign(size_t alignment, size_t size) { return memalign(alignment, size); }
void *__libc_valloc(size_t size) { return valloc(size); }
void *__libc_pvalloc(size_t size) { return pvalloc(size); }
void *__libc_reallocarray(void *block, size_t count, size_t size) { return reallocarray(block, count, size); }

#pragma GCC visibility pop
#endif
