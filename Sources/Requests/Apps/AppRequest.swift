import JSON

/// The body of `POST /v1/apps`.
package struct AppRequest: Equatable, Sendable {
    static let slugBytesMax = 63
    package static let nameBytesMax = 256

    package let slug: String
    package let name: String

    package static func read(_ body: [UInt8]) throws(Problem) -> AppRequest {
        var reader = try EnvelopeReader(body: body)
        let slug = try reader.requiredString("slug", bytesMax: slugBytesMax, "the app's name in URLs")
        guard isSlug(slug) else {
            throw Problem(
                .invalidValue,
                "A slug has 1 to \(slugBytesMax) characters of a-z, 0-9, - and _, and begins with a letter or digit.",
                at: .root / "slug")
        }
        let name = try reader.requiredString("name", bytesMax: nameBytesMax, "the app's name for people")
        guard RegistrationRequest.isText(name) else { throw .controlCharacters(at: .root / "name") }
        try reader.end()
        return AppRequest(slug: slug, name: name)
    }

    /// Whether the text is a slug. The database checks the same.
    package static func isSlug(_ text: String) -> Bool {
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_".utf8
        guard let first = text.first, text.utf8.count <= slugBytesMax, !"-_".contains(first) else { return false }
        return text.utf8.allSatisfy { allowed.contains($0) }
    }
}
