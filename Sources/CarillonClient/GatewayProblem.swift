/// The gateway's refusal of a call. Nothing was changed, unless `detail` says so.
///
/// Source: docs/errors.md, which lists all codes with cause and remedy; RFC 9457.
public struct GatewayProblem: Error, Equatable, Sendable {
    /// The reason, which stays the same in later versions. Rely on it, not on the texts.
    public let code: Code
    /// The sentences for a developer: the event, its reason, and the remedy.
    public let detail: String
    /// The place in the request's body that was refused (RFC 6901), such as `/trigger`; nil if there is none.
    public let pointer: String?
    /// The position of a character in the text at that place, from 1; nil if there is none.
    public let position: Int?
    /// The HTTP status.
    public let status: Int
    /// The time after which the same call may succeed; nil if a repetition would be refused, too.
    public let retryAfter: Duration?

    /// Makes a problem by hand, for previews and tests of an app.
    public init(
        code: Code, detail: String, pointer: String? = nil, position: Int? = nil, status: Int,
        retryAfter: Duration? = nil
    ) {
        (self.code, self.detail, self.pointer, self.position) = (code, detail, pointer, position)
        (self.status, self.retryAfter) = (status, retryAfter)
    }

    /// nil if the answer is no problem document: another program may stand before the gateway.
    init?(_ response: GatewayResponse) {
        guard let members = (try? JSON(parsing: response.body))?.object, let code = members["code"]?.string else {
            return nil
        }
        self.init(
            code: Code(rawValue: code), detail: members["detail"]?.string ?? "", pointer: members["pointer"]?.string,
            position: members["position"]?.int, status: response.status,
            retryAfter: response.header("Retry-After").flatMap { Int64($0) }.map { Duration.seconds($0) })
    }
}

extension GatewayProblem {
    /// The name of a reason. The set is open: a later gateway may send one that is not listed here.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The user's token is not valid, or has expired.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The app's subscriptions to items are off.
        public static let disabled = Code(rawValue: "disabled")
        /// One of the app's hooks denies the call, or the device or its token is not this user's.
        public static let permissionDenied = Code(rawValue: "permission_denied")
        /// The app's allow-list has no expression that matches the trigger.
        public static let triggerNotAllowed = Code(rawValue: "trigger_not_allowed")
        /// The gateway knows no such device of this user. That is usual once its last subscription is deactivated.
        public static let unknownDevice = Code(rawValue: "unknown_device")
        /// The device has no subscription with this key.
        public static let unknownSubscription = Code(rawValue: "unknown_subscription")
        /// The trigger can't be read, from `position` on.
        public static let invalidTrigger = Code(rawValue: "invalid_trigger")
        /// A text has half a brace, or a placeholder of messages.
        public static let invalidTemplate = Code(rawValue: "invalid_template")
        /// A text or the trigger names a field that is not subscribed.
        public static let fieldNotSubscribed = Code(rawValue: "field_not_subscribed")
        /// Subscriptions have no such mode.
        public static let modeNotSupported = Code(rawValue: "mode_not_supported")
        /// The device has too many subscriptions, or too many devices call at the moment.
        public static let tooMany = Code(rawValue: "too_many")
    }
}

/// The reason why a call of a client failed.
public enum DeviceClientError: Error, Sendable {
    /// The gateway refused the call.
    case refused(GatewayProblem)
    /// No answer came, or the task was cancelled. The call may have taken effect: repeat it, or inquire.
    case unreachable(any Error)
    /// The answer is not one of the gateway. Another program may stand before it.
    case unexpectedAnswer(status: Int)
    /// The app gave no token of its user. Nothing was sent.
    case noToken(any Error)

    /// The gateway's refusal; nil if the call failed for another reason.
    public var problem: GatewayProblem? { if case .refused(let problem) = self { problem } else { nil } }
}
