import HTTP2
import Testing

/// nghttp2's decoder is the judge: a block out of step with its table ends the connection.
@Suite("The header blocks of an HTTP/2 connection")
struct HeaderBlockTests {
    private func openWire(tableBytes: UInt32? = nil) throws -> Wire {
        var settings = HTTP2ServerSettings()
        settings.requestHeaderBytesMax = 32_768
        let wire = try Wire(server: settings)
        if let tableBytes { try wire.server.submitSettings([HTTP2Setting(id: 1, value: tableBytes)]) }
        try wire.exchange()
        return wire
    }

    private func list(_ fields: [(name: String, value: String, isIndexed: Bool)]) -> HeaderList {
        var headers = HeaderList()
        for field in fields { headers.append(field.name, Array(field.value.utf8), isIndexed: field.isIndexed) }
        return headers
    }

    private static let opening = [
        (name: ":method", value: "POST", isIndexed: true), (name: ":scheme", value: "https", isIndexed: true),
        (name: ":authority", value: "api.push.apple.com", isIndexed: true),
        (name: ":path", value: "/3/device/00fc13ad", isIndexed: false),
    ]

    @Test("shrink to a few bytes once the repeated fields are in the header table")
    func repeatedFieldsShrink() throws {
        let wire = try openWire()
        let headers = list(
            HeaderBlockTests.opening + [("authorization", "bearer " + String(repeating: "ey", count: 120), true)])
        var sizes: [Int] = []
        for tag in UInt64(0)..<3 {
            try wire.client.submitRequest(headers, body: [UInt8]().span, tag: tag)
            sizes.append(try wire.clientToServer())
        }
        #expect(sizes[0] > 280)
        #expect(sizes[1] == 9 + 4 + 1 + 1 + 18)
        #expect(sizes[2] == sizes[1])
        #expect(wire.requests.map { $0.value("authorization")?.count } == [247, 247, 247])
    }

    @Test(
        "arrive unchanged, whatever the size of the peer's header table and however it changes",
        arguments: [nil, 0, 200, 4_096, 65_536])
    func anyList(tableBytes: UInt32?) throws {
        let wire = try openWire(tableBytes: tableBytes)
        var chance = Garbage.Chance(seed: UInt64(tableBytes ?? 1))
        var sent: [[String]] = []
        for tag in UInt64(0)..<600 {
            var fields = HeaderBlockTests.opening
            fields[3].value = "/3/device/\(chance.next())"
            for _ in 0..<chance.below(12) {
                let name = "x-\(chance.below(8))" + String(repeating: "n", count: chance.below(3) * 60)
                let value = String(repeating: "v", count: chance.below(5) * chance.below(400)) + "\(chance.below(5))"
                fields.append((name, value, chance.below(2) == 0))
            }
            sent.append(fields.map { $0.name + ": " + $0.value })
            try wire.client.submitRequest(list(fields), body: [UInt8]().span, tag: tag)
            if tag % 97 == 50 {
                try wire.server.submitSettings([
                    HTTP2Setting(id: 1, value: UInt32(chance.below(3) * chance.below(3_000)))
                ])
            }
            if tag % 5 == 0 { try wire.exchange() }
        }
        try wire.exchange()
        #expect(wire.answers.count { $0.conclusion == .complete } == sent.count)
        for (request, expected) in zip(wire.requests, sent) {
            let isSame = request.fields.map { $0.name + ": " + $0.value } == expected
            #expect(isSame, "stream \(request.stream)")
        }
    }

    @Test("stay in sync when a request that adds a table entry is cancelled before it is sent")
    func givenUpRequest() throws {
        let wire = try openWire()
        let teaching = list(HeaderBlockTests.opening + [("x-new", "value", true), ("x-varying", "1", false)])
        let stream = try wire.client.submitRequest(teaching, body: [1].span, tag: 1)
        try wire.client.reset(stream)
        try wire.client.submitRequest(teaching, body: [1].span, tag: 2)
        try wire.client.submitRequest(teaching, body: [1].span, tag: 3)
        try wire.exchange()
        #expect(wire.requests.map { $0.value("x-new") } == ["value", "value"])
        #expect(wire.requests.map { $0.value("x-varying") } == ["1", "1"])
    }

    @Test("fail before anything is sent if they exceed one frame")
    func tooLong() throws {
        let wire = try openWire()
        let headers = list(HeaderBlockTests.opening + [("x-long", String(repeating: "x", count: 16_384), true)])
        #expect(throws: HTTP2Fault.headersTooLong) {
            try wire.client.submitRequest(headers, body: [UInt8]().span, tag: 1)
        }
        #expect(wire.client.openStreams == 0)
    }
}
