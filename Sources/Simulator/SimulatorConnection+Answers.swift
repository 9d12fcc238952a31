import HTTP2
import PushModel
import Reactor
import TLS

/// Saying answers, now or later.
extension SimulatorConnection {
    func answer(_ answer: SimulatorAnswer, streamID: Int32, after delay: Duration = .zero) {
        guard delay > .zero else { return say(answer, streamID: streamID) }
        let due = world.loop.now + delay
        // Requests of one turn share their delay, their due instant, and a timer.
        if delayedDue?.instant != due {
            timerTag += 1
            delayedDue = (due, timerTag)
            _ = world.loop.schedule(at: due, tag: timerTag, self)
        }
        delayed[timerTag, default: []].append(DelayedAnswer(streamID: streamID, answer: answer))
    }

    func timerFired(tag: UInt64) {
        guard isOpen else { return }
        if tag == Self.lingerTag { return close() }
        if tag == Self.silenceTag { return silenceFired() }
        if tag == Self.goAwayTag {
            if let goAway = pendingGoAway, let session {
                finishGoAway(goAway, lastStreamID: session.highestStreamID)
            }
        } else {
            if delayedDue?.tag == tag { delayedDue = nil }
            for late in delayed.removeValue(forKey: tag) ?? [] where !willStall {
                say(late.answer, streamID: late.streamID)
            }
        }
        flush()
    }

    func say(_ answer: SimulatorAnswer, streamID: Int32) {
        switch answer {
        case .accepted(let apnsID):
            answers.accept { $0.append(contentsOf: apnsID) }
            respond(answers.accepted, body: [], streamID: streamID)
        case .refused(let refusal, let apnsID, let now):
            respond(AnswerSheet.refusal(refusal, apnsID), body: refusal.body(now: now), streamID: streamID)
        case .odd(let status, let apnsID, let body):
            respond(AnswerSheet.odd(status, apnsID), body: body, streamID: streamID)
        case .hugeHeader:
            respond(AnswerSheet.hugeHeader, body: [], streamID: streamID)
        }
    }

    func respond(_ headers: HeaderList, body: [UInt8], streamID: Int32) {
        // A stream that the client has reset meanwhile wants no answer.
        try? session?.submitResponse(streamID, headers, body: body.span)
    }

    /// Apple lets the handshake succeed and refuses the certificate by GOAWAY. nil: it will do, or there is none.
    func refusalOfCertificate(_ certificate: TLSCertificate?) -> String? {
        guard let certificate else { return nil }
        let now = world.now
        if world.settings.revokedCertificates.contains(certificate.sha256) || certificate.notAfter < now
            || now < certificate.notBefore
        {
            return "BadCertificate"
        }
        let isUsable =
            switch world.settings.environment {
            case .production: certificate.isForProduction
            case .sandbox: certificate.isForSandbox
            case .both: true
            }
        return isUsable ? nil : "BadCertificateEnvironment"
    }
}

enum SimulatorAnswer {
    case accepted(apnsID: [UInt8])
    case refused(APNsRefusal, apnsID: [UInt8], now: WallInstant)
    case odd(status: Int, apnsID: [UInt8], body: [UInt8])
    case hugeHeader
}

struct DelayedAnswer {
    let streamID: Int32
    let answer: SimulatorAnswer
}

/// Header lists of answers. The one of a success is reused.
struct AnswerSheet {
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

    /// No success: whoever is told 200 may take the push for processed.
    static let hugeHeader: HeaderList = {
        var list = HeaderList()
        list.append(":status", "500")
        list.append("x-filler", [UInt8](repeating: UInt8(ascii: "x"), count: 60_000), isIndexed: false)
        return list
    }()
}

extension APNsRefusal {
    /// In one piece: aioapns reads each DATA frame by itself.
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
