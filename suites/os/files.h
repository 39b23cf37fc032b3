/* Table 4 of the seed, files and mappings; and from table 5 what is read again from files and mappings. */
#ifndef SUITES_OS_FILES_H
#define SUITES_OS_FILES_H

/* Files are made and removed in batches, at most 100 in a directory (lmbench: 100). */
enum { FILES_OF_DIRECTORY = 100, DIRECTORIES = 10, FILES = FILES_OF_DIRECTORY * DIRECTORIES };
enum { CONTENT_BYTES = 10 * 1024 };

static char *file_paths[FILES];
static char *file_content;

static void before_files(void) {
    make_directory();
    file_content = page_aligned(CONTENT_BYTES);
    char path[PATH_MAX];
    for (int i = 0; i < FILES; i++) {
        const int length = snprintf(path, sizeof path, "%s/%d", directory, i / FILES_OF_DIRECTORY);
        if (i % FILES_OF_DIRECTORY == 0) must(mkdir(path, 0700), "mkdir");
        snprintf(path + length, sizeof path - (size_t)length, "/%d", i % FILES_OF_DIRECTORY);
        file_paths[i] = strdup(path);
        if (!file_paths[i]) fail("no memory for the paths");
    }
}

static void create_files(size_t count, size_t bytes) {
    for (size_t i = 0; i < count; i++) {
        const int file = creat(file_paths[i], 0666);
        if (file == -1) fail("creat %s: %s", file_paths[i], strerror(errno));
        if (bytes && write(file, file_content, bytes) != (ssize_t)bytes) {
            fail("write %s: %s", file_paths[i], strerror(errno));
        }
        close(file);
    }
}

static void delete_files(size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (unlink(file_paths[i]) == -1) fail("unlink %s: %s", file_paths[i], strerror(errno));
    }
}

/* Both are always done; one of them is timed. */
static void create_and_delete(uint64_t operations, size_t bytes, int is_creation_timed) {
    uint64_t took = 0;
    for (uint64_t done = 0; done < operations;) {
        const size_t count = operations - done < FILES ? (size_t)(operations - done) : FILES;
        const uint64_t begun = now_ns();
        create_files(count, bytes);
        const uint64_t created = now_ns();
        delete_files(count);
        took += is_creation_timed ? created - begun : now_ns() - created;
        done += count;
    }
    operations_took((int64_t)took);
}

static void create_0k(uint64_t operations) { create_and_delete(operations, 0, 1); }
static void delete_0k(uint64_t operations) { create_and_delete(operations, 0, 0); }
static void create_10k(uint64_t operations) { create_and_delete(operations, CONTENT_BYTES, 1); }
static void delete_10k(uint64_t operations) { create_and_delete(operations, CONTENT_BYTES, 0); }

static int large_file;

static void before_large_file(void) { large_file = unlinked_file(LARGE_BYTES); }

static char *mapped(int protection) {
    void *const at = mmap(NULL, LARGE_BYTES, protection, MAP_SHARED, large_file, 0);
    if (at == MAP_FAILED) fail("mmap: %s", strerror(errno));
    return at;
}

/* Maps the file, writes to one byte in every 16 kB of its first tenth, unmaps it: all that is the "mmap latency". */
static void map_and_touch(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        volatile char *const at = mapped(PROT_READ | PROT_WRITE);
        for (size_t offset = 0; offset < LARGE_BYTES / 10; offset += 16 * 1024) at[offset] = 1;
        munmap((void *)(uintptr_t)at, LARGE_BYTES);
    }
}

static size_t page_count, *page_offsets;
static char *faulting;

static void map_to_fault(void) {
    faulting = mapped(PROT_READ);
    if (msync(faulting, LARGE_BYTES, MS_INVALIDATE) == -1) fail("msync: %s", strerror(errno));
}

/* The pages in an order that no prefetcher follows, and the same in every run. */
static void before_page_fault(void) {
    before_large_file();
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    page_count = LARGE_BYTES / page_size;
    page_offsets = calloc(page_count, sizeof *page_offsets);
    if (!page_offsets) fail("no memory for the pages");
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < page_count; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const size_t other = (size_t)(random % (i + 1));
        page_offsets[i] = page_offsets[other];
        page_offsets[other] = i * page_size;
    }
    map_to_fault();
}

static void touch_pages(void) {
    unsigned sum = 0;
    for (size_t i = 0; i < page_count; i++) sum += ((volatile unsigned char *)faulting)[page_offsets[i]];
    KEEP(sum);
}

/* One operation is one page of the file, which is mapped anew for every pass; that is measured too, and
 * subtracted. */
static double time_of_page_faults(uint64_t operations) {
    const uint64_t passes = (operations + page_count - 1) / page_count;
    const uint64_t begun = now_ns();
    for (uint64_t i = 0; i < passes; i++) {
        touch_pages();
        munmap(faulting, LARGE_BYTES);
        map_to_fault();
    }
    const uint64_t touched = now_ns();
    for (uint64_t i = 0; i < passes; i++) {
        munmap(faulting, LARGE_BYTES);
        map_to_fault();
    }
    const double took = (double)(touched - begun) - (double)(now_ns() - touched);
    return took * (double)operations / ((double)passes * (double)page_count);
}

static void page_fault(uint64_t operations) { subtracting(operations, page_count, time_of_page_faults); }

static char *file_buffer;

static void before_file_reread(void) {
    before_large_file();
    file_buffer = page_aligned(CHUNK_BYTES);
}

/* One operation is the whole file, from the page cache, by 64 kB; every word that was read is summed. */
static void file_reread(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        must(lseek(large_file, 0, SEEK_SET), "lseek");
        for (size_t done = 0; done < LARGE_BYTES; done += CHUNK_BYTES) {
            if (read(large_file, file_buffer, CHUNK_BYTES) != CHUNK_BYTES) fail("read: %s", strerror(errno));
            sum_words(file_buffer, CHUNK_BYTES);
        }
    }
}

static char *reread_mapping;

static void before_mmap_reread(void) {
    before_large_file();
    reread_mapping = mapped(PROT_READ);
    sum_words(reread_mapping, LARGE_BYTES);
}

static void mmap_reread(uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) sum_words(reread_mapping, LARGE_BYTES);
}

#endif
