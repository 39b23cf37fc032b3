/* What the rows with child processes share: a deadline for every wait, and children that end with their parent. */
#ifndef SUITES_SYSTEM_CHILD_H
#define SUITES_SYSTEM_CHILD_H

#include <signal.h>
#include <sys/prctl.h>

#include "../common/row.h"

/* Far more than any wait takes, also under emulation on a loaded machine. */
enum { DEADLINE_SECONDS = 60 };

static const char *waited_for = "";

static void on_deadline(int number) {
    (void)number;
    static const char end[] = ": no answer for 60 s\n";
    /* Only what may be called in a signal handler. */
    if (write(2, waited_for, strlen(waited_for)) < 0 || write(2, end, sizeof end - 1) < 0) _exit(1);
    _exit(1);
}

/* From now on there are DEADLINE_SECONDS until the next call, or the program ends with a reason. */
static void extend_deadline(void) {
    alarm(DEADLINE_SECONDS);
}

static void begin_deadline(const char *row) {
    waited_for = row;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    struct sigaction action = {.sa_handler = on_deadline};
    must(sigaction(SIGALRM, &action, NULL), "sigaction");
    extend_deadline();
}

static void end_deadline(void) {
    alarm(0);
}

/* In a child: end when the parent does, however that is. Survives exec. */
static void end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
}

/* Waits for a child to end with this status; `what` names it in the reason otherwise. */
static void must_end_with(int expected, pid_t child, const char *what) {
    int status = 0;
    while (waitpid(child, &status, 0) == -1) {
        if (errno != EINTR) fail("%s: waitpid: %s", what, strerror(errno));
    }
    if (WIFSIGNALED(status)) fail("%s was ended by signal %d", what, WTERMSIG(status));
    if (WEXITSTATUS(status) != expected) fail("%s ended with status %d", what, WEXITSTATUS(status));
}

#endif
