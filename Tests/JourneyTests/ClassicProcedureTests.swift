import Basis
import Foundation
import Simulator
import TLS
import TestSupport
import Testing

extension Journeys {
    /// The procedure by which backends pushed with Apple's binary protocol, from beginning to end. docs/decisions/0013
    /// describes the replacements for what Apple has switched off.
    @Suite("The classic procedure of an APNs backend")
    struct ClassicProcedureTests {
        @Test("works in full: one token store, lists of aps records, stored badges, and feedback")
        func journey() async throws {
            try await World.within { world in
                let backend = ClassicBackend(world: world, gateway: try await world.gateway())
                try await backend.obtainCertificates()
                try await backend.maintainTokens()
                try await backend.sendRecords()
                try await backend.sendSimplePopup()
                try await backend.syncBadges()
                try await backend.saveBadgeBeforeSending()
                try await backend.keepWithinSize()
                try await backend.receiveFeedback()
                try await backend.gateway.stopGently()
            }
        }

        /// A record waits at most ten seconds for one that can't leave; then several are due at once.
        @Test("keeps the order of each list that waited for a credential")
        func orderAfterAWait() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let devices = [Device](.live, 8)
                let apps = devices.indices.map { App(slug: "app-\($0)", keyID: "WAITING00\($0)") }
                let texts = (1...7).map { "\($0)" }
                let records = texts.map { #"{"aps": {"alert": "\#($0)"}}"# }.joined(separator: ", ")
                var messages: [[String]] = []
                for (app, device) in zip(apps, devices) {
                    try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "\#(app)", "name": "An app"}"#)
                    try await gateway.register([device], of: app)
                    messages.append(
                        try await gateway.send(app, #"{"audience": {"all": true}, "apns": [\#(records)]}"#))
                }
                try await eventually("all deferred pushes to be due") {
                    let known = try await world.database { pool in
                        try await pool.number(
                            """
                            WITH moved AS (UPDATE parcels SET due_at = due_at - interval '11 seconds' RETURNING id)
                            SELECT count(*) FROM moved
                            """)
                    }
                    return known == apps.count * texts.count
                }
                for app in apps { try await world.activateToken(for: app, through: gateway) }
                for (place, app) in apps.enumerated() {
                    for message in messages[place] {
                        #expect(try await gateway.finished(message, of: app).terminalCounts == ["accepted": 1])
                    }
                    let pushes = await world.production.simulator.received(devices[place].deviceToken)
                    let reported = pushes.map { String(decoding: $0.body, as: UTF8.self) }
                    #expect(reported == texts.map { #"{"aps":{"alert":"\#($0)"}}"# }, "\(app)")
                }
                try await gateway.stopGently()
            }
        }
    }
}

/// A web service of that time, as far as it exists today: one function per paragraph.
private struct ClassicBackend {
    let world: World
    let gateway: Gateway

    /// An opaque token, which may have any length.
    private let phone = Device(installation: "phone", token: "a11e0000" + String(repeating: "0", count: 55) + "1")
    private let longPhone = Device(
        installation: "phone-with-a-long-token", token: "a11e0000" + String(repeating: "0", count: 191) + "2")
    /// Runs a development build.
    private let tablet = Device(installation: "tablet", token: "a11e0000" + String(repeating: "0", count: 55) + "3")
    private let left = Device(
        installation: "phone-that-left", token: "a11e0000" + String(repeating: "0", count: 55) + "4")
    private let android = "live-0000000000000000"

    private let path = "/v1/apps/garden"
    private static let slowAnswer: Duration = .seconds(1)

    /// One certificate for development and one for distribution, each for its own APNs environment.
    func obtainCertificates() async throws {
        try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
        let distribution = try World.certificate(of: world.authority, isDevelopment: false)
        let development = try World.certificate(of: world.authority, isProduction: false)
        try await gateway.submit(distribution, as: .pkcs12, in: world.folder)
        try await gateway.submit(development, as: .pem, environment: "sandbox", in: world.folder)
        try await gateway.api.expect(201, "POST", "\(path)/credentials", world.google.credential)
    }

