import Basis
import HTTP2
import Reactor

extension SimulatorConnection {
    func answer(_ headers: HeaderList, body: [UInt8], streamID: Int32, after delay: Duration = .zero) {
        guard delay > .zero else { return respond(headers, body: body, streamID: streamID) }
        let due = world.loop.now + delay
        // Requests of one reactor tick share their delay, their due instant, and a timer.
        if delayedDue?.instant != due {
            timerTag += 1
            delayedDue = (due, timerTag)
            _ = world.loop.schedule(at: due, tag: timerTag, self)
        }
        delayed[timerTag, default: []].append(DelayedAnswer(streamID: streamID, headers: headers, body: body))
    }

    func timerFired(tag: UInt64) {
        guard isOpen else { return }
        if tag == Self.lingerTag { return close() }
        if tag == Self.silenceTag { return silenceFired() }
        if tag == Self.goAwayTag {
            if let goAway = pendingGoAway { finishGoAway(goAway, lastStreamID: session?.highestStreamID ?? 0) }
        } else {
            if delayedDue?.tag == tag { delayedDue = nil }
            for late in delayed.removeValue(forKey: tag) ?? [] where !willStall {
                respond(late.headers, body: late.body, streamID: late.streamID)
            }
        }
        // A request over HTTP/1.1 may have waited for this answer.
        drainEvents()
        flush()
    }

    func respond(_ headers: HeaderList, body: [UInt8], streamID: Int32) {
        if let http1 {
            guard http1.awaits(streamID) else { return }
            let lines = headers.lines
            let status = lines.first { $0.name == ":status" }.flatMap { Int($0.value) } ?? 500
            return http1.respond(status: status, lines.filter { !$0.name.hasPrefix(":") }, body: body)
        }
        // Fails if the client has reset the stream meanwhile, and so wants no answer.
        try? session?.submitResponse(streamID, headers, body: body.span)
    }
}

struct DelayedAnswer {
    let streamID: Int32
    let headers: HeaderList
    let body: [UInt8]
}

extension HeaderList {
    fileprivate var lines: [HeaderLine] {
        fields.map { field in
            HeaderLine(
                name: String(decoding: bytes[field.name.range], as: UTF8.self),
                value: String(decoding: bytes[field.value.range], as: UTF8.self))
        }
    }
}

/// Header lists of answers. The list of a success is reused.
struct AnswerHeaders {
    private(set) var accepted = HeaderList()
    private let apnsIDPlace: Int

    init() {
        accepted.append(":status", "200")
        apnsIDPlace = accepted.append("apns-id", [], isIndexed: false)
        accepted.markTemplate()
    }

    mutating func accept(_ writeID: (inout [UInt8]) -> Void) {
        accepted.rewind()
        accepted.replaceValue(at: apnsIDPlace, writeID)
    }

    static func refusal(_ refusal: APNsRefusal, _ apnsID: [UInt8]) -> HeaderList {
        var list = odd(refusal.status, apnsID)
        if let seconds = refusal.retryAfterSeconds { list.append("retry-after", String(seconds)) }
        return list
    }

    static func odd(_ status: Int, _ apnsID: [UInt8]) -> HeaderList {
        var list = HeaderList()
        list.append(":status", String(status))
        if !apnsID.isEmpty { list.append("apns-id", apnsID, isIndexed: false) }
        list.append("content-type", "application/json")
        return list
    }

    /// The status is no success, because a client may take any 200 for a processed push.
    static let hugeHeader: HeaderList = {
        var list = HeaderList()
        list.append(":status", "500")
        list.append("x-filler", [UInt8](repeating: UInt8(ascii: "x"), count: 60_000), isIndexed: false)
        return list
    }()
}

extension APNsRefusal {
    /// The body in one piece: aioapns parses each DATA frame by itself.
    func body(now: WallInstant) -> [UInt8] {
        let milliseconds: Int64? =
            switch time {
            case .now: now.microseconds / 1_000
            case .milliseconds(let milliseconds): milliseconds
            case nil: nil
            }
        guard let milliseconds else { return Array(#"{"reason":"\#(reason)"}"#.utf8) }
        return Array(#"{"reason":"\#(reason)","timestamp":\#(milliseconds)}"#.utf8)
    }
}
