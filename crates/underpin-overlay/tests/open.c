/* Prints what open gives: flags, modes, errors, and that a thread that waits in it can be cancelled. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
try(const char *path, int flags, int mode)
{
  errno = 0;
  const int file = open(path, flags, mode);
  struct stat about = {0};
  if (file >= 0) fstat(file, &about);
  printf("%s: %s, error %d, close on exec %d, flags %x, mode %o\n", path, file >= 0 ? "open" : "none", errno, fcntl(file, F_GETFD),
    fcntl(file, F_GETFL), about.st_mode);
  if (file >= 0) close(file);
}

static void *
waits(void *path)
{
  return open(path, O_RDONLY | O_CLOEXEC) < 0 ? path : NULL;
}

int
main(void)
{
  umask(027);
  unlink("new"), unlink("fifo");
  try("new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 06777);
  try("new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0777);
  try("new", O_RDONLY, 0);
  try("new", O_WRONLY | O_APPEND | O_TRUNC | O_CLOEXEC, 0);
  try("new", O_PATH | O_CLOEXEC, 0);
  try(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  try(".", O_TMPFILE | O_RDWR, 0640);
  try("new", O_DIRECTORY, 0);
  try("nothing", O_RDONLY | O_CLOEXEC, 0);
  try("", O_RDONLY, 0);
  mkfifo("fifo", 0600);
  pthread_t thread;
  void *answer;
  pthread_create(&thread, NULL, waits, "fifo");
  usleep(20000);
  pthread_cancel(thread);
  pthread_join(thread, &answer);
  printf("cancelled %d\n", answer == PTHREAD_CANCELED);
  return 0;
}
