//! A closed queueing network with two classes of customers, solved by approximate mean value analysis.
//!
//! Customers are the starting processes: each passes every station once per start and then is done. A station is one
//! server that all share, or one per node for the node's own customers. What needs no queue (latency, a core that is
//! free) is delay. The arriving customer finds the queue that the others leave on average (Schweitzer's approximation of
//! the arrival theorem; Reiser and Lavenberg 1980, Bard 1979, Schweitzer 1979), and half of a service in progress where
//! services are all alike.

/// Rounds after which the fixed point is reached, whatever the figures: each round at least halves what is left.
const ROUNDS: usize = 10_000;

/// Relative change at which the fixed point counts as found.
const CLOSE: f64 = 1e-9;

/// Some customers that all want the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    /// How many there are on one node.
    pub per_node: f64,
    /// Seconds of delay in one start.
    pub delay: f64,
    /// Seconds of work at each station in one start.
    pub demands: Vec<f64>,
}

/// One server, or one per node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Station {
    /// All nodes share it.
    pub shared: bool,
    /// Variation of its service times: 0 if all are alike, 1 if they are exponential (squared coefficient).
    pub variation: f64,
}

/// Seconds until a customer of the slowest class is done. Customers of the other classes wait for those of the slowest:
/// the processes of a node follow the first one, file by file.
pub(super) fn response(nodes: f64, stations: &[Station], classes: &[Class]) -> f64 {
    let mut total = lower_bound(nodes, stations, classes).max(f64::MIN_POSITIVE);
    let mut times: Vec<Vec<f64>> = classes.iter().map(|class| class.demands.clone()).collect();
    for _ in 0..ROUNDS {
        let next: Vec<Vec<f64>> = classes
            .iter()
            .enumerate()
            .map(|(index, class)| {
                let at = |station: usize| {
                    class.demands[station] * found(nodes, stations, classes, (index, station), &times, total)
                };
                (0..stations.len()).map(at).collect()
            })
            .collect();
        let ends = classes.iter().zip(&next).filter(|(class, _)| class.per_node > 0.0);
        let longest = ends.map(|(class, times)| class.delay + times.iter().sum::<f64>()).fold(0.0, f64::max);
        let settled = (longest - total).abs() <= CLOSE * longest;
        // Halfway: the plain iteration oscillates if a station is saturated.
        total = f64::midpoint(total, longest).max(f64::MIN_POSITIVE);
        times = next;
        if settled {
            break;
        }
    }
    total.max(lower_bound(nodes, stations, classes))
}

/// What an arriving customer waits, in services: its own and the queue before it.
fn found(
    nodes: f64,
    stations: &[Station],
    classes: &[Class],
    (own, at): (usize, usize),
    times: &[Vec<f64>],
    total: f64,
) -> f64 {
    let Station { shared, variation } = stations[at];
    let (mut queue, mut busy) = (0.0, 0.0);
    for (index, class) in classes.iter().enumerate() {
        let all = class.per_node * if shared { nodes } else { 1.0 };
        let others = if index == own { (all - 1.0).max(0.0) } else { all };
        queue += others * times[index][at] / total;
        busy += others * class.demands[at] / total;
    }
    let rest = (1.0 - variation.clamp(0.0, 1.0)) / 2.0 * busy.min(1.0).min(queue);
    1.0 + queue - rest
}

/// No start is over before its own work is done without any waiting, nor before a station has done the work of all.
pub(super) fn lower_bound(nodes: f64, stations: &[Station], classes: &[Class]) -> f64 {
    let present = || classes.iter().filter(|class| class.per_node > 0.0);
    let alone = present().map(|class| class.delay + class.demands.iter().sum::<f64>()).fold(0.0, f64::max);
    (0..stations.len()).map(|at| work(nodes, stations, classes, at)).fold(alone, f64::max)
}

/// Seconds of work of one station for all its customers.
pub(super) fn work(nodes: f64, stations: &[Station], classes: &[Class], at: usize) -> f64 {
    let all = |class: &Class| class.per_node * if stations[at].shared { nodes } else { 1.0 };
    classes.iter().map(|class| all(class) * class.demands[at]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Station = Station { shared: true, variation: 1.0 };

    fn same(per_node: f64, delay: f64, demand: f64) -> [Class; 1] {
        [Class { per_node, delay, demands: vec![demand] }]
    }

    /// Exact mean value analysis of one class and one exponential station (Reiser and Lavenberg 1980).
    fn exact(customers: u32, delay: f64, demand: f64) -> f64 {
        let (mut queue, mut total) = (0.0, 0.0);
        for number in 1..=customers {
            let time = demand * (1.0 + queue);
            total = delay + time;
            queue = f64::from(number) * time / total;
        }
        total
    }

    #[test]
    fn one_customer_never_waits() {
        assert!((response(1.0, &[SERVER], &same(1.0, 2.0, 0.5)) - 2.5).abs() < 1e-6);
    }

    #[test]
    fn the_approximation_stays_close_to_the_exact_analysis() {
        for customers in [2, 5, 20, 64, 300] {
            for (delay, demand) in [(1.0, 0.001), (1.0, 0.02), (1.0, 0.2), (0.01, 1.0)] {
                let ours = response(f64::from(customers), &[SERVER], &same(1.0, delay, demand));
                let exact = exact(customers, delay, demand);
                assert!((ours / exact - 1.0).abs() < 0.1, "{customers} {delay} {demand}: {ours} {exact}");
            }
        }
    }

    #[test]
    fn a_full_server_bounds_the_time_from_below() {
        let time = response(1e6, &[SERVER], &same(1.0, 1.0, 0.01));
        assert!((time / 1e4 - 1.0).abs() < 0.01, "{time}");
    }

    #[test]
    fn more_customers_never_end_earlier() {
        let times: Vec<f64> =
            [1.0, 2.0, 4.0, 8.0, 100.0, 1e4].map(|nodes| response(nodes, &[SERVER], &same(1.0, 1.0, 0.03))).to_vec();
        assert!(times.is_sorted(), "{times:?}");
    }

    #[test]
    fn equal_services_queue_less_than_random_ones() {
        let equal = Station { variation: 0.0, ..SERVER };
        let classes = same(1.0, 1.0, 0.05);
        assert!(response(20.0, &[equal], &classes) < response(20.0, &[SERVER], &classes));
    }

    #[test]
    fn a_station_per_node_does_not_feel_the_other_nodes() {
        let own = Station { shared: false, variation: 1.0 };
        let classes = same(4.0, 1.0, 0.2);
        let [one, many] = [1.0, 1000.0].map(|nodes| response(nodes, &[own], &classes));
        assert!((one - many).abs() < 1e-6, "{one} {many}");
    }

    #[test]
    fn those_who_ask_for_little_end_with_the_first_of_their_node() {
        let first = Class { per_node: 1.0, delay: 1.0, demands: vec![0.001] };
        let rest = Class { per_node: 63.0, delay: 0.01, demands: vec![0.0] };
        let alone = response(8.0, &[SERVER], std::slice::from_ref(&first));
        assert!((response(8.0, &[SERVER], &[first, rest]) - alone).abs() < 1e-6);
    }
}
