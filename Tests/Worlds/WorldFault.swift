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
    case handedBack = "requests returned because no stream was left"
    case fullWindow = "full windows"
    case troubleWithFCM = "troubled connections to FCM"
    case neverLeft = "requests that never left, after such a connection"
    case lateAnswer = "answers after the stream was given up"
    case outOfOrder = "answers before those of older streams"
    case repeated = "answers reported twice"
    case retryAfter = "pauses requested in a header"
    case laneSlowed = "circuit breakers opened by throttle signals"
    case tokenExpired = "provider tokens that expired on the way"
    case accessExpired = "access tokens that expired or were revoked on the way"
    case tooSlow = "statements that took too long"
    case gone = "statements to a database that is gone"
    case unreceived = "commits whose reply was lost"
    case neverWas = "calls that failed and never took effect"
    case lapsedAlive = "leases that expired while their owner worked"
    case lapsedFrozen = "leases that expired while their owner was frozen"
    case killedOnTheWire = "processes ended with pushes on the wire"
    case killedUnread = "processes ended with answers unread"
    case clockForward = "database clocks set forward"
    case clockBack = "database clocks set back"
    case drift = "worlds whose clocks drift"
    case wallClockForward = "gateways' wall clocks set forward"
    case wallClockBack = "gateways' wall clocks set back"
    case datedPause = "pauses requested by a date"
    case passedDate = "pauses requested by a date that had passed by the gateway's clock"
    case hourPassed = "send times that had passed by the clock of the gateway"
    case askLost = "lost requests of clients"
    case askUnreceived = "lost answers to clients"
    case askLate = "requests that took effect after their client gave up"
    case replayed = "repeated requests that got the first answer"
    case duplicate = "messages that were sent twice without an idempotency key"
    case settledTogether = "settles that shared a transaction"
    case settleRefused = "settles that were refused alone in a group"
    case takenOver = "unfinished steps that other processes continued"
    case quiet = "pushes that waited for the end of quiet hours"
    case capped = "pushes above a day's cap"

    static let storms: [AnswerKind] = [.tooManyRequests, .serviceUnavailable, .projectQuota, .unavailable]
}

/// The commits between which a process may end.
enum StoreStep: String, CaseIterable, Sendable {
    case plan, lease, renewal, verdicts, settle, cut, heartbeat, rescue
    case write = "writing data"
    case fanOut = "telling subscriptions"
    case updateItems = "updating items"
    case followItems = "notifying followers of items"
    case releaseItems = "releasing held pushes"
    case confirm = "confirming suspicions"
    case fallDue = "falling due"
    case putOnHold = "putting on hold"
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
        case .heartbeat: self = .heartbeat
        case .cut: self = .cut
        case .writeNode: self = .write
        case .fanOut: self = .fanOut
        case .updateItems: self = .updateItems
        case .pushItems(.follow): self = .followItems
        case .pushItems(.release): self = .releaseItems
        case .poll, .find, .endExpired: return nil
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
        case .plan, .lease, .renewal, .verdicts, .settle, .cut, .heartbeat, .rescue, .forget, .write, .fanOut,
            .updateItems, .followItems, .releaseItems:
            false
        }
    }
}

/// Trouble of a commit that changes something, or of the process that waits for it.
enum StepTrouble: String, CaseIterable, Sendable {
    case endedBefore = "processes ended before"
    case endedAfter = "processes ended after"
    /// Between two slices of the same step.
    case endedAmid = "processes ended in the middle of"
    case unreceived = "lost the reply of"
    case neverWas = "never took effect:"

    func name(_ step: StoreStep) -> String { "\(rawValue) \(step.rawValue)" }

    /// The names of every trouble that can happen to each step.
    static let names = allCases.flatMap { trouble in
        StoreStep.allCases.filter { trouble != .endedAmid || $0.comesInSlices }.map(trouble.name)
    }
}
