/* What TZ says by itself, as in "CET-1CEST,M3.5.0,M10.5.0/3" (POSIX.1-2017 8.3; RFC 9636 3.3.1 for files, which end with such a line).
 * Where the rule is left out it is that of the United States since 2007. */

/* One kind of time: seconds east of Greenwich, and its name. */
typedef struct {
  long east;
  bool is_summer;
  const char *name;
} Kind;

/* A day of the year: with the leap day counted and from 0, without it and from 1, or of a month and a week. */
typedef enum { COUNTED, WITHOUT_LEAP, OF_MONTH } Way;

typedef struct {
  Way way;
  int month, week, day, second;
} Change;

/* Winter and summer, and when each begins: summer by the first change. */
typedef struct {
  Kind kinds[2];
  Change changes[2];
  /* The year that was asked for last: from its first second to the next year's, and when summer begins and ends. */
  long long first, next, spring, autumn;
} Rule;

/* A number; false, and nothing read, if there is none. */
static bool
read_number(const char **text, int *number)
{
  if (!is_digit(**text)) return false;
  long value = 0;
  for (; is_digit(**text); ++*text) value = value < INT_MAX / 100 ? value * 10 + (**text - '0') : value;
  *number = (int)value;
  return true;
}

/* Three letters or more, or what stands between "<" and ">". */
static bool
read_name(const char **text, const char **name)
{
  const char *start = *text, *end = start;
  while (is_letter(*end)) end++;
  const bool is_quoted = end - start < 3;
  if (is_quoted) {
    if (*start != '<') return false;
    end = ++start;
    while (is_letter(*end) || is_digit(*end) || *end == '+' || *end == '-') end++;
    if (*end != '>' || end - start < 3) return false;
  }
  *name = kept(start, (size_t)(end - start));
  *text = end + is_quoted;
  return true;
}

/* Hours, minutes and seconds, each no more than `most`; false if there is not one of them. */
static bool
read_clock(const char **text, const int most[3], int *seconds)
{
  static const int UNITS[] = {3600, 60, 1};
  *seconds = 0;
  for (int unit = 0; unit < 3; unit++) {
    const char *at = *text + (unit != 0);
    int number;
    if ((unit && **text != ':') || !read_number(&at, &number)) return unit != 0;
    *seconds += (number < most[unit] ? number : most[unit]) * UNITS[unit];
    *text = at;
  }
  return true;
}

/* Seconds east; what is written is those west. */
static bool
read_east(const char **text, long *east)
{
  static const int MOST[] = {24, 59, 59};
  const bool is_east = **text == '-';
  if (is_east || **text == '+') ++*text;
  int seconds;
  if (!read_clock(text, MOST, &seconds)) return false;
  *east = is_east ? seconds : -seconds;
  return true;
}

static bool
read_day(const char **text, Change *change)
{
  if (**text == 'M') {
    ++*text;
    change->way = OF_MONTH;
    if (!read_number(text, &change->month) || *(*text)++ != '.' || !read_number(text, &change->week) || *(*text)++ != '.') return false;
    return read_number(text, &change->day) && change->month >= 1 && change->month <= 12 && change->week >= 1 && change->week <= 5
           && change->day <= 6;
  }
  change->way = **text == 'J' ? WITHOUT_LEAP : COUNTED;
  *text += **text == 'J';
  return read_number(text, &change->day) && change->day <= 365 && (change->way == COUNTED || change->day > 0);
}

/* When a kind of time begins, if it is said, else when it does in the United States. */
static bool
read_change(const char **text, const Change *otherwise, Change *change)
{
  static const int MOST[] = {0xFFFF, 0xFFFF, 0xFFFF};
  *text += **text == ',';
  if (!**text) *change = *otherwise;
  else if (!read_day(text, change)) return false;
  change->second = 2 * 3600;
  if (**text != '/') return !**text || **text == ',';
  ++*text;
  const int sign = **text == '-' ? -1 : 1;
  *text += sign < 0;
  int seconds;
  if (read_clock(text, MOST, &seconds)) change->second = sign * seconds;
  return true;
}

/* Never fails: where it cannot be read, what was read so far counts, else Greenwich's time without a name, as in glibc. */
static void
read_rule(const char *text, Rule *rule)
{
  static const Change SPRING = {OF_MONTH, 3, 2, 0, 0}, AUTUMN = {OF_MONTH, 11, 1, 0, 0}, NEVER = {COUNTED, 0, 0, 0, 0};
  Kind *const winter = &rule->kinds[0], *const summer = &rule->kinds[1];
  *winter = (Kind){0, false, ""};
  *summer = (Kind){0, true, ""};
  rule->changes[0] = rule->changes[1] = NEVER;
  rule->first = rule->next = 0;
  if (!read_name(&text, &winter->name) || !read_east(&text, &winter->east)) return;
  summer->east = winter->east;
  summer->name = winter->name;
  if (!*text) return;
  if (!read_name(&text, &summer->name)) {
    summer->name = "";
    summer->east = 0;
  } else if (!read_east(&text, &summer->east)) summer->east = winter->east + 3600;
  if (!read_change(&text, &SPRING, &rule->changes[0]) || !read_change(&text, &AUTUMN, &rule->changes[1]))
    rule->changes[0] = rule->changes[1] = NEVER;
}

/* The second of universal time at which a kind of time begins in a year, by the clock of the kind before. glibc has no rules for the
 * years before 1970: their changes are in 1970 for it. */
static long long
begins(const Change *change, const Kind *before, long long year)
{
  const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  Time first = {.year = (int)(year - BASE), .day = 1};
  const long long january = seconds_since_1970(&first) / DAY;
  long long day = change->day;
  if (change->way == WITHOUT_LEAP) day -= change->day < 60 || !is_leap;
  if (change->way == OF_MONTH) {
    first.month = change->month - 1;
    const long long month = seconds_since_1970(&first) / DAY;
    first.month++;
    const long long after = seconds_since_1970(&first) / DAY;
    /* 1970 began on a Thursday. */
    const int weekday = (int)(((month + 4) % 7 + 7) % 7);
    day = month + (change->day - weekday + 7) % 7 + (change->week - 1) * 7;
    while (day >= after) day -= 7;
    day -= january;
  }
  return ((year < 1970 ? 0 : january) + day) * DAY + change->second - before->east;
}

/* Finds the year of a second of universal time; false if there is no number for it. */
static bool
find_year(Rule *rule, long long seconds)
{
  Time date;
  if (!gmtime_r(&seconds, &date)) return false;
  const Time first = {.year = date.year, .day = 1}, next = {.year = date.year, .month = 12, .day = 1};
  rule->first = seconds_since_1970(&first);
  rule->next = seconds_since_1970(&next);
  rule->spring = begins(&rule->changes[0], &rule->kinds[0], date.year + (long long)BASE);
  rule->autumn = begins(&rule->changes[1], &rule->kinds[1], date.year + (long long)BASE);
  return true;
}

static const Kind *
by_rule(Rule *rule, long long seconds)
{
  const Kind *const winter = &rule->kinds[0], *const summer = &rule->kinds[1];
  if (winter->east == summer->east && winter->name == summer->name) return winter;
  if ((seconds < rule->first || seconds >= rule->next) && !find_year(rule, seconds)) return winter;
  const bool is_within = seconds >= rule->spring && seconds < rule->autumn;
  /* South of the equator summer goes on into the next year. */
  const bool is_summer = rule->spring > rule->autumn ? seconds < rule->autumn || seconds >= rule->spring : is_within;
  return is_summer ? summer : winter;
}
