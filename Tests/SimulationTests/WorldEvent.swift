import DeliveryRules
import PushModel

/// One process's run from its start to its death: what is addressed to an earlier one is lost.
struct Addressee: Hashable, Sendable {
    let process: Int
    let life: Int
}

enum WorldEvent: Sendable {
    // Inside a process.
    case wake(Addressee)
    case housekeeping(Addressee)
    case flush(Addressee)
    case notified(Addressee)
    case resolved(Addressee, RouteID, LaneKey?)
    case credentialsChanged(Addressee)
    case laneCloses(Addressee, LaneKey)
    case laneOpens(Addressee, LaneKey)
    // On the way to the database and back.
    case callArrives(StoreCall, willBeAnswered: Bool)
    case callAnswered(StoreCall, StoreReply)
    // On the way to Apple and back.
    case pushArrives(WirePush)
    case streamEnds(Addressee, LaneKey, stream: Int, StreamEnd)
    /// The transport says something about a push that it has already reported.
    case saidAgain(Addressee, LeaseName, position: Int32, Outcome)
    // The world outside.
    case restart(process: Int)
    case thaw(process: Int)
    case mischief(Mischief)
    case deviceEvent
    case send(Int)
    case faultsEnd

    /// Whom it reaches only while running.
    var addressee: Addressee? {
        switch self {
        case .wake(let to), .housekeeping(let to), .flush(let to), .notified(let to), .resolved(let to, _, _),
            .credentialsChanged(let to), .laneCloses(let to, _), .laneOpens(let to, _), .streamEnds(let to, _, _, _),
            .saidAgain(let to, _, _, _):
            to
        case .callAnswered(let call, _): call.from
        case .callArrives, .pushArrives, .restart, .thaw, .mischief, .deviceEvent, .send, .faultsEnd: nil
        }
    }
}

enum Mischief: CaseIterable, Sendable {
    case kill, freeze, drain, outage, unreachable, credentialTrouble, wave
}

struct StoreCall: Sendable {
    let from: Addressee
    let owner: ProcessID
    let request: StoreRequest
}

enum StoreRequest: Sendable {
    case poll
    case lease(LeaseRequest)
    case renew(LeaseName)
    case verdicts(LeaseName, PendingSettle)
    case settle(LeaseName, PendingSettle, verdictsDone: Bool)
    case plan
    case rescue
    case confirm
}

enum StoreReply: Sendable {
    /// The caller knows nothing: not whether it took effect either.
    case failed
    case routes([ReadyRoute])
    /// With its number among all leases of the run.
    case leased(LeasedParcel?, number: Int)
    case renewed(Bool)
    case verdictsWritten
    case settled(SettleReply)
    case planned(SimulatedSlice?)
    case done
}

/// One request on the wire.
struct WirePush: Sendable {
    let from: Addressee
    let lane: LaneKey
    let stream: Int
    let lease: LeaseName
    let route: RouteID
    let position: Int32
    let message: MessageID
    let registration: RegistrationID
    let token: DeviceToken
    let apnsID: UniversalID
    let badge: Int32
    /// Which of the store's leases it was, counted over the whole run.
    let leaseNumber: Int
    let openedAt: SimulatedTime
    /// The answer will not come back.
    let isAnswerLost: Bool
}

enum StreamEnd: Sendable {
    case answered(AppleAnswer)
    case fault(isSent: Bool, TransportFault)
}

/// What Apple answers.
enum AppleAnswer: Equatable, Sendable {
    case accepted
    case gone(since: WallInstant)
    case badToken
    case throttled
    case busy(retryAfter: Duration?)
    case credentialRefused
    case providerTokenExpired
    case messageRefused

    var outcome: Outcome {
        switch self {
        case .accepted: .accepted
        case .gone(let since):
            .rejected(Rejection(fault: .tokenUnregistered, reason: "Unregistered", invalidSince: since))
        case .badToken: .rejected(Rejection(fault: .tokenUnknownHere, reason: "BadDeviceToken"))
        case .throttled: .deferred(after: nil, .deviceThrottled)
        case .busy(let after): .deferred(after: after, .providerBusy)
        case .credentialRefused: .rejected(Rejection(fault: .credential, reason: "InvalidProviderToken"))
        case .providerTokenExpired: .deferred(after: nil, .providerTokenExpired)
        case .messageRefused: .rejected(Rejection(fault: .message, reason: "PayloadTooLarge"))
        }
    }

    /// The push ended with it, undelivered.
    var isRefusal: Bool {
        switch self {
        case .gone, .badToken, .messageRefused: true
        case .accepted, .throttled, .busy, .credentialRefused, .providerTokenExpired: false
        }
    }
}
