import API
import Basis
import Model
import Store
import Testing

@Suite("An audience in words")
struct AudienceLineTests {
    private static func stale(_ days: Int32...) -> Audience {
        .stale(
            zip(Provider.allCases, days).map { provider, days in
                let age = Duration.seconds(Int64(days) * 86_400)
                return StaleCutoffs(provider: provider, instant: noon + (.zero - age))
            })
    }

    private static let token = InlineTarget(
        provider: .apns, environment: .production, topic: "", token: DeviceToken(bytes: [7]))

    @Test(
        "names the receivers in one line",
        arguments: [
            (.all, "everybody"), (.users(["frida"]), "the user frida"), (.users(["a", "b"]), "2 users"),
            (.installations(["phone-1"]), "the installation phone-1"),
            (.installations(["a", "b", "c"]), "3 installations"),
            (.tokens([token]), "1 token"), (.users(["a\nb"]), "the user a b"),
            (.tags(TagExpression(any: ["news"], none: ["beta"])), "everybody with the tag news, without the tag beta"),
            (
                .tags(TagExpression(any: ["a", "b"], all: ["c", "d"])),
                "everybody with the tags c and d, with one of the tags a and b"
            ),
            (.tags(TagExpression(none: ["beta"])), "everybody without the tag beta"),
            (.filter("app_version < '4.2'"), "devices for which app_version < '4.2' holds"),
            (stale(30, 30), "registrations not seen for 30 days"),
            (stale(1, 30), "registrations not seen for 1 day (APNs) and 30 days (FCM)"),
            (Audience(.all, providers: [.apns]), "everybody, on APNs only"),
            (
                Audience(.all, providers: [.apns, .fcm], kind: .voip),
                "everybody, on APNs and FCM only, tokens of the kind voip"
            ),
        ] as [(Audience, String)])
    func named(audience: Audience, text: String) {
        #expect(AudienceLine.text(of: audience, acceptedAt: noon) == text)
    }

    @Test(
        "counts the receivers once their names are gone",
        arguments: [
            (.all, "everybody"), (.users(["frida"]), "1 user"), (.installations(["a", "b"]), "2 installations"),
            (.tokens([token]), "1 token"), (.tags(TagExpression(all: ["news"])), "everybody with the tag news"),
            (stale(30), "registrations not seen for a long time"),
            (Audience(.all, providers: [.apns], kind: .voip), "everybody, on APNs only, tokens of the kind voip"),
        ] as [(Audience, String)])
    func counted(audience: Audience, text: String) {
        #expect(AudienceLine.text(ofSummary: audience.summary) == text)
    }

    @Test("stays short, however long its parts are")
    func short() {
        let long = String(repeating: "x", count: 2_000)
        let tags = (0..<32).map { "tag-\($0)" }
        for audience in [.users([long]), .filter(long), .tags(TagExpression(any: tags, all: tags))] as [Audience] {
            #expect(AudienceLine.text(of: audience, acceptedAt: noon).count < 300)
        }
    }
}
