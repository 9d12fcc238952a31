import Basis
import Encodings
import HTTP2
import Model
import Reactor
import Signing
import TLS

/// Handles one connection's requests as Apple does: the script first, then the validator, then the token's own fate.
final class APNsSession: ProviderSession {
    private unowned let connection: SimulatorConnection
    private let service: APNsService
    private var credentials: ConnectionCredentials
    private var answers = AnswerHeaders()
    private var refusalsInARow = 0
    private var badDeviceTokens = 0
    private var limitIsDropped: Bool
    /// The authorization of the last push, and its short name.
    private var shown: (authorization: String, name: String)?

    private var settings: APNsSimulatorSettings { service.settings }
    private var world: SimulatorWorld { connection.world }

    /// Holds a payload of any allowed size, or a script.
    static let keptBodyBytes = 65_536
    private static let sinkWindowBytes: Int32 = 16 << 20

    init(_ connection: SimulatorConnection, _ service: APNsService, _ certificate: TLSCertificate?) {
        (self.connection, self.service) = (connection, service)
        credentials = ConnectionCredentials(certificate: certificate)
        limitIsDropped = certificate == nil && service.settings.startsWithOneStream && !service.settings.common.isSink
    }

    var http2Settings: HTTP2ServerSettings {
        var http2 = HTTP2ServerSettings()
        http2.streamLimit = limitIsDropped ? 1 : settings.streamLimit
        http2.requestBodyBytesMax = APNsSession.keptBodyBytes
        if settings.common.isSink {
            http2.keptFields = .pushIdentity
            http2.requestBodyBytesMax = 0
            http2.connectionWindowBytes = APNsSession.sinkWindowBytes
        }
        return http2
    }

    /// The reason why the certificate is refused. Apple lets the handshake succeed and refuses the certificate by
    /// GOAWAY.
    var refusal: String? {
        guard let certificate = credentials.certificate else { return nil }
        let now = world.now
        if settings.revokedCertificates.contains(certificate.sha256) || certificate.notAfter < now
            || now < certificate.notBefore
        {
            return "BadCertificate"
        }
        let isUsable =
            switch settings.environment {
            case .production: certificate.isForProduction
            case .sandbox: certificate.isForSandbox
            case .both: true
            }
        return isUsable ? nil : "BadCertificateEnvironment"
    }

    /// Answers as a sink: 200 to every push, as fast as possible.
    func answerAtOnce(_ request: HTTP2Request, of session: HTTP2ServerSession) -> Bool {
        // A sink's session keeps the path only of requests that are no pushes.
        guard settings.common.isSink, session.value(of: ":path", in: request) == nil else { return false }
        world.summary.requests += 1
        world.summary.accepted += 1
        let apnsID = session.value(of: "apns-id", in: request)
        if world.script.answerDelay > .zero {
            let id = apnsID.map { session.bytes($0) } ?? []
            write(accepted: id, request.streamID, after: world.script.answerDelay)
            return true
        }
        answers.accept { list in
            guard let apnsID else { return }
            session.withBytes(apnsID) { bytes in
                for place in bytes.indices { list.append(bytes[place]) }
            }
        }
        connection.respond(answers.accepted, body: [], streamID: request.streamID)
        return true
    }

    func take(_ push: PushRequest, streamID: Int32) {
        if settings.common.isSink {
            return connection.answer(AnswerHeaders.refusal(.badPath, []), body: body(.badPath), streamID: streamID)
        }
        // Apple speaks HTTP/2 only. HTTP/1.1 is for the stand-in's own endpoints.
        guard push.isHTTP2 else { return connection.answer(AnswerHeaders.odd(505, []), body: [], streamID: streamID) }
        var push = push
        world.summary.requests += 1
        if push.apnsID.isEmpty { push.apnsID = Self.madeID() }
        connection.follow(
            connection.nextFault(at: .push), streamID, judge: { judge(push, streamID, isAnswered: $0) },
            answer: { answer($0, push, streamID) })
    }

    private static func token(of push: PushRequest) -> DeviceToken? {
        push.tokenText.flatMap { Hexadecimal.decode($0.utf8) }.map(DeviceToken.init(bytes:))
    }

    /// An id for a request without one, as Apple makes it. Source: RFC 9562, version 4.
    private static func madeID() -> String {
        let high = Entropy.uint64() & ~0xf000 | 0x4000
        let low = Entropy.uint64() & ~(3 << 62) | 2 << 62
        return UniversalID(high: high, low: low).text
    }
}

extension APNsSession {
    private func judge(_ push: PushRequest, _ streamID: Int32, isAnswered: Bool) {
        switch service.judge.judge(push, &credentials, now: world.now) {
        case .refuse(let refusal): refuse(push, refusal, streamID, token: Self.token(of: push))
        case .accept(let bytes):
            let token = DeviceToken(bytes: bytes)
            if let (fate, count) = TokenFate.of(token: bytes), world.meetsFate(token, count: count) {
                meet(fate, push, streamID, token)
            } else {
                accept(push, streamID, token, isAnswered: isAnswered)
            }
        }
    }

