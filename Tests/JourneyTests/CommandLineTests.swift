import Foundation
import JSON
import Testing

extension Journeys {
    @Suite("The command line beside a gateway")
    struct CommandLineTests {
        @Test("sets up an app, sends a push and shows its account; scripts get JSON and exit codes")
        func wholeWay() async throws {
            let live = [Device](.live, 3)
            let gone = [Device](.gone, 1)
            try await World.within { world in
                let gateway = try await world.gateway()
                func run(_ arguments: String..., code: Int32 = 0) async throws -> (printed: String, input: String) {
                    let outcome = try await world.command(arguments, gateway)
                    #expect(outcome.code == code, "carillon \(arguments): \(outcome.printed)\(outcome.input)")
                    return (outcome.printed, outcome.input)
                }
                #expect(try await run("apps", "create", "garden", "--name", "The Garden").printed.contains("garden"))
                let key = try world.writeSigningKey("AuthKey_GARDEN1234.p8")
                let added = try await run(
                    "credentials", "add", "--p8", key, "--team-id", "TEAMID1234", "--topic", "com.example.garden",
                    "--activate")
                #expect(added.printed.contains("active") && !added.printed.contains("PRIVATE"))
                let file = world.folder.appending(path: "devices.ndjson")
                let lines = (live + gone).map { $0.registration() } + [#"{"installation": "broken"}"#]
                try Data(lines.joined(separator: "\n").utf8).write(to: file)
                let imported = try await run("devices", "import", file.path(percentEncoded: false), code: 1)
                #expect(imported.printed.contains("4 accepted: 4 created"))
                #expect(imported.printed.contains("line 5:") && imported.input.contains("1 line was refused"))
                #expect(try await run("devices", "list").printed.split(separator: "\n").count == 5)
                let shown = try await run("devices", "show", live[0].installation).printed
                #expect(shown.contains("\nuser: -\n") && !shown.contains("null"), "\(shown)")
                #expect(try await run("help", "nope", code: 64).input.contains("nope"))

                let asked = try await run("send", "--all", "--title", "Noon", "--body", "Twelve o'clock", code: 64)
                #expect(asked.input.contains("--yes"))
                let sent = try await run(
                    "send", "--all", "--title", "Noon", "--body", "Twelve o'clock", "--badge", "increment", "--yes")
                #expect(sent.printed.contains("3  accepted") && sent.printed.contains("1 unregistered: Unregistered"))
                #expect(try await world.production.receipts(of: live) == .onceEach(3))

                let listed = try await run("messages", "list", "--json")
                let page = try JSONReader.read(Array(listed.printed.utf8)).object
                let id = try #require(page?["items"]?.array?.first?.object?["id"]?.string)
                #expect(try await run("messages", "watch", id).printed.contains("finished"))
                #expect(try await run("messages", "failures", id).printed.contains("Unregistered"))
                #expect(try await run("messages", "push", id, live[0].installation).printed.contains("accepted"))
                try await gateway.stopGently()
                #expect(try await run("apps", "list", code: 69).input.contains("can't be reached"))
            }
        }

        @Test("creates keys that are limited to their scopes, and names the scope that is missing")
        func keys() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                let made = try await world.command(
                    ["keys", "create", "backend", "--app", "garden", "--scopes", "devices"], gateway)
                let key = made.printed.trimmingCharacters(in: .whitespacesAndNewlines)
                #expect(made.code == 0 && key.hasPrefix("carillon_") && !made.input.contains(key))
                #expect(try await world.command(["devices", "list"], gateway, key: key).code == 0)
                let refused = try await world.command(["messages", "list"], gateway, key: key)
                #expect(refused.code == 77 && refused.input.contains(#""messages" or "broadcast""#))
                let list = try await world.command(["keys", "list", "--app", "garden"], gateway)
                let id = try #require(list.printed.split(separator: "\n").last?.split(separator: " ").first)
                #expect(!list.printed.contains(key) && list.printed.contains("backend"))
                #expect(try await world.command(["keys", "revoke", String(id), "--app", "garden"], gateway).code == 0)
                #expect(try await world.command(["devices", "list"], gateway, key: key).code == 77)
                try await gateway.stopGently()
            }
        }

