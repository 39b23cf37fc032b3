/* Characters: the two UTF-8 rows of libc-bench, locales and iconv. */
#ifndef LIBC_CHARACTERS_H
#define LIBC_CHARACTERS_H

#include <iconv.h>
#include <wchar.h>
#include <wctype.h>

#include "base.h"

/* libc-bench: every character of two bytes from c3 80 to df bf, of three from e1 80 80 to ec bf bf, and of four from
 * f1 to f3 whose third byte is 80; 50 times. Blocks of 500,000 bytes and as many wide characters. */
enum {
    TWO_BYTES = (0xe0 - 0xc3) * 64,
    THREE_BYTES = (0xed - 0xe1) * 64 * 64,
    FOUR_BYTES = (0xf4 - 0xf1) * 64 * 64,
    CHARACTERS = TWO_BYTES + THREE_BYTES + FOUR_BYTES,
    CHARACTER_BYTES = 2 * TWO_BYTES + 3 * THREE_BYTES + 4 * FOUR_BYTES,
    TEXT_ROOM = 500000,
    TEXT_ROUNDS = 50
};

/* A text with each of these characters once, in order. */
static char *utf8_text(void) {
    unsigned char *const text = block(TEXT_ROOM), *at = text;
    for (unsigned first = 0xc3; first < 0xf4; first++) {
        if (first == 0xe0 || (first >= 0xed && first < 0xf1)) continue;
        for (unsigned second = 0x80; second < 0xc0; second++) {
            if (first < 0xe0) {
                *at++ = (unsigned char)first;
                *at++ = (unsigned char)second;
                continue;
            }
            for (unsigned last = 0x80; last < 0xc0; last++) {
                *at++ = (unsigned char)first;
                *at++ = (unsigned char)second;
                if (first >= 0xf1) *at++ = 0x80;
                *at++ = (unsigned char)last;
            }
        }
    }
    *at = '\0';
    if (at != text + CHARACTER_BYTES) fail("the text has the wrong length");
    return HIDE((char *)text);
}

static void utf8_bigbuf(uint64_t n) {
    utf8_locale(LC_CTYPE);
    char *text = utf8_text();
    wchar_t *const wide = block(TEXT_ROOM * sizeof *wide);
    for (; n; n--) {
        const size_t characters = mbstowcs(wide, HIDE(text), TEXT_ROOM);
        if (characters != CHARACTERS) fail("mbstowcs read %zu characters of %d", characters, CHARACTERS);
        KEEP(wide);
    }
    free(wide);
    free(text);
}

static void utf8_onebyone(uint64_t n) {
    mbstate_t state;
    memset(&state, 0, sizeof state);
    utf8_locale(LC_CTYPE);
    char *text = utf8_text();
    for (uint64_t done = 0; done < n;) {
        for (const char *at = HIDE(text); *at; done++) {
            wchar_t wide;
            const size_t length = mbrtowc(&wide, at, 4, &state);
            if (length > 4) fail("mbrtowc refuses a character");
            KEEP(wide);
            at += length;
        }
    }
    free(text);
}

static const char *utf8_name;
static void prepare_setlocale(void) {
    utf8_name = utf8_locale(LC_ALL);
}

/* A UTF-8 locale and back to the one that a program starts in. */
static void set_locale(uint64_t n) {
    for (; n; n--) {
        if (!setlocale(LC_ALL, HIDE(utf8_name)) || !setlocale(LC_ALL, TEXT("C"))) fail("setlocale failed");
    }
}

static const char *text_start, *text_at;
static void prepare_text(void) {
    utf8_locale(LC_CTYPE);
    text_start = text_at = utf8_text();
}

static void to_upper(uint64_t n) {
    mbstate_t state;
    memset(&state, 0, sizeof state);
    wint_t all = 0;
    for (; n; n--) {
        wchar_t wide = 0;
        const size_t length = mbrtowc(&wide, text_at, 4, &state);
        if (length > 4) fail("mbrtowc refuses a character");
        all ^= HIDE(&towupper)((wint_t)wide);
        text_at = length ? text_at + length : text_start;
    }
    KEEP(all);
}

/* 4,000 characters that UTF-8, UTF-16 and ISO-8859-1 have: of eight, seven of ASCII and one e with an acute accent. */
enum { ICONV_CHARACTERS = 4000, ICONV_BYTES = ICONV_CHARACTERS / 8 * 9, ICONV_ROOM = 4 * ICONV_CHARACTERS };
static char *iconv_text, *iconv_between, *iconv_back;
static iconv_t iconv_there, iconv_home;

static iconv_t open_iconv(const char *to, const char *from) {
    const iconv_t conversion = iconv_open(to, from);
    if (conversion == (iconv_t)-1) fail("not supported: iconv_open from %s to %s: %s", from, to, strerror(errno));
    return conversion;
}

static void prepare_iconv(const char *other) {
    iconv_there = open_iconv(other, "UTF-8");
    iconv_home = open_iconv("UTF-8", other);
    iconv_text = block(ICONV_ROOM);
    iconv_between = block(ICONV_ROOM);
    iconv_back = block(ICONV_ROOM);
    for (size_t i = 0; i < ICONV_BYTES; i += 9) memcpy(iconv_text + i, "caf\xc3\xa9 au", 9);
}

/* With a byte order in the name there is no mark before the text. */
static void prepare_utf16(void) {
    prepare_iconv("UTF-16LE");
}

static void prepare_latin1(void) {
    prepare_iconv("ISO-8859-1");
}

static size_t convert(iconv_t conversion, char *from, size_t size, char *to) {
    size_t room = ICONV_ROOM;
    if (iconv(conversion, &from, &size, &to, &room) == (size_t)-1) fail("iconv: %s", strerror(errno));
    return ICONV_ROOM - room;
}

static void convert_both_ways(uint64_t n) {
    for (; n; n--) {
        const size_t between = convert(iconv_there, HIDE(iconv_text), ICONV_BYTES, iconv_between);
        const size_t back = convert(iconv_home, HIDE(iconv_between), between, iconv_back);
        if (back != ICONV_BYTES) fail("iconv returned %zu bytes of %d", back, ICONV_BYTES);
        KEEP(iconv_back);
    }
    if (memcmp(iconv_text, iconv_back, ICONV_BYTES) != 0) fail("iconv returned another text");
}

static void open_and_close(uint64_t n) {
    for (; n; n--) iconv_close(open_iconv(TEXT("UTF-16LE"), TEXT("UTF-8")));
}

#endif