    private func meet(_ fate: TokenFate, _ push: PushRequest, _ streamID: Int32, _ token: DeviceToken) {
        switch fate {
        case .refuse(let refusal): refuse(push, refusal, streamID, token: token)
        case .only(let environment):
            if settings.environment.serves(environment) {
                accept(push, streamID, token)
            } else {
                refuse(push, .badDeviceToken, streamID, token: token)
            }
        case .common(let fate):
            connection.meet(fate, streamID) { accept(push, streamID, token, isAnswered: $0, after: $1) }
        case .bodiless(let status): beOdd(status, [], push, streamID, token)
        case .garbledBody(let status): beOdd(status, Array("{\"reason\":".utf8), push, streamID, token)
        }
    }

    private func beOdd(_ status: Int, _ body: [UInt8], _ push: PushRequest, _ streamID: Int32, _ token: DeviceToken) {
        record(push, token, status, reason: "")
        connection.answer(AnswerHeaders.odd(status, Array(push.apnsID.utf8)), body: body, streamID: streamID)
    }

    private func accept(
        _ push: PushRequest, _ streamID: Int32, _ token: DeviceToken, isAnswered: Bool = true,
        after delay: Duration = .zero
    ) {
        refusalsInARow = 0
        raiseLimit()
        world.summary.accepted += 1
        record(push, token, 200, reason: nil)
        if isAnswered {
            write(accepted: Array(push.apnsID.utf8), streamID, after: delay + connection.answerDelay)
        } else {
            world.summary.unanswered += 1
        }
    }

    /// Reuses the header list of a success if the answer is sent at once.
    private func write(accepted apnsID: [UInt8], _ streamID: Int32, after delay: Duration) {
        answers.accept { $0.append(contentsOf: apnsID) }
        connection.answer(answers.accepted, body: [], streamID: streamID, after: delay)
    }

    private func refuse(_ push: PushRequest, _ refusal: APNsRefusal, _ streamID: Int32, token: DeviceToken?) {
        world.summary.countRefusal(refusal.status, refusal.reason)
        record(push, token, refusal.status, reason: refusal.reason)
        let headers = AnswerHeaders.refusal(refusal, Array(push.apnsID.utf8))
        connection.answer(headers, body: body(refusal), streamID: streamID, after: connection.answerDelay)
        punish(refusal)
    }

    private func answer(_ scripted: ScriptedAnswer, _ push: PushRequest, _ streamID: Int32) {
        let reason = scripted.status == 200 ? nil : scripted.reason
        world.summary.countRefusal(scripted.status, scripted.reason)
        record(push, Self.token(of: push), scripted.status, reason: reason)
        let body =
            scripted.body
            ?? service.body(ofRefusal: scripted.reason, status: scripted.status, at: .push, now: world.now)
        var headers = AnswerHeaders.odd(scripted.status, Array(push.apnsID.utf8))
        for line in scripted.headers { headers.append(line.name, Array(line.value.utf8), isIndexed: false) }
        connection.answer(headers, body: body, streamID: streamID, after: world.script.answerDelay)
    }

    private func body(_ refusal: APNsRefusal) -> [UInt8] { refusal.body(now: world.now) }

    private func record(_ push: PushRequest, _ token: DeviceToken?, _ status: Int, reason: String?) {
        let headers = push.headers.filter { $0.name != "apns-id" && $0.name != "authorization" }
        let received = ReceivedPush(
            apnsID: push.apnsID, path: push.path, headers: headers, body: push.body, arrivedAt: world.now,
            status: status, reason: reason, connection: connection.number,
            providerToken: push.value("authorization").map { name(of: $0) }, certificate: credentials.certificateName)
        world.record(received, token: token ?? .nobody)
    }

    /// The beginning of the authorization's SHA-256, since it is a secret. Cached, because a connection shows the same
    /// one for an hour.
    private func name(of authorization: String) -> String {
        if let shown, shown.authorization == authorization { return shown.name }
        let name = Hexadecimal.text(Array(Hashes.sha256(Array(authorization.utf8)).prefix(8)))
        shown = (authorization, name)
        return name
    }

    /// Token connections start with one stream. The full limit comes with the first success.
    private func raiseLimit() {
        guard limitIsDropped else { return }
        limitIsDropped = false
        connection.change(limit: settings.streamLimit)
    }

    /// Refusals cost throughput: the limit drops after several in a row, and too many `BadDeviceToken` bring a GOAWAY.
    /// A 410 doesn't count.
    private func punish(_ refusal: APNsRefusal) {
        guard (400..<500).contains(refusal.status), refusal.status != 410 else { return }
        refusalsInARow += 1
        if let bound = settings.refusalsUntilLimitDrops, refusalsInARow >= bound, !limitIsDropped {
            limitIsDropped = true
            connection.change(limit: 1)
        }
        guard refusal == .badDeviceToken else { return }
        badDeviceTokens += 1
        if let bound = settings.badDeviceTokensMax, badDeviceTokens >= bound, let session = connection.session {
            connection.sayGoAway(ScriptedGoAway(reason: refusal.reason), lastStreamID: session.highestStreamID)
        }
    }
}
