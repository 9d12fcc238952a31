import HTTP2

/// Bytes for fuzzing, the same in each run.
enum Garbage {
    /// SplitMix64.
    struct Chance {
        private var state: UInt64
        init(seed: UInt64) { state = seed }
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
        mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    }

    /// Preface and empty SETTINGS.
    static let clientOpening = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    static let ok: HeaderList = {
        var headers = HeaderList()
        headers.append(":status", "200")
        return headers
    }()

    static func random(_ chance: inout Chance) -> [UInt8] {
        (0..<chance.below(2_000)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    }

    /// The bytes that a busy client sends.
    static func clientBytes() throws -> [UInt8] {
        var settings = HTTP2ClientSettings()
        settings.streamLimitAtStart = 100
        let client = try HTTP2ClientSession(settings)
        for tag in UInt64(0)..<10 {
            try client.submitRequest(Wire.pushHeaders(tag: tag), body: [1, 2, 3].span, tag: tag)
        }
        try client.submitPing(1)
        var bytes: [UInt8] = []
        try client.takeOutput(into: &bytes, atMost: 65_536)
        return bytes
    }

    /// The bytes that a server sends to a client with one request.
    static func serverBytes() throws -> [UInt8] {
        let server = try HTTP2ServerSession(HTTP2ServerSettings())
        let opening = try clientBytes()
        try server.receive(opening.span)
        let reason = Array(#"{"reason":"Unregistered"}"#.utf8)
        while let event = server.nextEvent() {
            guard case .request(let request) = event else { continue }
            var headers = HeaderList()
            headers.append(":status", request.streamID % 4 == 1 ? "410" : "200")
            headers.append("apns-id", "EC1BF194-B3B2-424B-B0FC-F3A4A5C3A2D0")
            try server.submitResponse(request.streamID, headers, body: reason.span)
        }
        try server.submitSettings([.streamsMax(1)])
        try server.submitGoAway(lastStreamID: 3, debug: [1, 2, 3])
        var bytes: [UInt8] = []
        try server.takeOutput(into: &bytes, atMost: 65_536)
        return bytes
    }

    /// Flips, cuts, doubles or inserts bytes, a few times.
    static func mutate(_ bytes: inout [UInt8], _ chance: inout Chance) {
        for _ in 0...chance.below(6) where !bytes.isEmpty {
            let place = chance.below(bytes.count)
            switch chance.below(5) {
            case 0: bytes[place] ^= UInt8(1 << chance.below(8))
            case 1: bytes[place] = UInt8(truncatingIfNeeded: chance.next())
            case 2: bytes.removeSubrange(place..<min(bytes.count, place + 1 + chance.below(20)))
            case 3: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 1 + chance.below(60))], at: place)
            default: bytes.removeLast(bytes.count - place)
            }
        }
    }

    /// Feeds the bytes in pieces of random size until one is rejected.
    static func feed(_ bytes: [UInt8], _ chance: inout Chance, _ take: (Span<UInt8>) throws -> Void) {
        var place = 0
        while place < bytes.count {
            let end = min(bytes.count, place + 1 + chance.below(200))
            do { try take(bytes.span.extracting(place..<end)) } catch { return }
            place = end
        }
    }
}
