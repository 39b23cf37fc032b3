/* Larger buffers for the files of static programs on musl, whose fopen allocates 1 KiB with the stream: each system call moves
 * 4 KiB then, as with glibc. Programs that write or read a file character by character spend half their time in these calls.
 *
 * musl's __fdopen, which fopen, tmpfile, popen and others use, allocates a stream with its buffer behind it, fills it in, and
 * returns what __ofl_add returns, which enters it into the list of open streams. That function is replaced here, and returns
 * another stream with a larger buffer. fclose gives it back with free.
 *
 * If a musl works otherwise (this was read in 1.2.0 to 1.2.6): the name here is weak, and a stream that does not have the
 * buffer of that size at that distance, as those of fmemopen, fopencookie and open_memstream do not, is entered as it is.
 * setvbuf and what it is told are musl's. */

#ifdef OVERLAY_REPLACES

#include <stddef.h>

/* Those of a program that uses streams; weak, so that they are no reason to link them in. */
extern void *malloc(size_t size) __attribute__((weak));
extern void free(void *memory) __attribute__((weak));

typedef struct Stream {
  void *first[11];
  unsigned char *buffer;
  size_t buffer_size;
  struct Stream *previous, *next;
  void *rest[14];
} Stream;

extern Stream **__ofl_lock(void) __attribute__((visibility("hidden")));
extern void __ofl_unlock(void) __attribute__((visibility("hidden")));

/* In front of the buffer there is room for what ungetc puts back. */
enum { PUT_BACK = 8, SMALL = 1024, LARGE = 4096 };

static Stream *
with_more_room(Stream *stream)
{
  unsigned char *const behind = (unsigned char*)(stream + 1) + PUT_BACK;
  if (stream->buffer != behind || stream->buffer_size != SMALL || !malloc || !free) return stream;
  Stream *const larger = malloc(sizeof *larger + PUT_BACK + LARGE);
  if (!larger) return stream;
  *larger = *stream;
  larger->buffer = (unsigned char*)(larger + 1) + PUT_BACK;
  larger->buffer_size = LARGE;
  free(stream);
  return larger;
}

__attribute__((weak)) Stream *
__ofl_add(Stream *stream)
{
  stream = with_more_room(stream);
  Stream **const all = __ofl_lock();
  stream->next = *all;
  if (*all) (*all)->previous = stream;
  *all = stream;
  __ofl_unlock();
  return stream;
}

#endif
