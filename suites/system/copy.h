/* file-copy-*: a file is read and written to another one, buffer by buffer, from the start again at its end. UnixBench:
 * buffers of 1024, 256 and 4096 bytes, files of at most 2000, 500 and 8000 kilobytes. One operation is one kilobyte.
 *
 * The files are in $TMPDIR or /tmp and have no name any more, so nothing is left behind. Both have their full length
 * before the first copy: the original copies for 30 seconds, so that its first pass does not count.
 */
#ifndef SUITES_SYSTEM_COPY_H
#define SUITES_SYSTEM_COPY_H

#include <fcntl.h>
#include <limits.h>

#include "../common/row.h"

static struct {
    int from, to;
    size_t size;
    char buffer[4096];
} copy;

static const char *temporary_folder(void) {
    const char *const folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

static int nameless_file(const char *row, size_t length) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/underpin-suite-XXXXXX", temporary_folder());
    const int file = mkstemp(path);
    if (file == -1) fail("%s: a file in %s: %s", row, temporary_folder(), strerror(errno));
    unlink(path);
    for (size_t done = 0; done < length; done += copy.size) {
        const ssize_t written = write(file, copy.buffer, copy.size);
        if (written != (ssize_t)copy.size) {
            fail("%s: writing %zu bytes in %s: %s", row, length, temporary_folder(),
                 written < 0 ? strerror(errno) : "disk full");
        }
    }
    must(lseek(file, 0, SEEK_SET), "lseek");
    return file;
}

static void copy_before(const char *row, size_t size, size_t kilobytes) {
    copy.size = size;
    for (size_t i = 0; i < size; i++) copy.buffer[i] = (char)i;
    copy.from = nameless_file(row, kilobytes * 1024);
    copy.to = nameless_file(row, kilobytes * 1024);
}

static void copy_1024_before(void) {
    copy_before("file-copy-1024", 1024, 2000);
}

static void copy_256_before(void) {
    copy_before("file-copy-256", 256, 500);
}

static void copy_4096_before(void) {
    copy_before("file-copy-4096", 4096, 8000);
}

static void copy_work(uint64_t kilobytes) {
    uint64_t buffers = (kilobytes * 1024 + copy.size - 1) / copy.size;
    while (buffers) {
        const ssize_t got = read(copy.from, copy.buffer, copy.size);
        if (got == 0) {
            must(lseek(copy.from, 0, SEEK_SET), "lseek");
            must(lseek(copy.to, 0, SEEK_SET), "lseek");
            continue;
        }
        if (got != (ssize_t)copy.size) fail("file-copy: read: %s", got < 0 ? strerror(errno) : "it is shorter now");
        const ssize_t put = write(copy.to, copy.buffer, copy.size);
        if (put != (ssize_t)copy.size) fail("file-copy: write: %s", put < 0 ? strerror(errno) : "disk full");
        buffers--;
    }
}

static void copy_after(void) {
    close(copy.from);
    close(copy.to);
}

#endif
