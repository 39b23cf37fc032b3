/* syslog for static programs on musl: the time is local, a program that has given no name has its own, and no message is cut off, as glibc
 * has it. (musl: universal time, no name, 1,024 bytes.) Messages are those of RFC 3164 to the datagram socket /dev/log. */

#ifdef OVERLAY_REPLACES

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "dates/time.h"

typedef unsigned int Length;
typedef struct {
  unsigned short family;
  char path[sizeof "/dev/log"];
} Address;

extern int *__errno_location(void);
extern char *__progname;
extern long long time(long long *into);
extern Time *localtime_r(const long long *restrict seconds, Time *restrict into);
extern size_t strftime(char *restrict into, size_t size, const char *restrict format, const Time *restrict time);
extern int snprintf(char *restrict into, size_t size, const char *restrict format, ...);
extern int vsnprintf(char *restrict into, size_t size, const char *restrict format, va_list arguments);
extern int dprintf(int file, const char *restrict format, ...);
extern void *malloc(size_t size);
extern void free(void *memory);
extern int socket(int family, int kind, int protocol);
extern int connect(int file, const void *address, Length length);
extern long send(int file, const void *bytes, size_t size, int flags);
extern int open(const char *path, int flags, ...);
extern int close(int file);
extern int getpid(void);
extern int pthread_mutex_lock(void *mutex);
extern int pthread_mutex_unlock(void *mutex);
extern int pthread_setcancelstate(int state, int *before);

#define WEAK __attribute__((weak))

/* Linux, and <syslog.h>. */
enum { AF_UNIX = 1, SOCK_STREAM = 1, SOCK_DGRAM = 2, SOCK_CLOEXEC = 02000000, MSG_NOSIGNAL = 0x4000, EPROTOTYPE = 91 };
enum { O_WRONLY = 1, O_NOCTTY = 0400, O_CLOEXEC = 02000000 };
enum { STDERR = 2, PTHREAD_CANCEL_DISABLE = 1 };
enum { LOG_PID = 1, LOG_CONS = 2, LOG_NDELAY = 8, LOG_PERROR = 32 };
enum { LOG_ERR = 3, LOG_USER = 8, PRIORITY = 7, FACILITY = 0x3F8 };

/* What a message usually has room in. */
enum { USUAL = 1024 };

/* musl's pthread_mutex_t, unlocked. */
static long lock[5];

static struct {
  const char *name;
  int options, facility, mask, kind, file;
  bool is_connected;
} logger = {.facility = LOG_USER, .mask = 0xFF, .kind = SOCK_DGRAM, .file = -1};

/* No thread may be cancelled while it has the lock: the next message would wait for ever. */
static int
begin(void)
{
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_mutex_lock(lock);
  return state;
}

static void
end(int state)
{
  pthread_mutex_unlock(lock);
  pthread_setcancelstate(state, NULL);
}

static void
disconnect(void)
{
  if (logger.file >= 0) close(logger.file);
  logger.file = -1;
  logger.is_connected = false;
}

/* A service that listens for streams refuses datagrams by EPROTOTYPE. */
static void
make_connection(void)
{
  static const Address address = {AF_UNIX, "/dev/log"};
  const int before = *__errno_location();
  for (int tries = 0; tries < 2 && !logger.is_connected; tries++) {
    if (logger.file < 0) logger.file = socket(AF_UNIX, logger.kind | SOCK_CLOEXEC, 0);
    if (logger.file < 0) return;
    if (connect(logger.file, &address, sizeof address) == 0) {
      logger.is_connected = true;
      break;
    }
    const int refused = *__errno_location();
    disconnect();
    *__errno_location() = before;
    if (refused != EPROTOTYPE) return;
    logger.kind = logger.kind == SOCK_DGRAM ? SOCK_STREAM : SOCK_DGRAM;
  }
}

WEAK void
openlog(const char *name, int options, int facility)
{
  const int state = begin();
  if (name) logger.name = name;
  logger.options = options;
  if ((facility & ~FACILITY) == 0) logger.facility = facility;
  if (options & LOG_NDELAY) make_connection();
  end(state);
}

WEAK void
closelog(void)
{
  const int state = begin();
  disconnect();
  logger.name = NULL;
  logger.kind = SOCK_DGRAM;
  end(state);
}

WEAK int
setlogmask(int mask)
{
  const int state = begin(), before = logger.mask;
  if (mask) logger.mask = mask;
  end(state);
  return before;
}

/* The whole length of the text, which is cut off if there is no room for it; where the part for people begins is put into `start`. */
static int
compose(char *into, int size, int priority, const char *format, va_list arguments, int *start)
{
  const int before = *__errno_location();
  const long long now = time(NULL);
  Time date;
  char stamp[sizeof "Jan  1 00:00:00"] = "";
  localtime_r(&now, &date);
  strftime(stamp, sizeof stamp, "%b %e %T", &date);
  const char *const name = logger.name ? logger.name : __progname;
  *start = snprintf(into, (size_t)size, "<%d>%s ", priority, stamp);
  int length = *start;
  length += logger.options & LOG_PID ? snprintf(into + length, (size_t)(size - length), "%s[%d]: ", name, getpid())
                                     : snprintf(into + length, (size_t)(size - length), "%s: ", name);
  const int room = length < size ? size - length : 0;
  /* "%m" is of the error before all this. */
  *__errno_location() = before;
  const int more = vsnprintf(room ? into + length : NULL, (size_t)room, format, arguments);
  return length + (more > 0 ? more : 0);
}

static bool
sends(const char *text, int length)
{
  /* In a stream a zero ends the message. */
  const size_t size = (size_t)length + (logger.kind == SOCK_STREAM);
  return logger.is_connected && send(logger.file, text, size, MSG_NOSIGNAL) >= 0;
}

static void
put(const char *text, int length, int start)
{
  const bool has_end = length > start && text[length - 1] == '\n';
  if (logger.options & LOG_PERROR) dprintf(STDERR, "%s%s", text + start, has_end ? "" : "\n");
  if (!logger.is_connected) make_connection();
  if (sends(text, length)) return;
  /* The service may have been started again. */
  if (logger.is_connected) {
    disconnect();
    make_connection();
    if (sends(text, length)) return;
  }
  disconnect();
  const int console = logger.options & LOG_CONS ? open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC) : -1;
  if (console < 0) return;
  dprintf(console, "%s\r\n", text + start);
  close(console);
}

WEAK void syslog(int priority, const char *format, ...);

WEAK void
vsyslog(int priority, const char *format, va_list arguments)
{
  if (priority & ~(PRIORITY | FACILITY)) {
    syslog(LOG_ERR | LOG_CONS | LOG_PERROR | LOG_PID, "syslog: unknown facility/priority: %x", (unsigned)priority);
    priority &= PRIORITY | FACILITY;
  }
  const int state = begin();
  if (logger.mask >> (priority & PRIORITY) & 1) {
    if (!(priority & FACILITY)) priority |= logger.facility;
    char usual[USUAL], *text = usual;
    va_list again;
    va_copy(again, arguments);
    int start, length = compose(text, USUAL, priority, format, arguments, &start);
    if (length >= USUAL) {
      const int room = length;
      text = malloc((size_t)room + 1);
      if (text) length = compose(text, room + 1, priority, format, again, &start);
      else text = usual, length = USUAL - 1;
      /* Another thread may have made an argument longer in between. */
      if (length > room) length = room;
    }
    va_end(again);
    put(text, length, start);
    if (text != usual) free(text);
  }
  end(state);
}

WEAK void
syslog(int priority, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsyslog(priority, format, arguments);
  va_end(arguments);
}

#endif
