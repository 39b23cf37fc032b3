//! From a request to its answer: what the server answers itself, what it refuses, and what goes to the application.

use super::client::Connection;
use super::exchange::Exchange;
use super::notifier::Awaited;
use super::outbound::Outgoing;
use super::reply::Answer;
use super::{files, forwarded, inbound, mounts, pages};
use crate::pool;
use foolsgold_core::work::{BodyError, Job, Request};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, Method, StatusCode, Uri, Version, header};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Answers one request from hyper.
pub(super) async fn answer(
    connection: Arc<Connection>,
    mut request: http::Request<Incoming>,
) -> Result<hyper::Response<Outgoing>, Infallible> {
    let mut exchange = Exchange::begin(&connection, &mut request);
    let is_last = connection.is_last_request(request.version());
    let answer = respond(&connection, request, &mut exchange).await.unwrap_or_else(|refusal| refusal);
    Ok(if is_last { answer.and_close() } else { answer }.finish(exchange))
}

async fn respond(
    connection: &Arc<Connection>,
    request: http::Request<Incoming>,
    exchange: &mut Exchange,
) -> Result<Answer, Answer> {
    let (mut head, body) = request.into_parts();
    let shared = connection.shared();
    if head.method == Method::CONNECT {
        return Err(Answer::last(StatusCode::METHOD_NOT_ALLOWED, "This server is not a proxy.\n"));
    }
    let server = connection.host(&head.uri, &head.headers).ok_or_else(bad_request)?;
    if let Some(host) = head.uri.authority().and_then(|authority| authority.as_str().parse().ok()) {
        // HTTP/2 names the host only in the target, and applications look for it here; in HTTP/1 the target wins over
        // the field (RFC 9112, section 3.2.2).
        head.headers.insert(header::HOST, host);
    }
    let uri = origin_form(head.uri, &head.method).ok_or_else(bad_request)?;
    drop_doubtful(&mut head.headers);
    let client = forwarded::client(&shared.config.trusted, connection, &mut head.headers);
    exchange.client(client.peer);
    if let Some(answer) = pages::answer(shared, uri.path()) {
        return Ok(answer);
    }
    if matches!(head.method, Method::GET | Method::HEAD)
        && let Some(answer) = mounts::mounted(&shared.statics, uri.path(), &head.headers).await
    {
        return Ok(answer);
    }
    let is_http2 = head.version == Version::HTTP_2;
    let body = match inbound::take(body, &shared.config.limits, is_http2).await {
        Ok(body) => body,
        Err((error, rest)) => {
            shared.metrics.body(error);
            if is_http2 {
                tokio::spawn(inbound::discard(rest));
            }
            return Err(body_refused(error));
        }
    };
    if head.version == Version::HTTP_11 {
        // The server has answered it itself.
        head.headers.remove(header::EXPECT);
    }
    let request = Request {
        method: head.method,
        uri,
        version: head.version,
        headers: head.headers,
        scheme: client.scheme,
        server,
        peer: client.peer,
        body,
        arrived: exchange.arrived,
    };
    through_pool(connection, request, exchange).await
}

/// Has an interpreter answer it.
async fn through_pool(
    connection: &Arc<Connection>,
    request: Request,
    exchange: &mut Exchange,
) -> Result<Answer, Answer> {
    let shared = connection.shared();
    let (reply, receiver) = oneshot::channel();
    let job = Box::new(Job { queued: request.arrived, request, reply });
    let submitted = shared.pool.submit(job);
    connection.thread().queued();
    if submitted.is_err() {
        shared.metrics.full.inc();
        return Err(Answer::from_response(pool::busy()).0);
    }
    let reply = Awaited::new(Arc::clone(&connection.thread().notifier), receiver).await;
    let Ok((response, timings)) = reply else {
        return Err(Answer::text(StatusCode::INTERNAL_SERVER_ERROR, "The server failed to answer this request.\n"));
    };
    exchange.worked(timings);
    match Answer::from_response(response) {
        (answer, None) => Ok(answer),
        (answer, Some(path)) => files::of_application(answer, path).await,
    }
}

pub(super) fn bad_request() -> Answer {
    Answer::last(StatusCode::BAD_REQUEST, "The request is malformed.\n")
}

fn body_refused(error: BodyError) -> Answer {
    match error {
        BodyError::Broken => Answer::last(StatusCode::BAD_REQUEST, "The request's body is malformed.\n"),
        BodyError::TooLarge => Answer::last(StatusCode::PAYLOAD_TOO_LARGE, "The request's body is too large.\n"),
        BodyError::TooSlow => Answer::last(StatusCode::REQUEST_TIMEOUT, "The request's body came too slowly.\n"),
    }
}

/// The target as applications expect it: path and query, or `*` for OPTIONS. `None` if it has another form.
fn origin_form(uri: Uri, method: &Method) -> Option<Uri> {
    let target = match uri.path_and_query() {
        Some(target) if target.as_str() == "*" && *method != Method::OPTIONS => return None,
        Some(target) => target.clone(),
        None => PathAndQuery::from_static("/"),
    };
    match (uri.scheme(), uri.authority()) {
        (_, None) => return Some(uri),
        // `GET example.org`: a form that only CONNECT may use.
        (None, Some(_)) => return None,
        _ => {}
    }
    let mut parts = http::uri::Parts::default();
    parts.path_and_query = Some(target);
    Uri::from_parts(parts).ok()
}

/// Drops fields that would be mistaken for others in Rack's environment: `X_Y` becomes `X-Y` there, and `Proxy` the
/// variable in which programs look for a proxy.
fn drop_doubtful(headers: &mut HeaderMap) {
    let doubtful = |name: &HeaderName| name.as_str().contains('_') || name.as_str() == "proxy";
    if headers.keys().any(doubtful) {
        let names: Vec<_> = headers.keys().filter(|name| doubtful(name)).cloned().collect();
        for name in names {
            headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_becomes_path_and_query() {
        for (target, path) in [("/a?b", "/a?b"), ("http://x/a?b", "/a?b"), ("http://x", "/"), ("*", "*")] {
            assert_eq!(origin_form(target.parse().unwrap(), &Method::OPTIONS).unwrap(), path, "{target}");
        }
        assert_eq!(origin_form("*".parse().unwrap(), &Method::GET), None);
        assert_eq!(origin_form("x".parse().unwrap(), &Method::GET), None);
    }

    #[test]
    fn doubtful_fields_are_dropped() {
        let mut headers = HeaderMap::new();
        for name in ["x-forwarded-for", "x_forwarded_for", "proxy", "proxy-authorization"] {
            headers.append(HeaderName::from_static(name), "1".parse().unwrap());
        }
        drop_doubtful(&mut headers);
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(headers.contains_key("x-forwarded-for") && headers.contains_key("proxy-authorization"));
    }
}
