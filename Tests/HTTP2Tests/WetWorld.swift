import HTTP2

/// The wet simulation runs both real sessions of one connection. Their bytes pass in clear over two pipes in memory,
/// and a seed decides everything. No socket and no clock take part: a failing seed fails the same way everywhere.
///
/// The peer reports each push honestly, except for the last stream of its GOAWAYs, which may be any stream. The
/// client's report about a push is compared with what the peer did.
final class WetWorld {
    /// A fault during a run. The census counts the worlds that had it.
    enum Trouble: String, CaseIterable {
        case goAway = "goodbye", falseGoAway = "lyingGoodbye", shutdownNotice, ownGoAway = "ownGoodbye", refusedStream,
            resetStream, cancelled, fewStreams
        case noStreams, narrowWindow, loweredWindow, outOfOrder, lost, halfOpen, tornFrame, overLimit
    }

    struct Push: Equatable {
        let stream: Int32
        let body: [UInt8]
        var isCancelled = false
        /// Whether the peer's application has received it.
        var isRequested = false
        /// The status of the peer's answer; nil if there is none.
        var status: Int?
        var resetCode: HTTP2ErrorCode?
        var conclusion: HTTP2Answer.Conclusion?
        /// Whether its stream is above the last one in the peer's GOAWAY.
        var isBeyondGoAway = false
    }

    private let client: HTTP2ClientSession
    private let server: HTTP2ServerSession
    private var chance: Garbage.Chance
    private var toServer = Pipe()
    private var toClient = Pipe()
    private(set) var pushes: [Push] = []
    /// Indexes of pushes that the peer's application has received and not answered.
    private var pending: [Int] = []
    private var lastStreams: [Int32] = []
    /// The number of pushes that had left when the client sent GOAWAY.
    private var takenAtGoAway: Int?
    private var isConnected = true
    /// In one world of four, the peer lowers its windows too.
    private let lowersWindows: Bool
    /// nghttp2's server sometimes resets a stream whose window it lowered below what it had not yet returned, even
    /// through its first SETTINGS.
    private let mayMiscount: Bool
    private var window: UInt32
    private(set) var troubles: Set<Trouble> = []
    /// Violations.
    private(set) var faults: [String] = []

    private struct Pipe {
        var bytes: [UInt8] = []
        /// Whether the pipe delivers nothing any more, without an error at either end.
        var isCut = false
    }

    init(seed: UInt64) throws {
        chance = Garbage.Chance(seed: seed)
        var clientSettings = HTTP2ClientSettings()
        clientSettings.streamLimitAtStart = [1, 1, 100][chance.below(3)]
        clientSettings.keepsHeadersOfSuccess = true
        var serverSettings = HTTP2ServerSettings()
        serverSettings.streamLimit = [1, 5, 100, 1_000][chance.below(4)]
        serverSettings.streamWindowBytes = [0, 10, 100, 65_535][chance.below(4)]
        serverSettings.connectionWindowBytes = 65_535
        serverSettings.requestBodyBytesMax = 65_536
        lowersWindows = chance.below(4) == 0
        window = serverSettings.streamWindowBytes
        mayMiscount = lowersWindows || window < 65_535
        client = try HTTP2ClientSession(clientSettings)
        server = try HTTP2ServerSession(serverSettings)
    }

    /// Faults for a while; then a quiet phase, or the connection's end.
    func run() throws {
        for _ in 0..<(40 + chance.below(260)) where isConnected { try step() }
        if isConnected, toServer.isCut || toClient.isCut || chance.below(3) == 0 {
            troubles.insert(.lost)
            try lose()
        }
        if isConnected { try settle() }
        if isConnected { try lose() }
        judge()
    }

    private func step() throws {
        switch chance.below(100) {
        case ..<25: try submit()
        case ..<42: try clientWrites()
        case ..<59: try serverReads()
        case ..<68: try serverWrites()
        case ..<80: try clientReads()
        case ..<91: try answer()
        case ..<93: try resetByPeer()
        case ..<94: try cancel()
        case ..<97: try changeSettings()
        default: try rareStep()
        }
    }

    private func rareStep() throws {
        switch chance.below(16) {
        case 0: try sendGoAway()
        case 1:
            troubles.insert(.shutdownNotice)
            try server.submitShutdownNotice()
        case 2:
            troubles.insert(.ownGoAway)
            try client.submitGoAway()
            if takenAtGoAway == nil { takenAtGoAway = pushes.count { client.wasTaken($0.stream) } }
        case 3:
            troubles.insert(.lost)
            try lose()
        case 4:
            troubles.insert(.halfOpen)
            if chance.below(2) == 0 { toServer.isCut = true } else { toClient.isCut = true }
        case 5..<10: try client.submitPing(chance.next())
        default: try server.submitPing(chance.next())
        }
    }

    // The client.