        @Test("connects over TLS if it trusts the issuer of the gateway's certificate")
        func encrypted() async throws {
            try await World.within(isEncrypted: true) { world in
                let gateway = try await world.gateway()
                #expect(gateway.api.base.scheme == "https")
                let authority = world.folder.appending(path: "ca.pem").path(percentEncoded: false)
                let stranger = try await world.command(["apps", "list"], gateway)
                #expect(stranger.code == 69 && stranger.input.contains("--ca-file"), "\(stranger.input)")
                let made = try await world.command(["apps", "create", "garden", "--ca-file", authority], gateway)
                #expect(made.code == 0, "\(made.input)")
                let listed = try await world.command(["apps", "list", "--ca-file", authority, "--json"], gateway)
                #expect(listed.code == 0 && listed.printed.contains("garden"))
                try await gateway.stopGently()
            }
        }

        @Test("measures the latency of single pushes, and reports it as JSON")
        func bench() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let folder = world.folder.appending(path: "bench").path(percentEncoded: false)
                let outcome = try await world.command(
                    ["latency", "--pushes", "10", "--folder", folder, "--json"], tool: "carillon-bench", gateway)
                #expect(outcome.code == 0, "\(outcome.input)")
                let report = try JSONReader.read(Array(outcome.printed.utf8)).object
                for provider in ["apns", "fcm"] {
                    let figures = report?[provider]?.object
                    #expect(figures?["pushes"]?.integer == 10)
                    for part in ["accepted", "received", "reference"] {
                        let values = figures?[part]?.object?.members.compactMap { $0.value.number?.double } ?? []
                        #expect(values.count == 4 && values == values.sorted() && values[0] > 0, "\(provider) \(part)")
                    }
                    #expect(figures?["p50_ratio"]?.number?.double ?? 0 > 0, "\(provider)")
                }
                try await gateway.stopGently()
            }
        }

        @Test("previews a message, and sends it to test devices before it sends to the audience")
        func previewAndTest() async throws {
            let live = [Device](.live, 3)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                let preview = try await world.command(
                    ["send", "--all", "--title", "Noon", "--body", "Twelve o'clock", "--preview"], gateway)
                #expect(preview.code == 0)
                for text in ["An iPhone: push type alert, priority 10", "| Twelve o'clock", "An Android phone:"] {
                    #expect(preview.printed.contains(text), "\(preview.printed)")
                }
                #expect(await world.production.simulator.summary().requests == 0)

                // The preview uses the language of the named phone, unless another is requested.
                try await gateway.api.expect(
                    200, "PATCH", "/v1/apps/garden/devices/\(live[0].installation)", #"{"locale": "fr-CA"}"#)
                let file = world.folder.appending(path: "noon.json")
                try Data(#"{"notification": {"body": "Noon", "localizations": {"fr": {"body": "Midi"}}}}"#.utf8).write(
                    to: file)
                let localized = [
                    "send", "--installation", live[0].installation, "--file", file.path(percentEncoded: false),
                    "--preview",
                ]
                #expect(try await world.command(localized, gateway).printed.contains("| Midi "))
                #expect(try await world.command(localized + ["--locale", "de"], gateway).printed.contains("| Noon "))

                // A file that names everybody needs a confirmation, as the option does.
                try Data(#"{"audience": {"all": true}, "notification": {"body": "Noon"}}"#.utf8).write(to: file)
                let asked = try await world.command(["send", "--file", file.path(percentEncoded: false)], gateway)
                #expect(asked.code == 64 && asked.input.contains("--yes"), "\(asked.printed)")
                // So does the audience after a test, however small it is.
                let few = try await world.command(
                    [
                        "send", "--installation", live[1].installation, "--body", "Noon", "--test-to",
                        live[0].installation,
                    ],
                    gateway)
                #expect(few.code == 64 && few.input.contains("--yes"), "\(few.printed)")
                #expect(
                    await world.production.simulator.summary().requests == 0,
                    "the command asks before it sends anything")

                // A failed test stops the rest.
                let name = live[0].installation
                let stopped = try await world.command(
                    ["send", "--all", "--body", "Twelve o'clock", "--test-to", "nobody", "--yes"], gateway)
                let reason = "No installation is called nobody (a user? user:nobody). Nothing was sent."
                #expect(stopped.code == 1 && stopped.input.contains(reason), "\(stopped.input)")
                #expect(await world.production.simulator.summary().requests == 0)
                let sent = try await world.command(
                    ["send", "--all", "--body", "Twelve o'clock", "--test-to", name, "--yes"], gateway)
                #expect(sent.code == 0)
                #expect(await world.production.simulator.summary().requests == 1 + live.count)
                try await gateway.stopGently()
            }
        }
    }
}
