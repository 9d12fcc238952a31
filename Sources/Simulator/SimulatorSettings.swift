import Basis
import HTTP2
import Model
import TLS

/// The behaviour of a stand-in without a script, as far as all providers share it.
package struct SimulatorSettings: Sendable {
    /// The server's certificate and key. Make one with `CertificateAuthority.issue` for the names that clients use.
    package let identity: TLSIdentity
    /// Answers 200 as fast as it can: no check, no record. For benchmarks. If false, it validates each request as the
    /// provider does, and keeps what each token received.
    package var isSink = false
    /// 0: any free port.
    package var port: UInt16 = 0
    package var reach = SimulatorReach.loopback
    let clientCertificates: TLSContext.ClientCertificates
    /// Further connections are closed at once, unless one is stalled by a script: then that one is.
    package var connectionsMax = 4_096
    /// The time from the connection's arrival until TLS and HTTP/2 are agreed: the client's first request, or its
    /// acknowledgement of our SETTINGS. A slower connection is closed.
    package var handshakeTimeout: Duration = .seconds(10)
    /// A client that has sent nothing for this time, and waits for no answer, is sent a GOAWAY. Practice: Apple ends
    /// idle connections after about a quarter of an hour.
    package var idleTimeout: Duration = .seconds(900)
    /// The time from the first byte of a request over HTTP/1.1 to its last. A slower connection is closed.
    package var requestTimeout: Duration = .seconds(30)
    package var slowAnswer: Duration = .seconds(5)
    /// The limit of a request's body. Over HTTP/1.1 a larger one is refused; over HTTP/2 the excess is counted and
    /// dropped.
    let bodyBytesMax: Int
    /// The limit of kept bodies and headers; the oldest are forgotten first. Counts stay.
    package var keptBytesMax = 256 << 20
    /// Called on the simulator's thread with complete lines of NDJSON, many at a time.
    package var record: (@Sendable ([UInt8]) -> Void)?

    init(_ identity: TLSIdentity, _ clientCertificates: TLSContext.ClientCertificates, bodyBytesMax: Int) {
        (self.identity, self.clientCertificates, self.bodyBytesMax) = (identity, clientCertificates, bodyBytesMax)
    }
}

/// The addresses at which a stand-in can be reached.
package enum SimulatorReach: Sendable {
    /// This machine, at 127.0.0.1.
    case loopback
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
    /// The key under which a token's pushes are kept. nil: no token of this provider.
    func key(ofToken text: String) -> DeviceToken?
    func text(ofKey key: DeviceToken) -> String
    func reset()
    func act(_ action: ScriptedAction)
}

/// A fate that a token of any provider can choose. Over HTTP/1.1 a stream's reset is the connection's.
package enum CommonFate: Equatable, Sendable {
    /// The stream is reset; the push is not processed.
    case reset
    /// REFUSED_STREAM, which tells the client that the push was not processed.
    case refuseStream
    /// Never answered, not processed.
    case silence
    /// Processed, after `slowAnswer`.
    case slow
    /// Processed; the answer is lost.
    case loseAnswer
    /// Processed; the stream is reset instead of an answer.
    case resetAfterwards
    /// Processed; the connection is dropped instead of an answer.
    case dropAfterwards
}

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
    func take(_ push: PushRequest, streamID: Int32)
}
