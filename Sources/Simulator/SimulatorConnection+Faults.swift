import HTTP2
import PushModel
import Reactor

/// The script's misbehaviours, and Apple's own way with clients that fail too often.
extension SimulatorConnection {
    func misbehave(_ fault: ScriptedFault.Kind, streamID: Int32) {
        switch fault {
        case .goAway(let goAway): sayGoAway(goAway, lastStreamID: max(0, streamID - 2))
        case .reset(let code): if streamID > 0 { resetStream(streamID, code) }
        case .streamLimit(let limit): change(limit: limit)
        case .refuse, .silence: break
        case .stall: willStall = true
        case .close:
            // What was answered before is still said.
            lastStreamID = max(0, streamID - 2)
            closing = .atOnce
        case .drop: close(isAbrupt: true)
        case .garbage: oddBytes = Self.garbage
        case .halfFrame:
            oddBytes = Self.halfFrame
            willStall = true
        case .hugeHeader: if streamID > 0 { answer(.hugeHeader, streamID: streamID) }
        }
    }

    /// A frame of type 0x20 that would be 16 MiB long: beyond every limit.
    private static let garbage: [UInt8] =
        [0xff, 0xff, 0xff, 0x20, 0xff, 0x7f, 0xff, 0xff, 0xff] + Array("garbage".utf8)
    /// DATA of 100 bytes on stream 1, of which eleven come.
    private static let halfFrame: [UInt8] = [0, 0, 100, 0, 0, 0, 0, 0, 1] + Array(#"{"reason":""#.utf8)

    func resetStream(_ streamID: Int32, _ code: HTTP2ErrorCode) {
        world.summary.reset += 1
        // A stream that the client reset first needs no reset from us.
        try? session?.reset(streamID, code)
    }

    func change(limit: UInt32) {
        // Refused only where the session is broken, and then the connection closes.
        try? session?.submitSettings([.streamsMax(limit)])
    }

    func sayGoAway(_ goAway: ScriptedGoAway, lastStreamID: Int32) {
        guard let session, self.lastStreamID == .max else { return }
        world.summary.goAways += 1
        if let wait = goAway.noticeBefore, pendingGoAway == nil {
            try? session.submitShutdownNotice(debug: goAway.debug)
            pendingGoAway = goAway
            _ = world.loop.schedule(at: world.loop.now + wait, tag: Self.goAwayTag, self)
            return
        }
        finishGoAway(goAway, lastStreamID: lastStreamID)
    }

    /// No answer's tag: those are counted from 1.
    static var goAwayTag: UInt64 { 0 }
    static var lingerTag: UInt64 { .max }

    func finishGoAway(_ goAway: ScriptedGoAway, lastStreamID: Int32) {
        self.lastStreamID = lastStreamID
        closing = goAway.closing
        try? session?.submitGoAway(lastStreamID: lastStreamID, goAway.code, debug: goAway.debug)
        if goAway.closing == .atOnce { delayed.removeAll() }
    }

    /// Token connections begin with one stream, and get the rest with the first success.
    func raiseLimit() {
        guard limitIsDropped else { return }
        limitIsDropped = false
        change(limit: world.settings.streamLimit)
    }

    /// Errors cost throughput: the limit drops, and `BadDeviceToken` ends connections soonest. A 410 is no error.
    func punish(_ refusal: APNsRefusal) {
        guard (400..<500).contains(refusal.status), refusal.status != 410 else { return }
        refusalsInARow += 1
        if let bound = world.settings.refusalsUntilLimitDrops, refusalsInARow >= bound, !limitIsDropped {
            limitIsDropped = true
            change(limit: 1)
        }
        guard refusal == .badDeviceToken else { return }
        badDeviceTokens += 1
        if let bound = world.settings.badDeviceTokensMax, badDeviceTokens >= bound, let session {
            sayGoAway(ScriptedGoAway(reason: refusal.reason), lastStreamID: session.highestStreamID)
        }
    }
}
