import Requests
import Testing

@Suite("The target of a request")
struct RequestTargetTests {
    private static func segments(_ target: String) throws(Problem) -> [String] { try RequestTarget(target).segments }

    @Test("splits into segments before each segment is decoded, once")
    func decodedOnce() throws {
        #expect(try Self.segments("/v1/apps/a%2Fb") == ["v1", "apps", "a/b"])
        #expect(try Self.segments("/v1/%252F") == ["v1", "%2F"])
        #expect(try Self.segments("/v1/%2e%2E%2F") == ["v1", "../"])
        #expect(try Self.segments("/%C3%A9/e%CC%81") == ["é", "e\u{301}"])
        #expect(try Self.segments("/a+b%20c") == ["a+b c"])
        #expect(try Self.segments("/%f0%9f%94%94") == ["🔔"])
        #expect(try Self.segments("/a%3Fb%23c") == ["a?b#c"])
    }

    @Test("keeps empty segments in the path")
    func emptySegments() throws {
        #expect(try Self.segments("/") == [""])
        #expect(try Self.segments("/v1/apps/") == ["v1", "apps", ""])
        #expect(try Self.segments("//v1//apps") == ["", "v1", "", "apps"])
    }

    @Test("separates the query at the first question mark")
    func query() throws {
        let target = try RequestTarget("/v1/apps?cursor=a?b&limit=2")
        #expect(target.path == "/v1/apps")
        #expect(target.query == "cursor=a?b&limit=2")
        #expect(try RequestTarget("/v1/apps?").query == "")
    }

    @Test(
        "fails to parse if it could be read in two ways",
        arguments: [
            "", "v1/apps", "*", "http://host/v1", "/v1/%", "/v1/%4", "/v1/%ZZ", "/v1/%G0", "/v1/%-1", "/v1/%00",
            "/v1/a%00b", "/v1/%ff", "/v1/%C3", "/v1/%C0%AF", "/v1/%ED%A0%80", "/v1/../x", "/v1/./x", "/v1/..",
            "/v1/%2e%2e/x", "/v1/.%2E", "/v1/%2E", "/v1#x", "/#",
        ])
    func refused(target: String) {
        let problem = refusal { () throws(Problem) in
            if let fault = try RequestTarget(target).fault { throw fault }
        }
        #expect(problem?.code == .malformedPath)
    }
}

@Suite("The query of a request")
struct QueryTests {
    @Test("gives each parameter, decoded once")
    func values() throws {
        let query = try QueryReader("after=%41b%2526&limit=7", known: ["after", "limit"])
        #expect(query["after"] == "Ab%26")
        #expect(try query.limit() == 7)
        #expect(query["cursor"] == nil)
    }

    @Test("accepts empty values and an empty query")
    func empty() throws {
        #expect(try QueryReader("", known: [])["after"] == nil)
        let query = try QueryReader("&after=&&", known: ["after", "limit"])
        #expect(query["after"] == nil)
        #expect(try query.limit(.messages) == PageLimits.messages.standard)
    }

    @Test(
        "fails with invalid_query on unknown, repeated or malformed parameters",
        arguments: ["page=2", "limit=1&limit=2", "after=%ZZ", "after=%00", "%FF=1", "Limit=1", "limit=1;after=2", "x"])
    func refused(text: String) {
        let problem = refusal { () throws(Problem) in
            try QueryReader(text, known: ["after", "limit"]).limit()
        }
        #expect(problem?.code == .invalidQuery)
    }

    @Test(
        "refuses a plus sign in a value, and says how to write a space and a plus",
        arguments: ["after=Anna+Smith", "after=anna+news@example.com", "after=%20+"])
    func plusSign(text: String) throws {
        let problem = refusal { () throws(Problem) in try QueryReader(text, known: ["after"]) }
        #expect(problem?.code == .invalidQuery)
        #expect(problem?.detail.contains("after") == true && problem?.detail.contains("%20") == true)
        #expect(problem?.detail.contains("%2B") == true)
        #expect(try QueryReader("after=Anna%2B%20Smith", known: ["after"])["after"] == "Anna+ Smith")
    }

    @Test(
        "fails with invalid_query on a page size outside the limits",
        arguments: ["0", "-1", "501", "1.5", "1e2", "ten", "99999999999999999999", "%31%30%30%30"])
    func limit(text: String) throws {
        let query = try QueryReader("limit=\(text)", known: ["limit"])
        #expect(refusal { () throws(Problem) in try query.limit(.messages) }?.code == .invalidQuery)
    }
}

@Suite("The Idempotency-Key header")
struct IdempotencyKeyTests {
    @Test("holds one word of up to 255 bytes, or is absent")
    func good() throws {
        #expect(try IdempotencyKey.read([]) == nil)
        #expect(try IdempotencyKey.read(["order-17/!~"]) == "order-17/!~")
        #expect(try IdempotencyKey.read([String(repeating: "k", count: 255)])?.utf8.count == 255)
    }

    @Test(
        "fails to parse if it is empty, repeated, too long, or not one ASCII word",
        arguments: [[""], ["a b"], ["a", "a"], [String(repeating: "k", count: 256)], ["é"], ["a\t"]])
    func bad(values: [String]) {
        #expect(refusal { () throws(Problem) in try IdempotencyKey.read(values) }?.code == .invalidIdempotencyKey)
    }
}
