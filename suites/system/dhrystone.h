/* dhrystone: a synthetic loop with the mix of operations of Weicker's Dhrystone 2.1, as UnixBench runs it (dhry2reg):
 * assignments, calls, branches that are nearly always the same way, arrays, a record of 56 bytes and three strings of
 * 30 characters: two copies (one before the loop) and a comparison by strcmp that finds the difference at character 19.
 * One operation is one pass; its results are checked afterwards.
 *
 * The original is two files, so that its compiler does not see from one into the other. Here, OTHER_FILE has the same
 * effect: a weak definition may be another one when the program is linked, so nothing is known about it.
 */
#ifndef SUITES_SYSTEM_DHRYSTONE_H
#define SUITES_SYSTEM_DHRYSTONE_H

#include "../common/row.h"

#define OTHER_FILE __attribute__((noinline, weak))

enum kind { KIND_1, KIND_2, KIND_3, KIND_4, KIND_5 };

struct record {
    struct record *next;
    enum kind kind;
    enum kind field;
    int number;
    char text[31];
};

/* Not static: what another file can change must be in memory at each call. */
struct record *dhry_first, *dhry_second;
int dhry_number, dhry_flag;
char dhry_letter_1, dhry_letter_2;
int dhry_line[50], dhry_table[50][50];
unsigned long dhry_pass;

/* As long as the strings of the original, and different at the same character. */
#define DHRY_START "COUNTING OF LINES, 1ST OF LIST"
#define DHRY_EACH "COUNTING OF LINES, 2ND OF LIST"
#define DHRY_NEVER "COUNTING OF LINES, 3RD OF LIST"
#define DHRY_KEPT "COUNTING OF LINES, SOME ENTRY."

enum kind dhry_differ(char left, char right);
int dhry_is_later(const char *left, const char *right);
void dhry_translate(enum kind from, enum kind *into);
void dhry_add(int left, int right, int *into);
void dhry_fill(int *line, int (*table)[50], int at, int value);

/* What the other file has for itself, too: its compiler sees that. */
static inline enum kind dhry_compare(char left, char right) {
    const char kept = left;
    if (kept != right) return KIND_1;
    dhry_letter_1 = kept;
    return KIND_2;
}

static inline int dhry_is_third(enum kind kind) {
    return kind == KIND_3;
}

OTHER_FILE enum kind dhry_differ(char left, char right) {
    return dhry_compare(left, right);
}

/* Two characters are compared, once; then the strings, whose order is the expected one. */
OTHER_FILE int dhry_is_later(const char *left, const char *right) {
    int at = 2;
    char letter = 'A';
    while (at <= 2) {
        if (dhry_compare(left[at], right[at + 1]) == KIND_1) {
            letter = 'A';
            at++;
        }
    }
    if (letter >= 'W' && letter < 'Z') at = 7;
    if (letter == 'R') return 1;
    if (strcmp(left, right) > 0) {
        dhry_number = at + 7;
        return 1;
    }
    return 0;
}

OTHER_FILE void dhry_translate(enum kind from, enum kind *into) {
    *into = from;
    if (!dhry_is_third(from)) *into = KIND_4;
    switch (from) {
    case KIND_1: *into = KIND_1; break;
    case KIND_2: *into = dhry_number > 100 ? KIND_1 : KIND_4; break;
    case KIND_3: *into = KIND_2; break;
    case KIND_4: break;
    case KIND_5: *into = KIND_3; break;
    }
}

OTHER_FILE void dhry_add(int left, int right, int *into) {
    *into = right + (left + 2);
}

OTHER_FILE void dhry_fill(int *line, int (*table)[50], int at, int value) {
    const int from = at + 5;
    line[from] = value;
    line[from + 1] = line[from];
    line[from + 30] = from;
    for (int i = from; i <= from + 1; i++) table[from][i] = from;
    table[from][from - 1] += 1;
    table[from + 20][from] = line[from];
    dhry_number = 5;
}

static void dhry_forward(struct record **into) {
    if (dhry_first) *into = dhry_first->next;
    dhry_add(10, dhry_number, &dhry_first->number);
}

/* Noinline here and below where gcc -O2 does not inline in the original either. */
__attribute__((noinline)) static void dhry_records(struct record *record) {
    struct record *const next = record->next;
    *record->next = *dhry_first;
    record->number = 5;
    next->number = record->number;
    next->next = record->next;
    dhry_forward(&next->next);
    if (next->kind == KIND_1) {
        next->number = 6;
        dhry_translate(record->field, &next->field);
        next->next = dhry_first->next;
        dhry_add(next->number, 10, &next->number);
    } else {
        *record = *record->next;
    }
}

static void dhry_step(int *number) {
    enum kind kind = KIND_2;
    int sum = *number + 10;
    do {
        if (dhry_letter_1 == 'A') {
            sum--;
            *number = sum - dhry_number;
            kind = KIND_1;
        }
    } while (kind != KIND_1);
}

static void dhry_letters(void) {
    dhry_letter_1 = 'A';
    dhry_flag = 0;
    dhry_flag |= dhry_letter_1 == 'A';
    dhry_letter_2 = 'B';
}

/* The numbers that the specification gives for the end of a run; they are the same after every pass. */
static void dhry_check(int small, int big, int seven, enum kind kind) {
    const int is_right = dhry_number == 5 && dhry_flag == 1 && dhry_letter_1 == 'A' && dhry_letter_2 == 'B'
        && dhry_line[8] == 7 && dhry_first->kind == KIND_1 && dhry_first->field == KIND_3 && dhry_first->number == 17
        && dhry_second->field == KIND_2 && dhry_second->number == 18 && dhry_second->next == dhry_first->next
        && !strcmp(dhry_second->text, DHRY_KEPT) && small == 5 && big == 13 && seven == 7 && kind == KIND_2;
    if (!is_right) fail("dhrystone: wrong results: %d %d %d %d", dhry_number, small, big, seven);
}

static void dhrystone(uint64_t passes) {
    int small = 0, big = 0, seven = 0;
    enum kind kind = KIND_2;
    char start[31], each[31];
    strcpy(start, DHRY_START);
    for (dhry_pass = 1; dhry_pass <= passes; dhry_pass++) {
        dhry_letters();
        small = 2;
        big = 3;
        strcpy(each, DHRY_EACH);
        kind = KIND_2;
        dhry_flag = !dhry_is_later(start, each);
        while (small < big) {
            seven = 5 * small - big;
            dhry_add(small, big, &seven);
            small++;
        }
        dhry_fill(dhry_line, dhry_table, small, seven);
        dhry_records(dhry_first);
        for (char letter = 'A'; letter <= dhry_letter_2; letter++) {
            if (kind == dhry_differ(letter, 'C')) {
                dhry_translate(KIND_1, &kind);
                strcpy(each, DHRY_NEVER);
                big = (int)dhry_pass;
                dhry_number = (int)dhry_pass;
            }
        }
        big *= small;
        small = big / seven;
        big = 7 * (big - seven) - small;
        dhry_step(&small);
    }
    dhry_check(small, big, seven, kind);
}

static void dhrystone_before(void) {
    dhry_second = calloc(1, sizeof(struct record));
    dhry_first = calloc(1, sizeof(struct record));
    if (!dhry_first || !dhry_second) fail("dhrystone: out of memory");
    *dhry_first = (struct record){.next = dhry_second, .kind = KIND_1, .field = KIND_3, .number = 40};
    strcpy(dhry_first->text, DHRY_KEPT);
    dhry_table[8][7] = 10;
}

static void dhrystone_after(void) {
    free(dhry_first);
    free(dhry_second);
}

#endif
