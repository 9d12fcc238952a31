import Basis
import Content
import FCM
import JSON
import Model
import Testing

@Suite("A wake-up for FCM")
struct WakeUpTests {
    private static let members = [DataMember(name: "t", json: JSONText(.string("noData")))]

    private static func text(_ presentation: WakeUpPresentation, at path: String) throws -> String? {
        try value(presentation, at: path).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private static func value(_ presentation: WakeUpPresentation, at path: String) throws -> JSONValue? {
        let text = try body(FCMProvider().wakeUp(members, presentation))
        return try JSONReader.read(Array(text.utf8)).value(at: try #require(JSONPointer("/message" + path)))
    }

    @Test("carries urgent data alone, without an id of ours")
    func data() throws {
        #expect(try Self.text(.background, at: "/data") == #"{"t":"noData"}"#)
        #expect(try Self.value(.background, at: "/android/priority") == "HIGH")
        #expect(try Self.value(.background, at: "/notification") == nil)
        #expect(try Self.value(.background, at: "/apns/payload/aps/content-available") == 1)
    }

    @Test("shows an alert on Apple's devices alone")
    func alert() throws {
        let alert = WakeUpPresentation.alert(title: "Garden", body: "Something grew")
        #expect(
            try Self.text(alert, at: "/apns/payload/aps")
                == #"{"alert":{"title":"Garden","body":"Something grew"},"mutable-content":1}"#)
        #expect(try Self.value(alert, at: "/notification") == nil)
        #expect(try Self.value(alert, at: "/android/notification") == nil)
    }
}
