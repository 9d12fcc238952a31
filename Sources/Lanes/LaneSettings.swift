import Basis
import LaneRules
import Model
import ProviderInterface
import Reactor
import TLS

package struct LaneSettings: Sendable {
    /// "api.push.apple.com": resolved again before each dial, verified in the certificate, sent as SNI and :authority.
    package var host: String
    package var port: UInt16
    package var tls: TLSContext
    /// nil: the client certificate in `tls` authenticates us.
    package var authorization: (any AuthorizationSource)?
    package var proxy: ProxySettings?
    package var limits: LaneLimits
    package var times: ConnectionTimes
    /// One until the peer has accepted a provider token; a certificate connection starts with the peer's SETTINGS.
    package var streamsAtStart = 1
    /// The pace of a provider that counts requests (FCM), shared by all lanes of a project; nil: as fast as streams
    /// allow.
    package var pace: ProviderPace?
    /// How the provider's answers are read.
    package var answerRules = AnswerRules()
    /// A connection with fewer stream ids left is replaced before it has none. HTTP/2 gives it a billion. The value
    /// must exceed what a connection opens in one tick.
    package var streamIDsKept = 10_000
    /// Requests that no connection could take within this are answered `.unsent(.unreachable)`. Shorter than the wait
    /// after which their owner takes them back (`DispatcherSettings.laneWaitMax`), so that the cause is reported.
    package var unreachableAfter: Duration = .seconds(4)
    package var resolver: any HostResolver = SystemResolver()

    package init(
        host: String, port: UInt16, tls: TLSContext, authorization: (any AuthorizationSource)? = nil,
        proxy: ProxySettings? = nil, connectionsMax: Int, requestDeadline: Duration
    ) {
        (self.host, self.port, self.tls, self.authorization, self.proxy) = (host, port, tls, authorization, proxy)
        limits = LaneLimits(connectionsMax: connectionsMax)
        times = ConnectionTimes(requestDeadline: requestDeadline)
    }
}

/// Resolves a host's addresses. Asked before each dial.
package protocol HostResolver: Sendable {
    func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress]
}

package struct SystemResolver: HostResolver {
    package func addresses(of host: String, port: UInt16) async throws(ReactorError) -> [SocketAddress] {
        try await NameResolver.resolve(host: host, port: port)
    }
}

/// An HTTP proxy that is asked to CONNECT.
package struct ProxySettings: Sendable {
    package let host: String
    package let port: UInt16
    package let authorization: Secret<[UInt8]>?

    package init(host: String, port: UInt16, authorization: [UInt8]? = nil) {
        (self.host, self.port) = (host, port)
        self.authorization = authorization.map(Secret.init)
    }
}

/// The value of the `authorization` header, and the rising number of its signing, which tells older ones apart.
package struct Authorization: Sendable, CustomStringConvertible {
    package let value: [UInt8]
    package let generation: UInt64

    package init(value: [UInt8], generation: UInt64) { (self.value, self.generation) = (value, generation) }

    package var description: String { "authorization #\(generation)" }
}

/// Keeps the provider token fresh. `current` is read on the lane's thread for each round of requests.
package protocol AuthorizationSource: Sendable {
    /// nil: there is none yet; requests wait, within `unreachableAfter`.
    var current: Authorization? { get }
}

/// Receives a lane's events. Called on its thread; must not block.
package protocol LaneObserver: AnyObject, Sendable {
    /// Reports whether requests may be submitted: false as soon as the lane's breaker opens, true when it may be tried
    /// again. Changes come in their order.
    func laneChanged(canSend: Bool, because: LaneEvent)
    /// Reports an event for the log and the alarms.
    func laneNoted(_ event: LaneEvent)
}

package enum LaneEvent: Sendable, Equatable {
    case connected
    case dialFailed(TransportFault, detail: String)
    case tlsRefused(detail: String)
    /// The peer sent GOAWAY; `reason` is the reason in its debug data, if it can be read.
    case goAway(reason: String?)
    /// The peer refused our certificate or key, by GOAWAY or in an answer. Dialling again would not help.
    case credentialRefused(reason: String)
    /// The peer refused our provider token in an answer, and other connections try it again.
    case credentialSuspected(reason: String)
    /// An open connection broke; the result of requests in flight on it is unknown.
    case connectionLost(TransportFault, detail: String)
    case recovered
}
