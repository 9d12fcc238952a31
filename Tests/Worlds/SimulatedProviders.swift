import Basis
import Model

/// The providers' side: which tokens are alive, and every push that the providers saw.
package struct SimulatedProviders: Sendable {
    private var apple: [IssuedToken] = []
    private var google: [IssuedToken] = []
    package private(set) var log: [SeenPush] = []
    /// Indices in `log` by (message, registration), in order of arrival. Never iterated.
    private var places: [PushPair: [Int]] = [:]
    /// Streams, by what happened to them on the way. Never iterated.
    private var arrived: Set<Int> = []
    private var vanished: Set<Int> = []
    private var lostAnswers: Set<Int> = []
    /// Google's access tokens, by their number.
    package private(set) var accessTokens: [IssuedAccess] = []

    /// Issues a token. Each provider numbers its own, so an APNs token may have the bytes of an FCM token.
    package mutating func issueToken(_ provider: Provider, _ kind: TokenKind, _ environment: PushEnvironment)
        -> DeviceToken
    {
        let token = IssuedToken(kind: kind, environment: environment)
        guard provider == .fcm else {
            apple.append(token)
            return Self.token(number: apple.count - 1)
        }
        google.append(token)
        return Self.token(number: google.count - 1)
    }

    package subscript(provider: Provider, token: DeviceToken) -> IssuedToken {
        get { provider == .fcm ? google[Self.number(of: token)] : apple[Self.number(of: token)] }
        set {
            if provider == .fcm {
                google[Self.number(of: token)] = newValue
            } else {
                apple[Self.number(of: token)] = newValue
            }
        }
    }

    private static func token(number: Int) -> DeviceToken {
        DeviceToken(bytes: (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * (7 - $0))) })
    }

    private static func number(of token: DeviceToken) -> Int { token.bytes.reduce(0) { $0 << 8 | Int($1) } }

    func hasArrived(_ push: WirePush) -> Bool { arrived.contains(push.stream) }
    mutating func vanish(_ push: WirePush) { vanished.insert(push.stream) }
    func hasVanished(_ push: WirePush) -> Bool { vanished.contains(push.stream) }
    mutating func loseAnswer(_ push: WirePush) { lostAnswers.insert(push.stream) }
    func isAnswerLost(_ push: WirePush) -> Bool { push.isAnswerLost || lostAnswers.contains(push.stream) }

    package mutating func note(_ push: WirePush, _ answer: ProviderAnswer, at: SimulatedTime) {
        let pair = PushPair(message: push.message, registration: push.registration)
        arrived.insert(push.stream)
        places[pair, default: []].append(log.count)
        log.append(SeenPush(push: push, answer: answer, at: at))
    }

    /// The pushes of a pair in the order in which they left. A connection that stalls delivers late.
    package func seen(_ pair: PushPair) -> [SeenPush] {
        places[pair, default: []].map { log[$0] }.sorted { $0.push.stream < $1.push.stream }
    }

    package mutating func issueAccess(until: SimulatedTime) -> Int {
        accessTokens.append(IssuedAccess(until: until))
        return accessTokens.count - 1
    }

    package mutating func revokeAccess() {
        for number in accessTokens.indices { accessTokens[number].isRevoked = true }
    }
}

package struct PushPair: Hashable, Sendable {
    package let message: MessageID
    package let registration: RegistrationID
}

/// A token as its provider knows it.
package struct IssuedToken: Sendable {
    package enum Flaw: Sendable {
        /// It never was a token.
        case garbage
        /// It belongs to another project: Google knows it, but not as ours.
        case foreign
    }

    package let kind: TokenKind
    package let environment: PushEnvironment
    /// The time since which the app is gone, or the token replaced.
    package var deadSince: WallInstant?
    package var flaw: Flaw?
    /// The times of its reported deaths: Apple's timestamp, or for Google, which gives none, the lease's time.
    package var unregisteredReported: [WallInstant] = []
    /// The lease times of the pushes that came back with a suspicion about it.
    package var suspicionReported: [WallInstant] = []
}

package struct IssuedAccess: Sendable {
    package let until: SimulatedTime
    package var isRevoked = false
}

package struct SeenPush: Sendable {
    package let push: WirePush
    package let answer: ProviderAnswer
    package let at: SimulatedTime
}
