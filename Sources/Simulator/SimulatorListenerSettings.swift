import Basis
import HTTP2
import Model
import TLS

/// A stand-in's settings for its listener and connections, the same for all providers.
struct SimulatorListenerSettings {
    let identity: TLSIdentity
    /// 0: any free port.
    let port: UInt16
    let reach: SimulatorReach
    let clientCertificates: TLSContext.ClientCertificates
    let handshakeTimeout: Duration
    let idleTimeout: Duration
    let requestTimeout: Duration
    /// The limit of a request's body. Over HTTP/1.1 a larger one is refused; over HTTP/2 the excess is counted and
    /// dropped.
    let bodyBytesMax: Int
    let keptBytesMax: Int
    let record: (@Sendable ([UInt8]) -> Void)?
}

/// The addresses at which a stand-in can be reached.
package enum SimulatorReach: Sendable {
    /// This machine, at 127.0.0.1.
    case loopback
    /// The same and ::1, on the same port.
    case bothLoopbacks
    /// Every IPv4 address of this machine: for containers, whose neighbours are other machines.
    case everyone
}

/// A provider's own part of a stand-in; the other parts are shared. On the loop's thread only.
protocol ProviderService: AnyObject {
    /// Makes the session of a connection after TLS and ALPN.
    func welcome(_ connection: SimulatorConnection, _ certificate: TLSCertificate?) -> any ProviderSession
    /// The body of a script's refusal, if the script gives none.
    func body(ofRefusal reason: String, status: Int, at endpoint: ScriptedEndpoint, now: WallInstant) -> [UInt8]
    /// The fates that tokens may name, for `GET /simulator/tokens`.
    var grammar: [GrammarEntry] { get }
    /// A sentence that explains how a token names its fate.
    var grammarSentence: String { get }
    /// Keeps no received pushes.
    var isSink: Bool { get }
    /// The key under which a token's pushes are kept. nil: no token of this provider.
    func key(ofToken text: String) -> DeviceToken?
    func text(ofKey key: DeviceToken) -> String
    /// Forgets what earlier requests left behind.
    func reset()
    func act(_ action: ScriptedAction)
}

/// One line of a provider's token grammar.
struct GrammarEntry {
    let name: String
    let meaning: String
}

/// A provider's handling of one connection. Its connection owns it.
protocol ProviderSession: AnyObject {
    var http2Settings: HTTP2ServerSettings { get }
    /// The reason of a GOAWAY before any request. nil: the connection is accepted.
    var refusal: String? { get }
    /// Answers before the request is copied, if it can.
    /// - Returns: false if it did not answer, and the request must be copied.
    func answerAtOnce(_ request: HTTP2Request, of session: HTTP2ServerSession) -> Bool
    /// Answers the request now, later or never.
    func take(_ push: PushRequest, streamID: Int32)
}
