extension ProblemCode {
    static let requests = ProblemChapter(
        "The request can't be read",
        [
            malformedRequest, headersTooLarge, requestTimeout, malformedJSON, jsonTooComplex, duplicateMember,
            invalidUTF8, nulCharacter, malformedPath, invalidQuery, invalidCursor, invalidIdempotencyKey,
            unsupportedEncoding, expectationFailed, preconditionNotSupported, bodyTooLarge, lineTooLong,
        ])

    package static let malformedRequest = ProblemCode(
        "malformed_request", 400, "The request is not HTTP/1.1",
        cause: """
            the bytes on the connection are not a valid HTTP/1.1 request. Examples: another protocol (TLS, HTTP/2), \
            a path with spaces or unencoded bytes, invalid header fields, a missing or repeated `Host`, \
            contradicting lengths, chunks without a size or in HTTP/1.0. Or the connection ended before the request \
            did. The gateway closes the connection after the answer.
            """,
        remedy: "use an HTTP library to write requests. The detail says what could not be read.")

    package static let headersTooLarge = ProblemCode(
        "headers_too_large", 431, "The head of the request is too large",
        cause: "the path and the header fields have more than 32 KiB together, or there are more than 100 fields.",
        remedy: """
            leave out header fields that are not meant for the gateway, such as cookies. Put long lists into the \
            body.
            """)

    package static let requestTimeout = ProblemCode(
        "request_timeout", 408, "The request arrived too slowly",
        cause: """
            the head of the request was not complete 30 seconds after its first byte, or its body was not complete \
            within 60 seconds. In an import, no byte arrived for 60 seconds. Nothing was changed; of an import only \
            the lines after `resume_after` are missing. The gateway closes the connection after the answer.
            """,
        remedy: "send the request again. Split large bodies, and check whether a proxy holds requests back.")

    package static let malformedJSON = ProblemCode(
        "malformed_json", 400, "The body is not JSON",
        cause: """
            the body is empty, ends early, or has a byte, number or escape that JSON does not allow. The detail \
            names the byte.
            """,
        remedy: "send one JSON object as UTF-8 without a byte order mark, written by a JSON library.")

    package static let jsonTooComplex = ProblemCode(
        "json_too_complex", 400, "The JSON is too deep or too large",
        cause: """
            the JSON nests deeper than 32 levels, has more than 100,000 values, or has a number of more than 64 \
            characters.
            """,
        remedy: "flatten the body, or split it.")

    package static let duplicateMember = ProblemCode(
        "duplicate_member", 400, "A member is named twice",
        cause: "an object has two members with the same name. Different programs would read it differently.",
        remedy: "name each member once.")

    package static let invalidUTF8 = ProblemCode(
        "invalid_utf8", 400, "The body is not UTF-8",
        cause: "the body has bytes that are not UTF-8.",
        remedy: "encode the request as UTF-8.")

    package static let nulCharacter = ProblemCode(
        "nul_character", 400, "The text has a NUL character",
        cause: "a string has a NUL character, which PostgreSQL can't store.",
        remedy: "remove the NUL character.")

    package static let malformedPath = ProblemCode(
        "malformed_path", 400, "The path can't be read",
        cause: """
            a path segment has a percent sign without two hexadecimal digits, a NUL, or bytes that are not UTF-8. Or \
            it is `.` or `..`, which clients and proxies resolve.
            """,
        remedy: "encode each name as UTF-8, and percent-encode it once, including slashes (`%2F`).")

    package static let invalidQuery = ProblemCode(
        "invalid_query", 400, "The query can't be read",
        cause: """
            a query parameter is unknown to the route, is given twice, or has a value that is not allowed. A `+` in a \
            value is not allowed, because some clients mean a space by it and others a plus.
            """,
        remedy: "use the parameters that `/openapi.yaml` lists. Write a space as `%20` and a plus as `%2B`.")

    package static let invalidCursor = ProblemCode(
        "invalid_cursor", 400, "The cursor is not valid",
        cause: "`cursor` or `after` was changed, or comes from another list.",
        remedy: "pass `next` of the previous page unchanged, or start without a cursor.")

    package static let invalidIdempotencyKey = ProblemCode(
        "invalid_idempotency_key", 400, "The Idempotency-Key is not valid",
        cause: """
            the header is given twice, is empty, is longer than 255 bytes, or has characters other than visible \
            ASCII.
            """,
        remedy: "send a new UUID with each new request, and the same UUID when you repeat that request.")

    package static let unsupportedEncoding = ProblemCode(
        "unsupported_encoding", 415, "The body's encoding is not supported",
        cause: "the request has a `Content-Encoding`, for example gzip.",
        remedy: """
            send bodies without compression. The gateway reads every body as JSON, whatever its `Content-Type` is.
            """)

    package static let expectationFailed = ProblemCode(
        "expectation_failed", 417, "The expectation is not supported",
        cause: "the header `Expect` has a value other than `100-continue`.",
        remedy: """
            leave the header out. With `Expect: 100-continue` the gateway first checks the key and the announced \
            length. It then asks for the body (`100 Continue`), or refuses the request and closes the connection.
            """)

    package static let preconditionNotSupported = ProblemCode(
        "precondition_not_supported", 412, "Preconditions are not supported",
        cause: """
            a PUT, PATCH, POST or DELETE has a header `If-Match`, `If-None-Match` or `If-Unmodified-Since`. The gateway \
            serves neither `ETag` nor `Last-Modified`, so it can't compare anything. Nothing was changed.
            """,
        remedy:
            "leave the header out: then the last write wins. Writers that must not meet write below paths of their own."
    )

    package static let bodyTooLarge = ProblemCode(
        "body_too_large", 413, "The body is too large",
        cause: "the body is larger than the limit for one request (1 MiB by default).",
        remedy: "split the body. Send many registrations to `devices/import`, which has no such limit.")

    package static let lineTooLong = ProblemCode(
        "line_too_long", 413, "The line is too long",
        cause: "a line of an import is longer than 64 KiB.",
        remedy: "send one registration per line, and check that each line ends with a line feed.")
}
