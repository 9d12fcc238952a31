/// Faults that reached somebody who had something to lose by them. Their texts are the census's.
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
    case repeated = "answers said twice"
    case retryAfter = "pauses asked for in a header"
    case laneSlowed = "lanes that rest since most answers ask for less"
    case tokenExpired = "provider tokens that expired on the way"
    case accessExpired = "access tokens that expired or were revoked on the way"
    case tooSlow = "statements that took too long"
    case gone = "statements to a database that is gone"
    case unreceived = "commits that nobody heard of"
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
    case askUnreceived = "answers that their askers never heard"
    case askLate = "requests that took effect after their asker gave up"
    case replayed = "repeated requests that got the first answer"
    case duplicate = "messages that were sent twice for want of a key"
    case settledTogether = "settles that shared a transaction"
    case settleRefused = "settles that were refused alone, of several"
    case takenOver = "steps left half done that others went on with"
    case quiet = "pushes that waited for the end of quiet hours"
    case capped = "pushes above a day's cap"

    static let storms: [AnswerKind] = [.tooManyRequests, .serviceUnavailable, .projectQuota, .unavailable]
}

/// The commits between which a process may end.
enum StoreStep: String, CaseIterable, Sendable {
    case plan, lease, renewal, verdicts, settle, quota, rescue
    case confirm = "confirming doubts"
    case fallDue = "falling due"
    case putOnHold = "holding"
    case end = "ending unsent"
    case release = "releasing"
    case liftRates = "releasing from a rate"
    case forget = "forgetting stops and rates"

    init?(_ request: StoreRequest) {
        switch request {
        case .plan: self = .plan
        case .lease: self = .lease
        case .renew: self = .renewal
        case .verdicts: self = .verdicts
        case .settle: self = .settle
        case .quota: self = .quota
        case .poll: return nil
        case .maintain(let round):
            guard let step = round.step else { return nil }
            self.init(step)
        }
    }

    init?(_ step: UpkeepStep) {
        switch step {
        case .rescue: self = .rescue
        case .confirm: self = .confirm
        case .fallDue: self = .fallDue
        case .putOnHold: self = .putOnHold
        case .end: self = .end
        case .release: self = .release
        case .liftRates: self = .liftRates
        case .forgetStops, .forgetRates: self = .forget
        case .checkControls: return nil
        }
    }

    /// Whether the step is repeated while it is full.
    fileprivate var comesInSlices: Bool {
        switch self {
        case .confirm, .fallDue, .putOnHold, .end, .release, .liftRates: true
        case .plan, .lease, .renewal, .verdicts, .settle, .quota, .rescue, .forget: false
        }
    }
}

/// Trouble of a commit that changes something, or of the process that waits for it.
enum StepTrouble: String, CaseIterable, Sendable {
    case endedBefore = "processes ended before"
    case endedAfter = "processes ended after"
    /// Between two slices of the same step.
    case endedAmid = "processes ended in the middle of"
    case unreceived = "nobody heard of"
    case neverWas = "never took effect:"

    func name(_ step: StoreStep) -> String { "\(rawValue) \(step.rawValue)" }

    /// The names of every trouble that can happen to each step.
    static let names = allCases.flatMap { trouble in
        StoreStep.allCases.filter { trouble != .endedAmid || $0.comesInSlices }.map(trouble.name)
    }
}
