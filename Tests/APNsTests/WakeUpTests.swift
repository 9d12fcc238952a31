import APNs
import Basis
import Content
import JSON
import Model
import Testing

@Suite("A wake-up for APNs")
struct WakeUpTests {
    private static let members = [DataMember(name: "t", json: JSONText(.string("noData")))]

    private static func payload(_ presentation: WakeUpPresentation) throws -> String {
        let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))
        let content = APNsProvider().wakeUp(members, presentation)
        let payload = try APNsNotification.compile(content, message: message).payload
        var bytes = payload.head
        payload.appendOwnBytes(badge: nil, to: &bytes)
        return String(decoding: bytes + payload.tail, as: UTF8.self)
    }

    @Test("starts the app in the background, with the members beside aps")
    func background() throws {
        #expect(try Self.payload(.background) == #"{"aps":{"content-available":1},"t":"noData"}"#)
    }

    @Test("starts the app's notification service extension with an alert")
    func alert() throws {
        #expect(
            try Self.payload(.alert(title: "Garden", body: "Something grew"))
                == #"{"aps":{"alert":{"title":"Garden","body":"Something grew"},"mutable-content":1},"t":"noData"}"#)
    }
}