    private func submit() throws {
        for _ in 0...chance.below(6) where client.mayOpen {
            let length = [0, 30, 700, 5_000, Self.bodyBytesMax][chance.below(5)]
            let tag = pushes.count
            let body = Self.body(length, of: tag)
            let stream = try client.submitRequest(
                Wire.pushHeaders(tag: UInt64(tag)), body: body.span, tag: UInt64(tag))
            pushes.append(Push(stream: stream, body: body))
            if client.openStreams > client.peerStreamLimit {
                faults.append("the client opened more streams than the peer allows")
            }
        }
    }

    private static let bodyBytesMax = 40_000
    private static let bytes = (0..<bodyBytesMax + 256).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// Each push has its own body, cut out of one text. Writing the bodies byte by byte would take nine tenths of the
    /// run time.
    private static func body(_ length: Int, of tag: Int) -> [UInt8] {
        // 31 * 223 leaves 1 when it is divided by 256: each body begins with its tag.
        let start = tag &* 223 & 0xff
        return Array(bytes[start..<start + length])
    }

    private func cancel() throws {
        let open = pushes.indices.filter { pushes[$0].conclusion == nil }
        guard !open.isEmpty else { return }
        let place = open[chance.below(open.count)]
        troubles.insert(.cancelled)
        pushes[place].isCancelled = true
        try client.reset(pushes[place].stream)
    }

    private func clientWrites() throws {
        var bytes: [UInt8] = []
        try client.takeOutput(into: &bytes, atMost: 1 + chance.below(30_000))
        receive()
        if let takenAtGoAway, pushes.count(where: { client.wasTaken($0.stream) }) > takenAtGoAway {
            faults.append("a push left after the client's own GOAWAY")
        }
        if !toServer.isCut { toServer.bytes += bytes }
    }

    private func clientReads() throws {
        let bytes = take(from: &toClient)
        if !bytes.isEmpty { try client.receive(bytes.span) }
        receive()
    }

    private func receive() {
        while let event = client.nextEvent() {
            guard case .ended(let answer) = event else { continue }
            let place = Int(answer.tag)
            guard pushes.indices.contains(place), pushes[place].conclusion == nil else {
                faults.append("push \(place) ended twice, or was never submitted")
                continue
            }
            pushes[place].conclusion = answer.conclusion
            pushes[place].isBeyondGoAway = lastStreams.contains { pushes[place].stream > $0 }
            check(answer, place)
        }
    }

    // The peer.

    private func serverReads() throws {
        let bytes = take(from: &toServer)
        if !bytes.isEmpty { try server.receive(bytes.span) }
        try serve()
    }

    private func serverWrites() throws {
        var bytes: [UInt8] = []
        try server.takeOutput(into: &bytes, atMost: 1 + chance.below(30_000))
        try serve()
        if !toClient.isCut { toClient.bytes += bytes }
    }

    private func serve() throws {
        while let event = server.nextEvent() {
            switch event {
            case .request(let request): receive(request)
            case .closed(let stream, _): pending.removeAll { pushes[$0].stream == stream }
            case .goAway, .settingsAcknowledged, .pingAnswered: break
            }
        }
    }

    /// The header blocks are our own encoding. They must decode to the intended fields, whatever was cancelled in
    /// between.
    private func receive(_ request: HTTP2Request) {
        guard let place = pushes.firstIndex(where: { $0.stream == request.streamID }), !pushes[place].isRequested else {
            return faults.append("stream \(request.streamID) is not a push, or arrived twice")
        }
        pushes[place].isRequested = true
        let fields = server.fields(of: request).map { [server.bytes($0.name), server.bytes($0.value)] }
        let meant = Wire.pushHeaders(tag: UInt64(place))
        let input = meant.fields.map { [Array(meant.bytes[$0.name.range]), Array(meant.bytes[$0.value.range])] }
        if fields != input { faults.append("push \(place) arrived with other fields") }
        if server.bytes(request.body) != pushes[place].body { faults.append("push \(place) arrived with another body") }
        pending.append(place)
    }

    private func answer() throws {
        guard !pending.isEmpty else { return }
        let choice = chance.below(pending.count)
        if choice > 0 { troubles.insert(.outOfOrder) }
        let place = pending.remove(at: choice)
        let status = [200, 200, 410, 503][chance.below(4)]
        pushes[place].status = status
        var headers = HeaderList()
        headers.append(":status", String(status))
        headers.append("apns-id", Array("id-\(place)".utf8))
        let body = status == 200 ? "" : #"{"reason":"\#(place)"}"#
        try server.submitResponse(pushes[place].stream, headers, body: Array(body.utf8).span)
    }

    private func resetByPeer() throws {
        guard !pending.isEmpty else { return }
        let place = pending.remove(at: chance.below(pending.count))
        let code: HTTP2ErrorCode = chance.below(2) == 0 ? .refusedStream : .internalError
        troubles.insert(code == .refusedStream ? .refusedStream : .resetStream)
        pushes[place].resetCode = code
        try server.reset(pushes[place].stream, code)
    }

