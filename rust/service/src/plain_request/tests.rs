use super::*;

const PATHS: [&str; 2] = ["/one", "/two"];
const HEAD: &str = "POST /two HTTP/1.1\r\nhost: a\r\nx-service-api-key: k\r\n\
                    content-type: application/json\r\n";

fn read(text: &str) -> Option<PlainRequest<'_>> {
    PlainForm::new(&PATHS, 200, 8).read(text.as_bytes())
}

#[test]
fn a_plain_request_is_read_in_parts() {
    let named = "x-request-id: r/1\r\ntraceparent: 00-t\r\n";
    let text = format!("{HEAD}content-length: 2\r\n{named}\r\n{{}}");
    let (id, traceparent) = (Some(&b"r/1"[..]), Some(&b"00-t"[..]));
    let expected = PlainRequest { target: 1, key: b"k", id, traceparent, body: b"{}" };
    assert_eq!(read(&text), Some(expected));
}

#[test]
fn what_is_unusual_is_not_plain() {
    for rest in [
        "content-length: 2\r\n\r\n{",
        "content-length: 2\r\n\r\n{}P",
        "content-length: 02\r\n\r\n{}",
        "content-length: 9\r\n\r\n{      }",
        "content-length: 2\r\nhost: b\r\n\r\n{}",
        "content-length: 2\r\nte: trailers\r\n\r\n{}",
        "content-length: 2\r\nx-request-id: a b\r\n\r\n{}",
        "content-length: 2\r\ntraceparent: a\r\ntraceparent: b\r\n\r\n{}",
        "content-length: 2\nx: y\r\n\r\n{}",
        "content-length: 2 \r\n\r\n{}",
        "\r\n{}",
    ] {
        assert_eq!(read(&format!("{HEAD}{rest}")), None, "{rest:?}");
    }
}
