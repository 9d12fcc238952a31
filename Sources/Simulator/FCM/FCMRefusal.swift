import Basis
import Calendar
import JSON

/// Google's refusal: a `google.rpc.Status`, with or without FCM's own code in its details.
/// Source: Firebase, "FCM error codes"; Google API design guide, "Errors".
package struct FCMRefusal: Error, Equatable, Sendable {
    package var status: Int
    /// `NOT_FOUND`, `INVALID_ARGUMENT`, ...
    package var rpcStatus: String
    /// The code in an FcmError detail: `UNREGISTERED`, ... nil: there is none.
    package var errorCode: String?
    package var message: String
    /// A BadRequest detail: the field, and what is wrong with it.
    package var violation: Violation?
    package var quotaSubject: String?
    package var retryAfter: RetryAfterHeader?

    package struct Violation: Equatable, Sendable {
        package var field: String
        package var description: String
    }

    package enum RetryAfterHeader: Equatable, Sendable {
        case seconds(Int)
        case date(secondsAhead: Int)
    }

    package init(
        _ status: Int, _ rpcStatus: String, _ errorCode: String?, _ message: String, violation: Violation? = nil,
        quotaSubject: String? = nil, retryAfter: RetryAfterHeader? = nil
    ) {
        (self.status, self.rpcStatus, self.errorCode, self.message) = (status, rpcStatus, errorCode, message)
        (self.violation, self.quotaSubject, self.retryAfter) = (violation, quotaSubject, retryAfter)
    }

    package var reason: String { errorCode ?? rpcStatus }

    static func badField(_ field: String, _ description: String) -> FCMRefusal {
        FCMRefusal(
            400, "INVALID_ARGUMENT", nil, description, violation: Violation(field: field, description: description))
    }

    /// The refusal of a field that is well-formed JSON but not valid for FCM.
    static func badArgument(_ message: String, field: String? = nil) -> FCMRefusal {
        FCMRefusal(
            400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message,
            violation: field.map { Violation(field: $0, description: message) })
    }

    static let invalidToken = badArgument("The registration token is not a valid FCM registration token")
    static let unauthenticated = FCMRefusal(
        401, "UNAUTHENTICATED", nil, "Request had invalid authentication credentials. Expected OAuth 2 access token.")
    static let permissionDenied = FCMRefusal(
        403, "PERMISSION_DENIED", nil,
        "Permission 'cloudmessaging.messages.create' denied on resource, or it may not exist.")
    static let scopeInsufficient = FCMRefusal(
        403, "PERMISSION_DENIED", nil, "Request had insufficient authentication scopes.")
    static let notFound = FCMRefusal(404, "NOT_FOUND", nil, "Requested entity was not found.")

    func headers(now: WallInstant) -> [HeaderLine] {
        var lines: [HeaderLine] = []
        switch retryAfter {
        case .seconds(let seconds): lines.append(HeaderLine(name: "retry-after", value: String(seconds)))
        case .date(let seconds):
            lines.append(HeaderLine(name: "retry-after", value: HTTPDate.format(now + .seconds(seconds))))
        case nil: break
        }
        if self == .unauthenticated {
            lines.append(HeaderLine(name: "www-authenticate", value: #"Bearer realm="fcm", error="invalid_token""#))
        }
        return lines
    }

    var body: [UInt8] {
        var error = JSONObject([
            JSONMember("code", .integer(status)), JSONMember("message", .string(message)),
            JSONMember("status", .string(rpcStatus)),
        ])
        let details = self.details
        if !details.isEmpty { error["details"] = .array(details) }
        return (["error": .object(error)] as JSONValue).bytes
    }

    private var details: [JSONValue] {
        var details: [JSONValue] = []
        if let errorCode {
            details.append([
                "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(errorCode),
            ])
        }
        if let violation {
            let field = ("field", violation.field)
            details.append(Self.detail("google.rpc.BadRequest", "fieldViolations", field, violation.description))
        }
        if let quotaSubject {
            details.append(Self.detail("google.rpc.QuotaFailure", "violations", ("subject", quotaSubject), message))
        }
        return details
    }

    private static func detail(
        _ type: String, _ list: String, _ what: (name: String, value: String), _ description: String
    ) -> JSONValue {
        var entry = JSONObject()
        if !what.value.isEmpty { entry[what.name] = .string(what.value) }
        entry["description"] = .string(description)
        return ["@type": .string("type.googleapis.com/" + type), list: [.object(entry)]]
    }
}