    private func changeSettings() throws {
        let limit = UInt32([0, 1, 3, 100][chance.below(4)])
        let control = UInt32([0, 10, 1_000, 65_535][chance.below(4)])
        if control < window, lowersWindows { troubles.insert(.loweredWindow) }
        window = lowersWindows ? control : max(control, window)
        if limit == 0 { troubles.insert(.noStreams) }
        if limit == 1 || limit == 3 { troubles.insert(.fewStreams) }
        if window < 65_535 { troubles.insert(.narrowWindow) }
        try server.submitSettings([.streamsMax(limit), .streamWindowBytes(window)])
    }

    private func sendGoAway() throws {
        let bound = min(server.highestStreamID, lastStreams.min() ?? .max)
        let last = chance.below(2) == 0 ? bound : Int32(chance.below(Int(bound) + 1)) | 1
        troubles.insert(last < bound ? .falseGoAway : .goAway)
        lastStreams.append(min(last, max(bound, 0)))
        try server.submitGoAway(lastStreamID: min(last, max(bound, 0)))
    }
}

// The wire, and the checks.
extension WetWorld {
    private func take(from pipe: inout Pipe) -> [UInt8] {
        guard !pipe.bytes.isEmpty else { return [] }
        let count = chance.below(4) == 0 ? 1 + chance.below(min(pipe.bytes.count, 40)) : pipe.bytes.count
        if count < pipe.bytes.count { troubles.insert(.tornFrame) }
        defer { pipe.bytes.removeFirst(count) }
        return Array(pipe.bytes.prefix(count))
    }

    /// The peer may still read bytes that had left.
    private func lose() throws {
        isConnected = false
        client.connectionLost()
        receive()
        if client.openStreams > 0 { faults.append("streams are open on a closed connection") }
        while !toServer.bytes.isEmpty, !server.isFinished { try serverReads() }
        try serverWrites()
    }

    /// Removes all obstacles. Anything that stays open after that has no reason to.
    private func settle() throws {
        try server.submitSettings([.streamsMax(100), .streamWindowBytes(65_535)])
        var idle = 0
        for _ in 0..<10_000 where idle < 3 {
            let before = toServer.bytes.count + toClient.bytes.count
            try clientWrites()
            while !toServer.bytes.isEmpty { try serverReads() }
            while !pending.isEmpty { try answer() }
            try serverWrites()
            let moved = before + toClient.bytes.count
            while !toClient.bytes.isEmpty { try clientReads() }
            idle = moved == 0 ? idle + 1 : 0
        }
        for (place, push) in pushes.enumerated() where push.conclusion == nil {
            // A request that never left waits for a stream, which an ending connection will not grant. A server that
            // has received our GOAWAY keeps its last refusals to itself. Both connections are closed then.
            if client.isFinished, !client.wasTaken(push.stream) { continue }
            if server.isFinished, troubles.contains(.ownGoAway), !push.isRequested { continue }
            faults.append("push \(place) did not end although no obstacle is left")
        }
    }

    private func check(_ answer: HTTP2Answer, _ place: Int) {
        let push = pushes[place]
        switch answer.conclusion {
        case .complete:
            let isSame = push.status.map { $0 == Int(answer.status) } ?? false
            let id = String(decoding: client.bytes(answer.apnsID), as: UTF8.self)
            let body = String(decoding: client.bytes(answer.body), as: UTF8.self)
            let input = answer.status == 200 ? "" : #"{"reason":"\#(place)"}"#
            if !isSame || id != "id-\(place)" || body != input {
                faults.append("push \(place) got the answer of another push")
            }
        case .refused:
            if !push.isRequested && !push.isBeyondGoAway { troubles.insert(.overLimit) }
        case .unsent, .lost(wasSent: false): break
        case .reset(.refusedStream) where push.isBeyondGoAway && answer.status != 0: break
        case .reset(let code) where code == HTTP2ErrorCode(name: "FLOW_CONTROL_ERROR") && mayMiscount: break
        case .reset(let code):
            if push.resetCode != code {
                faults.append("push \(place) is reported as reset, but the peer sent no such reset")
            }
        case .cancelled:
            if !push.isCancelled { faults.append("push \(place) is reported as cancelled, but was not cancelled") }
        case .lost(wasSent: true):
            if isConnected { faults.append("push \(place) is reported as lost on an open connection") }
        }
    }

    private func judge() {
        for (place, push) in pushes.enumerated() {
            switch push.conclusion {
            case nil: faults.append("push \(place) never ended")
            case .unsent?, .lost(wasSent: false)?:
                if push.isRequested { faults.append("push \(place) is reported as unsent, but the peer received it") }
            case .refused?:
                let isExcused = push.resetCode == .refusedStream || push.isBeyondGoAway
                if push.isRequested, !isExcused {
                    faults.append("push \(place) is reported as refused, but the peer received it")
                }
            default: break
            }
        }
        for code in [client.goAwaySent, server.goAwaySent] {
            if let code, code != .noError { faults.append("one side reports a protocol error of the other: \(code)") }
        }
    }
}
