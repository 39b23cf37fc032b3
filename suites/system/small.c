/* The small program for the rows execl and process-creation: see process.h. */
#define _GNU_SOURCE
#include "process.h"

/* UnixBench's program for execl has 13 kB of such data, so that those of the C library are on other pages. */
static char room[12 * 1024];

int main(int words, char **word) {
    KEEP(room);
    const int status = other_life(words, word);
    if (status >= 0) return status;
    fprintf(stderr, "usage: SUITE_SMALL=%s PROGRAM execl, of the suite `system`\n", word[0]);
    return 2;
}
