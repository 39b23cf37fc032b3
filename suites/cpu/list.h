/* A linked list: found, reversed, sorted twice (by what is computed of its data, and back by its order) and summed
 * up. */
#ifndef SUITES_CPU_LIST_H
#define SUITES_CPU_LIST_H

#include "matrix.h"
#include "state.h"

/* What a datum is worth: computed once, by the state machine or with the matrices, and then kept in it. */
__attribute__((noinline)) static int16_t list_worth(int16_t *place, struct context *context) {
    const int16_t value = *place;
    if (value & 0x80) return value & 0x7f;
    int16_t constant = (value >> 3) & 0xf, result;
    constant |= (int16_t)(constant << 4);
    switch (value & 7) {
    case 0:
        /* Not disturbed more often than every 34 bytes. */
        if (constant < 0x22) constant = 0x22;
        result = (int16_t)state_run(context->text, context->text_bytes, context->seed_1, context->seed_2, constant,
                                    context->crc);
        if (context->state_crc == 0) context->state_crc = (uint16_t)result;
        break;
    case 1:
        result = (int16_t)matrix_run(&context->matrices, constant, context->crc);
        if (context->matrix_crc == 0) context->matrix_crc = (uint16_t)result;
        break;
    default: result = value;
    }
    context->crc = crc_16((uint16_t)result, context->crc);
    result &= 0x7f;
    *place = (int16_t)((value & 0xff00) | 0x80 | result);
    return result;
}

typedef int32_t (*list_order)(struct datum *left, struct datum *right, struct context *context);

static int32_t by_worth(struct datum *left, struct datum *right, struct context *context) {
    const int16_t first = list_worth(&left->value, context);
    return first - list_worth(&right->value, context);
}

/* Without a context, what was computed is forgotten on the way. */
static int32_t by_index(struct datum *left, struct datum *right, struct context *context) {
    if (!context) {
        left->value = (int16_t)((left->value & 0xff00) | ((left->value >> 8) & 0xff));
        right->value = (int16_t)((right->value & 0xff00) | ((right->value >> 8) & 0xff));
    }
    return left->index - right->index;
}

/* Merges runs of 1, 2, 4, ... items in place. Not to be specialised for an order: a call for each comparison. */
__attribute__((noinline)) static struct item *list_sort(struct item *list, list_order order, struct context *context) {
    for (int32_t run = 1;; run *= 2) {
        struct item *left = list, *last = NULL;
        int32_t merges = 0;
        list = NULL;
        while (left) {
            merges++;
            struct item *right = left;
            int32_t in_left = 0, in_right = run;
            while (in_left < run && right) {
                in_left++;
                right = right->next;
            }
            while (in_left > 0 || (in_right > 0 && right)) {
                struct item *least;
                if (in_left > 0 && (in_right == 0 || !right || order(left->datum, right->datum, context) <= 0)) {
                    least = left;
                    left = left->next;
                    in_left--;
                } else {
                    least = right;
                    right = right->next;
                    in_right--;
                }
                if (last) last->next = least;
                else list = least;
                last = least;
            }
            left = right;
        }
        last->next = NULL;
        if (merges <= 1) return list;
    }
}

/* By index if there is one to look for, else by the lower half of the value. */
__attribute__((noinline)) static struct item *list_find(struct item *list, const struct datum *wanted) {
    if (wanted->index >= 0) {
        while (list && list->datum->index != wanted->index) list = list->next;
    } else {
        while (list && (list->datum->value & 0xff) != wanted->value) list = list->next;
    }
    return list;
}

__attribute__((noinline)) static struct item *list_reversed(struct item *list) {
    struct item *done = NULL;
    while (list) {
        struct item *const rest = list->next;
        list->next = done;
        done = list;
        list = rest;
    }
    return done;
}

/* Takes out the next item, but leaves its datum, in the place of this item's. */
static struct item *list_take_next(struct item *item) {
    struct item *const taken = item->next;
    struct datum *const datum = item->datum;
    item->datum = taken->datum;
    taken->datum = datum;
    item->next = taken->next;
    taken->next = NULL;
    return taken;
}

static void list_put_back(struct item *taken, struct item *item) {
    struct datum *const datum = taken->datum;
    taken->datum = item->datum;
    item->datum = datum;
    taken->next = item->next;
    item->next = taken;
}

/* Looks for as many data as seed 3 says, reverses the list each time, and moves what comes after one found to the
 * front. */
static struct item *list_search(struct item *list, struct datum *wanted, int16_t times, uint16_t *result) {
    uint16_t found = 0, missed = 0;
    for (int16_t i = 0; i < times; i++) {
        wanted->value = i & 0xff;
        struct item *const hit = list_find(list, wanted);
        list = list_reversed(list);
        if (!hit) {
            missed++;
            *result += (uint16_t)((list->next->datum->value >> 8) & 1);
        } else {
            found++;
            if (hit->datum->value & 1) *result += (uint16_t)((hit->datum->value >> 9) & 1);
            struct item *const moved = hit->next;
            if (moved) {
                hit->next = moved->next;
                moved->next = list->next;
                list->next = moved;
            }
        }
        if (wanted->index >= 0) wanted->index++;
    }
    *result += (uint16_t)(found * 4 - missed);
    return list;
}

/* One half of an iteration; the list is afterwards as it was. */
static uint16_t list_run(struct context *context, int16_t index) {
    struct datum wanted = {.index = index};
    uint16_t result = 0;
    struct item *list = list_search(context->list, &wanted, context->seed_3, &result);
    if (index > 0) list = list_sort(list, by_worth, context);
    struct item *const taken = list_take_next(list->next);
    struct item *rest = list_find(list, &wanted);
    if (!rest) rest = list->next;
    /* The CRC is of the first datum, once for each of the rest: so it is published. */
    for (; rest; rest = rest->next) result = crc_16((uint16_t)list->datum->value, result);
    list_put_back(taken, list->next);
    list = list_sort(list, by_index, NULL);
    for (rest = list->next; rest; rest = rest->next) result = crc_16((uint16_t)list->datum->value, result);
    return result;
}

/* Items in front, data behind, as many as there would be with 16 bytes for an item of any machine. */
static void list_begin(struct context *context, uint8_t *memory) {
    const uint32_t count = PART_BYTES / (16 + sizeof(struct datum)) - 2;
    struct item *const items = (struct item *)memory;
    struct datum *const data = (struct datum *)(items + count);
    const int16_t seed = context->seed_1;
    items[0] = (struct item){NULL, &data[0]};
    data[0] = (struct datum){(int16_t)0x8080, 0};
    /* Each goes behind the head, so the second one becomes the tail. One place stays free. */
    for (uint32_t used = 1; used + 1 < count; used++) {
        const uint16_t number = (uint16_t)(used - 2);
        const uint16_t low = (uint16_t)((((uint16_t)seed ^ number) & 0xf) << 3 | (number & 7));
        data[used] = used == 1 ? (struct datum){-1, 0x7fff} : (struct datum){(int16_t)(low << 8 | low), 0};
        items[used] = (struct item){items[0].next, &data[used]};
        items[0].next = &items[used];
    }
    /* A fifth keeps its order, the others come after it, mixed. */
    uint32_t i = 1;
    for (struct item *item = items[0].next; item->next; item = item->next) {
        if (i < count / 5) {
            item->datum->index = (int16_t)i++;
        } else {
            const uint16_t mixed = (uint16_t)(i++ ^ (uint16_t)seed);
            item->datum->index = (int16_t)(0x3fff & ((i & 7) << 8 | mixed));
        }
    }
    context->list = list_sort(&items[0], by_index, NULL);
}

#endif
