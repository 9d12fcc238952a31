import JSON
import Model
import Providers
import Store

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
                "A slug has 1 to \(slugBytesMax) characters of a-z, 0-9, - and _, and begins with a letter or digit.",
                at: .root / "slug")
        }
        let name = try reader.requiredString("name", bytesMax: nameBytesMax, "the app's name for people")
        guard RegistrationRequest.isText(name) else { throw .controlCharacters(at: .root / "name") }
        try reader.end()
        return AppRequest(slug: slug, name: name)
    }

    /// Whether the text is a slug. The database checks the same.
    static func isSlug(_ text: String) -> Bool {
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_".utf8
        guard let first = text.first, text.utf8.count <= slugBytesMax, !"-_".contains(first) else { return false }
        return text.utf8.allSatisfy { allowed.contains($0) }
    }
}

/// The body of `PATCH /v1/apps/{app}`.
package enum AppChangeRequest {
    static let staleDays: ClosedRange<Int32> = 1...3_650

    package static func read(_ body: [UInt8]) throws(Problem) -> AppChange {
        var change = AppChange()
        var reader = try EnvelopeReader(body: body)
        change.name = try reader.string("name", bytesMax: AppRequest.nameBytesMax)
        if let name = change.name, !RegistrationRequest.isText(name) { throw .controlCharacters(at: .root / "name") }
        if var settings = try reader.object("settings") {
            for name in ["retention", "limits"] { try settings.notYet(name) }
            if var days = try settings.object("stale_after_days") {
                for provider in Provider.allCases {
                    guard let value = days.takeAny(provider.name) else { continue }
                    let pointer = days.pointer / provider.name
                    guard PushProviders.offered(provider) != nil else { throw .notOffered(at: pointer) }
                    change.staleAfterDays.append(
                        (provider, value.isNull ? nil : try value.whole(staleDays, at: pointer)))
                }
                try days.end()
            }
            change.timeZone = try settings.timeZone("time_zone")
            change.limits = try settings.limits()
            try settings.end()
        }
        change.wakeUp = try reader.wakeUp()
        try reader.end()
        return change
    }
}
