//! Options of `underpin bench` for servers: what to start, what to ask of it, how fast, for how long.

use clap::Args;
use std::time::Duration;
use underpin_bench::parse_duration;

/// Servers as work.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServeArgs {
    /// A server instead of a command: started for each run, loaded, and ended by SIGTERM. It has to stay in the
    /// foreground. {PORT} stands for a free port, here, in --load and in --env PORT={PORT} (may be repeated)
    #[arg(long, value_name = "CMD", requires = "load", conflicts_with_all = ["commands", "words"])]
    pub serve: Vec<String>,

    /// The request, as in 'GET http://127.0.0.1:{PORT}/'; http only. Without --serve it goes to a server that
    /// runs already, whose memory is then not known (may be repeated)
    #[arg(long, value_name = "METHOD URL", conflicts_with_all = ["commands", "words"])]
    pub load: Vec<String>,

    /// Requests per second, whatever the server does (an open loop); answer times count from when a request was
    /// due. Without --rate, each connection sends its next request when it has the last answer (a closed loop)
    #[arg(long, value_name = "N", requires = "load", value_parser = rate)]
    pub rate: Option<f64>,

    /// Connections: 16, and with --rate 64 at most
    #[arg(long, value_name = "N", requires = "load", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: Option<u32>,

    /// How long the load of each run counts
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = some_time)]
    pub duration: Duration,

    /// Load before it counts, in each run
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub warmup_load: Duration,

    /// Threads of the load generator; one for every two processors, at most 4
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub load_threads: Option<u32>,

    /// A header of each request (may be repeated)
    #[arg(long, value_name = "NAME: VALUE", requires = "load")]
    pub header: Vec<String>,

    /// The body of each request, or @FILE to read its bytes from a file; the method is then POST if none was given
    #[arg(long, value_name = "TEXT", requires = "load")]
    pub body: Option<String>,

    /// Give up on a server that has not answered this long after it was started
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_time)]
    pub ready_timeout: Duration,

    /// Give up on a request that has no answer after this time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = some_time)]
    pub load_timeout: Duration,
}

fn time(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected a time such as 10s, 200ms or 5m".to_owned())
}

fn some_time(text: &str) -> Result<Duration, String> {
    time(text).and_then(|time| if time.is_zero() { Err("it has to be more than nothing".to_owned()) } else { Ok(time) })
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| *rate > 0.0 && *rate <= 1e7);
    rate.ok_or_else(|| "expected a number of requests in a second, such as 500".to_owned())
}
