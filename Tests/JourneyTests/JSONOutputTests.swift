import Foundation
import JSON
import Testing

extension Journeys {
    @Suite("The JSON output of commands")
    struct JSONOutputTests {
        /// A command line without its `--json`. The lines run in their order against one gateway.
        fileprivate struct Line {
            var arguments: [String]
            var tool = "carillon"
            let code: Int32
            /// Whether it prints a list, in the form that all lists share.
            var isList = false
            /// Figures that must be above zero.
            var figures: [String] = []
            /// Members that must be true.
            var claims: [String] = []
            /// Faults that a busy machine may cause: this test does not measure time.
            var forgiven: [String] = []

            init(_ arguments: String..., code: Int32 = 0) {
                self.arguments = arguments
                self.code = code
            }

            static func list(_ arguments: String...) -> Line {
                var line = Line()
                line.arguments = arguments
                line.isList = true
                return line
            }

            static func bench(
                _ arguments: String..., in folder: String, figures: [String], claims: [String] = [],
                forgiven: [String] = []
            ) -> Line {
                var line = Line()
                line.tool = "carillon-bench"
                line.arguments = arguments + ["--folder", folder + "/bench"]
                line.figures = figures
                line.claims = claims
                line.forgiven = forgiven
                return line
            }
        }

        private static func lines(_ key: String, _ file: String, _ live: String, _ folder: String) -> [Line] {
            [
                .list("settings"), Line("migrate"), .list("doctor"),
                Line("apps", "create", "garden"), .list("apps", "list"),
                Line("apps", "settings", "garden", "--time-zone", "Europe/Paris"),
                Line("credentials", "add", "--p8", key, "--team-id", "TEAMID1234", "--topic", "com.example.garden"),
                Line("credentials", "activate", "1"), .list("credentials", "list"),
                Line("keys", "create", "backend", "--scopes", "devices"), .list("keys", "list"),
                Line("keys", "revoke", "1"),
                Line("wakeup", "enable"), Line("wakeup", "show"), .list("wakeup", "subscriptions", "list"),
                Line("wakeup", "subscriptions", "show", "1"), Line("wakeup", "subscriptions", "revoke", "1"),
                Line("wakeup", "disable", "--yes"),
                Line("devices", "register", "tablet", "--provider", "apns", "--token-file", file),
                .list("devices", "list", "--limit", "1"), Line("devices", "show", "tablet"),
                Line("send", "--installation", live, "--body", "Noon", "--preview"),
                Line("send", "--all", "--body", "Noon", "--count"),
                Line("send", "--installation", live, "--body", "Noon"),
                Line("send", "--installation", live, "--body", "Noon", "--detach"),
                Line("send", "--all", "--body", "Noon", "--test-to", live, "--yes"),
                Line("send", "--installation", "nobody", "--body", "Noon", code: 1),
                Line("send", "--all", "--body", "Noon", "--test-to", "nobody", "--yes", code: 1),
                .list("messages", "list"), Line("messages", "show", "ID"), Line("messages", "watch", "ID"),
                .list("messages", "failures", "ID"), Line("messages", "push", "ID", live),
                Line("send", "--installation", live, "--body", "Noon", "--at", hour(in: 86_400)),
                Line("messages", "edit", "ID", "--name", "Noon bells"), Line("messages", "duplicate", "ID"),
                Line("messages", "rate", "ID", "--per-second", "500"),
                Line("messages", "pause", "ID"), Line("messages", "resume", "ID"),
                Line("messages", "cancel", "ID", "--yes"),
                Line("devices", "remove", "tablet", "--kind", "alert"), Line("devices", "erase-user", "frida", "--yes"),
                Line("credentials", "retire", "1", "--yes"), Line("credentials", "delete", "1"),
                Line("apps", "delete", "garden", "--yes"),
                Line(
                    "demo", "broadcast", "--installations", "100", "--once", "--port", "0", "--folder", folder + "/demo"
                ), Line("demo", "wakeup", "--folder", folder + "/demo-wakeup"),
                Line("demo", "stocks", "--folder", folder + "/demo-stocks"),
            ]
        }

