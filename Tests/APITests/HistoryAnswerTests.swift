import API
import Basis
import JSON
import Model
import Testing

private let id = MessageID(UniversalID(high: 0x0192_3456_789a_7bcd, low: 0x8123_4567_89ab_cdef))
private let leg = RouteDescription(provider: .apns, environment: .sandbox, topic: "com.example.app")

@Suite("A JSON answer about pushes")
struct HistoryAnswerTests {
    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("lists failures, with a null installation for a deleted device")
    func failures() {
        let failures = ["phone", nil].map {
            PushFailure(
                installation: $0, kind: .voip, provider: .fcm,
                terminalStatus: TerminalStatus(.gaveUp, "retries_exhausted"), at: noon,
                attempts: 7)
        }
        #expect(
            Self.text(HistoryAnswer.page(failures, next: "c"))
                == #"{"items":[{"installation":"phone","kind":"voip","provider":"fcm","state":"gave_up","#
                + #""reason":"retries_exhausted","at":"2026-12-01T12:00:00.000Z","attempts":7},"#
                + #"{"installation":null,"kind":"voip","provider":"fcm","state":"gave_up","#
                + #""reason":"retries_exhausted","at":"2026-12-01T12:00:00.000Z","attempts":7}],"next":"c"}"#)
    }

    @Test("lists failures by user, or by token with only its end shown")
    func named() {
        let token = DeviceToken(bytes: (0..<32).map { UInt8($0) })
        let terminalStatus = TerminalStatus(.rejected, "unknown_user")
        let failures = [
            PushFailure(
                installation: nil, user: "ann", kind: .alert, provider: nil, terminalStatus: terminalStatus, at: noon,
                attempts: 0),
            PushFailure(
                installation: nil, token: token, kind: .alert, provider: .apns, terminalStatus: terminalStatus,
                at: noon, attempts: 0),
        ]
        let remaining = #""state":"rejected","reason":"unknown_user","at":"2026-12-01T12:00:00.000Z","attempts":0}"#
        #expect(
            Self.text(HistoryAnswer.page(failures, next: nil))
                == #"{"items":[{"installation":null,"user":"ann","kind":"alert","provider":null,\#(remaining),"#
                + #"{"installation":null,"token":"…1e1f","kind":"alert","provider":"apns",\#(remaining)],"next":null}"#)
    }

    @Test("adds what the provider said about a reason, if it named anything")
    func detail() throws {
        let status = TerminalStatus(.rejected, "INVALID_ARGUMENT")
        let detail = "message: unknown name content_available"
        let failure = PushFailure(
            installation: "phone", kind: .alert, provider: .fcm, terminalStatus: status, detail: detail, at: noon,
            attempts: 1)
        let member = #""reason":"INVALID_ARGUMENT","detail":"\#(detail)""#
        #expect(Self.text(HistoryAnswer.page([failure], next: nil)).contains(member))
        let step = PushStep(
            at: noon, parcel: ParcelID(7), leg: leg, attempts: 1, event: .ended(status), detail: detail)
        #expect(pushHistory(.ended(status), [step]).contains(member))
    }

    @Test("omits parcel and route for an installation that was never registered")
    func unknownInstallation() {
        let terminalStatus = TerminalStatus(.rejected, "unknown_device")
        let step = PushStep(at: noon, parcel: nil, leg: nil, attempts: 0, event: .ended(terminalStatus))
        #expect(
            pushHistory(.ended(terminalStatus), [step]).hasSuffix(
                #"{"at":"2026-12-01T12:00:00.000Z","step":"rejected","reason":"unknown_device","attempts":0}]}"#))
    }

    private func pushHistory(_ status: PushStatus, _ steps: [PushStep] = []) -> String {
        Self.text(
            HistoryAnswer.body(
                PushHistory(
                    message: id, acceptedAt: noon, installation: "phone", kind: .alert, registration: nil,
                    status: status, steps: steps)))
    }

    @Test("lists the steps of a push, and where the push is now")
    func steps() {
        let tried = PushStep(at: noon, parcel: ParcelID(7), leg: leg, attempts: 1, event: .goesOn("provider_busy"))
        let push = PendingPush(
            parcel: ParcelID(8), leg: leg, attempts: 1, dueAt: noon + .seconds(9), cause: "provider_busy")
        let route = #""provider":"apns","environment":"sandbox","topic":"com.example.app","attempts":1"#
        #expect(
            pushHistory(.waiting(push), [tried])
                == #"{"message":"01923456-789a-7bcd-8123-456789abcdef","installation":"phone","kind":"alert","#
                + #""state":"waiting","reason":"provider_busy","parcel":"8",\#(route),"#
                + #""due_at":"2026-12-01T12:00:09.000Z","steps":["#
                + #"{"at":"2026-12-01T12:00:00.000Z","step":"message_accepted"},"#
                + #"{"at":"2026-12-01T12:00:00.000Z","step":"goes_on","reason":"provider_busy","parcel":"7",\#(route)}]}"#
        )
    }

    @Test("names every state that a push can be in")
    func text() throws {
        let push = PendingPush(parcel: ParcelID(8), leg: leg, attempts: 0, dueAt: noon, cause: nil)
        let text: [(PushStatus, String)] = [
            (.planning, "planning"), (.notInAudience, "not_in_audience"), (.waiting(push), "waiting"),
            (.sending(push), "sending"), (.ended(TerminalStatus(.accepted)), "accepted"),
            (.ended(TerminalStatus(.unregistered, "Unregistered")), "unregistered"), (.notKept, "not_kept"),
        ]
        for (status, name) in text {
            let answer = try #require(try JSONReader.read(Array(pushHistory(status).utf8)).object)
            #expect(answer["state"]?.string == name)
            #expect(answer["reason"] == (name == "unregistered" ? "Unregistered" : .null))
        }
    }
}

@Suite("The push history API")
struct ServedHistoryTests {
    @Test("returns the history of each device of a message, and the failures of the message")
    func asked() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let hello = #"{"audience": {"installations": ["phone", "a/b"]}, "notification": {"body": "Noon"}}"#
            let id = try #require(try await world.expect(202, "POST", path, hello).member("id")?.string)
            for name in ["phone", "a%2Fb"] {
                let pushHistory = try await world.expect(200, "GET", "\(path)/\(id)/devices/\(name)").json()
                #expect(pushHistory["state"] == "rejected" && pushHistory["reason"] == "unknown_device")
                #expect(pushHistory["installation"]?.string == name.replacing("%2F", with: "/"))
            }
            let stranger = try await world.expect(200, "GET", "\(path)/\(id)/devices/tablet").json()
            #expect(stranger["state"] == "not_in_audience")
            let failures = "\(path)/\(id)/failures"
            #expect(try await world.expect(200, "GET", failures).member("items")?.array?.count == 2)
            _ = try await world.expect(200, "GET", failures + "?state=gave_up&reason=poison&limit=1000")
            try await world.refuse(.invalidQuery, "GET", failures + "?state=accepted")
            try await world.refuse(.invalidQuery, "GET", failures + "?limit=0")
            try await world.refuse(.invalidCursor, "GET", failures + "?cursor=1")
            for end in ["failures", "devices/phone"] {
                try await world.refuse(.unknownMessage, "GET", "\(path)/01920000-0000-7000-8000-000000000000/\(end)")
                try await world.refuse(.unknownMessage, "GET", "\(path)/17/\(end)")
            }
            let long = String(repeating: "i", count: 257)
            try await world.refuse(.valueTooLong, "GET", "\(path)/\(id)/devices/\(long)")
        }
    }
}
