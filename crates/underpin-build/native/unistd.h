/* A program that asks for POSIX and nothing more has POSIX's getopt, which ends at the first word that is no option; any other has
 * GNU's, which passes over it (glibc's bits/getopt_posix.h, and the same name). musl's own is POSIX's for all. */
#pragma GCC system_header
#include <features.h>
#include_next <unistd.h>
#if defined _POSIX_C_SOURCE && !defined _GNU_SOURCE && !defined __UNDERPIN_UNISTD_H
#define __UNDERPIN_UNISTD_H
#if _POSIX_C_SOURCE >= 2
#ifdef __cplusplus
extern "C"
#endif
int getopt(int, char *const *, const char *) __asm__("__posix_getopt");
#endif
#endif
