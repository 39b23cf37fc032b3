/* glibc's <sys/types.h> has the types of a fixed size, by both of their names, for programs that ask for a standard's names alone, too
 * (posix/sys/types.h), and loff_t for those that ask for more; musl's fcntl.h has that as this macro. */
#pragma GCC system_header
#include <features.h>
#include_next <sys/types.h>
#ifndef __UNDERPIN_SYS_TYPES_H
#define __UNDERPIN_SYS_TYPES_H
#if defined _GNU_SOURCE || defined _BSD_SOURCE
#ifndef loff_t
#define loff_t off_t
#endif
#else
#define __NEED_int8_t
#define __NEED_int16_t
#define __NEED_int32_t
#define __NEED_int64_t
#define __NEED_u_int64_t
#include <bits/alltypes.h>
typedef unsigned char u_int8_t;
typedef unsigned short u_int16_t;
typedef unsigned u_int32_t;
#endif
#endif
