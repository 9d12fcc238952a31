import Foundation
import JSON
import TestSupport
import Testing

extension Journeys {
    @Suite("A gateway that logs JSON")
    struct LogFormatTests {
        @Test("writes one complete JSON object per line, at every level, and nothing else")
        func everyLine() async throws {
            let live = [Device](.live, 200)
            try await World.within(settings: ["LOG_FORMAT": "json", "LOG_LEVEL": "trace"]) { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                try await gateway.register(live, of: .garden)
                let message = try await gateway.broadcast(.garden)
                try await eventually("the log to report that pushes wait") {
                    gateway.program.logged.contains("no usable credential")
                }
                try await world.activateToken(for: .garden, through: gateway)
                #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": live.count])
                try await gateway.api.expect(404, "GET", "/v1/apps/meadow")
                try await gateway.stopGently()
                #expect(gateway.program.printed.isEmpty)

                let lines = try gateway.program.logged.split(separator: "\n").map { line in
                    try #require(try? JSONReader.read(Array(line.utf8)).object, "\(line)")
                }
                for line in lines {
                    let names = line.members.map(\.name)
                    #expect(Array(names.prefix(5)) == ["time", "level", "label", "module", "message"])
                    #expect(line["time"]?.string?.wholeMatch(of: /[-0-9]{10}T[:0-9]{8}\.\d{3}Z/) != nil, "\(line)")
                }
                let migrated = lines.first { $0["message"]?.string == "Migrated the database" }
                #expect(migrated?["module"]?.string == "Server" && migrated?["from"]?.string == "none")
                let waiting = lines.first { $0["message"]?.string?.hasPrefix("Pushes wait") == true }
                #expect(waiting?["app"]?.string == "garden", "the log names the app by its slug")
                let lane = lines.first { $0["credential"] != nil }
                #expect(lane?["app"]?.string == "garden")
                let refusal = lines.first { $0["code"]?.string == "unknown_app" }
                #expect(refusal?["message"]?.string == "A request was refused")
            }
        }

        @Test("says what started, that it drains, and that it stopped, each once and with the facts")
        func startAndStop() async throws {
            try await World.within(settings: ["LOG_FORMAT": "json", "LEASE_SECONDS": "45"]) { world in
                let gateway = try await world.gateway()
                try await eventually("the log to report the start") { gateway.program.logged.contains("Started") }
                try await gateway.stopGently()
                let lines = try gateway.program.logged.split(separator: "\n").map { line in
                    try #require(try? JSONReader.read(Array(line.utf8)).object, "\(line)")
                }
                func only(_ message: String) throws -> JSONObject {
                    let found = lines.filter { $0["message"]?.string == message }
                    #expect(found.count == 1, "\(message)")
                    return try #require(found.first)
                }
                let (migrated, started) = (try only("Migrated the database"), try only("Started"))
                let port = try #require(gateway.api.base.port)
                #expect(started["version"]?.string?.isEmpty == false && started["tls"]?.string == "no")
                #expect(started["listen"]?.string == "127.0.0.1:\(port)")
                #expect(started["database"]?.string?.contains("/world_") == true)
                #expect(started["schema"]?.string == migrated["to"]?.string)
                let settings = started["settings"]?.object
                #expect(settings?["LEASE_SECONDS"]?.string == "45" && settings?["LOG_FORMAT"]?.string == "json")
                #expect(settings?["ADMIN_KEY"]?.string == "set" && settings?["DATABASE_URL"]?.string == "set")
                #expect(settings?["PARCEL_MEMBERS"]?.string == nil, "it has its default")
                #expect(try only("Draining: no new requests are accepted")["pushes_in_flight"]?.integer == 0)
                #expect(try only("Stopped")["took"]?.string?.hasSuffix("s") == true)
                #expect(lines.last?["message"]?.string == "Stopped")
            }
        }

        @Test("says in one object why it cannot start", arguments: ["APNS_PRODUCTION_URL", "PROVIDER_CA_FILE"])
        func startFault(setting: String) async throws {
            try await World.within(settings: ["LOG_FORMAT": "json", setting: "/nowhere"]) { world in
                let program = try world.start()
                #expect(try await program.end() == .exited(1))
                let line = try JSONReader.read(Array(program.logged.utf8)).object
                #expect(line?["level"]?.string == "critical" && line?["message"]?.string == "The gateway can't run")
                #expect(line?["fault"]?.string?.hasPrefix("CARILLON_\(setting)") == true)
                #expect(program.printed.isEmpty)
            }
        }

        @Test("names the file of the admin key that its first start has made")
        func adminKeyFile() async throws {
            try await World.within(settings: ["LOG_FORMAT": "json", "ADMIN_KEY": ""], server: nil) { world in
                let gateway = try await world.gateway()
                let started = try await gateway.program.loggedObject("Started")
                #expect(started["admin_key_file"]?.string?.hasSuffix("/admin-key") == true)
                #expect(gateway.program.printed.isEmpty)
                try await gateway.stopGently()
            }
        }
    }
}
