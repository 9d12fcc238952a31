import JSON
import Model
import Providers
import Requests
import Store

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
        change.triggers = try reader.triggers()
        try reader.end()
        return change
    }
}
