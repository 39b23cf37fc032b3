/* <sys/cdefs.h> for programs that are built on musl, which has none: the macros for declarations that programs take from glibc's and
 * the BSDs'. Those by which glibc's own headers are written are not here. */
#ifndef _SYS_CDEFS_H
#define _SYS_CDEFS_H

#ifdef __cplusplus
#define __BEGIN_DECLS extern "C" {
#define __END_DECLS }
#define __THROW noexcept(true)
#else
#define __BEGIN_DECLS
#define __END_DECLS
#define __THROW
#endif

#define __P(arguments) arguments
#define __PMT(arguments) arguments
#define __CONCAT(x, y) x ## y
#define __STRING(x) #x
#define __ptr_t void *

#define __attribute_malloc__ __attribute__((__malloc__))
#define __attribute_pure__ __attribute__((__pure__))
#define __attribute_const__ __attribute__((__const__))
#define __attribute_used__ __attribute__((__used__))
#define __attribute_noinline__ __attribute__((__noinline__))
#define __attribute_deprecated__ __attribute__((__deprecated__))
#define __attribute_format_arg__(argument) __attribute__((__format_arg__(argument)))
#define __attribute_warn_unused_result__ __attribute__((__warn_unused_result__))
#define __nonnull(arguments) __attribute__((__nonnull__ arguments))
#define __wur

#endif
