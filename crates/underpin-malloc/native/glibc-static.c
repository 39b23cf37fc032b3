/* Names of glibc that are not of malloc's family, but are beside it in the same file of its libc.a: a static program
 * that calls one of them would get that file, and with it a second malloc. They answer as for an allocator that
 * knows nothing of all this (mallopt: 0, an error). Not for other C libraries, whose programs find out by linking
 * whether there is a mallinfo. */

#include <errno.h>
#include <stddef.h>

struct figures { int figure[10]; };
struct wide_figures { size_t figure[10]; };

struct figures mallinfo(void) { return (struct figures) { { 0 } }; }
struct wide_figures mallinfo2(void) { return (struct wide_figures) { { 0 } }; }
int mallopt(int option, int value) { return (void)option, (void)value, 0; }
int malloc_trim(size_t pad) { return (void)pad, 0; }
void malloc_stats(void) {}

int malloc_info(int options, void *file) {
    (void)options, (void)file;
    errno = ENOSYS;
    return -1;
}
