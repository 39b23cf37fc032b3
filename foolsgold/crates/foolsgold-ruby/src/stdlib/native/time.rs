//! Natives for Time: an instant is given as seconds, microseconds and whether it is shown in UTC.

use super::{raise, text};
use crate::stdlib::time::{Civil, Kind, TimeError, Zone, parse, strftime, strptime};
use mruby::{Args, Outcome, Raise, Ruby, Value};
use std::time::{SystemTime, UNIX_EPOCH};

fn error<'r>(error: TimeError) -> Raise<'r> {
    raise("ArgumentError", error)
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0))
}

pub fn define<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    // strftime(seconds, microseconds, utc, format)
    ruby.define_singleton_method(native, "strftime", |ruby, args: Args<'_>| {
        let format = ruby.bytes(args.required(3)?)?;
        ruby.str(strftime(&civil(&args)?, &format).map_err(error)?)
    })?;
    // utc_offset(seconds)
    ruby.define_singleton_method(native, "utc_offset", |ruby, args: Args<'_>| {
        let civil = Civil::of(args.int(0)?, 0, Zone::Local);
        ruby.int(i64::from(civil.offset))
    })?;
    // read_time(text, kind or format): [seconds, nanoseconds, utc]
    ruby.define_singleton_method(native, "read_time", |ruby, args: Args<'_>| {
        let (given, how) = (text(ruby, &args, 0)?, text(ruby, &args, 1)?);
        let kind = match how.as_slice() {
            b"iso8601" => Kind::Iso,
            b"httpdate" => Kind::Http,
            b"rfc2822" => Kind::Mail,
            _ => Kind::Any,
        };
        instant(ruby, parse(&given, kind, now()))
    })?;
    ruby.define_singleton_method(native, "strptime", |ruby, args: Args<'_>| {
        let (given, format) = (text(ruby, &args, 0)?, text(ruby, &args, 1)?);
        instant(ruby, strptime(&given, &format, now()))
    })
}

fn civil<'r>(args: &Args<'r>) -> Outcome<'r, Civil> {
    let nanos = u32::try_from(args.int(1)?.clamp(0, 999_999) * 1000).unwrap_or(0);
    let zone = if args.get(2).truthy() { Zone::Utc } else { Zone::Local };
    Ok(Civil::of(args.int(0)?, nanos, zone))
}

/// An instant with a fixed offset is shown in UTC: mruby's Time has only UTC and the machine's zone.
fn instant<'r>(ruby: Ruby<'r>, read: Result<crate::stdlib::time::Instant, TimeError>) -> Outcome<'r> {
    let instant = read.map_err(error)?;
    let parts = [
        ruby.int(instant.epoch)?,
        ruby.int(i64::from(instant.nanos / 1000))?,
        Value::from_bool(instant.zone != Zone::Local),
    ];
    ruby.array(&parts)
}
