import JSON
import Model

/// A refusal as the client sees it: RFC 9457, with a stable code.
///
/// Sentences say what happened, why, and what to do. Nothing of a token, key or payload stands in one.
package struct Problem: Error, Equatable, Sendable {
    package let code: ProblemCode
    package let detail: String
    /// Where in the body.
    package let pointer: JSONPointer?
    /// Of a character in the text there, from 1.
    package let position: Int?
    /// What the caller's key lacks: one of these scopes is asked for.
    package let missingScopes: [APIScope]
    /// When trying the same again is wise.
    package let retryAfterSeconds: Int?
    /// The methods that are served where another was asked for.
    package let allow: String?
    /// For the operator's log, not for the client. Holds no secret either.
    package let cause: String?

    package init(
        _ code: ProblemCode, _ detail: String, at pointer: JSONPointer? = nil, position: Int? = nil,
        missing scopes: [APIScope] = [],
        retryAfterSeconds: Int? = nil, allow: String? = nil, cause: String? = nil
    ) {
        self.code = code
        self.detail = detail
        self.pointer = pointer
        self.position = position
        missingScopes = scopes
        self.retryAfterSeconds = retryAfterSeconds
        self.allow = allow
        self.cause = cause
    }

    /// Served by the gateway itself, so that the reference leads somewhere wherever it runs.
    private static let typePrefix = "/errors#"

    package var body: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", Self.typePrefix + code.rawValue)
        writer.member("title", code.title)
        writeMembers(to: &writer)
        writer.endObject()
        return writer.bytes
    }

    /// What a refused line of an import says too.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("status", code.status)
        writer.member("code", code.rawValue)
        writer.member("detail", detail)
        if let pointer { writer.member("pointer", pointer.description) }
        if let position { writer.member("position", position) }
        guard !missingScopes.isEmpty else { return }
        writer.name("missing_scopes")
        writer.beginArray()
        for scope in missingScopes { writer.string(scope.rawValue) }
        writer.endArray()
    }
}
