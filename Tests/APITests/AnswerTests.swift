import API
import Basis
import Encodings
import JSON
import Model
import Signing
import Testing

enum TestHash {
    static func sha256(_ text: String) -> [UInt8] { Hashes.sha256(Array(text.utf8)) }
}

@Suite("A JSON answer of the API")
struct AnswerTests {
    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    private static let id = MessageID(UniversalID(high: 0x0192_3456_789a_7bcd, low: 0x8123_4567_89ab_cdef))

    @Test("names the accepted message by its id, with all outcomes at zero")
    func accepted() {
        let label = MessageLabel(
            name: "Noon", author: "backend", texts: [TextInLanguage(language: nil, title: nil, body: "Hi")])
        let body = MessageAnswer.accepted([Self.id], .accepted, label, to: "3 users")
        #expect(
            Self.text(body)
                == #"{"id":"01923456-789a-7bcd-8123-456789abcdef","state":"accepted","editable_until":null,"#
                + #""name":"Noon","#
                + #""texts":[{"language":null,"title":null,"body":"Hi"}],"audience_text":"3 users","#
                + #""author":"backend","audience":null,"outcomes":"#
                + #"{"accepted":0,"rejected":0,"unregistered":0,"expired":0,"suppressed":0,"cancelled":0,"gave_up":0},"#
                + #""pending":0}"#)
        #expect(MessageAnswer.id(inAccepted: body) == "01923456-789a-7bcd-8123-456789abcdef")
        #expect(MessageAnswer.id(inAccepted: [0]) == nil)
    }

    @Test("contains the whole account of a message: outcomes, reasons, providers")
    func account() {
        let account = MessageAccount(
            id: Self.id, state: .finished, acceptedAt: noon, expiresAt: noon + .seconds(60), finishedAt: noon,
            audience: 1_000, outcomes: [980, 0, 20, 0, 0, 0, 0], pending: 0,
            reasons: [TerminalTotal(terminalStatus: TerminalStatus(.unregistered, "Unregistered"), count: 20)],
            providers: [ProviderAccount(provider: .apns, outcomes: [900, 0, 20, 0, 0, 0, 0], pending: 0)],
            form: MessageForm(
                pushType: .liveActivity, isDryRun: true, asked: JSONText(bytes: Array(#"{"users":3}"#.utf8))))
        #expect(
            Self.text(MessageAnswer.body(account))
                == #"{"id":"01923456-789a-7bcd-8123-456789abcdef","state":"finished","name":null,"texts":null,"#
                + #""audience_text":"3 users","author":null,"audience":1000,"outcomes":"#
                + #"{"accepted":980,"rejected":0,"unregistered":20,"expired":0,"suppressed":0,"cancelled":0,"#
                + #""gave_up":0},"pending":0,"accepted_at":"2026-12-01T12:00:00.000Z","editable_until":null,"#
                + #""expires_at":"2026-12-01T12:01:00.000Z","finished_at":"2026-12-01T12:00:00.000Z","#
                + #""push_type":"liveactivity","dry_run":true,"asked":{"users":3},"#
                + #""reasons":[{"outcome":"unregistered","reason":"Unregistered","count":20}],"#
                + #""providers":{"apns":{"audience":920,"outcomes":{"accepted":900,"rejected":0,"unregistered":20,"#
                + #""expired":0,"suppressed":0,"cancelled":0,"gave_up":0},"pending":0}}}"#)
    }

    @Test("gives the cursor of the next page, or null on the last one")
    func page() {
        #expect(Self.text(MessageAnswer.page([], next: nil)) == #"{"items":[],"next":null}"#)
        #expect(Self.text(MessageAnswer.page([], next: "c")) == #"{"items":[],"next":"c"}"#)
    }

    @Test(
        "shows the last characters of a long token, and nothing of a short one", arguments: [1, 2, 15, 16, 32, 2_048])
    func masked(bytes: Int) {
        let masked = DeviceAnswer.mask(DeviceToken(bytes: Array(repeating: 0xab, count: bytes)), of: .apns)
        #expect(masked == (bytes < 16 ? "…" : "…abab"))
        let text = DeviceAnswer.mask(DeviceToken(bytes: Array(repeating: UInt8(ascii: "k"), count: bytes)), of: .fcm)
        #expect(text == (bytes < 16 ? "…" : "…kkkk"))
    }

    @Test("contains every member of a device, with the token masked")
    func device() throws {
        let body = DeviceAnswer.body(Self.record, change: .replaced)
        let answer = try #require(try JSONReader.read(body).object)
        #expect(
            answer.members.map(\.name) == [
                "installation", "kind", "provider", "environment", "topic", "token", "state", "badge", "user",
                "locale", "time_zone", "app_version", "tags", "attributes", "registered_at", "created_at", "change",
            ])
        #expect(answer["token"] == "…cdcd")
        #expect(answer["user"] == .null)
        #expect(answer["attributes"] == ["plan": "gold"])
        #expect(answer["tags"] == ["news"])
        #expect(answer["change"] == "replaced")
        #expect(!Self.text(body).contains("cdcdcd"))
    }

    @Test("contains the registration of every kind of an installation")
    func installation() throws {
        let body = DeviceAnswer.body(Self.record, all: [Self.record, Self.record])
        let answer = try #require(try JSONReader.read(body).object)
        #expect(answer["registrations"]?.array?.count == 2)
        #expect(answer["badge"] == 3)
    }

    private static let record = DeviceRecord(
        id: RegistrationID(7), installation: "i\"1", kind: .alert, provider: .apns, environment: .production,
        topic: "com.example", token: DeviceToken(bytes: Array(repeating: 0xcd, count: 32)), state: .active, badge: 3,
        registeredAt: noon, createdAt: noon,
        profile: RegistrationProfile(
            [.locale: "fr"], tags: ["news"], attributes: Array(#"{"plan":"gold"}"#.utf8)))
}
