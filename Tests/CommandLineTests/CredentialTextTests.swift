import Basis
import CommandLine
import JSON
import Testing

@Suite("The credentials that a command shows")
struct CredentialTextTests {
    private static let now = WallInstant(secondsSince1970: 1_798_761_600)  // 2027-01-01

    private static func row(_ credential: JSONValue) -> String {
        CredentialText.table(of: [credential], now: now).lines[1]
    }

    private static func certificate(until end: String) -> JSONValue {
        [
            "id": "7", "provider": "apns", "kind": "certificate", "environment": "production", "state": "active",
            "topics": ["com.example.garden", "com.example.tower"], "serial": "0b7e", "expires_at": .string(end),
            "sha256": "3f2a9c01d4e5b6a7ffffffffffffffffffffffffffffffffffffffffffffffff",
        ]
    }

    @Test("name a certificate by fingerprint and serial number, with its topics and the days left")
    func certificate() {
        let row = Self.row(Self.certificate(until: "2027-02-15T08:00:00Z"))
        #expect(row.contains("3f2a9c01d4e5b6a7, serial 0b7e "))
        #expect(row.contains(" com.example.garden,com.example.tower "))
        #expect(row.contains("2027-02-15 (45 days left)"))
    }

    @Test("count the last day, and no more once the certificate expired")
    func expiry() {
        #expect(Self.row(Self.certificate(until: "2027-01-02T12:00:00Z")).contains("(1 day left)"))
        #expect(Self.row(Self.certificate(until: "2027-01-01T12:00:00Z")).contains("(0 days left)"))
        #expect(Self.row(Self.certificate(until: "2026-12-31T12:00:00Z")).contains("2026-12-31 (expired)"))
    }

    @Test("name a key by its id, and the provider's reason if it is refused")
    func key() {
        let key: JSONValue = [
            "id": "8", "provider": "apns", "kind": "token", "environment": "sandbox", "state": "active",
            "topics": [], "key_id": "ABCDE12345",
            "refused": ["reason": "InvalidProviderToken", "since": "2026-12-31T12:00:00Z"],
        ]
        #expect(Self.row(key).contains(" ABCDE12345 "))
        #expect(Self.row(key).hasSuffix("InvalidProviderToken since 2026-12-31T12:00:00Z"))
    }

    @Test("appear in sentences by place, kind, key and id")
    func titles() {
        #expect(CredentialText.place(provider: "apns", environment: "sandbox") == "APNs sandbox")
        #expect(CredentialText.place(provider: "fcm", environment: "production") == "FCM")
        let key: JSONValue = ["id": "1", "kind": "token", "key_id": "ABCDE12345"]
        #expect(CredentialText.title(of: key) == "key ABCDE12345 (credential 1)")
        #expect(
            CredentialText.title(of: Self.certificate(until: "2027-02-15T08:00:00Z"))
                == "certificate 3f2a9c01d4e5b6a7, serial 0b7e (credential 7)")
    }

    @Test("appear by both ids if both environments were activated")
    func both() {
        let one: JSONValue = ["id": "7", "environment": "production", "sibling": .null]
        #expect(CredentialText.activated(one) == "The credential 7 is active.")
        let two: JSONValue = [
            "id": "7", "environment": "production", "sibling": ["id": "8", "environment": "sandbox"],
        ]
        #expect(CredentialText.activated(two) == "The credentials 7 (production) and 8 (sandbox) are active.")
    }

    @Test("come with the gateway's warnings")
    func warnings() {
        let answer: JSONValue = [
            "warnings": [["code": "topic_without_devices", "detail": "No device has the topic com.example.gardn."]]
        ]
        #expect(CredentialText.warnings(in: answer) == ["warning: No device has the topic com.example.gardn."])
    }
}
