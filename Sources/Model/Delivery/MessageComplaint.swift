/// A provider's complaint about a message, for its sender: what lies behind the reason of a rejection.
package struct MessageComplaint: Equatable, Sendable {
    /// The longest text that is kept, in bytes. It is stored once for each message and reason.
    package static let textBytesMax = 200

    package let reason: String
    /// The field, and why. It holds no token and no value of the payload.
    package let text: String

    /// - Parameter text: cut to its limit. It is ASCII, as all names of fields are.
    package init(reason: String, text: String) {
        (self.reason, self.text) = (reason, String(decoding: text.utf8.prefix(Self.textBytesMax), as: UTF8.self))
    }

    package var terminalStatus: TerminalStatus { TerminalStatus(.rejected, reason) }
}
