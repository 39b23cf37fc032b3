/* What glibc and musl define differently, or one of them not at all, for objects that serve both. Everything here is
 * local to the object. References to a C library's own extensions are weak: there, or null. */

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

/* Headers of glibc 2.38 and later send strtol and its kin to names that musl and older glibcs lack. */
extern long plain_strtol(const char *, char **, int) __asm__("strtol");
extern unsigned long plain_strtoul(const char *, char **, int) __asm__("strtoul");
long __isoc23_strtol(const char *text, char **end, int base) { return plain_strtol(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return plain_strtoul(text, end, base); }
