// Refusals of requests that could not be read.
extension ProblemCode {
    static let requests = ProblemChapter(
        "The request can't be understood",
        [
            malformedRequest, headersTooLarge, requestTimeout, malformedJSON, jsonTooComplex, duplicateMember,
            invalidUTF8, nulCharacter, malformedPath, invalidQuery, invalidCursor, invalidIdempotencyKey,
            unsupportedEncoding, expectationFailed, bodyTooLarge, lineTooLong,
        ])

    package static let malformedRequest = ProblemCode(
        "malformed_request", 400, "This is no request of HTTP",
        cause: """
            what came over the connection can't be read as a request of HTTP/1.1: another protocol (TLS, \
            HTTP/2), a path with blanks or bytes that are not encoded, header fields that can't stand there, \
            no `Host` or two, lengths that contradict each other, chunks without a size or in HTTP/1.0; or \
            the connection ended before the request did. The connection ends with the answer.
            """,
        remedy: "let a library write requests; the detail says what could not be read.")

    package static let headersTooLarge = ProblemCode(
        "headers_too_large", 431, "The head of the request is too large",
        cause: "path and header fields have more than 32 KiB together, or there are more than 100 fields.",
        remedy: """
            leave out what is not meant for the gateway, cookies for instance; long lists belong into bodies.
            """)

    package static let requestTimeout = ProblemCode(
        "request_timeout", 408, "The request came too slowly",
        cause: """
            the head of a request was not whole 30 seconds after its first byte; or its body was not within 60 \
            seconds, or, in an import, nothing of it came for 60 seconds. Nothing of it was carried out; of an \
            import only what follows `resume_after` is missing. The connection ends with the answer.
            """,
        remedy: "send it again; split large bodies, and look for a proxy in between that holds requests back.")

    package static let malformedJSON = ProblemCode(
        "malformed_json", 400, "The body is not JSON",
        cause: """
            the body is empty, ends early, or has a byte, number or escape that JSON does not allow; the detail \
            names the byte.
            """,
        remedy: "send one JSON object as UTF-8 without a byte order mark; let a library write it.")

    package static let jsonTooComplex = ProblemCode(
        "json_too_complex", 400, "The JSON is deeper or larger than is read",
        cause: """
            it nests deeper than 32 levels, has more than 100,000 values, or a number of more than 64 \
            characters.
            """,
        remedy: "flatten or split what is sent.")

    package static let duplicateMember = ProblemCode(
        "duplicate_member", 400, "A member is named twice",
        cause: "an object has two members of one name; two programs could read it differently.",
        remedy: "name each member once.")

    package static let invalidUTF8 = ProblemCode(
        "invalid_utf8", 400, "The text is not UTF-8",
        cause: "a string, or something beside the strings, has bytes that are not UTF-8.",
        remedy: "encode the request as UTF-8.")

    package static let nulCharacter = ProblemCode(
        "nul_character", 400, "The text has a NUL character",
        cause: "a string has a NUL, which PostgreSQL can't store.",
        remedy: "remove it.")

    package static let malformedPath = ProblemCode(
        "malformed_path", 400, "The path can't be read",
        cause: """
            a path segment has a percent sign without two hexadecimal digits, a NUL, bytes that are not UTF-8, \
            or is `.` or `..`, which clients and proxies resolve on the way.
            """,
        remedy: "encode each name as UTF-8 and percent-encode it once, the slash included (`%2F`).")

    package static let invalidQuery = ProblemCode(
        "invalid_query", 400, "The query can't be read",
        cause: """
            a query parameter is unknown to the route, stands there twice, or has a value that is not allowed.
            """,
        remedy: "use the parameters that `/openapi.yaml` lists.")

    package static let invalidCursor = ProblemCode(
        "invalid_cursor", 400, "The cursor is not one of ours",
        cause: "`cursor` or `after` was changed, or comes from another list.",
        remedy: "pass `next` of the page before as it is, or start without a cursor.")

    package static let invalidIdempotencyKey = ProblemCode(
        "invalid_idempotency_key", 400, "The Idempotency-Key can't be used",
        cause: """
            the header stands there twice, is empty, longer than 255 bytes, or has blanks or other characters \
            than visible ASCII.
            """,
        remedy: "send one fresh UUID for each new request, and the same one when that request is repeated.")

    package static let unsupportedEncoding = ProblemCode(
        "unsupported_encoding", 415, "The body is encoded in a way that is not read",
        cause: "the request has a `Content-Encoding`, gzip for instance.",
        remedy: """
            send bodies as they are. Their `Content-Type` is not asked for: a body is read as JSON, whatever it \
            is called.
            """)

    package static let expectationFailed = ProblemCode(
        "expectation_failed", 417, "What the request expects is not done here",
        cause: "the header `Expect` says something else than `100-continue`.",
        remedy: """
            leave it out. With `Expect: 100-continue` a client is asked for its body (`100 Continue`) once \
            its key and what it announces are good; else it hears the refusal at once, and the connection \
            ends.
            """)

    package static let bodyTooLarge = ProblemCode(
        "body_too_large", 413, "The body is too large",
        cause: "the body is larger than one request may be (1 MiB unless set otherwise).",
        remedy: "split it. Many registrations go to `devices/import`, which has no such bound.")

    package static let lineTooLong = ProblemCode(
        "line_too_long", 413, "The line is too long",
        cause: "a line of an import is longer than 64 KiB.",
        remedy: "one registration per line; check that lines end with a line feed.")
}
