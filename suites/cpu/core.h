/* What the parts of one iteration share: the CRC and the numbers of a context.
 *
 * The algorithm is the published one of EEMBC's CoreMark 1.0, with the parameters of its performance run, so that its
 * CRCs come out. The code is our own, its result is not a CoreMark score and must not be called so.
 *
 * The original is several files. A compiler that saw all of it at once would do less; OTHER_FILE has the same effect: a
 * weak definition may be another one when the program is linked, so nothing is known about it.
 */
#ifndef SUITES_CPU_CORE_H
#define SUITES_CPU_CORE_H

#include "../common/row.h"

#define OTHER_FILE __attribute__((noinline, weak))

enum {
    SEED_1 = 0,
    SEED_2 = 0,
    SEED_3 = 0x66,
    ALL_BYTES = 2000,
    PART_BYTES = ALL_BYTES / 3, /* for the list, the matrices and the text: 666 each */
};

struct datum {
    int16_t value; /* above: the original value; below: what is to be computed of it, or the result if bit 7 is set */
    int16_t index;
};

struct item {
    struct item *next;
    struct datum *datum;
};

struct matrices {
    uint32_t side;
    int16_t *a, *b;
    int32_t *c;
};

struct context {
    int16_t seed_1, seed_2, seed_3;
    uint32_t text_bytes;
    uint8_t *memory, *text;
    struct item *list;
    struct matrices matrices;
    uint16_t crc, list_crc, matrix_crc, state_crc;
};

uint16_t crc_8(uint8_t data, uint16_t crc);
uint16_t crc_16(uint16_t data, uint16_t crc);
uint16_t crc_32(uint32_t data, uint16_t crc);

/* CRC-16 with the polynomial x^16 + x^15 + x^2 + 1, lowest bit first, a bit at a time as in the original. */
OTHER_FILE uint16_t crc_8(uint8_t data, uint16_t crc) {
    for (uint8_t i = 0; i < 8; i++) {
        const uint8_t differs = (uint8_t)((data ^ crc) & 1);
        data >>= 1;
        crc >>= 1;
        if (differs) crc ^= 0xa001;
    }
    return crc;
}

OTHER_FILE uint16_t crc_16(uint16_t data, uint16_t crc) {
    return crc_8((uint8_t)(data >> 8), crc_8((uint8_t)data, crc));
}

OTHER_FILE uint16_t crc_32(uint32_t data, uint16_t crc) {
    return crc_16((uint16_t)(data >> 16), crc_16((uint16_t)data, crc));
}

#endif
