/* Operations on square matrices of 9 x 9 numbers: with a constant, with a vector, with another matrix, and with bits
 * taken out of the products. */
#ifndef SUITES_CPU_MATRIX_H
#define SUITES_CPU_MATRIX_H

#include "core.h"

/* How often the sum of the elements passes the limit, ten times, and how often an element is above the one before. */
static int16_t matrix_measure(uint32_t n, const int32_t *c, int16_t limit) {
    int32_t sum = 0, previous = 0;
    int16_t result = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            const int32_t current = c[i * n + j];
            sum += current;
            if (sum > limit) {
                result += 10;
                sum = 0;
            } else {
                result += current > previous;
            }
            previous = current;
        }
    }
    return result;
}

static void matrix_add(uint32_t n, int16_t *a, int16_t constant) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) a[i * n + j] = (int16_t)(a[i * n + j] + constant);
    }
}

static void matrix_by_constant(uint32_t n, int32_t *c, const int16_t *a, int16_t constant) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) c[i * n + j] = (int32_t)a[i * n + j] * constant;
    }
}

static void matrix_by_vector(uint32_t n, int32_t *c, const int16_t *a, const int16_t *b) {
    for (uint32_t i = 0; i < n; i++) {
        c[i] = 0;
        for (uint32_t j = 0; j < n; j++) c[i] += (int32_t)a[i * n + j] * b[j];
    }
}

static void matrix_by_matrix(uint32_t n, int32_t *c, const int16_t *a, const int16_t *b) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (uint32_t k = 0; k < n; k++) c[i * n + j] += (int32_t)a[i * n + k] * b[k * n + j];
        }
    }
}

/* Of each product, four bits from bit 2 times seven bits from bit 5. */
static void matrix_by_matrix_bits(uint32_t n, int32_t *c, const int16_t *a, const int16_t *b) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (uint32_t k = 0; k < n; k++) {
                const int32_t product = (int32_t)a[i * n + k] * b[k * n + j];
                c[i * n + j] += ((product >> 2) & 0xf) * ((product >> 5) & 0x7f);
            }
        }
    }
}

uint16_t matrix_run(const struct matrices *m, int16_t constant, uint16_t crc);

/* All of them; A is afterwards as it was. */
OTHER_FILE uint16_t matrix_run(const struct matrices *m, int16_t constant, uint16_t crc) {
    const uint32_t n = m->side;
    const int16_t limit = (int16_t)(0xf000 | constant);
    uint16_t mine = 0;
    matrix_add(n, m->a, constant);
    matrix_by_constant(n, m->c, m->a, constant);
    mine = crc_16((uint16_t)matrix_measure(n, m->c, limit), mine);
    matrix_by_vector(n, m->c, m->a, m->b);
    mine = crc_16((uint16_t)matrix_measure(n, m->c, limit), mine);
    matrix_by_matrix(n, m->c, m->a, m->b);
    mine = crc_16((uint16_t)matrix_measure(n, m->c, limit), mine);
    matrix_by_matrix_bits(n, m->c, m->a, m->b);
    mine = crc_16((uint16_t)matrix_measure(n, m->c, limit), mine);
    matrix_add(n, m->a, (int16_t)-constant);
    return crc_16(mine, crc);
}

static uintptr_t aligned_to_4(const void *address) {
    return ((uintptr_t)address + 3) & ~(uintptr_t)3;
}

/* The largest matrices that fit: each place of all three takes 8 bytes. */
static void matrix_begin(struct matrices *m, uint8_t *memory, int32_t seed) {
    uint32_t n = 0;
    while ((n + 1) * (n + 1) * 8 < PART_BYTES) n++;
    m->side = n;
    m->a = (int16_t *)aligned_to_4(memory);
    m->b = m->a + n * n;
    m->c = (int32_t *)aligned_to_4(m->b + n * n);
    if (seed == 0) seed = 1;
    for (uint32_t i = 0; i < n * n; i++) {
        const int32_t order = (int32_t)i + 1;
        seed = order * seed % 65536;
        m->b[i] = (int16_t)(seed + order);
        m->a[i] = (int16_t)((m->b[i] + order) & 0xff);
    }
}

#endif
