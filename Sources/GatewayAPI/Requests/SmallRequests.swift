import JSON
import PushModel

/// The body of `POST /v1/apps`.
package struct AppRequest: Equatable, Sendable {
    static let slugBytesMax = 63
    static let nameBytesMax = 256

    package let slug: String
    package let name: String

    package static func read(_ body: [UInt8]) throws(Problem) -> AppRequest {
        var reader = try EnvelopeReader(body: body)
        let slug = try reader.requiredString("slug", bytesMax: slugBytesMax, "the app's name in URLs")
        guard isSlug(slug) else {
            throw Problem(
                .invalidValue,
                "A slug has 1 to \(slugBytesMax) of a-z, 0-9, - and _, and begins with a letter or digit.",
                at: .root / "slug")
        }
        let name = try reader.requiredString("name", bytesMax: nameBytesMax, "the app's name for people")
        guard RegistrationRequest.isText(name) else { throw .controlCharacters(at: .root / "name") }
        try reader.end()
        return AppRequest(slug: slug, name: name)
    }

    /// As the database asks for it.
    static func isSlug(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= slugBytesMax, isLetterOrDigit(first) else { return false }
        return text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// The bodies of the badge routes: one number.
package enum BadgeRequest {
    package static func readBadge(_ body: [UInt8]) throws(Problem) -> Int32 {
        try readNumber("badge", 0...Int32.max, "the number on the app's icon", body)
    }

    package static func readCount(_ body: [UInt8]) throws(Problem) -> Int32 {
        try readNumber("count", 1...Int32.max, "how much to take off the badge", body)
    }

    private static func readNumber(
        _ name: String, _ range: ClosedRange<Int32>, _ meaning: String, _ body: [UInt8]
    ) throws(Problem) -> Int32 {
        var reader = try EnvelopeReader(body: body)
        let number = try reader.required(name, meaning).whole(range, at: reader.pointer / name)
        try reader.end()
        return number
    }
}
