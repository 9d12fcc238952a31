// Bytes that are not HTTP/1.1, and requests that two programs could read in two ways.
extension BadInput {
    private static let authorization = "Authorization: Bearer \(GatewayWorld.key)\r\n"

    private static func post(_ headers: String, _ body: String) -> String {
        "POST /v1/apps HTTP/1.1\r\nHost: g\r\n\(authorization)\(headers)\r\n\(body)"
    }

    private static func get(_ headers: String) -> String {
        "GET /v1/apps HTTP/1.1\r\nHost: g\r\n\(authorization)\(headers)\r\n"
    }

    private static let chunked = "Transfer-Encoding: chunked\r\n"

    static let firstLines: [BadInput] = [
        BadInput("no HTTP", raw: "GARBAGE\r\n\r\n", .malformedRequest, message: "method"),
        BadInput("TLS", bytes: [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3], .malformedRequest, message: "TLS"),
        BadInput("HTTP/2", raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .malformedRequest, message: "HTTP/2"),
        BadInput("HTTP/3.0", raw: "GET / HTTP/3.0\r\n\r\n", .malformedRequest),
        BadInput("HTTP/1.7", raw: "GET / HTTP/1.7\r\n\r\n", .malformedRequest),
        BadInput("HTTP/0.9", raw: "GET /healthz\r\n\r\n", .malformedRequest),
        BadInput("http in small letters", raw: "GET / http/1.1\r\nHost: g\r\n\r\n", .malformedRequest),
        BadInput(
            "a method in small letters", raw: "get / HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest,
            message: "capitals"),
        BadInput("an unknown method", raw: "BREW /pot HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest),
        BadInput("a method that is too long", raw: String(repeating: "G", count: 100_000), .malformedRequest),
        BadInput("no path", raw: "GET  HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest),
        BadInput("a path without a slash", raw: "GET healthz HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest),
        BadInput(
            "a blank in the path", raw: "GET /v1/a b HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest, message: "spaces"),
        BadInput("a tab in the path", raw: "GET /v1/a\tb HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest),
        BadInput("a NUL in the path", raw: "GET /v1/a\u{0}b HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest),
        BadInput(
            "bare UTF-8 in the path", raw: "GET /v1/é HTTP/1.1\r\nHost: g\r\n\r\n", .malformedRequest,
            message: "percent"),
        BadInput(
            "bare bytes in the path", bytes: Array("GET /v1/".utf8) + [0xff, 0xfe] + Array(" HTTP/1.1\r\n\r\n".utf8),
            .malformedRequest),
        BadInput("a path that is too long", raw: "GET /" + String(repeating: "x", count: 100_000), .headersTooLarge),
        BadInput(
            "a query that is too long",
            raw: "GET /?" + String(repeating: "x", count: 100_000) + " HTTP/1.1\r\nHost: g\r\n\r\n",
            .headersTooLarge),
        BadInput("lines that end with LF alone", raw: "GET / HTTP/1.1\nHost: g\n\n", .malformedRequest),
        BadInput(
            "a head that breaks off", raw: "GET /v1/apps HTTP/1.1\r\nHost: g\r\n", .malformedRequest, message: "ended"),
        BadInput("a first line that breaks off", raw: "GET /v1/ap", .malformedRequest, message: "ended"),
    ]

    static let headerFields: [BadInput] = [
        BadInput("a header without a colon", raw: get("Accept all\r\n"), .malformedRequest, message: "header field"),
        BadInput("a header without a name", raw: get(": all\r\n"), .malformedRequest),
        BadInput("a blank before the colon", raw: get("Accept : all\r\n"), .malformedRequest),
        BadInput("a NUL in a header", raw: get("Accept: a\u{0}b\r\n"), .malformedRequest),
        BadInput("a bare CR in a header", raw: get("Accept: a\rX: b\r\n"), .malformedRequest),
        BadInput("a folded header", raw: get("Accept: a\r\n b\r\n"), .malformedRequest),
        BadInput("a name with a parenthesis", raw: get("Acc(ept: a\r\n"), .malformedRequest),
        BadInput("a name that is not ASCII", raw: get("Accépt: a\r\n"), .malformedRequest),
        BadInput(
            "a header value that is too long", raw: get("X: " + String(repeating: "y", count: 40_000) + "\r\n"),
            .headersTooLarge),
        BadInput(
            "a header name that is too long", raw: get(String(repeating: "Y", count: 40_000) + ": x\r\n"),
            .headersTooLarge),
        BadInput(
            "two hundred headers", raw: get((0..<200).map { "X-\($0): 1\r\n" }.joined()), .headersTooLarge,
            message: "100 fields"),
        BadInput(
            "many long headers",
            raw: get((0..<60).map { "X-\($0): " + String(repeating: "z", count: 900) + "\r\n" }.joined()),
            .headersTooLarge),
        BadInput("no Host", raw: "GET /v1/apps HTTP/1.1\r\n\(authorization)\r\n", .malformedRequest, message: "Host"),
        BadInput(
            "an expectation with a blank in it", "GET", "/v1/apps", headers: ["Expect: 1 00-continue"],
            .expectationFailed, message: "100-continue"),
        BadInput(
            "a condition on a registration", "PUT", "/v1/apps/tower/devices/phone", GatewayWorld.registration(2),
            headers: ["If-Match: \"old\""], .preconditionNotSupported, message: "If-Match"),
        BadInput(
            "a condition on a new message", "POST", "/v1/apps/tower/messages", #"{"audience": {"all": true}}"#,
            headers: ["if-none-match: *"], .preconditionNotSupported, message: "If-None-Match"),
        BadInput(
            "a condition on a node", "PUT", "/base/tower/a.json", "1", headers: ["If-None-Match: *"],
            .preconditionNotSupported, message: "ETag"),
        BadInput(
            "a condition on children", "PATCH", "/base/tower/a.json", #"{"b": 1}"#, headers: ["If-Match: *"],
            .preconditionNotSupported),
        BadInput(
            "a condition on a removal", "DELETE", "/v1/apps/tower/devices/phone",
            headers: ["If-Unmodified-Since: Sat, 28 Nov 2026 12:00:00 GMT"], .preconditionNotSupported,
            message: "If-Unmodified-Since"),
        BadInput(
            "an unknown expectation", "GET", "/v1/apps", headers: ["Expect: magic"], .expectationFailed,
            message: "100-continue"),
        BadInput(
            "one expectation too many", "POST", "/v1/apps", "{}", headers: ["Expect: 100-continue, magic"],
            .expectationFailed),
        BadInput("two Hosts", raw: get("Host: h\r\n"), .malformedRequest, message: "Host"),
        BadInput("the same Host twice", raw: get("Host: g\r\n"), .malformedRequest, message: "Host"),
    ]

    static let lengths: [BadInput] = [
        BadInput(
            "a negative length", raw: post("Content-Length: -1\r\n", ""), .malformedRequest, message: "Content-Length"),
        BadInput("a length in letters", raw: post("Content-Length: two\r\n", "{}"), .malformedRequest),
        BadInput("a length with a sign", raw: post("Content-Length: +2\r\n", "{}"), .malformedRequest),
        BadInput("a length in hexadecimal", raw: post("Content-Length: 0x2\r\n", "{}"), .malformedRequest),
        BadInput(
            "a length beyond 64 bits", raw: post("Content-Length: 99999999999999999999\r\n", "{}"), .malformedRequest),
        BadInput("a length twice", raw: post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), .malformedRequest),
        BadInput("two lengths", raw: post("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), .malformedRequest),
        BadInput("a list of lengths", raw: post("Content-Length: 2, 2\r\n", "{}"), .malformedRequest),
        BadInput("an empty length", raw: post("Content-Length: \r\n", "{}"), .malformedRequest),
        BadInput(
            "a length and chunks", raw: post("Content-Length: 2\r\n" + chunked, "2\r\n{}\r\n0\r\n\r\n"),
            .malformedRequest),
        BadInput("chunked twice", raw: post(chunked + chunked, "2\r\n{}\r\n0\r\n\r\n"), .malformedRequest),
        BadInput("gzip as transfer", raw: post("Transfer-Encoding: gzip\r\n", "xx"), .malformedRequest),
        BadInput(
            "gzip in chunks", raw: post("Transfer-Encoding: gzip, chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
            .malformedRequest,
            message: "chunked"),
        BadInput("gzip behind chunks", raw: post("Transfer-Encoding: chunked, gzip\r\n", "xx"), .malformedRequest),
        BadInput("identity as transfer", raw: post("Transfer-Encoding: identity\r\n", "{}"), .malformedRequest),
        BadInput(
            "nearly chunked", raw: post("Transfer-Encoding: xchunked\r\n", "2\r\n{}\r\n0\r\n\r\n"), .malformedRequest),
        BadInput(
            "chunks in HTTP/1.0", raw: post(chunked, "2\r\n{}\r\n0\r\n\r\n").replacing("HTTP/1.1", with: "HTTP/1.0"),
            .malformedRequest, message: "HTTP/1.0"),
        BadInput("a chunk without a size", raw: post(chunked, "ZZ\r\n"), .malformedRequest, message: "chunk"),
        BadInput("a chunk beyond 64 bits", raw: post(chunked, "FFFFFFFFFFFFFFFFF\r\n"), .malformedRequest),
        BadInput("a chunk longer than it says", raw: post(chunked, "2\r\n{}}}\r\n0\r\n\r\n"), .malformedRequest),
        BadInput("chunks that break off", raw: post(chunked, "2\r\n{}\r\n"), .malformedRequest, message: "ended"),
        BadInput(
            "a body that breaks off", raw: post("Content-Length: 9\r\n", "{}"), .malformedRequest, message: "ended"),
        BadInput("a Content-Length above the limit", raw: post("Content-Length: 9999999999\r\n", "{}"), .bodyTooLarge),
        BadInput(
            "more announced than a number here holds", raw: post("Content-Length: 9223372036854775808\r\n", "{}"),
            .bodyTooLarge),
        BadInput(
            "more than is taken", raw: post("Content-Length: 1048577\r\n", String(repeating: " ", count: 1_048_577)),
            .bodyTooLarge, message: "1048576"),
        BadInput(
            "chunks above the limit",
            raw: post(
                chunked, String(repeating: "40000\r\n" + String(repeating: " ", count: 0x4_0000) + "\r\n", count: 5)),
            .bodyTooLarge),
        BadInput("no body", raw: post("", ""), .malformedJSON, message: "empty"),
        BadInput("trailers without a colon", raw: post(chunked, "2\r\n{}\r\n0\r\nX\r\n\r\n"), .malformedRequest),
        BadInput("a packed body", "POST", "/v1/apps", "{}", headers: ["Content-Encoding: gzip"], .unsupportedEncoding),
        BadInput(
            "a body packed twice", "POST", "/v1/apps", "{}", headers: ["Content-Encoding: br, gzip"],
            .unsupportedEncoding),
        BadInput(
            "a packed import", "POST", "/v1/apps/tower/devices/import", "{}", headers: ["Content-Encoding: zstd"],
            .unsupportedEncoding),
        BadInput(
            "a form", "POST", "/v1/apps", "slug=a&name=A", headers: ["Content-Type: application/x-www-form-urlencoded"],
            .malformedJSON),
        BadInput("XML", "POST", "/v1/apps", "<app/>", headers: ["Content-Type: text/xml"], .malformedJSON),
        BadInput(
            "what asks for another protocol", "POST", "/v1/apps", "{}",
            headers: ["Connection: Upgrade", "Upgrade: h2c"], .missingMember, at: "/slug"),
    ]
}
