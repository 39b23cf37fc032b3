/* strptime. */

/* What was read, and what of it the rest is worked out from. */
typedef struct {
  const char *at;
  Time *time;
  bool is_pm, has_hour12, has_weekday, has_yearday, has_month, has_day, has_sunday_week, has_monday_week;
  /* Something was read that a day is worked out from. */
  bool wants_day;
  /* The year was read without its century, which is -1 if there was none. */
  bool wants_century;
  int century, week;
} Parse;

static bool parse(Parse *parsed, const char *format);

static bool
is_space(char letter)
{
  return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

static void
skip_spaces(Parse *parsed)
{
  while (is_space(*parsed->at)) parsed->at++;
}

/* A number of at most so many digits, within bounds. */
static bool
number(Parse *parsed, int from, int to, int digits, int *read)
{
  skip_spaces(parsed);
  if (!is_digit(*parsed->at)) return false;
  int value = 0;
  do value = value * 10 + *parsed->at++ - '0';
  while (--digits > 0 && value * 10 <= to && is_digit(*parsed->at));
  *read = value;
  return value >= from && value <= to;
}

static bool
begins(const char *text, const char *name, size_t size)
{
  for (size_t at = 0; at < size; at++) {
    if (lower(text[at]) != lower(name[at])) return false;
  }
  return true;
}

/* One of some names, or the short form of it. */
static bool
name(Parse *parsed, const char *list, int count, int *read)
{
  for (int at = 0; at < count; at++, list += length(list) + 1) {
    const size_t size = length(list);
    const size_t found = begins(parsed->at, list, size) ? size : begins(parsed->at, list, SHORT) ? SHORT : 0;
    if (!found) continue;
    parsed->at += found;
    *read = at;
    return true;
  }
  return false;
}

static bool
half_of_day(Parse *parsed)
{
  const char first = lower(*parsed->at);
  if ((first != 'a' && first != 'p') || lower(parsed->at[1]) != 'm') return false;
  parsed->is_pm = first == 'p';
  parsed->at += 2;
  return true;
}

/* Seconds since 1970, as local time. */
static bool
seconds(Parse *parsed)
{
  if (!is_digit(*parsed->at)) return false;
  unsigned long long value = 0;
  for (; is_digit(*parsed->at); parsed->at++) value = value * 10 + (unsigned long long)(*parsed->at - '0');
  const long long since = (long long)value;
  return localtime_r(&since, parsed->time);
}

/* Z, +hh, +hhmm or +hh:mm. */
static bool
offset(Parse *parsed)
{
  skip_spaces(parsed);
  if (*parsed->at == 'Z') {
    parsed->at++;
    parsed->time->offset = 0;
    return true;
  }
  if (*parsed->at != '+' && *parsed->at != '-') return false;
  const bool is_negative = *parsed->at++ == '-';
  int digits = 0, value = 0;
  while (digits < 4 && is_digit(*parsed->at)) {
    value = value * 10 + *parsed->at++ - '0';
    if (++digits == 2 && *parsed->at == ':' && is_digit(parsed->at[1])) parsed->at++;
  }
  if (digits == 2) value *= 100;
  else if (digits != 4) return false;
  if (value % 100 >= 60) return false;
  parsed->time->offset = value / 100 * 3600 + value % 100 * 60;
  if (is_negative) parsed->time->offset = -parsed->time->offset;
  return true;
}

/* What belongs to a day. Returns whether the letter is one of these, and whether it was read. */
static bool
day_part(Parse *parsed, char letter, bool *is_read)
{
  Time *const time = parsed->time;
  int value = 0;
  switch (letter) {
  case 'a':
  case 'A': *is_read = parsed->has_weekday = name(parsed, DAYS, WEEK, &time->weekday); return true;
  case 'u':
    *is_read = parsed->has_weekday = number(parsed, 1, 7, 1, &value);
    time->weekday = value % 7;
    return true;
  case 'w': *is_read = parsed->has_weekday = number(parsed, 0, 6, 1, &time->weekday); return true;
  case 'b':
  case 'B':
  case 'h': *is_read = parsed->has_month = name(parsed, MONTHS, YEAR, &time->month); break;
  case 'm':
    *is_read = parsed->has_month = number(parsed, 1, 12, 2, &value);
    time->month = value - 1;
    break;
  case 'd':
  case 'e': *is_read = parsed->has_day = number(parsed, 1, 31, 2, &time->day); break;
  case 'j':
    *is_read = parsed->has_yearday = number(parsed, 1, 366, 3, &value);
    time->yearday = value - 1;
    return true;
  case 'C': *is_read = number(parsed, 0, 99, 2, &parsed->century); break;
  case 'y':
    *is_read = parsed->wants_century = number(parsed, 0, 99, 2, &value);
    time->year = value >= 69 ? value : value + 100;
    break;
  case 'Y':
    *is_read = number(parsed, 0, 9999, 4, &value);
    time->year = value - BASE;
    parsed->wants_century = false;
    break;
  case 'U': *is_read = parsed->has_sunday_week = number(parsed, 0, 53, 2, &parsed->week); return true;
  case 'W': *is_read = parsed->has_monday_week = number(parsed, 0, 53, 2, &parsed->week); return true;
  default: return false;
  }
  parsed->wants_day = true;
  return true;
}

/* One conversion. */
static bool
read_part(Parse *parsed, char letter)
{
  Time *const time = parsed->time;
  int value;
  bool is_read;
  if (day_part(parsed, letter, &is_read)) return is_read;
  switch (letter) {
  case '%': return *parsed->at == '%' && parsed->at++;
  case 'n':
  case 't': skip_spaces(parsed); return true;
  case 'c': return parsed->wants_day = parse(parsed, "%a %b %e %H:%M:%S %Y");
  case 'F': return parsed->wants_day = parse(parsed, "%Y-%m-%d");
  case 'x':
  case 'D': return parsed->wants_day = parse(parsed, "%m/%d/%y");
  case 'r': return parse(parsed, "%I:%M:%S %p");
  case 'R': return parse(parsed, "%H:%M");
  case 'X':
  case 'T': return parse(parsed, "%H:%M:%S");
  case 'k':
  case 'H': parsed->has_hour12 = false; return number(parsed, 0, 23, 2, &time->hour);
  case 'l':
  case 'I':
    if (!number(parsed, 1, 12, 2, &value)) return false;
    time->hour = value % 12;
    return parsed->has_hour12 = true;
  case 'M': return number(parsed, 0, 59, 2, &time->minute);
  case 'S': return number(parsed, 0, 61, 2, &time->second);
  case 'p': return half_of_day(parsed);
  case 's': return seconds(parsed);
  case 'z': return offset(parsed);
  /* The name of a zone, the year and the week of ISO 8601: of no use for a day. */
  case 'Z':
    skip_spaces(parsed);
    while (*parsed->at && !is_space(*parsed->at)) parsed->at++;
    return true;
  case 'g': return number(parsed, 0, 99, 2, &value);
  case 'V': return number(parsed, 0, 53, 2, &value);
  case 'G':
    if (!is_digit(*parsed->at)) return false;
    while (is_digit(*parsed->at)) parsed->at++;
    return true;
  default: return false;
  }
}

static bool
parse(Parse *parsed, const char *format)
{
  for (; *format; format++) {
    if (is_space(*format)) {
      skip_spaces(parsed);
      continue;
    }
    if (*format != '%') {
      if (*parsed->at++ != *format) return false;
      continue;
    }
    for (format++; *format == '-' || *format == '_' || *format == '^' || *format == '#' || is_digit(*format); format++) {}
    if (*format == 'E' || *format == 'O') {
      const char *const with = *format++ == 'E' ? "cCyYxX" : "bBhdeHImMSUVWwy";
      if (!is_one_of(with, *format)) return false;
    }
    if (!read_part(parsed, *format)) return false;
  }
  return true;
}

static bool
is_month(const Parse *parsed)
{
  return parsed->has_month || (parsed->time->month >= 0 && parsed->time->month < YEAR);
}

static bool
is_in_leap(const Time *time)
{
  return is_leap((long long)time->year + BASE);
}

static int
weekday_of(const Time *time)
{
  /* 1970 began with a Thursday, 477 leap days after the year 0. */
  const int year = time->year + BASE, last = year - (time->month < 2);
  const int days = 365 * (year - 1970) + last / 4 - last / 100 + last / 400 - 477 + before(time->month, false) + time->day + 3;
  return (days % WEEK + WEEK) % WEEK;
}

/* The month and the day that a day of the year is in, where they are not known. */
static void
from_yearday(Parse *parsed)
{
  Time *const time = parsed->time;
  int month = 0;
  while (month < YEAR && before(month + 1, is_in_leap(time)) <= time->yearday) month++;
  if (!parsed->has_month) time->month = month;
  if (!parsed->has_day) time->day = time->yearday - before(month, is_in_leap(time)) + 1;
}

static void
from_week(Parse *parsed)
{
  Time *const time = parsed->time;
  const int first = parsed->has_sunday_week ? 0 : 1;
  const Time new_year = {.day = 1, .year = time->year};
  if (!parsed->has_yearday) {
    time->yearday = (7 - (weekday_of(&new_year) - first)) % 7 + (parsed->week - 1) * 7 + (time->weekday - first + 7) % 7;
  }
  if (!parsed->has_day || !parsed->has_month) from_yearday(parsed);
}

/* What follows from what was read. */
static void
work_out(Parse *parsed)
{
  Time *const time = parsed->time;
  if (parsed->has_hour12 && parsed->is_pm) time->hour += 12;
  if (parsed->century != -1) time->year = (parsed->wants_century ? time->year % 100 : 0) + (parsed->century - 19) * 100;
  if (parsed->wants_day && !parsed->has_weekday) {
    if (!(parsed->has_month && parsed->has_day) && parsed->has_yearday) {
      from_yearday(parsed);
      parsed->has_month = parsed->has_day = true;
    }
    if (is_month(parsed)) time->weekday = weekday_of(time);
  }
  if (parsed->wants_day && !parsed->has_yearday && is_month(parsed)) {
    time->yearday = before(time->month, is_in_leap(time)) + time->day - 1;
  }
  if ((parsed->has_sunday_week || parsed->has_monday_week) && parsed->has_weekday) from_week(parsed);
}

char *
strptime(const char *restrict text, const char *restrict format, Time *restrict time)
{
  Parse parsed = {.at = text, .time = time, .century = -1};
  if (!parse(&parsed, format)) return NULL;
  work_out(&parsed);
  return (char*)parsed.at;
}