        private static let cost = [
            "gateway_cpu_s_per_million", "database_cpu_s_per_million", "reference_cpu_s_per_million", "processor_ratio",
            "reference_per_second", "memory_bytes_max",
        ]

        /// Every benchmark, in one variant.
        private static func benches(_ folder: String) -> [Line] {
            [
                .bench(
                    "latency", "--pushes", "10", in: folder,
                    figures: ["apns.p50_ratio", "fcm.p50_ratio", "apns.gateway_cpu_s_per_million"]),
                .bench(
                    "fill", "--devices", "40000", "--rounds", "2", in: folder,
                    figures: ["devices_per_second", "copy_per_second", "time_ratio"]),
                .bench(
                    "broadcast", "--devices", "40000", "--tag", "sport", "--values", in: folder,
                    figures: ["accepted", "first_push_ms", "reference_per_second"], claims: ["adds_up"]),
                .bench(
                    "register", "--devices", "1000", "--rounds", "1", in: folder,
                    figures: ["created_ratio", "again_ratio", "created_gateway_cpu_s_per_million"]),
                .bench("wire", "--pushes", "100000", "--rounds", "1", in: folder, figures: ["processor_ratio"]),
            ]
        }

        /// Other variants. Broadcasts from two gateways have a rate limit, so that even one this small has a middle.
        fileprivate static func otherBenches(_ folder: String) -> [Line] {
            [
                .bench(
                    "latency", "--singles", "200", "--rounds", "1", in: folder,
                    figures: ["accepted_per_second", "settled_per_second", "commits_per_second", "settled_ratio"]),
                .bench(
                    "broadcast", "--devices", "40000", "--rounds", "1", "--values", "--answer-ms", "20", in: folder,
                    figures: [
                        "rate_ratio", "processor_ratio", "late_answers_ratio", "gateway_cpu_s_per_million",
                        "database_cpu_s_per_million", "memory_bytes_max",
                    ], forgiven: busyMachine),
                .bench(
                    "broadcast", "--devices", "40000", "--rate", "5000", "--values", in: folder,
                    figures: ["per_second_mean", "gateways_sending"] + cost, claims: ["adds_up"],
                    forgiven: busyMachine),
                .bench(
                    "broadcast", "--devices", "40000", "--rate", "5000", "--pause-seconds", "2", in: folder,
                    figures: ["accepted"] + cost, claims: ["was_in_time", "adds_up"], forgiven: busyMachine),
                .bench(
                    "broadcast", "--devices", "40000", "--rate", "5000", "--cancel", in: folder,
                    figures: ["accepted", "cancelled"] + cost, claims: ["was_in_time", "adds_up"],
                    forgiven: busyMachine),
                .bench(
                    "broadcast", "--devices", "40000", "--filter", "attributes.plan == 'pro'", in: folder,
                    figures: ["accepted", "first_push_ms", "reference_per_second"], claims: ["adds_up"]),
                .bench(
                    "broadcast", "--devices", "40000", "--local-hour", "10", in: folder,
                    figures: ["accepted", "suppressed", "cancelled", "first_push_ms"], claims: ["adds_up"]),
                .bench(
                    "latency", "--beside-devices", "40000", "--pushes", "10", "--rounds", "2", in: folder,
                    figures: ["half.p99_ratio", "full.p99_ratio", "full.gateway_cpu_s_per_million"]),
                .bench(
                    "triggers", "--devices", "40000", "--lines", "5000", "--rounds", "1", in: folder,
                    figures: ["other_100000_p50_ratio", "firing_100000_p50_ratio", "stream_ratio", "follower_ratio"]),
            ]
        }

