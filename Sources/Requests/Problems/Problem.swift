import JSON
import Model

/// A refusal as the client sees it: RFC 9457, with a stable code.
///
/// The detail says what happened, why, and what to do. It never contains a part of a token, key or payload.
package struct Problem: Error, Equatable, Sendable {
    package let code: ProblemCode
    package let detail: String
    package let pointer: JSONPointer?
    /// The position of a character in that member's text, from 1.
    package let position: Int?
    /// The scopes of which the caller's key needs one, and has none.
    package let missingScopes: [APIScope]
    /// The time after which repeating the same request is wise; nil if it is not.
    package let retryAfterSeconds: Int?
    package let allow: String?
    /// The cause for the operator's log, not for the client. It holds no secret either.
    package let cause: String?

    package init(
        _ code: ProblemCode, _ detail: String, at pointer: JSONPointer? = nil, position: Int? = nil,
        missing scopes: [APIScope] = [], retryAfterSeconds: Int? = nil, allow: String? = nil, cause: String? = nil
    ) {
        (self.code, self.detail, self.pointer, self.position) = (code, detail, pointer, position)
        (missingScopes, self.retryAfterSeconds, self.allow, self.cause) = (scopes, retryAfterSeconds, allow, cause)
    }

    /// The gateway itself serves this page, so that the reference works wherever the gateway runs.
    private static let typePrefix = "/errors#"

    package static let contentType = "application/problem+json"

    package var body: [UInt8] {
        JSONWriter.body { writer in
            writer.member("type", Self.typePrefix + code.rawValue)
            writer.member("title", code.title)
            writeMembers(to: &writer)
        }
    }

    /// Writes the members that a refused line of an import has too.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("status", code.status)
        writer.member("code", code.rawValue)
        writer.member("detail", detail)
        if let pointer { writer.member("pointer", pointer.description) }
        if let position { writer.member("position", position) }
        if !missingScopes.isEmpty { writer.strings("missing_scopes", missingScopes.map(\.rawValue)) }
    }
}
