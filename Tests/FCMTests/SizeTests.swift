import Content
import FCM
import JSON
import Model
import Testing

private let id = "0192f3a4-b5c6-7d8e-8f01-234567890abc"

@Suite("The size of a message for FCM")
struct SizeTests {
    private func content(_ size: Int, badge: BadgeChange = .none, fcm: String? = nil) throws -> MessageContent {
        MessageContent(
            notification: NotificationText(body: String(repeating: "x", count: size)), badge: badge,
            overrides: [.fcm: try fcm.map { try json($0) }])
    }

    @Test("counts notification and data with the widest badge on the largest platform")
    func whatCounts() throws {
        let notification = "bodyx".utf8.count
        let identity = "carillon_id\(id)".utf8.count
        let tag = "tag\(id)".utf8.count
        #expect(try compile(content(1)).payloadBytes == notification + tag + identity)
        let count = "notification_count2147483647".utf8.count
        #expect(try compile(content(1, badge: .increment)).payloadBytes == notification + tag + count + identity)
        // Android's own data replaces the common data there. Apple's payload comes in addition to it.
        let android = #"{"android":{"data":{"own":"1"}}}"#
        #expect(
            try compile(content(1, fcm: android)).payloadBytes
                == notification + tag + "own1carillon_id\(id)".utf8.count)
        let long = String(repeating: "y", count: 200)
        #expect(
            try compile(content(1, badge: .increment, fcm: #"{"apns":{"payload":{"own":"\#(long)"}}}"#)).payloadBytes
                == notification + #"{"aps":{"badge":2147483647},"own":"\#(long)"}"#.utf8.count + identity)
        #expect(
            try compile(content(1, fcm: #"{"webpush":{"notification":{"icon":"\#(long)"}}}"#)).payloadBytes
                == notification + "tag\(id)icon\(long)".utf8.count + identity)
    }

    @Test("counts names and values as FCM does, without escapes")
    func escapes() throws {
        func content(_ json: String) -> MessageContent {
            MessageContent(data: [DataMember(name: "quotes", json: JSONText(bytes: Array(json.utf8)))])
        }
        // Apple's devices get a payload beside the data.
        let rest = #"quotescarillon_id\#(id){"aps":{"content-available":1}}"#.utf8.count
        for (json, bytes) in [(#""\"\\\n\u0001é""#, 6), (#"{"a":[1,"\""]}"#, 14), ("12.5", 4)] {
            #expect(try compile(content(json)).payloadBytes == rest + bytes)
        }
        let quotes = String(repeating: #"\""#, count: 4_096 - rest)
        #expect(fault(content("\"\(quotes)\"")) == nil)
        #expect(fault(content("\"\(quotes)x\"")) == .payloadTooLarge(bytes: 4_097, bytesMax: 4_096))
    }

    @Test("may reach FCM's limit, but not exceed it")
    func bound() throws {
        let frame = try compile(content(0)).payloadBytes
        #expect(fault(try content(4_096 - frame)) == nil)
        #expect(fault(try content(4_097 - frame)) == .payloadTooLarge(bytes: 4_097, bytesMax: 4_096))
        let huge = JSONText(bytes: Array("\"\(String(repeating: "x", count: 30_000))\"".utf8))
        #expect(fault(MessageContent(data: [DataMember(name: "a", json: huge)]))?.code == "payload_too_large")
    }
}
