import Encodings
import Foundation
import JSON
import Model
import Simulator
import TestSupport
import Testing

/// Takes answers of one provider all the way through one gateway. Answers about their push only share one broadcast
/// with healthy devices; answers about a lane get apps of their own.
struct ReasonJourney: Sendable {
    let world: World
    let gateway: Gateway
    let provider: Provider

    private static let healthyCount = 20
    /// The healthy devices that a message beside the rows is for.
    private static let neighbourCount = 3

    static func take(_ rows: [ReasonRow], of provider: Provider) async throws {
        try await World.within { world in
            let journey = ReasonJourney(world: world, gateway: try await world.gateway(), provider: provider)
            try await world.noteWaits()
            let time = Task { try await world.letWaitsPass() }
            defer { time.cancel() }
            try await journey.takeTogether(rows.filter { $0.neighbours == .anybody && !$0.isScripted })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, row) in rows.enumerated() where row.neighbours != .anybody && !row.isScripted {
                    group.addTask { try await journey.takeAlone(row, number) }
                }
                try await group.waitForAll()
            }
            // A script answers the next request, whichever push that is.
            for (number, row) in rows.enumerated() where row.isScripted {
                try await journey.takeScripted(row, number)
            }
            time.cancel()
            try await journey.gateway.stopGently()
        }
    }

    private func takeTogether(_ rows: [ReasonRow]) async throws {
        // No token of a row that needs an app of its own.
        let tokens = rows.indices.map { rows[$0].token(100 + $0) }
        try await fill(.garden, zip(rows, tokens).map { ($0.installation, $1) } + healthy(.garden))
        try await checkNeighbours("before the first row")
        let message = try await gateway.broadcast(.garden)
        let account = try await gateway.finished(message, of: .garden)
        #expect(account.addsUp && account.audience == rows.count + Self.healthyCount)
        var wanted: [String: Int] = [:]
        for row in rows { if let terminalStatus = row.terminalStatus { wanted["\(terminalStatus)", default: 0] += 1 } }
        let reported = (account.reasons ?? []).filter { $0.outcome != "accepted" }
        let counts = reported.map { ("\((state: $0.outcome, reason: $0.reason))", $0.count) }
        #expect(Dictionary(uniqueKeysWithValues: counts) == wanted)
        for (row, token) in zip(rows, tokens) { try await check(row, token, message, .garden) }
        for (place, device) in healthy(.garden).enumerated() {
            let wanted = place < Self.neighbourCount ? 2 : 1
            #expect(await requests(device.token).count { $0.status == 200 } == wanted, "\(device.installation)")
        }
        let failures = try await gateway.failures(message, of: .garden)
        let ended = rows.filter { $0.terminalStatus != nil }.map(\.installation)
        #expect(failures.compactMap(\.installation).sorted() == ended.sorted())
        #expect(failures.allSatisfy { $0.attempts == 1 })
    }

    /// For an answer about the lane: at most the app's other device waits with it, and other apps are not slower.
    private func takeAlone(_ row: ReasonRow, _ number: Int) async throws {
        let app = App(slug: "app-\(number)", keyID: "KEY000\(1_000 + number)")
        let token = row.token(number)
        let neighbours = row.neighbours == .healthy ? healthy(app, family: number) : []
        try await fill(app, [(row.installation, token)] + neighbours)
        let message = try await gateway.broadcast(app)
        if case .waitsForCredential(let cause, _) = row.sequel {
            try await eventually("\(row) to wait") {
                let pushHistory = try await gateway.pushHistory(of: row.installation, message, app)
                return pushHistory.state == "waiting" && pushHistory.reason == cause && pushHistory.attempts == 0
            }
            #expect(await requests(token).count == 1, "\(row): a refused credential is not used again and again")
            #expect(try await gateway.account(message, of: app).state != "finished", "\(row)")
            try await checkNeighbours(row.description)
            #expect(await requests(token).count == 1, "\(row): no request is sent meanwhile")
            try await repair(app, number)
        }
        let account = try await gateway.finished(message, of: app)
        #expect(account.addsUp && account.terminalCounts == ["accepted": 1 + neighbours.count], "\(row): \(account)")
        try await check(row, token, message, app)
        for device in neighbours { #expect(await requests(device.token).count { $0.status == 200 } == 1, "\(row)") }
    }

    private func takeScripted(_ row: ReasonRow, _ number: Int) async throws {
        guard case .script(let answer) = row.trigger else { return }
        let app = App(slug: "app-\(number)", keyID: "KEY000\(1_000 + number)")
        let token = row.token(number)
        try await fill(app, [(row.installation, token)])
        let fault = ScriptedFault(.answer(answer), at: 1, every: 1, times: 1)
        await follow(SimulatorScript(faults: [fault]))
        let message = try await gateway.broadcast(app)
        let account = try await gateway.finished(message, of: app)
        let terminalStatus = row.terminalStatus?.state ?? "accepted"
        #expect(account.addsUp && account.terminalCounts == [terminalStatus: 1], "\(row): \(account)")
        let reasons = (account.reasons ?? []).filter { $0.outcome != "accepted" }
        #expect(reasons.map(\.reason) == (row.terminalStatus.map { [$0.reason] } ?? []), "\(row)")
        try await check(row, token, message, app)
    }

    /// Checks the push's history, its requests, and the verdict about its token.
    private func check(_ row: ReasonRow, _ token: String, _ message: String, _ app: App) async throws {
        let pushHistory = try await gateway.pushHistory(of: row.installation, message, app)
        #expect(pushHistory.steps == row.steps, "\(row)")
        #expect(pushHistory.state == row.terminalStatus?.state ?? "accepted", "\(row)")
        #expect(pushHistory.reason == row.terminalStatus?.reason, "\(row)")
        try await checkWaits(row, message, app)

        let requests = await requests(token)
        #expect(requests.count == row.requests, "\(row)")
        #expect(requests.first?.status != 200, "\(row)")
        #expect(requests.dropFirst().allSatisfy { $0.status == 200 }, "\(row)")
        // The badge was raised once, and the push kept its id: a device shows it once.
        #expect(Set(try requests.map { try shown($0) }).count == 1, "\(row)")

        let feedback = try await gateway.feedback(app).filter { $0.installation == row.installation }
        #expect(feedback.map(\.verdict) == (row.verdict.map { [$0] } ?? []), "\(row)")
        #expect(feedback.allSatisfy { $0.reason == row.reason }, "\(row)")
        #expect(try await gateway.state(of: row.installation, app) == row.verdict ?? "active", "\(row)")
    }

    /// Checks the recorded wait that the provider or our own rules ask for. The test does not wait that long.
    private func checkWaits(_ row: ReasonRow, _ message: String, _ app: App) async throws {
        let waits = try await world.waits(of: row.installation, message, app)
        guard let wanted = row.wait else { return #expect(waits.isEmpty, "\(row): \(waits)") }
        let reported = waits.filter { $0.cause == wanted.cause }
        #expect(!reported.isEmpty && reported.allSatisfy { wanted.lengths.contains($0.length) }, "\(row): \(waits)")
        // An answer in no table may still have a documented reason.
        let quotes = row.name == nil ? [row.reason, nil] : [row.reason]
        #expect(reported.allSatisfy { quotes.contains($0.quote) }, "\(row): \(waits)")
        if case .comesAgain = row.sequel { #expect(reported.count == 1, "\(row): \(waits)") }
    }

    /// Other apps' pushes are sent, also while a row's lane is blocked.
    private func checkNeighbours(_ situation: String) async throws {
        let names = healthy(.garden).prefix(Self.neighbourCount).map { #""\#($0.installation)""# }
        let list = names.joined(separator: ", ")
        let message = try await gateway.send(.garden, audience: #"{"installations": [\#(list)]}"#)
        let account = try await gateway.finished(message, of: .garden)
        #expect(account.addsUp && account.terminalCounts == ["accepted": Self.neighbourCount], "\(situation)")
    }
}

// The differences between providers.
extension ReasonJourney {
    private typealias Installed = (installation: String, token: String)

    private func healthy(_ app: App, family: Int = 0) -> [Installed] {
        (0..<Self.healthyCount).map { number in
            let beginning = ReasonRow.healthyBeginning(provider)
            return ("\(app)-\(number)", ReasonRow.token(provider, beginning, 1_000 * (family + 1) + number))
        }
    }

    private func fill(_ app: App, _ devices: [Installed]) async throws {
        try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "\#(app)", "name": "An app"}"#)
        switch provider {
        // Only for production: a token that is suspected there is tried nowhere else.
        case .apns: try await world.activateToken(for: app, through: gateway)
        default: try await gateway.submit(world.google.credential, to: app)
        }
        let lines = devices.map {
            #"{"installation": "\#($0.installation)", "provider": "\#(provider.name)", "token": "\#($0.token)"}"#
        }
        try await gateway.api.expect(
            200, "POST", "/v1/apps/\(app)/devices/import", lines.joined(separator: "\n") + "\n",
            contentType: "application/x-ndjson")
    }

    /// Submits another key: with the same key, APNs would reject another provider token for a while.
    private func repair(_ app: App, _ number: Int) async throws {
        switch provider {
        case .apns: try await world.activateToken(for: app, keyID: "NEW000\(1_000 + number)", through: gateway)
        default: try await gateway.submit(world.google.credential, to: app)
        }
    }

    private func follow(_ script: SimulatorScript) async {
        switch provider {
        case .apns: await world.production.simulator.follow(script)
        default: await world.google.simulator.follow(script)
        }
    }

    /// The parts that a repeated push must not change. An FCM message contains its remaining lifetime.
    private func shown(_ push: ReceivedPush) throws -> [UInt8] {
        guard provider == .fcm else { return Array(push.apnsID.utf8) + push.body }
        let message = try JSONReader.read(push.body).object?["message"]?.object
        return try #require(message?["android"]?.object?["notification"]).bytes
    }

    private func requests(_ token: String) async -> [ReceivedPush] {
        switch provider {
        case .apns:
            await world.production.simulator.received(DeviceToken(bytes: Hexadecimal.decode(token.utf8) ?? []))
        default: await world.google.requests(to: token)
        }
    }
}

extension ReasonRow {
    fileprivate var isScripted: Bool { if case .script = trigger { true } else { false } }
}

extension World {
    /// Skips the pauses before further attempts, until it is cancelled.
    fileprivate func letWaitsPass() async throws {
        try await database { pool in
            while !Task.isCancelled {
                try await pool.script("UPDATE parcels SET due_at = now() WHERE state = 1 AND due_at > now()")
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}

extension Gateway {
    fileprivate struct Failure: Decodable {
        let installation: String?
        let attempts: Int
    }

    func pushHistory(of installation: String, _ message: String, _ app: App) async throws -> DeviceHistory {
        try await api.expect(200, "GET", "/v1/apps/\(app)/messages/\(message)/devices/\(installation)")
            .decoded(DeviceHistory.self)
    }

    fileprivate func failures(_ message: String, of app: App) async throws -> [Failure] {
        struct Page: Decodable { let items: [Failure] }
        return try await api.expect(200, "GET", "/v1/apps/\(app)/messages/\(message)/failures?limit=500")
            .decoded(Page.self).items
    }

    fileprivate func submit(_ credential: String, to app: App) async throws {
        try await api.expect(201, "POST", "/v1/apps/\(app)/credentials", credential)
    }
}
