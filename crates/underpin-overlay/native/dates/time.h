/* musl's struct tm. */
typedef struct {
  int second, minute, hour, day, month, year, weekday, yearday, summer;
  long offset;
  const char *zone;
} Time;

/* The year of a zero. */
enum { BASE = 1900 };
