/* What errors and signals are called, by all that says it. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(void)
{
  dup2(1, 2);
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int number = -300; number < 300; number++) {
    printf("%d [%s]", number, strerror(number));
    printf(" [%s]", strsignal(number));
    /* One that getaddrinfo of musl has alone. */
    if (number != -12) printf(" [%s]", gai_strerror(number));
    printf(" [%s]\n", hstrerror(number));
  }
  char text[200];
  const int found = __xpg_strerror_r(EMFILE, text, sizeof text);
  printf("%d [%s]\n", found, text);
  errno = EMFILE;
  printf("%m\n");
  perror("perror");
  errno = EMFILE;
  warn("%s", "warn");
  psignal(SIGCHLD, "psignal");
  return 0;
}
