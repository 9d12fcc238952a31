import CarillonClient
import Foundation
import Testing

@Suite("A client of an app on a device")
struct DeviceClientTests {
    @Test(
        "registers the device with its user's token, and returns the token's status",
        arguments: [("first_use", TokenStatus.firstUse), ("unchanged", .unchanged), ("changed", .changed)])
    func register(word: String, status: TokenStatus) async throws {
        let app = AppOnPhone()
        app.answer(200, ["installation": "my-phone", "token_status": .string(word)])
        var registration = AppOnPhone.registration
        (registration.locale, registration.timeZone) = ("en-GB", "Europe/Rome")
        #expect(try await app.client.register(registration) == status)
        #expect(app.lastCall == "PUT ")
        let body: JSON = [
            "provider": "apns", "token": "0aff10", "environment": "sandbox", "topic": "com.example.stocks",
            "locale": "en-GB", "time_zone": "Europe/Rome",
        ]
        #expect(app.lastBody == body)
        let request = try #require(app.transport.requests.first)
        #expect(request.headers["Authorization"] == "Bearer token-of-ann")
        #expect(request.headers["Content-Type"] == "application/json")
    }

    @Test("resets the badge at the gateway")
    func badge() async throws {
        let app = AppOnPhone()
        app.answer(200, ["badge": 0])
        try await app.client.resetBadge()
        #expect(app.lastCall == "PUT /badge" && app.lastBody == ["badge": 0])
    }

    @Test("escapes each character of a name that has a meaning in a URL")
    func escaping() async throws {
        let app = AppOnPhone(installation: "ann's/phone?#%é")
        app.answer(204)
        try await app.client.unregister()
        let url = app.transport.requests.first?.url.absoluteString
        #expect(url == "https://push.example/v1/apps/stocks/devices/ann%27s%2Fphone%3F%23%25%C3%A9")
    }

    @Test("throws the gateway's refusal with code, place, status and the time of the next try")
    func problem() async throws {
        let app = AppOnPhone()
        app.answer(
            422, ["code": "invalid_trigger", "detail": "At character 3.", "pointer": "/trigger", "position": 3])
        let refused = await fault { _ = try await app.client.inquire() }
        #expect(
            refused?.problem
                == GatewayProblem(
                    code: .invalidTrigger, detail: "At character 3.", pointer: "/trigger", position: 3, status: 422))
        app.answer(429, ["code": "too_many", "detail": "Later."], headers: ["retry-after": "7"])
        let delayed = await fault { _ = try await app.client.inquire() }
        #expect(delayed?.problem?.code == .tooMany && delayed?.problem?.retryAfter == .seconds(7))
        app.answer(403, ["code": "new_reason", "detail": ""])
        let unknown = await fault { _ = try await app.client.inquire() }
        #expect(unknown?.problem?.code == GatewayProblem.Code(rawValue: "new_reason"))
    }

    @Test("takes no answer of another program for one of the gateway")
    func strangers() async throws {
        let app = AppOnPhone()
        func status(_ call: () async throws -> Void) async -> Int? {
            guard case .unexpectedAnswer(let status) = await fault(of: call) else { return nil }
            return status
        }
        app.transport.add { _ in GatewayResponse(status: 502, body: Array("<html>Bad gateway</html>".utf8)) }
        #expect(await status { _ = try await app.client.inquire() } == 502)
        app.answer(200, ["hello": "world"])
        #expect(await status { try await app.client.register(AppOnPhone.registration) } == 200)
        app.answer(200, ["items": [["key": "1"]], "next": .null])
        #expect(await status { _ = try await app.client.inquire() } == 200)
        app.answer(302)
        #expect(await status { try await app.client.resetBadge() } == 302)
        #expect(app.client.cachedSubscriptions.isEmpty)
    }

    @Test("throws the reason why no answer came, and why the user has no token")
    func noAnswer() async throws {
        let app = AppOnPhone()
        guard case .unreachable(let reason) = await fault(of: { try await app.client.resetBadge() }) else {
            Issue.record("the call did not fail")
            return
        }
        #expect(reason is ScriptedTransport.ScriptEnded)

        struct SignedOut: Error {}
        let transport = ScriptedTransport()
        let client = DeviceClient(
            gateway: AppOnPhone.gateway, app: "stocks", installation: "my-phone", transport: transport
        ) { throw SignedOut() }
        guard case .noToken(let why) = await fault(of: { try await client.resetBadge() }) else {
            Issue.record("the call did not fail")
            return
        }
        #expect(why is SignedOut && transport.requests.isEmpty)
    }

    @Test("unregisters the device with its subscriptions, also one that the gateway does not know")
    func unregister() async throws {
        let app = AppOnPhone()
        app.answer(201, reported("1"))
        let subscription = try await app.client.activate(.init(items: ["anduct"], fields: ["last_price"]))
        app.answer(204)
        try await app.client.unregister()
        #expect(app.lastCall == "DELETE ")
        #expect(subscription.isDeactivated && app.client.cachedSubscriptions.isEmpty)
        app.refuse(404, "unknown_device")
        try await app.client.unregister()
    }

    @Test("describes requests and registrations without their tokens")
    func secrets() async throws {
        let app = AppOnPhone()
        app.answer(200, ["token_status": "changed"])
        try await app.client.register(AppOnPhone.registration)
        let request = try #require(app.transport.requests.first)
        #expect("\(request)" == "PUT /v1/apps/stocks/devices/my-phone")
        #expect(!"\(AppOnPhone.registration)".contains("0aff10"))
    }
}
