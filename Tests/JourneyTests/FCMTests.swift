import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("FCM devices")
    struct FCMTests {
        @Test("get the message with their badge, and are retired by UNREGISTERED")
        func thread() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fillApp(gateway)
                try await gateway.registerFCM(["live-0000000000000000", "UNREGISTERED-0000000000000000"])
                let message = try await gateway.send(.garden, audience: #"{"all": true}"#)
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.outcomes["accepted"] == 1 && account.outcomes["unregistered"] == 1)
                let received = try await world.google.messages(to: "live-0000000000000000")
                try #require(received.count == 1)
                #expect(received[0]["notification"]?.object?["body"]?.string == World.text)
                let android = received[0]["android"]?.object
                #expect(android?["notification"]?.object?["notification_count"] == 1)
                #expect(android?["notification"]?.object?["tag"]?.string?.isEmpty == false)
                #expect(received[0]["data"]?.object?["carillon_id"]?.string == message)
                let feedback = try await gateway.feedback(.garden)
                #expect(feedback.map(\.verdict) == ["retired"] && feedback.map(\.reason) == ["UNREGISTERED"])
                try await gateway.stopGently()
            }
        }

        @Test("keep their tokens if all belong to another project, and log and doctor say so")
        func anotherProject() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fillApp(gateway)
                try await gateway.registerFCM((0..<12).map { "SENDER_ID_MISMATCH-\($0)-0000000000" })
                let message = try await gateway.send(.garden, audience: #"{"all": true}"#)
                #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["rejected": 12])
                try await eventually("the log to name the route") {
                    gateway.program.logged.contains("Most pushes of a route are refused as if their tokens were wrong")
                }
                let ill = try await world.doctor()
                #expect(ill.code == 1 && ill.printed.contains("12 of the latest 12 answers blame the token"))
                #expect(try await gateway.state(of: "android-0", .garden) == "suspected")
                try await gateway.stopGently()
            }
        }

        @Test("get a dry run if they have been silent; it retires dead ones and shows nothing")
        func staleProbe() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fillApp(gateway)
                // Two devices were registered years ago, and one just now.
                let tokens = ["live-0000000000000000", "UNREGISTERED-0000000000000000"]
                for (number, token) in tokens.enumerated() {
                    try await gateway.api.expect(
                        201, "PUT", "/v1/apps/garden/devices/silent-\(number)",
                        #"{"provider": "fcm", "token": "\#(token)", "as_of": "2020-01-01T00:00:00Z"}"#)
                }
                try await gateway.registerFCM(["UNREGISTERED-0000000000000001"])
                let probe = try await gateway.send(
                    .garden,
                    #"{"audience": {"stale": true}, "data": {"probe": "1"}, "#
                        + #""options": {"push_type": "background", "dry_run": true}}"#)[0]
                let account = try await gateway.finished(probe, of: .garden)
                #expect(account.audience == 2 && account.outcomes["unregistered"] == 1)
                #expect(try await gateway.state(of: "silent-0", .garden) == "active")
                #expect(try await gateway.state(of: "silent-1", .garden) == "retired")
                #expect(try await gateway.state(of: "android-0", .garden) == "active", "this device is not stale")
                let summary = await world.google.simulator.summary()
                #expect(summary.dryRuns == 1)
                try await gateway.stopGently()
            }
        }

        @Test("share one access token, and a new one after it is revoked")
        func accessTokens() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fillApp(gateway)
                try await gateway.registerFCM((0..<200).map { "live-\($0)-0000000000000000" })
                let first = try await gateway.send(.garden, audience: #"{"all": true}"#)
                #expect(try await gateway.finished(first, of: .garden).outcomes["accepted"] == 200)
                #expect(await world.google.simulator.summary().accessTokensIssued == 1)
                await world.google.simulator.revokeAccessTokens()
                let second = try await gateway.send(.garden, audience: #"{"all": true}"#)
                #expect(try await gateway.finished(second, of: .garden).outcomes["accepted"] == 200)
                #expect(await world.google.simulator.summary().accessTokensIssued == 2)
                try await gateway.stopGently()
            }
        }

        @Test("wait by name in account, doctor and log while Google refuses their account")
        func refusedAccount() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [], through: gateway)
                // The project has another key by now.
                let deleted = String(
                    decoding: try ServiceAccount(projectID: "tower-1").file(tokenURI: world.google.url + "/token"),
                    as: UTF8.self)
                try await gateway.api.expect(
                    201, "POST", "/v1/apps/garden/credentials",
                    #"{"provider": "fcm", "kind": "service_account", "activate": true, "service_account": \#(deleted)}"#
                )
                try await gateway.registerFCM(["live-0000000000000000"])
                let message = try await gateway.send(.garden, audience: #"{"all": true}"#)
                try await eventually("the account to name the cause") {
                    let shown = try await world.command(["messages", "show", message], gateway).printed
                    return shown.contains("1 push waits: the credential for fcm production gets no token since ")
                        && shown.contains("(invalid_grant: ")
                }
                let ill = try await world.doctor()
                #expect(ill.code == 1 && ill.printed.contains("gets no token since "), "\(ill.printed)")
                #expect(gateway.program.logged.contains("Pushes wait: their credential gets no token"))
                try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
                #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": 1])
                try await gateway.stopGently()
            }
        }
    }
}

extension World {
    /// Creates the app without devices, with a credential for APNs and one for FCM.
    fileprivate func fillApp(_ gateway: Gateway) async throws {
        try await fill(.garden, [], through: gateway)
        try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", google.credential)
    }
}

extension Gateway {
    func registerFCM(_ tokens: [String]) async throws {
        for (number, token) in tokens.enumerated() {
            try await api.expect(
                201, "PUT", "/v1/apps/garden/devices/android-\(number)", #"{"provider": "fcm", "token": "\#(token)"}"#)
        }
    }
}
