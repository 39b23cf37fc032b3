/* The operating system as a C library's programs meet it: the 39 rows that the seed (shared/seeds/openeuler-musl.rst)
 * measured with lmbench, in its five tables. This is code of our own, written from what lmbench's description says of
 * each row: which calls, how many descriptors and processes, which sizes. Its figures are not lmbench's.
 *
 *   SUITE_SHELL=PATH  the shell of the row sh-named: sh.c, built as this program was
 *   TMPDIR=DIRECTORY  where files are made (/tmp); 64 MB are needed
 *
 * Not here: the RPC rows of lmbench. They need a port mapper and a library (ONC RPC) that is in neither C library any
 * more, and the seed's tables do not have them.
 */
#define _GNU_SOURCE
#include "../common/row.h"

#include "helpers.h"

#include "calls.h"
#include "channels.h"
#include "files.h"
#include "memory.h"
#include "processes.h"

/* The least that a row can take: a system call 15 ns, a switch of processes 100 ns, a copy 1 ns for 400 bytes of a
 * cache, an access by a word of 4 or 8 bytes a quarter of a clock at 6 GHz; each far below what was measured. */
#define LATENCY(name, least, work, before, after) {name, IN_A_LOOP, 0, least, 0, work, before, after}
#define BANDWIDTH(name, least, bytes, work, before, after) {name, IN_A_LOOP, 0, least, bytes, work, before, after}
#define LEAST_MOVED(bytes) ((double)(bytes) / 400.0)
#define LEAST_WORDS(bytes, word) ((double)(bytes) / (word) / 24.0)

static const struct row rows[] = {
    /* 1: processes and system calls */
    LATENCY("null-call", 15, null_call, NULL, NULL),
    LATENCY("null-io", 20, null_io, before_null_io, NULL),
    LATENCY("stat", 60, stat_file, before_stat, remove_directory),
    LATENCY("open-close", 100, open_and_close, before_stat, remove_directory),
    LATENCY("select-tcp-100", 300, select_ready, before_select_tcp, NULL),
    LATENCY("signal-install", 15, signal_install, NULL, NULL),
    LATENCY("signal-handle", 50, signal_handle, install_handler, NULL),
    LATENCY("fork", 5000, fork_and_exit, before_fork, NULL),
    LATENCY("exec", 10000, fork_and_exec, find_own_path, NULL),
    LATENCY("sh-system", 20000, fork_and_shell, find_own_path, NULL),
    LATENCY("sh-named", 20000, fork_and_shell, before_sh_named, NULL),
    /* 2: context switches */
    LATENCY("context-2p-0k", 100, context_switch, before_context_2p_0k, close_ring),
    LATENCY("context-2p-16k", 100, context_switch, before_context_2p_16k, close_ring),
    LATENCY("context-2p-64k", 100, context_switch, before_context_2p_64k, close_ring),
    LATENCY("context-8p-16k", 100, context_switch, before_context_8p_16k, close_ring),
    LATENCY("context-8p-64k", 100, context_switch, before_context_8p_64k, close_ring),
    LATENCY("context-16p-16k", 100, context_switch, before_context_16p_16k, close_ring),
    LATENCY("context-16p-64k", 100, context_switch, before_context_16p_64k, close_ring),
    /* 3: local communication */
    LATENCY("pipe-latency", 300, pipe_latency, before_pipe_latency, end_partner),
    LATENCY("af-unix-latency", 300, af_unix_latency, before_af_unix_latency, end_partner),
    LATENCY("udp-latency", 500, udp_latency, before_udp_latency, end_partner),
    LATENCY("tcp-latency", 500, tcp_latency, before_tcp_latency, end_partner),
    LATENCY("tcp-connect", 1000, tcp_connect, NULL, NULL),
    /* 4: files and mappings */
    LATENCY("create-0k", 200, create_0k, before_files, remove_directory),
    LATENCY("delete-0k", 100, delete_0k, before_files, remove_directory),
    LATENCY("create-10k", 300, create_10k, before_files, remove_directory),
    LATENCY("delete-10k", 100, delete_10k, before_files, remove_directory),
    LATENCY("mmap-latency", 2000, map_and_touch, before_large_file, NULL),
    LATENCY("protection-fault", 20, protection_fault, before_protection_fault, NULL),
    LATENCY("page-fault", 2, page_fault, before_page_fault, NULL),
    LATENCY("select-file-100", 300, select_ready, before_select_file, NULL),
    /* 5: local bandwidths */
    BANDWIDTH("pipe-bandwidth", LEAST_MOVED(MOVED_BYTES), MOVED_BYTES, pipe_bandwidth, before_pipe_bandwidth,
              end_partner),
    BANDWIDTH("af-unix-bandwidth", LEAST_MOVED(MOVED_BYTES), MOVED_BYTES, af_unix_bandwidth, before_af_unix_bandwidth,
              end_partner),
    BANDWIDTH("tcp-bandwidth", LEAST_MOVED(MOVED_BYTES), MOVED_BYTES, tcp_bandwidth, before_tcp_bandwidth, end_partner),
    BANDWIDTH("file-reread", LEAST_WORDS(LARGE_BYTES, 8), LARGE_BYTES, file_reread, before_file_reread, NULL),
    BANDWIDTH("mmap-reread", LEAST_WORDS(LARGE_BYTES, 8), LARGE_BYTES, mmap_reread, before_mmap_reread, NULL),
    BANDWIDTH("copy-libc", LEAST_MOVED(COPIED_BYTES), COPIED_BYTES, copy_libc, before_copy, NULL),
    BANDWIDTH("copy-by-hand", LEAST_WORDS(COPIED_BYTES, 4), COPIED_BYTES, copy_by_hand, before_copy, NULL),
    BANDWIDTH("memory-read", LEAST_WORDS(LARGE_BYTES, 4), LARGE_BYTES, memory_read, before_memory, NULL),
    BANDWIDTH("memory-write", LEAST_WORDS(LARGE_BYTES, 4), LARGE_BYTES, memory_write, before_memory, NULL),
};

int main(int words, char **word) {
    if (words == 2 && strcmp(word[1], END_AT_ONCE) == 0) return 0;
    limit_time(words > 2 ? strtol(word[2], NULL, 10) : 0);
    return suite_main(words, word, rows, sizeof rows / sizeof *rows);
}
