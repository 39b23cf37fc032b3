/* The suite `cpu`: an own implementation of the algorithm of CoreMark (see core.h), by one thread and by as many as
 * there are processors that this process may run on. One operation is one iteration, of any thread. "mhz" is the
 * frequency of the processors at the end of the repetitions, where it can be measured.
 *
 * It hardly touches the C library: a difference between two of them here says that a comparison is not fair.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "frequency.h"
#include "list.h"

/* What the iterations of the performance run must come to: published with the algorithm. */
enum { SEED_CRC = 0xe9f5, LIST_CRC = 0xe714, MATRIX_CRC = 0x1fd7, STATE_CRC = 0x8e3a };

struct worker {
    struct context context;
    uint64_t iterations;
    double mhz;
    pthread_t thread;
} __attribute__((aligned(128))); /* two lines, which some processors fetch together */

static struct worker *workers;
static size_t worker_count;

enum { MOST_FREQUENCIES = 64 };
static double frequencies[MOST_FREQUENCIES];
static size_t frequency_count;

static void must_be(const char *what, uint16_t crc, uint16_t expected) {
    if (crc != expected) fail("core: the CRC of %s is 0x%04x, and must be 0x%04x", what, crc, expected);
}

static void begin_context(struct context *context) {
    context->seed_1 = HIDE((int16_t)SEED_1);
    context->seed_2 = HIDE((int16_t)SEED_2);
    context->seed_3 = HIDE((int16_t)SEED_3);
    context->text_bytes = HIDE((uint32_t)PART_BYTES);
    uint16_t crc = crc_16((uint16_t)context->seed_1, 0);
    crc = crc_16((uint16_t)context->seed_2, crc);
    crc = crc_16((uint16_t)context->seed_3, crc);
    must_be("the seeds", crc_16((uint16_t)context->text_bytes, crc), SEED_CRC);
    context->memory = malloc(ALL_BYTES);
    if (!context->memory) fail("core: out of memory");
    context->text = context->memory + 2 * PART_BYTES;
    list_begin(context, context->memory);
    matrix_begin(&context->matrices, context->memory + PART_BYTES, context->seed_1 | context->seed_2 << 16);
    state_begin(context->text, context->text_bytes, context->seed_1);
}

static void *iterate(void *argument) {
    struct worker *const worker = argument;
    struct context *const context = &worker->context;
    context->crc = context->list_crc = context->matrix_crc = context->state_crc = 0;
    const uint64_t begun = now_ns();
    for (uint64_t i = 0; i < worker->iterations; i++) {
        /* The list changes the CRC too, so it comes first. */
        uint16_t crc = list_run(context, 1);
        context->crc = crc_16(crc, context->crc);
        crc = list_run(context, -1);
        context->crc = crc_16(crc, context->crc);
        if (i == 0) context->list_crc = context->crc;
    }
    /* So short against the work that it does not count in its time. */
    worker->mhz = now_ns() - begun > 2000000 ? frequency_now() : 0;
    return NULL;
}

static void check(const struct worker *worker) {
    must_be("the list", worker->context.list_crc, LIST_CRC);
    must_be("the matrices", worker->context.matrix_crc, MATRIX_CRC);
    must_be("the states", worker->context.state_crc, STATE_CRC);
}

static int by_size(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of what the threads have measured in the last repetitions. */
static void keep_frequency(const struct worker *worker) {
    if (worker->mhz <= 0) return;
    frequencies[frequency_count++ % MOST_FREQUENCIES] = worker->mhz;
    double sorted[MOST_FREQUENCIES];
    const size_t count = frequency_count < MOST_FREQUENCIES ? frequency_count : MOST_FREQUENCIES;
    memcpy(sorted, frequencies, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    measured_mhz = sorted[count / 2];
}

static void run(uint64_t iterations) {
    for (size_t i = 0; i < worker_count; i++) {
        workers[i].iterations = iterations / worker_count + (i < iterations % worker_count);
    }
    /* The first one's share is this thread's. */
    for (size_t i = 1; i < worker_count && workers[i].iterations; i++) {
        const int failed = pthread_create(&workers[i].thread, NULL, iterate, &workers[i]);
        if (failed) fail("core-n: thread %zu of %zu: %s", i + 1, worker_count, strerror(failed));
    }
    iterate(&workers[0]);
    for (size_t i = 1; i < worker_count && workers[i].iterations; i++) pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < worker_count && workers[i].iterations; i++) {
        check(&workers[i]);
        keep_frequency(&workers[i]);
    }
}

static void begin_workers(size_t count) {
    worker_count = count;
    workers = aligned_alloc(128, count * sizeof *workers);
    if (!workers) fail("core: out of memory");
    memset(workers, 0, count * sizeof *workers);
    for (size_t i = 0; i < count; i++) begin_context(&workers[i].context);
}

/* Processors in the affinity mask. What a cgroup allows of their time is not in it. */
static size_t processors(void) {
    static union {
        cpu_set_t set;
        unsigned char bytes[8192]; /* 65536 processors */
    } mask;
    if (sched_getaffinity(0, sizeof mask, &mask.set) == -1) return 1;
    size_t count = 0;
    for (size_t i = 0; i < sizeof mask; i++) count += (size_t)__builtin_popcount(mask.bytes[i]);
    return count ? count : 1;
}

static void before_1(void) {
    begin_workers(1);
}

static void before_n(void) {
    begin_workers(processors());
}

static void after(void) {
    for (size_t i = 0; i < worker_count; i++) free(workers[i].context.memory);
    free(workers);
}

int main(int words, char **word) {
    /* A third of what the fastest processors take for an iteration; that is divided if there are several at once. */
    const double least_ns = 5000;
    const struct row rows[] = {
        {.name = "core-1", .repeated = IN_A_LOOP, .least_ns = least_ns, .work = run, .before = before_1,
         .after = after},
        {.name = "core-n", .repeated = IN_A_LOOP, .least_ns = least_ns / (double)processors(), .work = run,
         .before = before_n, .after = after},
    };
    return suite_main(words, word, rows, sizeof rows / sizeof *rows);
}
