import Basis
import FCM
import LaneRules
import Model
import QueueRules

/// One process's run from its start to its death: what is addressed to an earlier one is lost.
package struct Addressee: Hashable, Sendable {
    let process: Int
    let incarnation: Int
}

enum WorldEvent: Sendable {
    // Inside a process.
    case wake(Addressee)
    case housekeeping(Addressee)
    case flush(Addressee)
    case notified(Addressee)
    /// Something was said of a message: pause, resume, cancel, another rate.
    case stopsNotified(Addressee)
    case resolved(Addressee, ServiceRoute, LaneKey?)
    case credentialsChanged(Addressee)
    case laneCloses(Addressee, LaneKey)
    case laneOpens(Addressee, LaneKey)
    /// Something of the lane may be due: the next request of its pace, or the end of a wait.
    case laneTimer(Addressee, LaneKey)
    /// A connection whose peer is gone is found out.
    case connectionDies(Addressee, LaneKey, Int)
    /// A connection that was told goodbye is told its last stream.
    case lastStreamSent(Addressee, LaneKey, Int)
    /// Google's answer to the question for an access token; nil: none came, or it failed.
    case accessArrives(Addressee, CredentialID, FCMAccessToken?)
    /// It is killed.
    case ends(Addressee)
    // On the way to the database and back.
    case callArrives(StoreCall, willBeAnswered: Bool)
    case callAnswered(StoreCall, StoreReply)
    // On the way to a provider and back.
    case pushArrives(WirePush)
    case streamEnds(Addressee, LaneKey, stream: Int, StreamEnd)
    /// The transport says something about a push that it has already reported.
    case repeated(Addressee, LeaseName, position: Int32, Outcome)
    // The world outside.
    case restart(process: Int)
    case thaw(process: Int)
    case mischief(Mischief)
    case deviceEvent
    case changeOfHands
    case send(Int)
    case control(Int, ControlRequest)
    /// A request whose asker has given up.
    case askArrives(Asking)
    case faultsEnd

    /// Whom it reaches only while running.
    var addressee: Addressee? {
        switch self {
        case .wake(let to), .housekeeping(let to), .flush(let to), .notified(let to), .stopsNotified(let to),
            .resolved(let to, _, _), .credentialsChanged(let to), .laneCloses(let to, _), .laneOpens(let to, _),
            .laneTimer(let to, _), .connectionDies(let to, _, _), .lastStreamSent(let to, _, _),
            .accessArrives(let to, _, _), .streamEnds(let to, _, _, _), .repeated(let to, _, _, _), .ends(let to):
            to
        case .callAnswered(let call, _): call.from
        case .callArrives, .pushArrives, .restart, .thaw, .mischief, .deviceEvent, .changeOfHands, .send, .control,
            .askArrives, .faultsEnd:
            nil
        }
    }
}

enum Mischief: CaseIterable, Sendable {
    case kill, freeze, drain, outage, slowness, unreachable, connectionTrouble, storm
    case credentialTrouble, revocation, tokenExpiry, wave, clockStep, wallStep
}

struct StoreCall: Sendable {
    let from: Addressee
    let owner: ProcessID
    let request: StoreRequest
}

enum StoreRequest: Sendable {
    /// And what was said of the messages that it sends.
    case poll([MessageID])
    case lease(LeaseRequest)
    case renew([LeaseName])
    case verdicts(SettleEntry)
    /// In one transaction.
    case settle(SettleBatch)
    case plan
    /// The step that comes next.
    case maintain(UpkeepRound)
    case quota(project: Int64, QuotaRequest)
}

enum StoreReply: Sendable {
    /// The caller knows nothing: not whether it took effect either.
    case failed
    case routes([ReadyRoute], [StoppedMessage], [RatedMessage])
    /// With the number of the first among all leases of the run (the others follow), and how long it is until more of what is
    /// rate-limited may be leased.
    case leased([LeasedParcel], number: Int, again: Duration?)
    /// In the order of the leases.
    case renewed([Bool])
    case verdictsWritten
    /// In the order of the entries; nil: the database refuses that one.
    case settled([SettleReply?])
    case planned(SimulatedSlice?)
    case quota(QuotaGrant?)
    case maintained(UpkeepReply)
}

/// One request on the wire.
package struct WirePush: Sendable {
    package let from: Addressee
    package let lane: LaneKey
    /// Of all connections of the world.
    package let connection: Int
    package let stream: Int
    package let lease: LeaseName
    package let route: RouteID
    package let position: Int32
    package let message: MessageID
    package let registration: RegistrationID
    package let token: DeviceToken
    package let provider: Provider
    /// What the message is, and so for which of an installation's tokens.
    package let kind: TokenKind
    /// With what it is allowed in: FCM's only.
    package let access: FCMAccessToken?
    /// When its lane signed the provider token that it carries: APNs' only.
    package let signedAt: SimulatedTime
    /// Its registration's own environment refused it.
    package let isElsewhere: Bool
    /// When the database leased its parcel.
    package let leasedAt: WallInstant
    package let apnsID: UniversalID
    package let badge: Int32
    /// Which of the store's leases it was, counted over the whole run.
    package let leaseNumber: Int
    package let openedAt: SimulatedTime
    /// Its bytes wait for the peer's window until then.
    package let leavesAt: SimulatedTime
    /// The answer will not come back.
    package let isAnswerLost: Bool
}

enum StreamEnd: Sendable {
    case answered(ProviderAnswer)
    case fault(isSent: Bool, TransportFault)
}
