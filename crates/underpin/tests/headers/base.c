/* The last part of a path as <string.h> and as <libgen.h> mean it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* By stdlib.h, sys/socket.h and their like, on glibc. */
static u_int16_t port = 80;
static ulong bits = FD_SETSIZE + 0 * sizeof(fd_set);
#ifndef __cplusplus
static const char *const paths[] = {"/usr/lib", "/usr/lib/", "lib", "/", "", ".", "a//", "//a"};
static char *by_string(const char *path) { return basename(path); }
#include <libgen.h>
static char *by_libgen(char *path) { return basename(path); }
#endif

int main(void) {
#ifndef __cplusplus
  for (unsigned at = 0; at < sizeof paths / sizeof *paths; at++) {
    char *copy = strdup(paths[at]);
    printf("[%s] string.h [%s]", paths[at], by_string(paths[at]));
    printf(" libgen.h [%s]\n", by_libgen(copy));
    free(copy);
  }
#endif
  printf("%d %lu\n", port, bits);
  return 0;
}
