/* The shell of the row sh-named: small, and the same under every build, so that the row's time is the C library's.
 *
 *   sh -c SCRIPT [NAME [ARGUMENT...]]
 *
 * Commands with `;`, `&&` or a line end between them; words in "" and '', $0 to $9, $NAME, $?; `exit` and `:`. Before
 * the script it does what shells do at their start: the locale, the signals, the folder, and the environment as a table
 * of variables. The last command replaces the shell, as in dash and bash.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_WORDS = 64, MOST_BYTES = 4096, BUCKETS = 64 };

struct variable {
    struct variable *next;
    char *name, *value;
};

static struct {
    struct variable *variables[BUCKETS];
    char **parameters; /* $0 and on */
    int count, status;
} shell;

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...) {
    va_list values;
    va_start(values, format);
    fprintf(stderr, "sh: ");
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
    exit(2);
}

static void *memory(void *block) {
    if (!block) give_up("no memory");
    return block;
}

static struct variable **bucket(const char *name, size_t length) {
    unsigned hash = 5381;
    for (size_t i = 0; i < length; i++) hash = hash * 33 + (unsigned char)name[i];
    return &shell.variables[hash % BUCKETS];
}

static const char *value_of(const char *name, size_t length) {
    for (const struct variable *one = *bucket(name, length); one; one = one->next)
        if (!strncmp(one->name, name, length) && !one->name[length]) return one->value;
    return "";
}

static void import(const char *entry) {
    const char *const equals = strchr(entry, '=');
    if (!equals) return;
    const size_t length = (size_t)(equals - entry);
    struct variable *const one = memory(malloc(sizeof *one)), **const at = bucket(entry, length);
    *one = (struct variable){*at, memory(strndup(entry, length)), memory(strdup(equals + 1))};
    *at = one;
}

static void begin(void) {
    setlocale(LC_ALL, "");
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    for (char **entry = environ; *entry; entry++) import(*entry);
    char folder[PATH_MAX];
    struct stat here, said;
    const char *const known = value_of("PWD", 3);
    const int is_known = *known == '/' && !stat(known, &said) && !stat(".", &here) && here.st_ino == said.st_ino;
    if (!is_known && !getcwd(folder, sizeof folder)) give_up("the folder: %s", strerror(errno));
}

/* The command being read. */
static struct {
    char bytes[MOST_BYTES], *words[MOST_WORDS + 1];
    size_t used;
    int count;
} command;

static void put(char byte) {
    if (command.used == sizeof command.bytes) give_up("a command of more than %d bytes", MOST_BYTES);
    command.bytes[command.used++] = byte;
}

static void put_all(const char *text) {
    while (*text) put(*text++);
}

/* What follows a `$`; gives where the script goes on. */
static const char *expand(const char *at) {
    if (*at >= '0' && *at <= '9') {
        if (*at - '0' < shell.count) put_all(shell.parameters[*at - '0']);
        return at + 1;
    }
    if (*at == '?') {
        char number[12];
        snprintf(number, sizeof number, "%d", shell.status);
        put_all(number);
        return at + 1;
    }
    const size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    if (length) put_all(value_of(at, length));
    else put('$');
    return at + length;
}

static const char *quoted(const char *at, char quote) {
    while (*at != quote) {
        if (!*at) give_up("a quote without an end");
        if (*at == '$' && quote == '"') at = expand(at + 1);
        else put(*at++);
    }
    return at + 1;
}

/* What is not quoted is not split after its expansion: the scripts quote. */
static const char *word(const char *at) {
    if (command.count == MOST_WORDS) give_up("a command of more than %d words", MOST_WORDS);
    command.words[command.count++] = command.bytes + command.used;
    while (*at && !strchr(" \t\n;&", *at)) {
        if (*at == '"' || *at == '\'') at = quoted(at + 1, *at);
        else if (*at == '$') at = expand(at + 1);
        else put(*at++);
    }
    put('\0');
    return at;
}

static void start(int is_last) {
    char **const words = command.words;
    if (!strcmp(words[0], "exit")) exit(words[1] ? atoi(words[1]) : shell.status);
    if (!strcmp(words[0], ":")) {
        shell.status = 0;
        return;
    }
    fflush(NULL);
    const pid_t child = is_last ? 0 : fork();
    if (child == -1) give_up("fork: %s", strerror(errno));
    if (child == 0) {
        execvp(words[0], words);
        const int code = errno == ENOENT ? 127 : 126;
        fprintf(stderr, "sh: %s: %s\n", words[0], strerror(errno));
        _exit(code);
    }
    int status;
    while (waitpid(child, &status, 0) == -1)
        if (errno != EINTR) give_up("waitpid: %s", strerror(errno));
    shell.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static const char *blanks(const char *at) {
    return at + strspn(at, " \t");
}

static void run(const char *at) {
    int is_skipped = 0;
    while (*(at += strspn(at, " \t\n;"))) {
        command.used = 0, command.count = 0;
        while (*(at = blanks(at)) && !strchr("\n;&", *at)) at = word(at);
        command.words[command.count] = NULL;
        const int is_and = *at == '&';
        if (is_and && (at[1] != '&' || !command.count)) give_up("`&` is not known here");
        at += is_and ? 2 : 0;
        /* A command after && that was not reached hands the status on. */
        if (!is_skipped) start(!at[strspn(at, " \t\n;")]);
        is_skipped = is_and && shell.status != 0;
    }
}

int main(int count, char **words) {
    if (count < 3 || strcmp(words[1], "-c")) {
        fprintf(stderr, "usage: sh -c SCRIPT [NAME [ARGUMENT...]]\n");
        return 2;
    }
    shell.parameters = count > 3 ? words + 3 : words;
    shell.count = count > 3 ? count - 3 : 1;
    begin();
    run(words[2]);
    return shell.status;
}
