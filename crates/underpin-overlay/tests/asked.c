/* How often the processor is asked what it can: a child makes so many calls as the argument says, and its parent looks at each
 * instruction that the child is about to execute. Prints how many of them were CPUID. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>
#include <sys/user.h>

extern size_t overlay_strlen(const char *s);

static int
child(long calls)
{
  size_t sum = 0;
  if (ptrace(PTRACE_TRACEME, 0, 0, 0)) _exit(2);
  raise(SIGSTOP);
  for (long i = 0; i < calls; i++) sum += overlay_strlen("12345" + i % 5);
  /* Calls of 5, 4, 3, 2 and 1. */
  long fives = calls / 5, rest = calls % 5;
  _exit(sum == (size_t)(15 * fives + 5 * rest - rest * (rest - 1) / 2) ? 0 : 3);
}

int
main(int count, char **words)
{
  long calls = count > 1 ? atol(words[1]) : 0, asked = 0;
  pid_t pid = fork();
  if (pid == 0) child(calls);
  int status;
  while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, pid, 0, &registers)) return 2;
    long code = ptrace(PTRACE_PEEKTEXT, pid, (void*)registers.rip, 0);
    asked += (code & 0xFFFF) == 0xA20F;
    if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0)) return 2;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status)) return 3;
  printf("%ld\n", asked);
  return 0;
}
