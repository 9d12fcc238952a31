/// What went wrong, and got as far as somebody who had something to lose by it. Its words are the census's.
enum WorldFault: String, CaseIterable, Sendable {
    case cut = "connections cut"
    case halfOpen = "half-open peers"
    case stall = "connections that stalled"
    case goAway = "GOAWAYs"
    case goAwayPair = "GOAWAYs that name no stream, before another"
    case secondGoAway = "second GOAWAYs, with streams open"
    case aboveTheLast = "streams above the last one of a GOAWAY"
    case refusedStream = "refused streams"
    case oneStream = "stream limits lowered to 1"
    case noStream = "stream limits lowered to 0"
    case handedBack = "requests handed back for want of any stream"
    case fullWindow = "full windows"
    case troubleWithFCM = "troubled connections to FCM"
    case neverLeft = "requests that never left behind one"
    case lateAnswer = "answers after the stream was given up"
    case outOfOrder = "answers before those of older streams"
    case saidAgain = "answers said twice"
    case retryAfter = "pauses asked for in a header"
    case laneSlowed = "lanes that rest since most answers ask for less"
    case tokenExpired = "provider tokens that expired on the way"
    case accessExpired = "access tokens that expired or were revoked on the way"
    case tooSlow = "statements that took too long"
    case gone = "statements to a database that is gone"
    case unheard = "commits that nobody heard of"
    case neverWas = "calls that failed and never took effect"
    case lapsedAlive = "leases that ran out while their owner worked"
    case lapsedFrozen = "leases that ran out while their owner was frozen"
    case killedOnTheWire = "processes ended with pushes on the wire"
    case killedUnread = "processes ended with answers unread"
    case clockForward = "database clocks set forward"
    case clockBack = "database clocks set back"
    case drift = "worlds whose clocks drift"
    case wallClockForward = "gateways' wall clocks set forward"
    case wallClockBack = "gateways' wall clocks set back"
    case datedPause = "pauses asked for by a date"
    case passedDate = "pauses asked for by a date that had passed by the gateway's clock"
    case hourPassed = "hours that had passed by the clock of the gateway that was asked"
    case askLost = "requests of askers that were lost"
    case askUnheard = "answers that their askers never heard"
    case askLate = "requests that took effect after their asker gave up"
    case replayed = "repeated requests that got the first answer"
    case twin = "messages that were sent twice for want of a key"
    case settledTogether = "settles that shared a transaction"
    case settleRefused = "settles that were refused alone, of several"
    case quiet = "pushes that waited for the end of quiet hours"
    case capped = "pushes above a day's cap"

    static let storms: [AnswerWord] = [.tooManyRequests, .serviceUnavailable, .projectQuota, .unavailable]
    /// Before and after each commit.
    static let kills = StoreStep.allCases.flatMap { ["processes ended before \($0)", "processes ended after \($0)"] }
}

/// The commits between which a process may end.
enum StoreStep: CaseIterable, Sendable {
    case plan, lease, renewal, verdicts, settle

    init?(_ request: StoreRequest) {
        switch request {
        case .plan: self = .plan
        case .lease: self = .lease
        case .renew: self = .renewal
        case .verdicts: self = .verdicts
        case .settle, .settleTogether: self = .settle
        case .poll, .rescue, .confirm, .stops, .quota: return nil
        }
    }
}
