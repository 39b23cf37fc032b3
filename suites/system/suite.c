/* The suite `system`: the twelve tests of UnixBench 5.1.3's index, as own programs. One operation is what UnixBench
 * counts, so that its score is 1e9 / ns for all but two: MWIPS of whetstone is 1e9 / ns, as one operation is a million
 * Whetstone instructions; shell-1 and shell-8 are counted per minute, so 60e9 / ns.
 *
 * Environment: TMPDIR (files of file-copy-* and shell-*), SUITE_SHELL (shell-*: the shell; /bin/sh), SUITE_SMALL (execl
 * and process-creation: a program built from small.c, to be comparable with UnixBench's) and SUITE_EMULATOR (execl: if
 * this is emulated, by what).
 */
#define _GNU_SOURCE
#include "copy.h"
#include "dhrystone.h"
#include "kernel.h"
#include "process.h"
#include "shell.h"
#include "whetstone.h"

/* least_ns: a third of the least that is known of fast processors, or less. System calls at 20 ns each. */
static const struct row rows[] = {
    {.name = "dhrystone", .repeated = IN_A_LOOP, .least_ns = 3, .work = dhrystone, .before = dhrystone_before,
     .after = dhrystone_after},
    {.name = "whetstone", .repeated = IN_A_LOOP, .least_ns = 20000, .work = whetstone},
    {.name = "execl", .repeated = IN_A_LOOP, .least_ns = 5000, .work = execl_work, .before = execl_before},
    {.name = "file-copy-1024", .repeated = IN_A_LOOP, .least_ns = 50, .bytes = 1024, .work = copy_work,
     .before = copy_1024_before, .after = copy_after},
    {.name = "file-copy-256", .repeated = IN_A_LOOP, .least_ns = 160, .bytes = 1024, .work = copy_work,
     .before = copy_256_before, .after = copy_after},
    {.name = "file-copy-4096", .repeated = IN_A_LOOP, .least_ns = 20, .bytes = 1024, .work = copy_work,
     .before = copy_4096_before, .after = copy_after},
    {.name = "pipe-throughput", .repeated = IN_A_LOOP, .least_ns = 50, .bytes = 512, .work = pipe_work,
     .before = pipe_before, .after = pipe_after},
    {.name = "context-switch", .repeated = IN_A_LOOP, .least_ns = 250, .work = turns_work, .before = turns_before,
     .after = turns_after},
    {.name = "process-creation", .repeated = IN_A_LOOP, .least_ns = 4000, .work = spawn_work, .before = spawn_before,
     .after = end_deadline},
    {.name = "shell-1", .repeated = IN_A_LOOP, .least_ns = 100000, .work = shell_1_work, .before = shell_before,
     .after = shell_after},
    {.name = "shell-8", .repeated = IN_A_LOOP, .least_ns = 200000, .work = shell_8_work, .before = shell_before,
     .after = shell_after},
    {.name = "syscall", .repeated = IN_A_LOOP, .least_ns = 60, .work = syscall_work, .before = syscall_before},
};

int main(int words, char **word) {
    const int status = other_life(words, word);
    return status >= 0 ? status : suite_main(words, word, rows, sizeof rows / sizeof *rows);
}
