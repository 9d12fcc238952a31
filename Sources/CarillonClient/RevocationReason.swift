/// Why the gateway ended a subscription. The set is open: a later gateway may send a code that is not listed here.
///
/// Source: "Subscription revocation" in the wake-up API's description.
public enum RevocationReason: Equatable, Sendable {
    /// The security rules no longer allow the subscriber to read the path.
    case permissionDenied
    /// The app was deleted at the gateway.
    case namespaceDoesNotExist
    /// Wake-up was disabled for the app.
    case disabled
    /// The subscription was not refreshed in time.
    case expired
    /// The data at the path grew too big to be subscribed.
    case tooBig
    /// A code that this version of the library does not know.
    case other(String)

    /// Never gives `other` for a listed code.
    public init(code: String) {
        switch Listed(bytesOf: code) {
        case .permissionDenied: self = .permissionDenied
        case .namespaceDoesNotExist: self = .namespaceDoesNotExist
        case .disabled: self = .disabled
        case .expired: self = .expired
        case .tooBig: self = .tooBig
        case nil: self = .other(code)
        }
    }

    /// The code as the payload's member `r` holds it, for example `permission_denied`.
    public var code: String {
        switch self {
        case .permissionDenied: Listed.permissionDenied.rawValue
        case .namespaceDoesNotExist: Listed.namespaceDoesNotExist.rawValue
        case .disabled: Listed.disabled.rawValue
        case .expired: Listed.expired.rawValue
        case .tooBig: Listed.tooBig.rawValue
        case .other(let code): code
        }
    }

    private enum Listed: String {
        case permissionDenied = "permission_denied"
        case namespaceDoesNotExist = "namespace_does_not_exist"
        case disabled
        case expired
        case tooBig = "too_big"
    }
}

extension RevocationReason: CustomStringConvertible {
    public var description: String { code }
}
