import Basis
import LaneRules
import Model
import ProviderInterface
import QueueRules

/// One process's run from its start to its death. Events for an earlier run are lost.
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
    /// Watched data has changed.
    case watchesRaised(Addressee)
    /// An item has become due, or a push is held.
    case itemsRaised(Addressee)
    /// A message was paused, resumed or cancelled, or got another rate.
    case stopsNotified(Addressee)
    case resolved(Addressee, ServiceRoute, LaneKey?)
    case credentialsChanged(Addressee)
    case laneCloses(Addressee, LaneKey, LaneCause)
    case laneOpens(Addressee, LaneKey)
    /// Work of the lane may be due: the next request of its pace, or the end of a wait.
    case laneTimer(Addressee, LaneKey)
    /// A connection whose peer is gone is found out.
    case connectionDies(Addressee, LaneKey, Int)
    /// The second GOAWAY of a pair, which names the connection's last stream.
    case lastStreamSent(Addressee, LaneKey, Int)
    /// Google's answer to the request for an access token; nil: none came, or the request failed.
    case accessArrives(Addressee, CredentialID, AccessToken?)
    /// The process is killed.
    case ends(Addressee)
    // On the way to the database and back.
    case callArrives(StoreCall, willBeAnswered: Bool)
    case callAnswered(StoreCall, StoreReply)
    // On the way to a provider and back.
    case pushArrives(WirePush)
    case streamEnds(Addressee, LaneKey, stream: Int, StreamEnd)
    /// The transport reports a second outcome of a push.
    case repeated(Addressee, LeaseName, position: Int32, Outcome)
    // The world outside.
    case restart(process: Int)
    case thaw(process: Int)
    case mischief(Mischief)
    case deviceEvent
    case changeOfHands
    /// A phone subscribes to a path, or ends a subscription.
    case subscriberEvent
    /// The backend sends a write of data, or sends it again.
    case writeNode(Int)
    /// A phone changes its subscriptions to items.
    case itemEvent
    /// The producer sends the lines of its stream up to this one whose answer it lacks.
    case produce(Int)
    case send(Int)
    case control(Int, ControlRequest)
    /// A request whose client has given up.
    case askArrives(Asking)
    case faultsEnd

    /// The process that must be running to get the event.
    var addressee: Addressee? {
        switch self {
        case .wake(let to), .housekeeping(let to), .flush(let to), .notified(let to), .stopsNotified(let to),
            .watchesRaised(let to), .itemsRaised(let to),
            .resolved(let to, _, _), .credentialsChanged(let to), .laneCloses(let to, _, _), .laneOpens(let to, _),
            .laneTimer(let to, _), .connectionDies(let to, _, _), .lastStreamSent(let to, _, _),
            .accessArrives(let to, _, _), .streamEnds(let to, _, _, _), .repeated(let to, _, _, _), .ends(let to):
            to
        case .callAnswered(let call, _): call.from
        case .callArrives, .pushArrives, .restart, .thaw, .mischief, .deviceEvent, .changeOfHands, .subscriberEvent,
            .writeNode, .itemEvent, .produce, .send, .control, .askArrives, .faultsEnd:
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
    /// Reads the routes, and the stops and rates of the messages being sent.
    case poll([MessageID])
    case lease(LeaseRequest)
    case renew([LeaseName])
    case verdicts(SettleEntry)
    /// Settles the entries in one transaction.
    case settle([SettleEntry])
    case plan
    /// The next step of the round.
    case maintain(UpkeepRound)
    case heartbeat(project: Int64)
    /// Finds the members of a direct message, and how many each route has.
    case find(DirectCut)
    /// Writes it, and leases parcels of the admitted routes.
    case cut(DirectCut)
    /// Carries out one of the world's writes of data.
    case writeNode(Int)
    /// Tells subscriptions of due watches what changed.
    case fanOut
    case endExpired
    /// Takes lines of an app's producer.
    case updateItems([Int])
    case pushItems(ItemWork)
}

/// A transaction that cuts pushes of items.
enum ItemWork: Sendable {
    /// Those of followers of items that are due.
    case follow
    /// Those that are held, and due.
    case release
}

enum StoreReply: Sendable {
    /// The caller knows nothing, not even whether the call took effect.
    case failed
    case routes([ReadyRoute], [StoppedMessage], [RatedMessage])
    /// `number` is the first lease's number among all leases of the run; the others follow. `again` is the time until
    /// more rate-limited pushes may be leased.
    case leased([LeasedParcel], number: Int, again: Duration?)
    /// Whether each lease was renewed, in the order of the leases.
    case renewed([Bool])
    case verdictsWritten
    /// The replies in the order of the entries; nil: the database refuses this one.
    case settled([SettleReply?])
    case planned(SimulatedSlice?)
    /// The number of processes that send to the project.
    case senders(Int)
    case maintained(UpkeepReply)
    case demand([CutDemand])
    /// `number` is the first lease's number; `ready` are the routes whose parcels any process may lease.
    case cut([LeasedParcel], number: Int, ready: [ReadyRoute])
    /// The same request was carried out before.
    case replayed
    case nodeWritten(raisedAny: Bool)
    /// The routes whose parcels any process may lease; nil: nothing was due.
    case fannedOut([ReadyRoute]?)
}

/// One request on the wire.
package struct WirePush: Sendable {
    package let from: Addressee
    package let lane: LaneKey
    /// Its number among all connections of the world.
    package let connection: Int
    package let stream: Int
    package let lease: LeaseName
    package let route: RouteID
    package let position: Int32
    package let message: MessageID
    package let registration: RegistrationID
    package let token: DeviceToken
    package let provider: Provider
    /// The kind of token that the message is for.
    package let kind: TokenKind
    /// The access token that it carries: FCM only.
    package let access: AccessToken?
    /// The time at which its lane signed the provider token that it carries: APNs only.
    package let signedAt: SimulatedTime
    /// Whether its parcel is a cross-environment parcel.
    package let isElsewhere: Bool
    /// The time at which the database leased its parcel.
    package let leasedAt: WallInstant
    package let apnsID: UniversalID
    package let badge: Int32
    /// Its lease's number among all leases of the run.
    package let leaseNumber: Int
    package let openedAt: SimulatedTime
    /// Its bytes wait for the peer's window until then.
    package let leavesAt: SimulatedTime
    /// Whether the answer will not come back.
    package let isAnswerLost: Bool
}

enum StreamEnd: Sendable {
    case answered(ProviderAnswer)
    case fault(isSent: Bool, TransportFault)
}
