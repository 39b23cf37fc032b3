/* glibc's features.h says _LARGEFILE64_SOURCE where a program says _GNU_SOURCE, as every one in C++ does: open64, off64_t and
 * their relatives are declared. musl had them by either until 1.2.3, and since then by the first alone. This is found before
 * musl's own, which it includes, and behind a project's. */
#pragma GCC system_header
#include_next <features.h>
#if defined(_GNU_SOURCE) && !defined(_LARGEFILE64_SOURCE)
#define _LARGEFILE64_SOURCE 1
#endif