        /// Faults that a second without the processor may cause in so small a broadcast. A wrong account is never one
        /// of them.
        private static let busyMachine = [
            "rate_missed", "rate_exceeded", "rate_rushed", "sent_while_paused", "gateway_idle", "late_start",
        ]

        /// Commands that keep running, that print many lines by design (a test of its own), or that print a page.
        private static let others = [
            "serve", "simulate", "devices import", "errors",
        ]

        @Test("consists of one document per command, and all lists share one form")
        func oneDocument() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let device = [Device](.live, 1)[0]
                let token = world.folder.appending(path: "token.txt")
                try Data(device.token.utf8).write(to: token)
                let lines = Self.lines(
                    try world.writeSigningKey("AuthKey_GARDEN1234.p8"), token.path(percentEncoded: false), "tablet",
                    world.folder.path(percentEncoded: false))
                try await Self.subscribe(gateway)
                try await Self.expectDocuments(of: lines, world, gateway)
                let benches = Self.benches(world.folder.path(percentEncoded: false))
                let tested =
                    (lines + benches).map(\.arguments) + Self.others.map { $0.split(separator: " ").map(String.init) }
                for leaf in try await leaves(world, gateway) {
                    #expect(tested.contains { $0.starts(with: leaf) }, "carillon \(leaf) is not in the table")
                }
                try await gateway.stopGently()
            }
        }

        @Test("consists of one document per benchmark", arguments: benches("").indices)
        func benchDocument(number: Int) async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let line = Self.benches(world.folder.path(percentEncoded: false))[number]
                try await Self.expectDocuments(of: [line], world, gateway)
                try await gateway.stopGently()
            }
        }

        /// Creates the app as the command does, with one subscription.
        private static func subscribe(_ gateway: Gateway) async throws {
            try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "garden"}"#)
            try await gateway.api.expect(200, "PATCH", "/v1/apps/garden", #"{"wakeup": {"enabled": true}}"#)
            try await gateway.api.expect(204, "PUT", "/v1/apps/garden/rules", #"{"rules": {".read": true}}"#)
            try await gateway.api.expect(
                204, "PUT", "/base/garden/.wakeup/a?id=live-wakeup-0000000000000000", isAnonymous: true)
        }

        /// Expects one document per line, with its exit code, its figures and its claims.
        fileprivate static func expectDocuments(of lines: [Line], _ world: World, _ gateway: Gateway) async throws {
            var message = ""
            for line in lines {
                let arguments = line.arguments.map { $0 == "ID" ? message : $0 } + ["--json"]
                let reported = try await world.command(
                    arguments, tool: line.tool, gateway, alsoSettings: world.settings)
                let printed = reported.printed.split(separator: "\n").map { Array($0.utf8) }
                #expect(printed.count == 1, "carillon \(arguments) printed \(printed.count) lines")
                let document = try? JSONReader.read(printed.first ?? []).object
                #expect(document != nil, "carillon \(arguments) printed \(reported.printed)")
                let faults = document?["faults"]?.array?.compactMap(\.string) ?? []
                let code = faults.isEmpty ? line.code : 1
                #expect(reported.code == code, "carillon \(arguments): \(reported.printed)\(reported.input)")
                #expect(faults.allSatisfy(line.forgiven.contains), "carillon \(arguments): \(faults)")
                if line.isList {
                    #expect(document?["items"]?.array != nil && document?["next"] != nil, "carillon \(arguments)")
                }
                for name in line.figures {
                    let figure = member(name, of: document)?.number?.double ?? 0
                    #expect(figure > 0, "carillon \(arguments): \(name) is \(figure)")
                }
                for name in line.claims {
                    #expect(member(name, of: document)?.bool == true, "carillon \(arguments): \(name) is not true")
                }
                guard line.code == 0 else { continue }
                message = document?["messages"]?.array?.first?.object?["id"]?.string ?? message
            }
        }

        /// - Parameter path: names with dots between them.
        private static func member(_ path: String, of document: JSONObject?) -> JSONValue? {
            var found: JSONValue? = document.map(JSONValue.object)
            for name in path.split(separator: ".") { found = found?.object?[String(name)] }
            return found
        }

        /// Every command that does something, by its words.
        private func leaves(_ world: World, _ gateway: Gateway) async throws -> [[String]] {
            func leaves(_ command: JSONValue?, _ path: [String]) -> [[String]] {
                let subcommands = (command?.object?["subcommands"]?.array ?? []).filter {
                    $0.object?["commandName"] != "help"
                }
                guard !subcommands.isEmpty else { return [path] }
                return subcommands.flatMap { leaves($0, path + [$0.object?["commandName"]?.string ?? ""]) }
            }
            let dump = try await world.command(["--experimental-dump-help"], gateway)
            let tree = try JSONReader.read(Array(dump.printed.utf8), limits: .trusted)
            let found = leaves(tree.object?["command"], [])
            #expect(found.count > 20)
            return found
        }

        @Test("stays empty on a failure; standard error carries the problem as JSON")
        func problems() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let cases: [([String], Int32, String)] = [
                    (["messages", "list"], 65, "unknown_app"),
                    (["keys", "revoke", "99", "--all-apps"], 65, "unknown_key"),
                    (["send", "--body", "Noon"], 64, "unusable_input"),
                    (["send", "--file", "/nope", "--all"], 64, "unusable_input"),
                    (["apps", "list", "--ca-file", "/nope"], 64, "unusable_input"),
                    (["devices", "import", "/tmp"], 64, "unusable_input"),
                    (["apps", "delete", "garden"], 64, "unusable_input"),
                    (["wakeup", "disable"], 64, "unusable_input"),
                    (["wakeup", "subscriptions", "show", "9"], 65, "unknown_app"),
                    (["apps", "list", "--url", "http://127.0.0.1:1"], 69, "unreachable"),
                    (["apps", "list", "--key-file", "/nope"], 77, "no_permission"),
                ]
                for (arguments, code, problem) in cases {
                    let reported = try await world.command(arguments + ["--json"], gateway)
                    #expect(reported.code == code && reported.printed.isEmpty, "carillon \(arguments): \(reported)")
                    let input = try? JSONReader.read(Array(reported.input.utf8)).object
                    #expect(input?["code"]?.string == problem, "carillon \(arguments): \(reported.input)")
                    #expect(input?["detail"]?.string?.isEmpty == false, "carillon \(arguments): \(reported.input)")
                }
                let refused = try await world.command(["messages", "list", "--json"], gateway, key: "wrong")
                #expect(refused.code == 77 && refused.printed.isEmpty && refused.input.contains(#""status":401"#))
                try await gateway.stopGently()
            }
        }

        @Test("contains one line per refusal and per step of an import")
        func importing() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                let file = world.folder.appending(path: "devices.ndjson")
                try Data((([Device](.live, 1)[0].registration()) + "\n{}\n").utf8).write(to: file)
                let path = file.path(percentEncoded: false)
                let reported = try await world.command(["devices", "import", path, "--json"], gateway)
                #expect(reported.code == 1)
                let lines = reported.printed.split(separator: "\n").map { try? JSONReader.read(Array($0.utf8)).object }
                #expect(!lines.contains { $0 == nil } && lines.last??["done"] == true)
                #expect(lines.contains { $0?["line"]?.integer == 2 })
                try await gateway.stopGently()
            }
        }
    }
}

extension LongJourneys {
    @Suite("The JSON output of benchmarks in all variants")
    struct BenchOutputTests {
        @Test("consists of one document per benchmark")
        func oneDocument() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let lines = Journeys.JSONOutputTests.otherBenches(world.folder.path(percentEncoded: false))
                try await Journeys.JSONOutputTests.expectDocuments(of: lines, world, gateway)
                try await gateway.stopGently()
            }
        }
    }
}
