import Foundation
import JSON
import TestSupport
import Testing

extension Journeys {
    @Suite("The commands for wake-up")
    struct WakeUpCommandTests {
        private static let tokens = ["live-wakeup-0000000000000001", "live-wakeup-0000000000000002"]

        @Test("switch it on, list and revoke subscriptions with a notice, and switch it off")
        func wholeWay() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [], through: gateway)
                try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
                try await gateway.api.expect(204, "PUT", "/v1/apps/garden/rules", #"{"rules": {".read": true}}"#)
                func run(_ arguments: String..., code: Int32 = 0) async throws -> (printed: String, input: String) {
                    let outcome = try await world.command(["wakeup"] + arguments, gateway)
                    #expect(outcome.code == code, "wakeup \(arguments): \(outcome.printed)\(outcome.input)")
                    return (outcome.printed, outcome.input)
                }
                #expect(try await run().printed.contains("wake-up        off"))
                #expect(try await run("enable").printed.contains("Wake-up of garden is on."))
                for (path, token) in zip(["a", "b"], Self.tokens) {
                    let subscribe = "/base/garden/.wakeup/\(path)?id=\(token)"
                    try await gateway.api.expect(204, "PUT", subscribe, isAnonymous: true)
                }
                let shown = try await run("show").printed
                #expect(
                    shown.contains("wake-up        on") && shown.contains("subscriptions  2 to 2 paths"), "\(shown)")
                let all = try await run("subscriptions", "list").printed
                #expect(all.split(separator: "\n").count == 3 && !all.contains(Self.tokens[0]), "\(all)")
                let some = try await run("subscriptions", "list", "--path", "/a").printed
                #expect(some.split(separator: "\n").count == 2 && some.contains("noData"), "\(some)")
                let one = try await run("subscriptions", "show", "1").printed
                #expect(one.contains("state: active\n") && one.contains("is_behind: no\n"), "\(one)")

                #expect(try await run("subscriptions", "revoke", "1").printed.contains("1 is revoked"))
                let notice = ["t": "revoke", "r": "permission_denied", "app": "garden", "sp": "/a"]
                #expect(try await world.google.wakeUps(of: Self.tokens[0], count: 1) == [notice])
                let gone = try await run("subscriptions", "show", "1", code: 65).input
                #expect(gone.contains("unknown_subscription"), "\(gone)")

                #expect(try await run("disable", code: 64).input.contains("--yes"))
                #expect(try await run("disable", "--yes").printed.contains("is off"))
                let end = ["t": "revoke", "r": "disabled", "app": "garden", "sp": "/b"]
                #expect(try await world.google.wakeUps(of: Self.tokens[1], count: 1) == [end])
                #expect(try await run("show").printed.contains("subscriptions  0 to"))
                try await gateway.stopGently()
            }
        }

        @Test("show in the demo what each change tells three phones")
        func demo() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let folder = world.folder.appending(path: "demo").path(percentEncoded: false)
                // A second run uses the data of the first.
                for _ in 1...2 {
                    let outcome = try await world.command(["demo", "wakeup", "--json", "--folder", folder], gateway)
                    #expect(outcome.code == 0, "\(outcome.input)")
                    #expect(outcome.input.contains("phone-1 is woken: something changed at /beds/roses"))
                    let document = try JSONReader.read(Array(outcome.printed.utf8)).object
                    let phones = document?["phones"]?.array ?? []
                    #expect(phones.map { $0.object?["mode"]?.string } == ["noData", "value", "childEvent"])
                    let told = phones.map { $0.object?["wake_ups"]?.array ?? [] }
                    try #require(told.map(\.count) == [4, 4, 4])
                    #expect(
                        told[1].map { $0.object?["d"]?.string } == [
                            #"{"flower":"red","moisture":41}"#, #"{"flower":"red","moisture":17,"pump":{"on":true}}"#,
                            #"{"flower":"red","moisture":17,"pump":{"on":false}}"#,
                            #"{"moisture":17,"pump":{"on":false}}"#,
                        ])
                    let events = told[2].dropFirst().map { data in
                        ["added", "changed", "removed"].map { data.object?[$0]?.string }
                    }
                    #expect(
                        events == [
                            [#"{"pump":{"on":true}}"#, #"{"moisture":17}"#, "[]"],
                            ["{}", #"{"pump":{"on":false}}"#, "[]"], ["{}", "{}", #"["flower"]"#],
                        ])
                }
                try await gateway.stopGently()
            }
        }
    }
}
