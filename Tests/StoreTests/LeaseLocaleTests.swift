import Basis
import Model
import Testing

private let dawn = StoreWorld.dawn

@Suite("A leased parcel of a message in several languages")
struct LeaseLocaleTests {
    @Test(
        "contains the members' locales only if the message's texts depend on them",
        arguments: [BadgeChange.none, .increment], [true, false])
    func locales(badge: BadgeChange, readsLocale: Bool) async throws {
        try await withStores { world in
            let registration = ["fr_CA", "", "zh-Hant-TW"]
            for (place, locale) in registration.enumerated() {
                var registration = StoreWorld.registration("i\(place)", token: place)
                registration.profile[.locale] = locale.isEmpty ? .keep : .set(locale)
                try await world.register(registration)
            }
            try await world.send(world.newMessage(badge: badge, readsLocale: readsLocale))
            // The first lease raises badges, the second one reads them.
            for lapse in Int64(0)...1 {
                let now = dawn + .seconds(lapse * 100)
                let parcel = try #require(try await world.lease(at: now))
                let read = parcel.members.map { member in
                    let start = Int(member.localeStart)
                    return String(decoding: parcel.locales[start..<start + Int(member.localeCount)], as: UTF8.self)
                }
                #expect(read == (readsLocale ? registration : ["", "", ""]))
                #expect(parcel.tokens == (0...2).flatMap { StoreWorld.token($0).bytes })
                #expect(try await world.stores.parcels.rescue(now: now + .seconds(61)) == 1)
            }
        }
    }
}
