import Foundation
import TestSupport
import Testing

extension Journeys {
    @Suite("The doctor command")
    struct DoctorTests {
        private struct Findings: Decodable {
            let items: [Finding]
        }

        private struct Finding: Decodable {
            let level: String
            let subject: String
            let finding: String
            let remedy: String?
        }

        private func findings(
            _ world: World, settings: [String: String] = [:], code: Int32
        ) async throws -> [String: Finding] {
            let reported = try await world.doctor(["--json"], settings: settings)
            #expect(reported.code == code, "\(reported.printed)")
            let all = try JSONDecoder().decode(Findings.self, from: Data(reported.printed.utf8)).items
            return Dictionary(all.map { ($0.subject, $0) }) { first, _ in first }
        }

        @Test("finds no problem beside a working gateway, in text and in JSON")
        func healthy() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [Device](.live, 1), through: gateway)
                let beside = ["LISTEN": gateway.api.base.absoluteString.replacing("http://", with: "")]
                let found = try await findings(world, settings: beside, code: 0)
                for subject in [
                    "gateway", "settings", "database", "clock", "database's log", "schema", "master key", "app garden",
                    "APNs",
                    "wake-up",
                ] {
                    #expect(found[subject]?.level == "good", "\(subject): \(String(describing: found[subject]))")
                }
                #expect(found.values.allSatisfy { $0.level != "bad" })
                let text = try await world.doctor(settings: beside)
                #expect(text.code == 0 && text.printed.contains("Nothing keeps the gateway from working."))
                try await gateway.stopGently()
            }
        }

        @Test("calms nobody about a gateway that is stopped, or that it did not ask")
        func stopped() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [Device](.live, 1), through: gateway)
                let beside = ["LISTEN": gateway.api.base.absoluteString.replacing("http://", with: "")]
                try await gateway.stopGently()
                let found = try await findings(world, settings: beside, code: 1)
                #expect(found["gateway"]?.level == "bad" && found["gateway"]?.remedy?.isEmpty == false)
                let unasked = try await world.doctor()
                #expect(unasked.printed.contains("skip  gateway: "))
                #expect(unasked.printed.contains("No fault in what was checked. Not checked: gateway."))
            }
        }

        @Test("has a line for each situation that keeps a gateway from its work", arguments: BrokenSituation.all)
        func broken(_ situation: BrokenSituation) async throws {
            try await World.within { world in
                let scene = try await situation.make(world)
                let reported = try await world.doctor(settings: scene.settings)
                let lines = reported.printed.split(separator: "\n")
                let place = try #require(lines.firstIndex(where: situation.isNamed), "\(reported.printed)")
                #expect(lines[place + 1].hasPrefix("      -> "), "a remedy follows")
                #expect(!BrokenSituation.lossy.contains { lines[place + 1].contains($0) }, "\(reported.printed)")
                #expect(reported.code == (situation.level == .bad ? 1 : 0), "\(reported.printed)")
                #expect(!reported.printed.contains("pass-of-a-test"))
                try await scene.gateway?.stopGently()
            }
        }

        @Test("names an invalid setting and an unreachable provider, with a remedy, and exits with 1")
        func ill() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [Device](.live, 1), through: gateway)
                let cases: [(String, [String: String])] = [
                    ("settings", ["LISTEN": "nowhere at all"]),
                    ("APNs", ["APNS_PRODUCTION_URL": "https://127.0.0.1:1"]),
                ]
                for (subject, settings) in cases {
                    let found = try await findings(world, settings: settings, code: 1)
                    #expect(found[subject]?.level == "bad" && found[subject]?.remedy != nil, "\(subject): \(found)")
                }
                try await gateway.stopGently()
            }
        }

        @Test("reports pushes that wait for a credential until there is one, as the message does")
        func waiting() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await gateway.register([Device](.live, 2), of: .garden)
                let sent = try await world.command(["send", "--all", "--body", "Noon", "--yes", "--detach"], gateway)
                let id = sent.printed.trimmingCharacters(in: .whitespacesAndNewlines)
                try await eventually("the account to name the cause") {
                    let shown = try await world.command(["messages", "show", id], gateway).printed
                    return shown.contains("2 pushes wait: no active credential covers apns production")
                        && shown.contains("-> carillon credentials add --app garden --p8")
                }
                let ill = try await world.doctor()
                #expect(ill.code == 1 && ill.printed.contains("BAD   app garden: pushes wait: no active credential"))
                #expect(ill.printed.contains("carillon credentials add --app garden --p8"))

                try await world.activateToken(for: .garden, through: gateway)
                #expect(try await world.command(["messages", "watch", id], gateway).printed.contains("2  accepted"))
                let well = try await world.doctor()
                #expect(well.code == 0 && !well.printed.contains("pushes wait"), "\(well.printed)")
                #expect(well.printed.contains("FCM: no active credential uses it"))
                try await gateway.stopGently()
            }
        }

        @Test("notes that the database is empty and that the next start migrates it")
        func empty() async throws {
            try await World.within { world in
                let found = try await findings(world, code: 0)
                #expect(found["schema"]?.level == "note" && found["schema"]?.remedy?.contains("migrate") == true)
            }
        }
    }
}
