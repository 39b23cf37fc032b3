/* Threads: the six rows of libc-bench, five of them again with stacks of 8 MiB; locks and thread-specific data. */
#ifndef LIBC_THREADS_H
#define LIBC_THREADS_H

#include <pthread.h>

#include "base.h"

/* libc-bench: 2,500 threads one by one, or 50 times 50 at once. */
enum { THREADS = 2500, AT_ONCE = 50, SMALL_STACK = 16384, LARGE_STACK = 8 << 20, LOCKS = 1000000 };

static void *do_nothing(void *argument) {
    return argument;
}

/* Size 0 is the library's default: `ulimit -s` in glibc, 128 KiB in musl. A size that the library refuses leaves the
 * default too, which libc-bench does not notice: glibc wants 16 KiB on x86-64 and 128 KiB on aarch64, where the 16 KiB
 * asked for by thread-create-serial1 became stacks of 8 MiB, 20 GB of address space in all. */
static void prepare_attributes(pthread_attr_t *attributes, size_t stack, int has_guard) {
    pthread_attr_init(attributes);
    if (stack) pthread_attr_setstacksize(attributes, stack);
    if (!has_guard) pthread_attr_setguardsize(attributes, 0);
    deadline();
}

static void start(pthread_t *thread, const pthread_attr_t *attributes, size_t number) {
    const int error = pthread_create(thread, attributes, do_nothing, NULL);
    if (error == 0) return;
    size_t stack = 0;
    pthread_attr_getstacksize(attributes, &stack);
    fail("pthread_create of thread %zu, with a stack of %zu KiB: %s (a limit on address space or processes, or"
         " vm.overcommit_memory=2?)",
         number + 1, stack / 1024, strerror(error));
}

static void join(pthread_t thread) {
    const int error = pthread_join(thread, NULL);
    if (error) fail("pthread_join: %s", strerror(error));
}

static void join_each(uint64_t n, size_t stack, int has_guard) {
    pthread_attr_t attributes;
    pthread_t thread;
    prepare_attributes(&attributes, stack, has_guard);
    for (size_t i = 0; i < n; i++) {
        start(&thread, &attributes, i);
        join(thread);
    }
}

static void join_many(uint64_t n, size_t stack, int has_guard) {
    pthread_attr_t attributes;
    pthread_t threads[AT_ONCE];
    prepare_attributes(&attributes, stack, has_guard);
    for (size_t done = 0; done < n; done += AT_ONCE) {
        for (size_t i = 0; i < AT_ONCE; i++) start(&threads[i], &attributes, done + i);
        for (size_t i = 0; i < AT_ONCE; i++) join(threads[i]);
    }
}

/* Nobody joins them, so their stacks stay mapped: that is what the row's memory shows. */
static void join_none(uint64_t n, size_t stack, int has_guard) {
    pthread_attr_t attributes;
    pthread_t thread;
    prepare_attributes(&attributes, stack, has_guard);
    for (size_t i = 0; i < n; i++) start(&thread, &attributes, i);
}

static size_t one_page(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

WITH(join_serial1, join_each, 0, 1)
WITH(join_serial2, join_many, 0, 1)
WITH(create_serial1, join_none, SMALL_STACK, 1)
WITH(join_minimal1, join_each, one_page(), 0)
WITH(join_minimal2, join_many, one_page(), 0)
WITH(join_serial1_8m, join_each, LARGE_STACK, 1)
WITH(join_serial2_8m, join_many, LARGE_STACK, 1)
WITH(create_serial1_8m, join_none, LARGE_STACK, 1)
WITH(join_minimal1_8m, join_each, LARGE_STACK, 0)
WITH(join_minimal2_8m, join_many, LARGE_STACK, 0)

static void lock_and_unlock(pthread_mutex_t *mutex, uint64_t n) {
    for (; n; n--) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
}

static void *locker(void *mutex) {
    lock_and_unlock(mutex, LOCKS);
    return NULL;
}

/* A thread that alone takes a lock a million times, while the first thread waits for its end. */
static void useless_lock(uint64_t n) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    (void)n;
    deadline();
    const int error = pthread_create(&thread, NULL, locker, &mutex);
    if (error) fail("pthread_create: %s", strerror(error));
    join(thread);
}

/* In a process that has no other thread: glibc then does without atomic instructions. */
static void mutex_alone(uint64_t n) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    lock_and_unlock(HIDE(&mutex), n);
}

static unsigned times_initialised;
static void initialise(void) {
    times_initialised++;
}

static void once(uint64_t n) {
    static pthread_once_t control = PTHREAD_ONCE_INIT;
    for (; n; n--) HIDE(&pthread_once)(&control, initialise);
    if (times_initialised != 1) fail("pthread_once called its function %u times", times_initialised);
}

static pthread_key_t key;
static void prepare_specific(void) {
    if (pthread_key_create(&key, NULL) || pthread_setspecific(key, &key)) fail("pthread_key_create failed");
}

static void specific(uint64_t n) {
    for (; n; n--) {
        if (HIDE(&pthread_getspecific)(key) != &key) fail("pthread_getspecific is wrong");
    }
}

#endif
