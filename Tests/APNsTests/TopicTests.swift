import APNs
import Model
import Testing

private let app = "com.example.app"

@Suite("A topic")
struct TopicTests {
    /// The token kinds that may come with each suffix.
    private static let kinds: [(suffix: String, kinds: [TokenKind])] = [
        (".voip", [.voip]), (".complication", [.complication]), (".pushkit.fileprovider", [.fileProvider]),
        (".push-type.liveactivity", [.liveActivity, .pushToStart]), (".voip-ptt", [.pushToTalk]),
        (".location-query", [.location]), (".push-type.widgets", [.widget]), (".push-type.controls", [.control]),
    ]

    @Test("gives the bundle id before a push type's suffix, for tokens of that kind only")
    func suffixes() {
        for (suffix, kinds) in Self.kinds {
            for kind in TokenKind.allCases {
                let fits = kinds.contains(kind)
                let bundleID = APNsPushTypes.bundleID(ofTopic: app + suffix, kind: kind)
                #expect(bundleID == (fits ? app : nil), "\(suffix) \(kind.name)")
            }
            #expect(APNsPushTypes.bundleID(ofTopic: app + suffix) == app)
        }
        #expect(Self.kinds.count == Set(PushType.allCases.map { APNsPushTypes.row(for: $0).topicSuffix }).count - 1)
    }

    @Test("counts as a bundle id without a suffix, for every token kind")
    func plain() {
        for kind in TokenKind.allCases {
            for topic in [app, "", "com.apple.mgmt.External.0d2f", ".voip", "com.example.voipptt", "voip"] {
                #expect(APNsPushTypes.bundleID(ofTopic: topic, kind: kind) == topic)
            }
        }
    }

    @Test("may be a bundle id that ends like a suffix")
    func suffixLikeBundleID() {
        for topic in ["com.example.voip", "com.complication"] {
            #expect(APNsPushTypes.bundleID(ofTopic: topic, kind: .alert) == topic)
            #expect(APNsPushTypes.bundleID(ofTopic: topic, kind: .voip) == topic)
        }
        #expect(APNsPushTypes.bundleID(ofTopic: "com.example.voip.voip", kind: .voip) == "com.example.voip")
        #expect(APNsPushTypes.bundleID(ofTopic: "a.push-type.widgets", kind: .alert) == nil)
    }
}

@Suite("A certificate's topics")
struct CertificateCoverageTests {
    private let universal = [app, app + ".voip", app + ".complication"]

    @Test("yield each app's bundle id once, however many topics name it")
    func bundleIDs() {
        #expect(APNsTopicList.bundleIDs(usable: universal) == [app])
        #expect(APNsTopicList.bundleIDs(usable: universal + ["com.example.b", app]) == [app, "com.example.b"])
    }
}
