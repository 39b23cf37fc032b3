/* Prints what arrives at /dev/log, where this program itself listens, and at standard error. It runs where /dev is an empty folder. A socket
 * holds ten messages. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 70000 };

static int service = -1, errors[2];
static time_t begun;

/* A date of these last seconds by this program's own zone. */
static int
is_now(const char *stamp)
{
  const time_t now = time(NULL);
  for (time_t then = begun; then <= now; then++) {
    char expected[40];
    strftime(expected, sizeof expected, "%b %e %H:%M:%S ", localtime(&then));
    if (!strncmp(stamp, expected, 16)) return 1;
  }
  return 0;
}

static void
show(const char *from, char *text, long size)
{
  char own[20];
  snprintf(own, sizeof own, "[%d]", getpid());
  char *const id = memmem(text, (size_t)size, own, strlen(own));
  char *stamp = memchr(text, '>', (size_t)size);
  if (size > 1 && *text == '<' && stamp && is_now(++stamp)) memcpy(stamp, "(the local time)", 16);
  if (size > 3000) printf("%s %ld bytes, ", from, size - (id ? (long)strlen(own) : 0)), size = 60;
  if (id && id < text + size) printf("%s %.*s[own]%.*s|\n", from, (int)(id - text), text, (int)(text + size - id - strlen(own)), id + strlen(own));
  else printf("%s %.*s|\n", from, (int)size, text);
}

static void
listen_as(int kind)
{
  struct sockaddr_un address = {AF_UNIX, "/dev/log"};
  unlink("/dev/log");
  service = socket(AF_UNIX, kind, 0);
  const int large = 4 * MOST;
  setsockopt(service, SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
  if (bind(service, (struct sockaddr*)&address, sizeof address)) perror("bind"), exit(3);
  if (kind == SOCK_STREAM) listen(service, 5);
}

static void
arrived(const char *what)
{
  static char text[MOST];
  long size;
  printf("%s\n", what);
  while (service >= 0 && (size = recv(service, text, sizeof text - 1, MSG_DONTWAIT)) >= 0) show(" log", text, size);
  while ((size = read(errors[0], text, sizeof text - 1)) > 0) show(" stderr", text, size);
  const int console = open("/dev/console", O_RDWR);
  if (console >= 0 && (size = read(console, text, sizeof text - 1)) > 0) show(" console", text, size);
  if (console >= 0) ftruncate(console, 0), close(console);
}

static void
by_list(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsyslog(LOG_NOTICE, format, arguments);
  va_end(arguments);
}

static void *
several(void *name)
{
  for (int time = 0; time < 20; time++) syslog(LOG_INFO, "thread");
  return name;
}

int
main(void)
{
  setenv("TZ", "ABC-5:30", 1);
  setvbuf(stdout, NULL, _IOFBF, 1 << 20);
  begun = time(NULL);
  pipe2(errors, O_NONBLOCK);
  dup2(errors[1], 2);
  listen_as(SOCK_DGRAM);
  syslog(LOG_INFO, "without a name");
  syslog(LOG_MAIL | LOG_CRIT, "%d %s", 7, "numbers");
  arrived("before openlog");
  openlog("service", LOG_PID, LOG_DAEMON);
  syslog(LOG_WARNING, "with one");
  syslog(LOG_AUTH | LOG_DEBUG, "of another facility\n");
  errno = ENOENT;
  syslog(LOG_ERR, "why: %m");
  by_list("%s by a list", "message");
  syslog(LOG_INFO, "%s", "");
  syslog(LOG_INFO, "");
  arrived("openlog");
  printf("masks %x", setlogmask(LOG_UPTO(LOG_WARNING)));
  printf(" %x %x\n", setlogmask(0), setlogmask(0));
  syslog(LOG_NOTICE, "below the mask");
  syslog(LOG_ERR, "above the mask");
  setlogmask(0xFF);
  arrived("mask");
  syslog(0x12340 | LOG_ERR, "unknown facility");
  syslog(-1, "no priority");
  arrived("invalid");
  openlog(NULL, LOG_PERROR, 5000);
  syslog(LOG_INFO, "to both");
  syslog(LOG_INFO, "to both, with an end\n");
  arrived("LOG_PERROR");
  static char large[60001];
  memset(large, 'x', 60000);
  for (int size = 960; size < 1040; size += 3) {
    syslog(LOG_INFO, "%.*s.", size, large);
    arrived("about 1 KB");
  }
  openlog("large", LOG_PID, LOG_USER);
  syslog(LOG_INFO, "%s", large);
  static char name[1500];
  memset(name, 'n', 1499);
  openlog(name, LOG_PID, LOG_LOCAL3);
  syslog(LOG_INFO, "of a long name");
  arrived("large");
  openlog("again", 0, LOG_LOCAL7);
  close(service);
  syslog(LOG_INFO, "to nobody");
  listen_as(SOCK_DGRAM);
  syslog(LOG_INFO, "to a new service");
  arrived("the service began again");
  close(service), service = -1;
  unlink("/dev/log");
  close(open("/dev/console", O_CREAT | O_WRONLY, 0600));
  openlog("console", LOG_CONS, LOG_USER);
  syslog(LOG_ALERT, "nobody listens");
  arrived("LOG_CONS");
  closelog();
  syslog(LOG_ALERT, "nobody listens, and the name is gone");
  arrived("closelog");
  listen_as(SOCK_STREAM);
  fcntl(service, F_SETFL, O_NONBLOCK);
  openlog("stream", LOG_NDELAY, LOG_USER);
  const int connection = accept(service, NULL, NULL);
  fcntl(connection, F_SETFL, O_NONBLOCK);
  syslog(LOG_INFO, "first");
  syslog(LOG_INFO, "second");
  char text[300];
  const long size = connection < 0 ? 0 : recv(connection, text, sizeof text, 0);
  long zeros = 0;
  for (long at = 0; at < size; at++) zeros += !text[at];
  printf("stream %ld bytes, %ld zeros\n", size, zeros);
  close(connection), close(service), closelog();
  listen_as(SOCK_DGRAM);
  pthread_t threads[4];
  for (int at = 0; at < 4; at++) pthread_create(&threads[at], NULL, several, NULL);
  for (int message = 0; message < 80; message++) show("of a thread", text, recv(service, text, sizeof text, 0));
  for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
  return 0;
}
