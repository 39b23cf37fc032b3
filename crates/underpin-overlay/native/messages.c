/* What errors and signals are called in static programs on musl: as on glibc. musl has other words for half of them ("No file
 * descriptors available" for "Too many open files", "Name does not resolve" for "Name or service not known"), and none for numbers that
 * it does not know. Logs, scripts and tests compare these texts; perror, printf's %m, err(3) and Rust's errors take them from here.
 *
 * The texts are those of glibc 2.36 without a locale; the tests compare all of them. No table has a pointer, for a start would have to
 * adjust it. */

#ifdef OVERLAY_REPLACES

/* From 0 on; numbers that Linux does not use are empty. */
static const char ERRORS[] =
  "Success\0" "Operation not permitted\0" "No such file or directory\0" "No such process\0" "Interrupted system call\0"
  "Input/output error\0" "No such device or address\0" "Argument list too long\0" "Exec format error\0" "Bad file descriptor\0"
  "No child processes\0" "Resource temporarily unavailable\0" "Cannot allocate memory\0" "Permission denied\0" "Bad address\0"
  "Block device required\0" "Device or resource busy\0" "File exists\0" "Invalid cross-device link\0" "No such device\0"
  "Not a directory\0" "Is a directory\0" "Invalid argument\0" "Too many open files in system\0" "Too many open files\0"
  "Inappropriate ioctl for device\0" "Text file busy\0" "File too large\0" "No space left on device\0" "Illegal seek\0"
  "Read-only file system\0" "Too many links\0" "Broken pipe\0" "Numerical argument out of domain\0"
  "Numerical result out of range\0" "Resource deadlock avoided\0" "File name too long\0" "No locks available\0"
  "Function not implemented\0" "Directory not empty\0" "Too many levels of symbolic links\0" "\0"
  "No message of desired type\0" "Identifier removed\0" "Channel number out of range\0" "Level 2 not synchronized\0"
  "Level 3 halted\0" "Level 3 reset\0" "Link number out of range\0" "Protocol driver not attached\0"
  "No CSI structure available\0" "Level 2 halted\0" "Invalid exchange\0" "Invalid request descriptor\0" "Exchange full\0"
  "No anode\0" "Invalid request code\0" "Invalid slot\0" "\0" "Bad font file format\0" "Device not a stream\0"
  "No data available\0" "Timer expired\0" "Out of streams resources\0" "Machine is not on the network\0"
  "Package not installed\0" "Object is remote\0" "Link has been severed\0" "Advertise error\0" "Srmount error\0"
  "Communication error on send\0" "Protocol error\0" "Multihop attempted\0" "RFS specific error\0" "Bad message\0"
  "Value too large for defined data type\0" "Name not unique on network\0" "File descriptor in bad state\0"
  "Remote address changed\0" "Can not access a needed shared library\0" "Accessing a corrupted shared library\0"
  ".lib section in a.out corrupted\0" "Attempting to link in too many shared libraries\0"
  "Cannot exec a shared library directly\0" "Invalid or incomplete multibyte or wide character\0"
  "Interrupted system call should be restarted\0" "Streams pipe error\0" "Too many users\0" "Socket operation on non-socket\0"
  "Destination address required\0" "Message too long\0" "Protocol wrong type for socket\0" "Protocol not available\0"
  "Protocol not supported\0" "Socket type not supported\0" "Operation not supported\0" "Protocol family not supported\0"
  "Address family not supported by protocol\0" "Address already in use\0" "Cannot assign requested address\0"
  "Network is down\0" "Network is unreachable\0" "Network dropped connection on reset\0" "Software caused connection abort\0"
  "Connection reset by peer\0" "No buffer space available\0" "Transport endpoint is already connected\0"
  "Transport endpoint is not connected\0" "Cannot send after transport endpoint shutdown\0"
  "Too many references: cannot splice\0" "Connection timed out\0" "Connection refused\0" "Host is down\0" "No route to host\0"
  "Operation already in progress\0" "Operation now in progress\0" "Stale file handle\0" "Structure needs cleaning\0"
  "Not a XENIX named type file\0" "No XENIX semaphores available\0" "Is a named type file\0" "Remote I/O error\0"
  "Disk quota exceeded\0" "No medium found\0" "Wrong medium type\0" "Operation canceled\0" "Required key not available\0"
  "Key has expired\0" "Key has been revoked\0" "Key was rejected by service\0" "Owner died\0" "State not recoverable\0"
  "Operation not possible due to RF-kill\0" "Memory page has hardware error\0"
  /* The beginning of musl's own list, and its text for a number that it does not know. Nothing here says them: in a program without
   * symbols they are what shows whose functions the others are (`underpin check`, strings(1)). */
  "Illegal byte sequence\0" "Domain error\0" "Result not representable\0" "No error information\0";

