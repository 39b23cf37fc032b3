/* jemalloc's settings at build time (CONF); MALLOC_CONF and a program's `malloc_conf` count before them. */

const char underpin_malloc_conf[] __attribute__((visibility("hidden"))) = CONF;
