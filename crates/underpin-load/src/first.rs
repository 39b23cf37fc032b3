//! Waiting for whichever of two things comes first.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// The output of the one that ends first; the other is dropped. If both have ended, it is the left one's.
pub(crate) async fn first<T>(left: impl Future<Output = T>, right: impl Future<Output = T>) -> T {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|cx| match left.as_mut().poll(cx) {
        Poll::Pending => right.as_mut().poll(cx),
        ready => ready,
    })
    .await
}
