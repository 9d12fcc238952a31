import Model
import Simulator

/// One answer of a provider, and what has to become of its push on the whole way.
struct ReasonRow: Sendable, CustomStringConvertible {
    /// How the stand-in is brought to say it.
    enum Trigger: Sendable {
        /// By the token's own beginning: docs/simulator.md.
        case token(String)
        /// To the next request.
        case script(ScriptedAnswer)
    }

    /// What follows from it.
    enum Sequel: Equatable, Sendable {
        /// The push ends there, and is never tried again; the feed says the verdict, if there is one about the token.
        case ends(String, verdict: String? = nil)
        /// The push waits for this cause, for so many seconds at least and a quarter more at most, comes again by itself,
        /// and is accepted.
        case comesAgain(String, after: Int)
        /// The push waits for this cause until somebody hands in another credential, and is accepted then; it is put off
        /// by so many seconds at a time. `tried`: the refused attempt counts.
        case waitsForCredential(String, tried: Bool, after: Int)
    }

    /// The row of the provider's table. nil: it stands in none, and its status speaks.
    let name: String?
    let provider: Provider
    let trigger: Trigger
    /// The provider's word for it, as the account has it.
    let reason: String
    let sequel: Sequel
    var neighbours = Neighbours.anybody

    /// Beside whom the push goes.
    enum Neighbours: Sendable {
        /// It says nothing about others: beside other rows' pushes, on a lane that was good a moment ago.
        case anybody
        /// It says something about the lane: in an app of its own, beside healthy devices.
        case healthy
        /// The same, on a lane that has proved nothing yet.
        case nobody
    }

    var description: String { "\(name ?? "undocumented \(reason)") by \(triggerText)" }

    private var triggerText: String {
        switch trigger {
        case .token(let beginning): beginning
        case .script(let answer): "\(answer.status)"
        }
    }

    /// Of this row's device.
    var installation: String {
        let letters = description.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        return "\(provider.name)-\(String(letters))"
    }

    /// Its token, with the zeros by which logs are searched for it.
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

/// What `GET .../messages/{id}/devices/{installation}` tells.
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
    /// The whole story, once it is over.
    var steps: [DeviceHistory.Step] {
        let begins = DeviceHistory.Step("message_accepted")
        switch sequel {
        case .ends(let state, _): return [begins, DeviceHistory.Step(state, reason, attempts: 1)]
        case .comesAgain(let cause, _), .waitsForCredential(let cause, tried: true, _):
            return [
                begins, DeviceHistory.Step("goes_on", cause, attempts: 1), DeviceHistory.Step("accepted", attempts: 2),
            ]
        case .waitsForCredential(_, tried: false, _): return [begins, DeviceHistory.Step("accepted", attempts: 1)]
        }
    }

    /// For what and how long the push is put off. nil: it ends at once.
    var wait: (cause: String, lengths: ClosedRange<Duration>)? {
        switch sequel {
        case .ends: nil
        case .comesAgain(let cause, let seconds), .waitsForCredential(let cause, _, let seconds):
            // The herd is spread over a quarter more, and ends on whole seconds.
            (cause, .seconds(seconds) ... .seconds((seconds * 5 + 3) / 4))
        }
    }

    /// How often the push was sent.
    var requests: Int { if case .ends = sequel { 1 } else { 2 } }

    /// The state and reason in the message's account; nil: accepted.
    var terminalStatus: (state: String, reason: String)? {
        if case .ends(let state, _) = sequel { (state, reason) } else { nil }
    }

    var verdict: String? { if case .ends(_, let verdict) = sequel { verdict } else { nil } }
}