/* From 1 on. */
static const char SIGNALS[] =
  "Hangup\0" "Interrupt\0" "Quit\0" "Illegal instruction\0" "Trace/breakpoint trap\0" "Aborted\0" "Bus error\0"
  "Floating point exception\0" "Killed\0" "User defined signal 1\0" "Segmentation fault\0" "User defined signal 2\0"
  "Broken pipe\0" "Alarm clock\0" "Terminated\0" "Stack fault\0" "Child exited\0" "Continued\0" "Stopped (signal)\0"
  "Stopped\0" "Stopped (tty input)\0" "Stopped (tty output)\0" "Urgent I/O condition\0" "CPU time limit exceeded\0"
  "File size limit exceeded\0" "Virtual timer expired\0" "Profiling timer expired\0" "Window changed\0" "I/O possible\0"
  "Power failure\0" "Bad system call\0";

/* Of getaddrinfo(3): from -1 downwards, and from -100. */
static const char ADDRESSES[] =
  "Bad value for ai_flags\0" "Name or service not known\0" "Temporary failure in name resolution\0"
  "Non-recoverable failure in name resolution\0" "No address associated with hostname\0" "ai_family not supported\0"
  "ai_socktype not supported\0" "Servname not supported for ai_socktype\0" "Address family for hostname not supported\0"
  "Memory allocation failure\0" "System error\0";
static const char REQUESTS[] =
  "Processing request in progress\0" "Request canceled\0" "Request not canceled\0" "All requests done\0"
  "Interrupted by a signal\0" "Parameter string not correctly encoded\0";

/* Of gethostbyname(3). */
static const char HOSTS[] =
  "Resolver Error 0 (no error)\0" "Unknown host\0" "Host name lookup failure\0" "Unknown server error\0"
  "No address associated with name\0";

#define COUNT(first, last) ((last) - (first) + 1)
enum { ERROR_COUNT = COUNT(0, 133), SIGNAL_COUNT = COUNT(1, 31), REAL_TIME_FIRST = 34, REAL_TIME_LAST = 64 };

/* For numbers without a name: of a thread until its next call, as in glibc. Its size is that of the longest, since thread-local
 * bytes are few (crates/underpin/tests/build_start.rs). */
static _Thread_local __attribute__((tls_model("initial-exec"))) char made[sizeof "Unknown signal -2147483648"];

/* The text at a place of a list, or null if there is none. */
static const char *
text_of(const char *list, int at, int count)
{
  if (at < 0 || at >= count) return 0;
  while (at--) {
    while (*list) list++;
    list++;
  }
  return *list ? list : 0;
}

static char *
with_number(const char *words, int number)
{
  char digits[12];
  int count = 0, at = 0;
  unsigned rest = number < 0 ? -(unsigned)number : (unsigned)number;
  do digits[count++] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (number < 0) digits[count++] = '-';
  while (*words) made[at++] = *words++;
  while (count) made[at++] = digits[--count];
  made[at] = 0;
  return made;
}

char *
strerror(int error)
{
  const char *const text = text_of(ERRORS, error, ERROR_COUNT);
  return text ? (char*)text : with_number("Unknown error ", error);
}

char *
strerror_l(int error, void *locale)
{
  (void)locale;
  return strerror(error);
}

/* musl's own name. */
char *__strerror_l(int error, void *locale) __attribute__((weak, alias("strerror_l")));

char *
strsignal(int signal)
{
  const char *const text = signal > 0 ? text_of(SIGNALS, signal - 1, SIGNAL_COUNT) : 0;
  if (text) return (char*)text;
  const int is_real_time = signal >= REAL_TIME_FIRST && signal <= REAL_TIME_LAST;
  return is_real_time ? with_number("Real-time signal ", signal - REAL_TIME_FIRST) : with_number("Unknown signal ", signal);
}

const char *
gai_strerror(int error)
{
  const char *text = error < 0 && error > -100 ? text_of(ADDRESSES, -1 - error, COUNT(1, 11)) : 0;
  if (error <= -100 && error > -200) text = text_of(REQUESTS, -100 - error, COUNT(100, 105));
  return text ? text : "Unknown error";
}

const char *
hstrerror(int error)
{
  if (error < 0) return "Resolver internal error";
  const char *const text = text_of(HOSTS, error, COUNT(0, 4));
  return text ? text : "Unknown resolver error";
}

#endif
