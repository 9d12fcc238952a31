import FCM
import JSON
import Model
import TestSupport
import Testing

@Suite("An arbitrary fcm object")
struct OverrideNoiseTests {
    private static let paths = [
        "android", "android/ttl", "android/priority", "android/notification", "android/notification/tag",
        "android/notification/sound", "android/notification/notificationCount", "android/data", "android/data/own",
        "apns", "apns/headers", "apns/headers/apns-expiration", "apns/headers/apns-collapse-id", "apns/payload",
        "apns/payload/aps", "apns/payload/aps/sound", "apns/payload/aps/badge", "apns/payload/own", "webpush",
        "webpush/headers", "webpush/headers/ttl", "webpush/notification", "webpush/notification/tag", "data",
        "data/own",
        "notification", "notification/body", "own", "fcmOptions",
    ].map { $0.split(separator: "/").map { String($0) } }

    private static let values: [JSONValue] = [
        .null, .null, .null, .object(JSONObject()), "5", "3.5s", "HIGH", true, 7, ["a"],
    ]

    /// A few members with values that may be right or wrong.
    private func patch(_ generator: inout SeededGenerator) -> JSONValue {
        var patch = JSONObject()
        for _ in 0..<Int.random(in: 1...5, using: &generator) {
            let path = Self.paths[Int.random(in: 0..<Self.paths.count, using: &generator)]
            put(Self.values[Int.random(in: 0..<Self.values.count, using: &generator)], at: path[...], in: &patch)
        }
        return .object(patch)
    }

    private func put(_ value: JSONValue, at path: ArraySlice<String>, in object: inout JSONObject) {
        guard let name = path.first else { return }
        if path.count == 1 {
            object[name] = value
        } else {
            var inner = object[name]?.object ?? JSONObject()
            put(value, at: path.dropFirst(), in: &inner)
            object[name] = .object(inner)
        }
    }

    @Test("fails to compile, or becomes JSON with badge and token in their places", arguments: 1...20)
    func noise(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var compiled = 0
        for _ in 0..<200 {
            let content = MessageContent(
                notification: NotificationText(body: "Noon"), badge: .increment, sound: seed % 2 == 0 ? "default" : nil,
                overrides: [.fcm: JSONText(patch(&generator))])
            guard fault(content) == nil else { continue }
            compiled += 1
            for badge in [nil, 7] as [Int32?] {
                let text = try body(content, badge: badge)
                let message = try #require(try JSONReader.read(Array(text.utf8)).object?["message"]?.object)
                #expect(message["token"] == "tok:en")
                #expect(text.utf8.allSatisfy { $0 >= 0x20 })
                let aps = message["apns"]?.object?["payload"]?.object?["aps"]?.object
                #expect(aps?["badge"] == nil || aps?["badge"] == badge.map { .number(.whole(Int64($0))) })
                #expect(message["android"]?.object?["ttl"] != true)
            }
        }
        #expect(compiled > 0)
    }
}
