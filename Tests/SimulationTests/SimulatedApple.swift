import DeliveryRules
import PushModel

/// Apple's side: which tokens are alive, and every push that it saw.
struct SimulatedApple: Sendable {
    var tokens: [AppleToken] = []
    private(set) var log: [SeenPush] = []
    /// By (message, registration): places in `log`, in order of arrival. Looked up, never walked.
    private var places: [PushPair: [Int]] = [:]

    mutating func issueToken(environment: PushEnvironment) -> DeviceToken {
        tokens.append(AppleToken(environment: environment))
        return SimulatedApple.token(number: tokens.count - 1)
    }

    static func token(number: Int) -> DeviceToken {
        DeviceToken(bytes: (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * (7 - $0))) })
    }

    static func number(of token: DeviceToken) -> Int { token.bytes.reduce(0) { $0 << 8 | Int($1) } }

    mutating func note(_ push: WirePush, _ answer: AppleAnswer, at: SimulatedTime) {
        let pair = PushPair(message: push.message, registration: push.registration)
        places[pair, default: []].append(log.count)
        log.append(SeenPush(push: push, answer: answer, at: at))
    }

    func seen(_ pair: PushPair) -> [SeenPush] { places[pair, default: []].map { log[$0] } }
}

struct PushPair: Hashable, Sendable {
    let message: MessageID
    let registration: RegistrationID
}

struct AppleToken: Sendable {
    let environment: PushEnvironment
    /// The app is no longer there, or the token was replaced.
    var deadSince: WallInstant?
    /// Was never a token of this environment.
    var isBad = false
    /// The times in the 410s that were given for it.
    var goneSaid: [WallInstant] = []
}

struct SeenPush: Sendable {
    let push: WirePush
    let answer: AppleAnswer
    let at: SimulatedTime
}
