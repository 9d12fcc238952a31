import DeliveryRules
import PushModel

/// The providers' side: which tokens are alive, and every push that they saw.
struct SimulatedProviders: Sendable {
    private var apple: [IssuedToken] = []
    private var google: [IssuedToken] = []
    private(set) var log: [SeenPush] = []
    /// By (message, registration): places in `log`, in order of arrival. Looked up, never walked.
    private var places: [PushPair: [Int]] = [:]
    /// Google's access tokens, by their number.
    private(set) var accessTokens: [IssuedAccess] = []

    /// Each counts for itself: a token of the one has the bytes of one of the other.
    mutating func issueToken(_ provider: Provider, _ kind: TokenKind, _ environment: PushEnvironment) -> DeviceToken {
        let token = IssuedToken(kind: kind, environment: environment)
        guard provider == .fcm else {
            apple.append(token)
            return Self.token(number: apple.count - 1)
        }
        google.append(token)
        return Self.token(number: google.count - 1)
    }

    subscript(provider: Provider, token: DeviceToken) -> IssuedToken {
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

    mutating func note(_ push: WirePush, _ answer: ProviderAnswer, at: SimulatedTime) {
        let pair = PushPair(message: push.message, registration: push.registration)
        places[pair, default: []].append(log.count)
        log.append(SeenPush(push: push, answer: answer, at: at))
    }

    func seen(_ pair: PushPair) -> [SeenPush] { places[pair, default: []].map { log[$0] } }

    mutating func issueAccess(until: SimulatedTime) -> Int {
        accessTokens.append(IssuedAccess(until: until))
        return accessTokens.count - 1
    }

    mutating func revokeAccess() {
        for number in accessTokens.indices { accessTokens[number].isRevoked = true }
    }
}

struct PushPair: Hashable, Sendable {
    let message: MessageID
    let registration: RegistrationID
}

/// A token as its provider knows it.
struct IssuedToken: Sendable {
    enum Flaw: Sendable {
        /// Never was one.
        case garbage
        /// Of another project: Google knows it, and not as ours.
        case foreign
    }

    let kind: TokenKind
    let environment: PushEnvironment
    /// The app is no longer there, or the token was replaced.
    var deadSince: WallInstant?
    var flaw: Flaw?
    /// The times that its deaths were told for: Apple's own; Google tells none, so the lease's.
    var goneSaid: [WallInstant] = []
    /// The leases whose pushes came back with a doubt about it.
    var doubtSaid: [WallInstant] = []
}

struct IssuedAccess: Sendable {
    let until: SimulatedTime
    var isRevoked = false
}

struct SeenPush: Sendable {
    let push: WirePush
    let answer: ProviderAnswer
    let at: SimulatedTime
}
