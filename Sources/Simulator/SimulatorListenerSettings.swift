import Basis
import HTTP2
import Model
import TLS

/// How a stand-in takes its clients, whichever provider it stands for.
struct SimulatorListenerSettings {
    let identity: TLSIdentity
    /// 0: a free one.
    let port: UInt16
    let reach: SimulatorReach
    let clientCertificates: TLSContext.ClientCertificates
    let handshakeTimeout: Duration
    let idleTimeout: Duration
    let requestTimeout: Duration
    /// Of a request over HTTP/1.1, kept or refused; over HTTP/2 more is counted and dropped.
    let bodyBytesMax: Int
    let keptBytesMax: Int
    let record: (@Sendable ([UInt8]) -> Void)?
}

/// Who may reach a stand-in.
package enum SimulatorReach: Sendable {
    /// This machine, at 127.0.0.1.
    case loopback
    /// And at ::1, on the same port.
    case bothLoopbacks
    /// Every IPv4 address of this machine: for containers, whose neighbours are other machines.
    case everyone
}

/// What is one provider's own in a stand-in; all else is shared. On the loop's thread only.
protocol ProviderService: AnyObject {
    /// After TLS and ALPN: whom it has before it from now on.
    func welcome(_ connection: SimulatorConnection, _ certificate: TLSCertificate?) -> any ProviderSession
    /// What a script's refusal looks like, where the script gives no body.
    func body(ofRefusal reason: String, status: Int, at endpoint: ScriptedEndpoint, now: WallInstant) -> [UInt8]
    /// The fates that tokens may name, for `GET /simulator/tokens`.
    var grammar: [GrammarEntry] { get }
    /// How a token names its fate, in a sentence.
    var grammarSentence: String { get }
    /// Keeps nothing of what it is sent.
    var isSink: Bool { get }
    /// The key under which a token's pushes are kept. nil: no token of this provider.
    func key(ofToken text: String) -> DeviceToken?
    func text(ofKey key: DeviceToken) -> String
    /// Forgets what earlier requests taught it.
    func reset()
    func act(_ action: ScriptedAction)
}

/// One line of a provider's token grammar.
struct GrammarEntry {
    let name: String
    let meaning: String
}

/// What a provider makes of one connection. Its connection owns it.
protocol ProviderSession: AnyObject {
    var http2Settings: HTTP2ServerSettings { get }
    /// Said by GOAWAY before any request. nil: welcome.
    var refusal: String? { get }
    /// A chance to answer before the request is copied. False: copy it.
    func answerAtOnce(_ request: HTTP2Request, of session: HTTP2ServerSession) -> Bool
    /// To be answered now, later or never.
    func take(_ push: PushRequest, streamID: Int32)
}
