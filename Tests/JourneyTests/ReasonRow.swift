import Model
import Simulator

/// One answer of a provider, and the expected outcome of its push on the whole way.
struct ReasonRow: Sendable, CustomStringConvertible {
    /// How the stand-in is made to give the answer.
    enum Trigger: Sendable {
        /// The token's own beginning decides: docs/simulator.md.
        case token(String)
        /// A script answers the next request.
        case script(ScriptedAnswer)
    }

    /// The expected outcome.
    enum Sequel: Equatable, Sendable {
        /// The push ends and is never retried. The feed reports the verdict, if there is one about the token.
        case ends(String, verdict: String? = nil)
        /// The push waits for this cause, for at least this many seconds and at most a quarter more. It is then retried
        /// and accepted.
        case comesAgain(String, after: Int)
        /// The push waits for this cause until another credential is submitted, and is then accepted. It is deferred by
        /// this many seconds at a time. The rejected attempt does not count.
        case waitsForCredential(String, after: Int)
    }

    /// The row of the provider's table; nil if it is in no table and its status decides.
    let name: String?
    let provider: Provider
    let trigger: Trigger
    /// The provider's reason, as the account has it.
    let reason: String
    let sequel: Sequel
    var neighbours = Neighbours.anybody

    /// The other pushes beside it.
    enum Neighbours: Sendable {
        /// It means nothing for others: it runs beside other rows' pushes, on a lane that worked a moment ago.
        case anybody
        /// It means something for the lane: it runs in an app of its own, beside healthy devices.
        case healthy
        /// The same, on a lane that has not yet proved to work.
        case nobody
    }

    var description: String { "\(name ?? "undocumented \(reason)") by \(triggerText)" }

    private var triggerText: String {
        switch trigger {
        case .token(let beginning): beginning
        case .script(let answer): "\(answer.status)"
        }
    }

    /// The installation of this row's device.
    var installation: String {
        let letters = description.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        return "\(provider.name)-\(String(letters))"
    }

    /// Its token, with the zeros that the search of the logs looks for.
    func token(_ number: Int) -> String {
        let beginning = if case .token(let text) = trigger { text } else { Self.healthyBeginning(provider) }
        return Self.token(provider, beginning, number)
    }

    static func token(_ provider: Provider, _ beginning: String, _ number: Int) -> String {
        guard provider == .apns else { return "\(beginning)-\(number)-0000000000000000" }
        let digits = String(number, radix: 16)
        return beginning + String(repeating: "0", count: 64 - beginning.utf8.count - digits.utf8.count) + digits
    }

    static func healthyBeginning(_ provider: Provider) -> String { provider == .apns ? "a11e0000" : "live" }
}

/// The answer of `GET .../messages/{id}/devices/{installation}`.
struct DeviceHistory: Decodable, Equatable {
    struct Step: Decodable, Equatable {
        let step: String
        let reason: String?
        let attempts: Int?

        init(_ step: String, _ reason: String? = nil, attempts: Int? = nil) {
            self.step = step
            self.reason = reason
            self.attempts = attempts
        }
    }

    let state: String
    let reason: String?
    let attempts: Int?
    let steps: [Step]
}

extension ReasonRow {
    /// The complete history, once the push has ended.
    var steps: [DeviceHistory.Step] {
        let begins = DeviceHistory.Step("message_accepted")
        switch sequel {
        case .ends(let state, _): return [begins, DeviceHistory.Step(state, reason, attempts: 1)]
        case .comesAgain(let cause, _):
            return [
                begins, DeviceHistory.Step("goes_on", cause, attempts: 1), DeviceHistory.Step("accepted", attempts: 2),
            ]
        case .waitsForCredential: return [begins, DeviceHistory.Step("accepted", attempts: 1)]
        }
    }

    /// The cause and the length of the push's wait; nil if it ends at once.
    var wait: (cause: String, lengths: ClosedRange<Duration>)? {
        switch sequel {
        case .ends: nil
        case .comesAgain(let cause, let seconds), .waitsForCredential(let cause, let seconds):
            // Retries are spread over a quarter more, and end on whole seconds.
            (cause, .seconds(seconds) ... .seconds((seconds * 5 + 3) / 4))
        }
    }

    /// The number of times the push was sent.
    var requests: Int { if case .ends = sequel { 1 } else { 2 } }

    /// The state and reason in the message's account; nil if it was accepted.
    var terminalStatus: (state: String, reason: String)? {
        if case .ends(let state, _) = sequel { (state, reason) } else { nil }
    }

    var verdict: String? { if case .ends(_, let verdict) = sequel { verdict } else { nil } }
}
