/* From a time to its kind, and back. */

static void
name_both(const char *winter, const char *summer)
{
  __tzname[0] = (char *)winter;
  __tzname[1] = (char *)summer;
}

static void
name_by_rule(const Rule *rule)
{
  name_both(rule->kinds[0].name, rule->kinds[1].name);
  __timezone = -rule->kinds[0].east;
  __daylight = rule->kinds[0].east != rule->kinds[1].east;
}

/* What timezone and daylight are by a file. */
static void
offsets_of_file(const File *file)
{
  __timezone = -(file->has[0] ? file->latest[0].east : file->times ? 0 : kind_of(file, 0).east);
  __daylight = file->has[1];
}

/* The names and the difference that a program finds after tzset. */
static void
name_latest(void)
{
  if (!zone) return;
  if (!zone->has_file) {
    name_by_rule(&zone->rule);
    return;
  }
  const File *const file = &zone->file;
  const char *const first = (const char *)file->at_letters;
  const char *const winter = file->has[0] ? file->latest[0].name : kept(first, length(first));
  name_both(winter, file->has[1] ? file->latest[1].name : winter);
  offsets_of_file(file);
}

/* The same after a conversion: the names in use at a time, and the next of the other sort. */
static void
name_at(const File *file, const Kind *kind, size_t next)
{
  const char *names[2] = {NULL, NULL};
  names[kind->is_summer] = kind->name;
  /* Before all changes glibc takes the first summer time of the file's list. */
  for (size_t type = 0; !next && !names[1] && type < file->types; type++)
    if (kind_of(file, type).is_summer) names[1] = file->names[type];
  for (size_t index = next; file->has[!kind->is_summer] && index < file->times && !(names[0] && names[1]); index++) {
    const Kind other = kind_from(file, index);
    if (!names[other.is_summer]) names[other.is_summer] = other.name;
  }
  if (!names[0]) names[0] = names[1];
  name_both(names[0], names[1] ? names[1] : names[0]);
  offsets_of_file(file);
}

/* The kind of a second of universal time; with `names`, tzname and its relatives are set for it. */
static Kind
kind_at(long long seconds, bool names)
{
  if (!zone) return (Kind){0, false, "UTC"};
  File *const file = &zone->file;
  if (!zone->has_file) {
    if (names) name_by_rule(&zone->rule);
    return *by_rule(&zone->rule, seconds);
  }
  const size_t come = times_until(file, seconds);
  if (come && come == file->times && file->has_rule) {
    if (names) name_by_rule(&file->rule);
    return *by_rule(&file->rule, seconds);
  }
  const Kind kind = come ? kind_from(file, come - 1) : first_kind(file);
  if (names) name_at(file, &kind, come);
  return kind;
}

/* Writes the local time; NULL where there is no number for its year. */
static Time *
in_kind(long long seconds, const Kind *kind, Time *into)
{
  long long local;
  if (__builtin_add_overflow(seconds, kind->east, &local)) {
    *__errno_location() = EOVERFLOW;
    return NULL;
  }
  if (!gmtime_r(&local, into)) return NULL;
  into->summer = kind->is_summer;
  into->offset = kind->east;
  into->zone = kind->name;
  return into;
}

/* How far a time of the other sort is looked for, in steps shorter than any summer. They are glibc's. */
enum { STEP = 601200, STEPS = 457243209 / 2 / STEP + 1, HOUR = 3600 };

/* What a local time would be by the nearest kind of that sort; if there is none in years, an hour lies between the sorts. */
static long long
by_nearest(long long local, long long found, bool is_summer)
{
  for (long long steps = 1; steps <= STEPS; steps++)
    for (int direction = -1; direction <= 1; direction += 2) {
      const Kind kind = kind_at(found + direction * steps * STEP, false);
      if (kind.is_summer == is_summer) return local - kind.east;
    }
  return found + (is_summer ? -HOUR : HOUR);
}

/* The second of universal time at which clocks show a local one, which is given as if it were universal time. Where clocks are set back
 * there are two: `summer` says which one, or it is the first. Where they are set forward there is none: it is read by the kind that
 * `summer` says, or so that it is summer then. A kind that is not in use at that time is looked for in the years around. */
static long long
from_local(long long local, int summer)
{
  const Kind before = kind_at(local - 2 * DAY, false), after = kind_at(local + 2 * DAY, false);
  const long long first = local - before.east, second = local - after.east;
  const Kind at_first = kind_at(first, false), at_second = kind_at(second, false);
  const bool is_first = at_first.east == before.east, is_second = at_second.east == after.east;
  if (summer < 0) return is_first ? first : is_second ? second : at_first.is_summer >= at_second.is_summer ? first : second;
  const bool is_wanted = summer != 0;
  if (is_first && at_first.is_summer == is_wanted) return first;
  if (is_second && at_second.is_summer == is_wanted) return second;
  if (!is_first && !is_second) return before.is_summer == is_wanted ? first : second;
  return by_nearest(local, is_first ? first : second, is_wanted);
}
