/* What a program sees of its streams, character by character: one line for each step, the same with musl alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not what is returned alone: the stream's state, and what has arrived in the file. */
#define SHOW(call) show(#call, (long)(call), file)

static void
show(const char *what, long result, FILE *file)
{
  printf("%s = %ld, eof %d, error %d, at %ld\n", what, result, !!feof(file), !!ferror(file), ftell(file));
}

static long
arrived(FILE *file)
{
  return (long)lseek(dup(fileno(file)), 0, SEEK_END);
}

static void
characters(void)
{
  FILE *file = tmpfile();
  SHOW(getc_unlocked(file));
  clearerr(file);
  SHOW(putc_unlocked(-1, file));
  SHOW(fputc_unlocked(0x17f, file));
  SHOW(putc_unlocked('\n', file));
  SHOW(putc_unlocked(256, file));
  rewind(file);
  for (int i = 0; i < 6; i++) SHOW(i % 2 ? getc_unlocked(file) : fgetc_unlocked(file));
  clearerr(file);
  SHOW(ungetc('u', file));
  SHOW(ungetc('v', file));
  SHOW(getc_unlocked(file));
  SHOW(getc_unlocked(file));
  SHOW(getc_unlocked(file));
  /* Written after a read, and read after a write, with a seek between. */
  SHOW(fseek(file, 1, SEEK_SET));
  SHOW(putc_unlocked('w', file));
  SHOW(fseek(file, 0, SEEK_SET));
  for (int i = 0; i < 5; i++) SHOW(getc_unlocked(file));
  /* Each argument once. */
  int turns = 0;
  rewind(file);
  SHOW(putc_unlocked('a' + turns++, file));
  SHOW(turns);
  fclose(file);
}

/* Through each size of what the stream has room for, with all values of a byte. */
static void
many(void)
{
  FILE *file = tmpfile();
  unsigned long sum = 0;
  for (int i = 0; i < 20000; i++) if (putc_unlocked(i * 7, file) != (unsigned char)(i * 7)) abort();
  rewind(file);
  for (int c, i = 0; (c = getc_unlocked(file)) != EOF; i++) {
    if (c != (unsigned char)(i * 7)) abort();
    sum = sum * 31 + (unsigned long)c;
  }
  printf("sum %lu\n", sum);
  SHOW(0);
  fclose(file);
}

static void
refused(void)
{
  FILE *file = fopen("/dev/null", "r");
  SHOW(putc_unlocked('x', file));
  SHOW(getc_unlocked(file));
  fclose(file);
  file = fopen("/dev/null", "w");
  SHOW(getc_unlocked(file));
  SHOW(putc_unlocked('x', file));
  fclose(file);
  file = fopen("/dev/full", "w");
  setvbuf(file, NULL, _IONBF, 0);
  errno = 0;
  const int result = putc_unlocked('x', file);
  printf("full: %d, %d, error %d\n", result, errno == ENOSPC, !!ferror(file));
  fclose(file);
  file = fopen("/dev/full", "w");
  SHOW(putc_unlocked('x', file));
  SHOW(fflush(file));
  SHOW(putc_unlocked('y', file));
  fclose(file);
}

static void
buffers(void)
{
  char small[40];
  FILE *file = tmpfile();
  SHOW(setvbuf(file, NULL, _IOLBF, 0));
  SHOW(putc_unlocked('a', file));
  printf("arrived %ld\n", arrived(file));
  SHOW(putc_unlocked('\n', file));
  fseek(file, 0, SEEK_END);
  printf("arrived %ld\n", arrived(file));
  fclose(file);
  file = tmpfile();
  SHOW(setvbuf(file, small, _IOFBF, sizeof small));
  for (int i = 0; i < 100; i++) putc_unlocked('b', file);
  printf("arrived %ld\n", arrived(file));
  fclose(file);
  file = tmpfile();
  setbuf(file, NULL);
  putc_unlocked('c', file);
  printf("arrived %ld\n", arrived(file));
  fclose(file);
}

/* Streams that no file is behind, and such as another stream becomes. */
static void
others(void)
{
  char memory[16] = "";
  FILE *file = fmemopen(memory, sizeof memory, "w+");
  SHOW(putc_unlocked('m', file));
  SHOW(fflush(file));
  SHOW(memory[0]);
  rewind(file);
  SHOW(getc_unlocked(file));
  fclose(file);
  char *text = NULL;
  size_t size = 0;
  file = open_memstream(&text, &size);
  for (int i = 0; i < 5000; i++) putc_unlocked('t', file);
  fclose(file);
  printf("stream of %zu\n", size);
  free(text);
  file = popen("cat >/dev/null", "w");
  SHOW(putc_unlocked('p', file));
  printf("pclose %d\n", pclose(file));
  file = fopen("/dev/null", "r");
  file = freopen("/dev/zero", "r", file);
  printf("%d\n", getc_unlocked(file));
  fclose(file);
}

/* Many at once, closed in another order; the rest is flushed at the end. */
static void
lists(void)
{
  FILE *files[40];
  for (int i = 0; i < 40; i++) files[i] = tmpfile(), putc_unlocked('l', files[i]);
  for (int i = 0; i < 40; i += 2) fclose(files[(i * 7) % 40]);
  fflush(NULL);
  for (int i = 1; i < 40; i += 2) printf("%ld ", arrived(files[i]));
  for (int i = 1; i < 40; i += 2) fclose(files[i]);
  FILE *left = fopen("left", "w");
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    for (int i = 0; i < 3000; i++) putc_unlocked('e', left);
    exit(0);
  }
  waitpid(child, NULL, 0);
  printf("left %ld\n", arrived(left));
  fclose(left);
}

static FILE *shared;

static void *
writes(void *unused)
{
  for (int i = 0; i < 50000; i++) {
    flockfile(shared);
    putc_unlocked('a', shared);
    putc_unlocked('b', shared);
    funlockfile(shared);
    putc('c', shared);
  }
  return unused;
}

static void
threads(void)
{
  shared = tmpfile();
  pthread_t other;
  pthread_create(&other, NULL, writes, NULL);
  writes(NULL);
  pthread_join(other, NULL);
  rewind(shared);
  long pairs = 0, singles = 0;
  for (int c; (c = getc_unlocked(shared)) != EOF;) {
    if (c == 'c') singles++;
    else if (c != 'a' || getc_unlocked(shared) != 'b') abort();
    else pairs++;
  }
  printf("%ld pairs, %ld singles\n", pairs, singles);
  fclose(shared);
}

int
main(void)
{
  characters();
  many();
  refused();
  buffers();
  others();
  lists();
  threads();
  int (*const put)(int, FILE *) = putc_unlocked, (*const get)(FILE *) = getc_unlocked;
  FILE *file = tmpfile();
  SHOW(put('q', file));
  rewind(file);
  SHOW(get(file));
  for (int c; (c = getchar_unlocked()) != EOF;) putchar_unlocked(c);
  printf("end %d\n", !!feof(stdin));
  return 0;
}
