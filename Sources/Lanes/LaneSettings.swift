import Basis
import Model
import Reactor
import TLS

/// Where a lane leads, as whom, and its bounds.
package struct LaneSettings: Sendable {
    /// "api.push.apple.com": resolved anew before each dial, verified in the certificate, sent as SNI and :authority.
    package var host: String
    package var port: UInt16
    package var tls: TLSContext
    /// nil: the client certificate in `tls` speaks for us.
    package var authorization: (any AuthorizationSource)?
    package var proxy: ProxySettings?
    /// More connections than this are never open or being dialled.
    package var connectionsMax: Int
    /// One until the peer has accepted a provider token; a certificate connection starts with the peer's SETTINGS.
    package var streamsAtStart = 1
    /// Where the provider counts (FCM), shared by all lanes of a project; nil: as fast as its streams allow.
    package var pace: ProviderPace?
    /// What is kept of an answer's body: a documented error of APNs has some 60 bytes, one of FCM's a few kilobytes.
    package var answerBodyBytesMax = 4_096
    /// From the stream's opening to the whole answer.
    package var requestDeadline: Duration
    /// A connection with fewer stream ids left is replaced, before it has none. HTTP/2 gives it a billion; more than
    /// a connection opens in one turn must be kept.
    package var streamIDsKept = 10_000
    /// TCP, TLS and SETTINGS together.
    package var dialDeadline: Duration = .seconds(10)
    /// A connection beyond the warm one closes after this much idleness.
    package var idleClose: Duration = .seconds(300)
    /// A connection that was open and quiet for so long works, as far as anybody can tell without a request.
    package var provenAfter: Duration = .seconds(2)
    package var pingAfter: Duration = .seconds(60)
    package var pingDeadline: Duration = .seconds(10)
    /// A request is not risked on a connection that was silent for so long before a PING came back.
    package var staleAfter: Duration = .seconds(30)
    package var backoffFloor: Duration = .seconds(1)
    package var backoffCeiling: Duration = .seconds(60)
    /// Requests that no connection could take within this are answered `.unsent(.unreachable)`.
    package var unreachableAfter: Duration = .seconds(10)

    /// Beyond a burst of `connectionsMax` dials, one in each such interval: rapid reconnecting counts as an attack.
    package var dialInterval: Duration = .milliseconds(250)
    package var resolver: any HostResolver = SystemResolver()

    package init(
        host: String, port: UInt16, tls: TLSContext, authorization: (any AuthorizationSource)? = nil,
        proxy: ProxySettings? = nil, connectionsMax: Int, requestDeadline: Duration
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.authorization = authorization
        self.proxy = proxy
        self.connectionsMax = connectionsMax
        self.requestDeadline = requestDeadline
    }
}

/// Who knows the addresses behind a name. Asked before each dial.
package protocol HostResolver: Sendable {
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress]
}

/// The system's resolver.
package struct SystemResolver: HostResolver {
    package init() {}
    package func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] {
        try await NameResolver.resolve(host: host, port: port)
    }
}

/// An HTTP proxy that is asked to CONNECT.
package struct ProxySettings: Sendable {
    package let host: String
    package let port: UInt16
    /// The value of `proxy-authorization`.
    package let authorization: Secret<[UInt8]>?

    package init(host: String, port: UInt16, authorization: [UInt8]? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization.map(Secret.init)
    }
}

/// The value of the `authorization` header, and which signing of it this is: rising, so that connections that used an
/// older one can be told apart.
package struct Authorization: Sendable, CustomStringConvertible {
    package let value: [UInt8]
    package let generation: UInt64

    package init(value: [UInt8], generation: UInt64) {
        self.value = value
        self.generation = generation
    }

    package var description: String { "authorization #\(generation)" }
}

/// Who keeps the provider token fresh. `current` is asked on the lane's thread for each round of requests.
package protocol AuthorizationSource: Sendable {
    /// nil: there is none yet; requests wait, within `unreachableAfter`.
    var current: Authorization? { get }
}

/// What a lane tells of itself. Called on its thread; must not block.
package protocol LaneObserver: AnyObject, Sendable {
    /// Whether requests may be handed over: false from the moment its breaker opens, true when it may be tried again.
    /// In the order in which it happened; `Lane.canSend` says the same by then.
    func laneChanged(canSend: Bool, because: LaneEvent)
    /// Something for the log and the alarms.
    func laneNoted(_ event: LaneEvent)
}

package enum LaneEvent: Sendable, Equatable {
    case connected
    case dialFailed(TransportFault, detail: String)
    case tlsRefused(detail: String)
    /// The peer said goodbye; `reason` is the word in its debug data, if it can be read.
    case goAway(reason: String?)
    /// The peer refused our certificate or key, by GOAWAY or in an answer: dialling again would be the same.
    case credentialRefused(reason: String)
    /// An open connection broke; what was in flight on it is unknown.
    case connectionLost(TransportFault, detail: String)
    case recovered
}
