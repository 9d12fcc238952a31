import JSON
import QueueRules

/// Why receivers of a test did not get it.
package struct TestShortfall {
    private let part: TestReceivers.Part
    private let account: JSONValue
    private let failures: [JSONValue]
    private static let shownMax = 5
    /// A test has a handful of receivers, mostly.
    static let failuresMax = 100

    /// - Parameters:
    ///   - account: the test's.
    ///   - failures: its pushes that were not accepted, as the gateway lists them; empty also if that is not known.
    package init(_ part: TestReceivers.Part, account: JSONValue, failures: [JSONValue]) {
        (self.part, self.account, self.failures) = (part, account, failures)
    }

    /// - Parameters:
    ///   - reached: the devices that any test has reached.
    ///   - hasAudience: whether the message was to follow.
    package func sentence(reached: Int64, hasAudience: Bool) -> String {
        if !unknown.isEmpty, reached == 0 { return cause + " Nothing was sent." }
        return cause + (hasAudience ? " The audience was not sent to." : "")
    }

    private var cause: String {
        if !unknown.isEmpty { return unknownSentence }
        let shown = failures.prefix(Self.shownMax).map {
            "\($0.shown("installation")) did not get the test: \($0.shown("state")), \($0.shown("reason"))."
        }
        guard !shown.isEmpty else {
            return "Not every test receiver got it (\(part.text)). For the reasons: carillon messages failures "
                + "\(account.shown("id"))"
        }
        return shown.joined(separator: " ")
    }

    /// The names that no device has.
    private var unknown: [String] {
        switch part.form {
        case .installation:
            failures.filter { $0.shown("reason") == TerminalReason.unknownDevice }.map { $0.shown("installation") }
        case .user, .tag:
            account.count("audience") == 0 || failures.contains { $0.shown("reason") == TerminalReason.unknownUser }
                ? part.names : []
        }
    }

    private var unknownSentence: String {
        let names = AudienceDescription.sentence(unknown, "or")
        return switch part.form {
        case .installation: "No installation is called \(names) (a user? user:\(unknown[0]))."
        case .user: "The user \(names) has no device (an installation? Leave out user:)."
        case .tag: "No device has the tag \(names)."
        }
    }
}
