/* shell-1, shell-8: a shell runs a script so many times at once and waits; one operation is the whole of it, started
 * from this process by fork and exec. The script does what UnixBench's does: it sorts a text of 362 lines and 8.5 kB,
 * dumps it with od and sorts that by number, looks for a word with grep, through tee, into wc, and removes its four
 * files; the outer one counts with expr. So it is the system's own programs that run, whatever this one is linked with.
 *
 * The shell is /bin/sh, or $SUITE_SHELL (which is called `sh`, so that a busybox is a shell).
 *
 * The files are in a folder in $TMPDIR or /tmp. A process of its own waits for the end of this one, however it comes,
 * and removes the folder.
 */
#ifndef SUITES_SYSTEM_SHELL_H
#define SUITES_SYSTEM_SHELL_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

#include "child.h"
#include "copy.h"

enum { TEXT_LINES = 362, LINES_WITH_THE = 35 };

static struct {
    char folder[PATH_MAX];
    pid_t remover;
    int lifeline; /* the remover waits for the end of this pipe */
} shell;

/* Named by the status with which the check ends. */
static const char *const shell_tools[] = {"sort", "od", "grep", "tee", "wc", "rm", "expr"};

static const char shell_check[] =
    "status=10\n"
    "for tool in sort od grep tee wc rm expr; do\n"
    "    command -v $tool >/dev/null || exit $status\n"
    "    status=`expr $status + 1`\n"
    "done\n"
    "found=`sort <text | grep the | wc -l`\n"
    "test $found -eq $1 || exit 9\n";

static const char shell_outer[] =
    "count=0\n"
    "while [ $count -lt $1 ]; do\n"
    "    ./sh inner &\n"
    "    count=`expr $count + 1`\n"
    "done\n"
    "wait\n";

static const char shell_inner[] =
    "me=$$\n"
    "sort <text >$me.sorted\n"
    "od $me.sorted | sort -n -k 1 >$me.octal\n"
    "grep the $me.sorted | tee $me.found | wc >$me.counted\n"
    "rm $me.sorted $me.octal $me.found $me.counted || : >failed\n";

static FILE *shell_file(const char *name) {
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", shell.folder, name);
    FILE *const file = fopen(path, "w");
    if (!file) fail("shell: %s: %s", path, strerror(errno));
    return file;
}

static void shell_write(const char *name, const char *text) {
    FILE *const file = shell_file(name);
    const int is_short = fputs(text, file) < 0;
    if (fclose(file) != 0 || is_short) fail("shell: writing in %s: %s", shell.folder, strerror(errno));
}

/* Many short lines and some up to 60 characters, like those of a shell script. */
static void shell_write_text(void) {
    static const char *const words[] = {"for", "name", "in",    "$list", "do",   "echo", "\"$name:\"", "done",
                                        "if",  "test", "-f",    "fi",    "case", "esac", "while",     "read",
                                        "#",   "line", "shift", ";;",    "exit", "1"};
    FILE *const file = shell_file("text");
    uint32_t state = 20070914;
    for (int i = 0; i < TEXT_LINES; i++) {
        state = state * 1664525 + 1013904223;
        const uint32_t wanted = state >> 30 ? (state >> 16) % 55 : 2;
        uint32_t length = 0;
        /* In every tenth line, of the first 350. */
        if (i % 10 == 3 && i < 350) length += (uint32_t)fprintf(file, "# the ");
        while (length < wanted) {
            state = state * 1664525 + 1013904223;
            length += (uint32_t)fprintf(file, "%s ", words[(state >> 16) % (sizeof words / sizeof *words)]);
        }
        fputc('\n', file);
    }
    if (ferror(file) || fclose(file) != 0) fail("shell: writing in %s: %s", shell.folder, strerror(errno));
}

/* The folder and the files in it; there are no folders in it. 0 if it is gone. */
static int shell_remove_folder(void) {
    DIR *const folder = opendir(shell.folder);
    if (!folder) return errno == ENOENT ? 0 : -1;
    const struct dirent *entry;
    while ((entry = readdir(folder))) unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    return rmdir(shell.folder);
}

static void shell_remover(int lifeline) {
    /* Not ended by what ends the others, and not holding their output open. */
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(nothing, i);
    char none;
    while (read(lifeline, &none, 1) == -1 && errno == EINTR) {}
    /* A script may still be making files for a moment. */
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0; i < 250 && shell_remove_folder() != 0; i++) nanosleep(&pause, NULL);
    _exit(0);
}

static void shell_run(const char *script, const char *number, const char *what) {
    const pid_t me = getpid();
    const pid_t child = fork();
    if (child == -1) fail("shell: fork: %s", strerror(errno));
    if (child == 0) {
        end_with(me);
        if (chdir(shell.folder) == 0) execl("./sh", "sh", script, number, (char *)NULL);
        fprintf(stderr, "shell: cannot run a shell in %s: %s\n", shell.folder, strerror(errno));
        _exit(127);
    }
    extend_deadline();
    int status = 0;
    if (waitpid(child, &status, 0) != child) fail("shell: waitpid: %s", strerror(errno));
    if (WIFSIGNALED(status)) fail("shell: %s was ended by signal %d", what, WTERMSIG(status));
    const int code = WEXITSTATUS(status), tools = sizeof shell_tools / sizeof *shell_tools;
    if (code == 127) fail("shell: no shell; $SUITE_SHELL is the path of one, or there must be /bin/sh");
    if (code >= 10 && code < 10 + tools) fail("shell: `%s` is not in PATH", shell_tools[code - 10]);
    if (code == 9) fail("shell: sort, grep and wc do not count what is there");
    if (code != 0) fail("shell: %s ended with status %d", what, code);
}

static void shell_before(void) {
    begin_deadline("shell");
    snprintf(shell.folder, sizeof shell.folder, "%s/underpin-suite-XXXXXX", temporary_folder());
    if (!mkdtemp(shell.folder)) fail("shell: a folder in %s: %s", temporary_folder(), strerror(errno));
    int ends[2];
    must(pipe2(ends, O_CLOEXEC), "pipe2");
    shell.remover = fork();
    if (shell.remover == 0) {
        end_deadline();
        close(ends[1]);
        shell_remover(ends[0]);
    }
    if (shell.remover == -1) {
        shell_remove_folder();
        fail("shell: fork: %s", strerror(errno));
    }
    close(ends[0]);
    shell.lifeline = ends[1];
    const char *const chosen = getenv("SUITE_SHELL");
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/sh", shell.folder);
    must(symlink(chosen && *chosen ? chosen : "/bin/sh", path), "symlink");
    shell_write("check", shell_check);
    shell_write("outer", shell_outer);
    shell_write("inner", shell_inner);
    shell_write_text();
    char lines[8];
    snprintf(lines, sizeof lines, "%d", LINES_WITH_THE);
    shell_run("check", lines, "the check of the tools");
}

static void shell_work(uint64_t times, const char *at_once) {
    char failed[PATH_MAX + 16];
    snprintf(failed, sizeof failed, "%s/failed", shell.folder);
    for (uint64_t i = 0; i < times; i++) {
        shell_run("outer", at_once, "the script");
        if (access(failed, F_OK) == 0) fail("shell: the script could not remove its files: some were missing");
    }
}

static void shell_1_work(uint64_t times) {
    shell_work(times, "1");
}

static void shell_8_work(uint64_t times) {
    shell_work(times, "8");
}

static void shell_after(void) {
    close(shell.lifeline);
    must_end_with(0, shell.remover, "shell: the removal of its files");
    end_deadline();
}

#endif
