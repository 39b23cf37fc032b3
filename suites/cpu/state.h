/* A state machine that reads numbers, separated by commas, and counts how often it leaves each state. */
#ifndef SUITES_CPU_STATE_H
#define SUITES_CPU_STATE_H

#include "core.h"

/* In the order in which their counts go into the CRC. */
enum state { BEGIN, INVALID, SIGN, EXPONENT_MARK, INTEGER, FRACTION, EXPONENT_SIGN, EXPONENT, STATES };

static inline int is_digit(uint8_t c) {
    return (c >= '0') & (c <= '9');
}

static inline int is_sign(uint8_t c) {
    return c == '+' || c == '-';
}

/* Reads up to the next comma, or to what cannot be in a number, and returns the state that it ends in. */
enum state state_read(uint8_t **text, uint32_t *left);

enum state state_read(uint8_t **text, uint32_t *left) {
    uint8_t *at = *text;
    enum state state = BEGIN;
    for (; *at && state != INVALID; at++) {
        const uint8_t c = *at;
        if (c == ',') {
            at++;
            break;
        }
        switch (state) {
        case BEGIN:
            state = is_digit(c) ? INTEGER : is_sign(c) ? SIGN : c == '.' ? FRACTION : INVALID;
            left[BEGIN]++;
            if (state == INVALID) left[INVALID]++;
            break;
        case SIGN:
            state = is_digit(c) ? INTEGER : c == '.' ? FRACTION : INVALID;
            left[SIGN]++;
            break;
        case INTEGER:
            if (is_digit(c)) break;
            state = c == '.' ? FRACTION : INVALID;
            left[INTEGER]++;
            break;
        case FRACTION:
            if (is_digit(c)) break;
            state = c == 'E' || c == 'e' ? EXPONENT_MARK : INVALID;
            left[FRACTION]++;
            break;
        case EXPONENT_MARK:
            state = is_sign(c) ? EXPONENT_SIGN : INVALID;
            left[EXPONENT_MARK]++;
            break;
        case EXPONENT_SIGN:
            state = is_digit(c) ? EXPONENT : INVALID;
            left[EXPONENT_SIGN]++;
            break;
        case EXPONENT:
            if (is_digit(c)) break;
            state = INVALID;
            left[INVALID]++; /* sic: not those of this state */
            break;
        default: break;
        }
    }
    *text = at;
    return state;
}

static void state_read_all(uint8_t *text, uint32_t *ended, uint32_t *left) {
    while (*text) ended[state_read(&text, left)]++;
}

/* Every so many bytes but for the commas; the same once more undoes it. */
static void state_disturb(uint8_t *text, uint32_t bytes, int16_t seed, int16_t step) {
    for (uint8_t *at = text; at < text + bytes; at += step) {
        if (*at != ',') *at ^= (uint8_t)seed;
    }
}

uint16_t state_run(uint8_t *text, uint32_t bytes, int16_t seed_1, int16_t seed_2, int16_t step, uint16_t crc);

/* The text is read as it is and disturbed. */
OTHER_FILE uint16_t state_run(uint8_t *text, uint32_t bytes, int16_t seed_1, int16_t seed_2, int16_t step,
                              uint16_t crc) {
    uint32_t ended[STATES] = {0}, left[STATES] = {0};
    state_read_all(text, ended, left);
    state_disturb(text, bytes, seed_1, step);
    state_read_all(text, ended, left);
    state_disturb(text, bytes, seed_2, step);
    for (int i = 0; i < STATES; i++) {
        crc = crc_32(ended[i], crc);
        crc = crc_32(left[i], crc);
    }
    return crc;
}

/* The texts that the published CRCs are of: of eight, three integers, two fractions, two with exponents and an
 * error. */
static void state_begin(uint8_t *text, uint32_t bytes, int16_t seed) {
    static const char *const samples[4][4] = {
        {"5012", "1234", "-874", "+122"},
        {"35.54400", ".1234500", "-110.700", "+0.64400"},
        {"5.500e+3", "-.123e-2", "-87e+832", "+0.6e-12"},
        {"T0.3e-1F", "-T.T++Tq", "1T3.4e4z", "34.0e-T^"},
    };
    static const uint8_t kinds[8] = {0, 0, 0, 1, 1, 2, 2, 3};
    memset(text, 0, bytes);
    uint32_t used = 0;
    for (;;) {
        seed++;
        const char *const sample = samples[kinds[seed & 7]][(seed >> 3) & 3];
        const uint32_t length = (uint32_t)strlen(sample);
        if (used + length + 1 >= bytes - 1) return;
        memcpy(text + used, sample, length);
        text[used + length] = ',';
        used += length + 1;
    }
}

#endif