    /// The token store keeps registrations with their user for both frameworks, and deletes those that unregister.
    func maintainTokens() async throws {
        try await register(phone, status: 201)
        try await register(phone, status: 200)
        try await register(longPhone, status: 201)
        try await register(tablet, environment: "sandbox", status: 201)
        try await gateway.api.expect(
            201, "PUT", "\(path)/devices/android",
            #"{"provider": "fcm", "token": "\#(android)", "user": "user-17"}"#)
        try await register(left, status: 201)
        try await gateway.api.expect(204, "DELETE", "\(path)/devices/\(left.installation)")

        struct Page: Decodable {
            struct Registration: Decodable {
                let installation: String
                let provider: String
            }
            let items: [Registration]
        }
        let page = try await gateway.api.expect(200, "GET", "\(path)/devices?user=user-17").decoded(Page.self)
        #expect(Set(page.items.map(\.installation)) == ["phone", longPhone.installation, "tablet", "android"])
        #expect(page.items.map(\.provider).sorted() == ["apns", "apns", "apns", "fcm"])
    }

    /// The document's own list, with its missing comma. It goes to Apple devices only, is kept for ten minutes, and
    /// leaves at once. The tablet's APNs is slow: no second record leaves before the tablet's first is answered.
    func sendRecords() async throws {
        await world.sandbox.simulator.follow(SimulatorScript(answerDelay: Self.slowAnswer))
        let messages = try await gateway.send(
            .garden,
            """
            {"audience": {"all": true, "providers": ["apns"]}, "options": {"ttl_seconds": 600, "priority": "high"},
             "apns": [ { "aps" : { "alert" : "My first push", "badge" : 1, "sound" : "default",
                "content-available" : 1 } }, { "aps" : { "alert" : { "title" : "Push", "body" : "My second push" },
                "badge" : 2, "sound" : "default", "content-available" : 1 }, "new_ids" : [ "XV234", "ZF452", "RT563" ],
                "updated_ids" : [ "AC634", "HJ153" ] } ]}
            """)
        try #require(messages.count == 2)
        for message in messages {
            let account = try await gateway.finished(message, of: .garden)
            #expect(account.addsUp && account.terminalCounts == ["accepted": 3])
        }
        let samples = [
            #"{"aps":{"alert":"My first push","badge":1,"sound":"default","content-available":1}}"#,
            #"{"aps":{"alert":{"title":"Push","body":"My second push"},"badge":2,"sound":"default","#
                + #""content-available":1},"new_ids":["XV234","ZF452","RT563"],"updated_ids":["AC634","HJ153"]}"#,
        ]
        var arrivals: [[WallInstant]] = [[], []]
        for device in [phone, longPhone, tablet] {
            let pushes = await received(device)
            #expect(pushes.map { String(decoding: $0.body, as: UTF8.self) } == samples, "\(device.installation)")
            #expect(Set(pushes.map(\.apnsID)).count == 2, "each object of the list is its own push")
            for (place, push) in pushes.enumerated().prefix(2) {
                arrivals[place].append(push.arrivedAt)
                #expect(push.path == "/3/device/\(device.token)")
                #expect(push.header("apns-topic") == App.garden.topic)
                #expect(push.header("apns-priority") == "10")
                let expiration = try #require(push.header("apns-expiration").flatMap { Int64($0) })
                let left = WallInstant(secondsSince1970: expiration) - push.arrivedAt
                #expect(left > .zero && left <= .seconds(600))
            }
        }
        let (lastOfFirst, firstOfSecond) = (try #require(arrivals[0].max()), try #require(arrivals[1].min()))
        #expect(lastOfFirst <= firstOfSecond, "every push of the first message arrives before the second message")
        let slow = try #require(await received(tablet).first).arrivedAt
        #expect(
            firstOfSecond - slow >= Self.slowAnswer - .milliseconds(100),
            "the second message waits for the slow answer, within the timer's resolution")
        await world.sandbox.simulator.follow(SimulatorScript())
        #expect(await world.google.requests(to: android).isEmpty)
    }

    /// The tutorial's last function: each token's badge plus one, saved, and sent with a title and the user's own text.
    /// One message does this for both frameworks.
    func sendSimplePopup() async throws {
        let message = try await gateway.send(
            .garden,
            """
            {"audience": {"all": true}, "badge": "increment", "sound": "default",
             "notification": {"body": "This is my message!"}, "data": {"custom_data": {"other_info": "Some text"}},
             "apns": {"aps": {"alert": "This is my message!", "content-available": 1}}}
            """)[0]
        let account = try await gateway.finished(message, of: .garden)
        #expect(account.addsUp && account.terminalCounts == ["accepted": 4])
        for device in [phone, longPhone, tablet] {
            let push = try #require(await received(device).last)
            let payload = try #require(try JSONSerialization.jsonObject(with: Data(push.body)) as? NSDictionary)
            let aps: [String: Any] = [
                "alert": "This is my message!", "sound": "default", "badge": 1, "content-available": 1,
            ]
            #expect(payload == ["aps": aps, "custom_data": ["other_info": "Some text"]] as NSDictionary)
            #expect(try await badge(of: device.installation) == 1)
        }
        #expect(try await androidCount() == 1)
        #expect(try await badge(of: "android") == 1)
    }

    /// The app lowers its badge and reports it by token; the next push counts from there.
    func syncBadges() async throws {
        try await changeBadge(#""token": "\#(phone.token)", "badge": 7"#, to: 7)
        try await changeBadge(#""token": "\#(phone.token)", "consume": 2"#, to: 5)
        try await changeBadge(#""token": "\#(longPhone.token)", "badge": 0"#, to: 0)
        try await changeBadge(#""token": "\#(android)", "provider": "fcm", "badge": 3"#, to: 3)
        let account = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
        #expect(account.addsUp && account.terminalCounts == ["accepted": 4])
        #expect(try await received(phone).last?.badge() == 6)
        #expect(try await received(longPhone).last?.badge() == 1)
        #expect(try await received(tablet).last?.badge() == 2)
        #expect(try await androidCount() == 4)
    }

    /// A device that has received the push asks for its badge before the push is answered.
    func saveBadgeBeforeSending() async throws {
        let simulator = world.production.simulator
        await simulator.follow(SimulatorScript(answerDelay: .seconds(3)))
        let before = await received(phone).count
        let message = try await gateway.broadcast(.garden)
        try await eventually("the push to arrive") { await received(phone).count == before + 1 }
        #expect(try await badge(of: phone.installation) == 7)
        #expect(try await received(phone).last?.badge() == 7)
        await simulator.follow(SimulatorScript())
        #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": 4])
    }

    /// The limit was two kilobytes then and is four today; larger payloads are rejected at once.
    func keepWithinSize() async throws {
        let bytesMax = 4_096
        func payload(_ bytes: Int) -> String {
            let empty = #"{"aps":{"alert":""}}"#
            return #"{"aps":{"alert":"\#(String(repeating: "x", count: bytes - empty.utf8.count))"}}"#
        }
        func request(_ bytes: Int) -> String {
            #"{"audience": {"installations": ["phone"]}, "apns": \#(payload(bytes))}"#
        }
        for bytes in [2_001, bytesMax] {
            let message = try await gateway.send(.garden, request(bytes))[0]
            #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": 1])
            #expect(await received(phone).last?.body == Array(payload(bytes).utf8))
        }
        let refusal = try await gateway.api.expect(422, "POST", "\(path)/messages", request(bytesMax + 1))
        #expect(refusal.text.contains("payload_too_large"))
    }

    /// The feedback service of that time is the 410 itself today, and a feed that is polled.
    func receiveFeedback() async throws {
        let gone = [Device](.gone, 1)[0]
        try await register(gone, status: 201)
        #expect(try await gateway.feedback(.garden) == [])
        let first = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
        #expect(first.addsUp && first.terminalCounts == ["accepted": 4, "unregistered": 1])
        let feedback = try await gateway.feedback(.garden)
        #expect(feedback.map(\.installation) == [gone.installation])
        #expect(feedback.map(\.verdict) == ["retired"] && feedback.map(\.reason) == ["Unregistered"])
        let second = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
        #expect(second.addsUp && second.terminalCounts == ["accepted": 4], "the retired device gets no second push")
        #expect(await received(gone).count == 1)
        #expect(await received(left).isEmpty, "the unregistered device gets no push")
    }
}

extension ClassicBackend {
    private struct Badge: Decodable { let badge: Int }

    private func register(_ device: Device, environment: String = "production", status: Int) async throws {
        try await gateway.api.expect(
            status, "PUT", "\(path)/devices/\(device.installation)",
            """
            {"provider": "apns", "environment": "\(environment)", "token": "\(device.token)", "user": "user-17"}
            """)
    }

    private func received(_ device: Device) async -> [ReceivedPush] {
        let standIn = device.installation == tablet.installation ? world.sandbox : world.production
        return await standIn.simulator.received(device.deviceToken)
    }

    private func badge(of installation: String) async throws -> Int {
        try await gateway.api.expect(200, "GET", "\(path)/devices/\(installation)/badge").decoded(Badge.self).badge
    }

    private func changeBadge(_ members: String, to value: Int) async throws {
        let reply = try await gateway.api.expect(200, "POST", "\(path)/badges", "{\(members)}")
        #expect(try reply.decoded(Badge.self).badge == value)
    }

    private func androidCount() async throws -> Int64? {
        let message = try await world.google.messages(to: android).last
        return message?["android"]?.object?["notification"]?.object?["notification_count"]?.integer
    }
}
