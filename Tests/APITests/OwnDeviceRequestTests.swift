import JSON
import Model
import Requests
import Testing

@Suite("A user's request to register a device")
struct OwnDeviceRequestTests {
    private static func read(_ text: String, user: String = "ann") throws(Problem) -> DeviceRegistration {
        try OwnDeviceRequest.read(Array(text.utf8), installation: "phone", user: user, now: noon)
    }

    @Test("registers the device as the user's, with what an app knows of it")
    func own() throws {
        let registration = try Self.read(
            #"""
            {"provider": "apns", "token": "00ff", "environment": "sandbox", "topic": "com.example.app", "locale": "fr",
             "time_zone": null, "app_version": "4.2"}
            """#)
        #expect(
            registration
                == DeviceRegistration(
                    installation: "phone", provider: .apns, environment: .sandbox, topic: "com.example.app",
                    token: DeviceToken(bytes: [0, 255]),
                    profile: ProfileChange([
                        .user: .set("ann"), .locale: .set("fr"), .timeZone: .clear, .appVersion: .set("4.2"),
                    ])))
    }

    @Test(
        "may not name what a backend decides on, not even with null",
        arguments: ["kind", "user", "tags", "attributes", "badge", "as_of", "more"])
    func others(member: String) {
        let problem = refusal { () throws(Problem) in
            try Self.read(#"{"provider": "apns", "token": "00ff", "\#(member)": null}"#)
        }
        #expect(problem?.code == .permissionDenied && problem?.pointer == .root / member)
    }

    @Test("fails on a wrong token as a backend's request does")
    func token() {
        Refusal(#"{"provider": "apns", "token": "x"}"#, .invalidToken, "/token").check { (bytes) throws(Problem) in
            try OwnDeviceRequest.read(bytes, installation: "phone", user: "ann", now: noon)
        }
    }

    @Test(
        "fails for a user whom no device can have",
        arguments: ["", "..", "a\nb", String(repeating: "u", count: ProfileField.user.bytesMax + 1)])
    func noUser(user: String) {
        let problem = refusal { () throws(Problem) in
            try Self.read(#"{"provider": "apns", "token": "00ff"}"#, user: user)
        }
        #expect(problem?.code == .permissionDenied)
    }
}
