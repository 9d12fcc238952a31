import Foundation
import JSON
import TestSupport
import Testing

extension Journeys {
    @Suite("A message with placeholders")
    struct TemplateTests {
        private static let phones = [Device](.live, 4)
        /// The values of each phone: a name that needs escapes, no name, one too long for any payload, and a French
        /// locale.
        private static let input = [
            #""user": "ann", "attributes": {"name": "Ann \"the\\first\" \n🔔"}"#,
            #""attributes": {"name": ["no", "text"]}"#,
            #""attributes": {"name": "\#(String(repeating: "x", count: 5_000))"}"#,
            #""locale": "fr-CA", "attributes": {"name": 12.50}"#,
        ]
        private static let message = #"""
            {"audience": {"all": true}, "badge": "increment",
             "notification": {"body": "Hi {{attributes.name | default: 'you'}}",
                              "localizations": {"fr": {"body": "Salut {{ attributes.name }}"}}},
             "data": {"account": "{{user}}", "deep": {"name": "{{attributes.name|default:'\"you\"'}}"}}}
            """#

        @Test("reaches each device with its own values, and fails only for one that makes it too large")
        func thread() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [], through: gateway)
                try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
                for (phone, input) in zip(Self.phones, Self.input) {
                    let body = phone.registration(named: false).dropLast() + ", \(input)}"
                    try await gateway.api.expect(
                        201, "PUT", "/v1/apps/garden/devices/\(phone.installation)", String(body))
                }
                let token = "live-0000000000000000"
                try await gateway.api.expect(
                    201, "PUT", "/v1/apps/garden/devices/android",
                    #"{"provider": "fcm", "token": "\#(token)", "user": "ben", "attributes": {"name": "Ben \"b\""}}"#)
                let account = try await gateway.finished(
                    try await gateway.send(.garden, Self.message)[0], of: .garden)
                #expect(account.audience == 5 && account.addsUp)
                #expect(account.outcomes["accepted"] == 4 && account.outcomes["rejected"] == 1)
                #expect(account.reasons?.map(\.reason).contains("payload_too_large") == true)
                var read: [[String?]] = []
                for phone in Self.phones {
                    let pushes = await world.production.simulator.received(phone.deviceToken)
                    for push in pushes {
                        let body = try #require(try JSONReader.read(push.body).object)
                        let deep = body["deep"]?.object?["name"]?.string
                        let alert = body["aps"]?.object?["alert"]?.object?["body"]?.string
                        read.append([alert, body["account"]?.string, deep])
                        #expect(body["aps"]?.object?["badge"] == 1)
                    }
                }
                let name = "Ann \"the\\first\" \n🔔"
                #expect(
                    read == [
                        ["Hi \(name)", "ann", name], ["Hi you", "", "\"you\""], ["Salut 12.50", "", "12.50"],
                    ])
                let android = try await world.google.messages(to: token)
                #expect(android.map { $0["notification"]?.object?["body"]?.string } == ["Hi Ben \"b\""])
                let data = android.first?["data"]?.object
                #expect(data?["account"]?.string == "ben" && data?["deep"]?.string == #"{"name":"Ben \"b\""}"#)
                try await gateway.stopGently()
            }
        }

        @Test("shows each device its own values even if many waiting messages leave together")
        func together() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "An app"}"#)
                for (place, phone) in Self.phones.enumerated() {
                    let input = #", "attributes": {"name": "\#(place)"}}"#
                    try await gateway.api.expect(
                        201, "PUT", "/v1/apps/garden/devices/\(phone.installation)",
                        String(phone.registration(named: false).dropLast() + input))
                }
                var messages: [String] = []
                // The newest registrations come first, and each comes twice.
                for phone in Self.phones.reversed() + Self.phones {
                    messages += try await gateway.send(
                        .garden,
                        """
                        {"audience": {"installations": ["\(phone.installation)"]},
                         "notification": {"body": "Hi {{attributes.name | default: 'you'}}"}}
                        """)
                }
                try await eventually("all messages to be planned") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(*) FROM parcels") == messages.count
                    }
                }
                try await world.activateToken(for: .garden, through: gateway)
                for message in messages {
                    #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": 1])
                }
                for (place, phone) in Self.phones.enumerated() {
                    let pushes = await world.production.simulator.received(phone.deviceToken)
                    let shown = try pushes.map {
                        try JSONReader.read($0.body).object?["aps"]?.object?["alert"]?.object?["body"]?.string
                    }
                    #expect(shown == ["Hi \(place)", "Hi \(place)"])
                }
                try await gateway.stopGently()
            }
        }

        @Test("ends as suppressed where a device's values leave nothing to show, and counts in no badge")
        func blank() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [], through: gateway)
                try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
                let devices = "/v1/apps/garden/devices"
                for (phone, name) in zip(Self.phones, ["Ann", "", #" \u200b"#]) {
                    let body = phone.registration(named: false).dropLast() + #", "attributes": {"name": "\#(name)"}}"#
                    try await gateway.api.expect(201, "PUT", "\(devices)/\(phone.installation)", String(body))
                }
                let token = "live-0000000000000000"
                try await gateway.api.expect(
                    201, "PUT", devices + "/android", #"{"provider": "fcm", "token": "\#(token)"}"#)
                let blanks = Self.phones[1...2].map(\.installation) + ["android"]
                let named = blanks.map { #""\#($0)""# }.joined(separator: ",")
                // The first is a broadcast, and the second is cut when it is accepted.
                for (audience, accepted) in [(#"{"all": true}"#, 1), (#"{"installations": [\#(named)]}"#, 0)] {
                    let message =
                        #"{"audience": \#(audience), "badge": "increment", "sound": "default", "#
                        + #""notification": {"title": " ", "body": "{{attributes.name}}"}}"#
                    let account = try await gateway.finished(
                        try await gateway.send(.garden, message)[0], of: .garden)
                    #expect(account.addsUp)
                    #expect(account.outcomes["accepted"] == accepted && account.outcomes["suppressed"] == 3)
                    #expect(account.reasons?.map(\.reason) == ["nothing_to_show"])
                }
                for phone in Self.phones[1...2] {
                    #expect(await world.production.simulator.received(phone.deviceToken).isEmpty)
                }
                #expect(try await world.google.messages(to: token).isEmpty)
                for installation in blanks {
                    let badge = try await gateway.api.expect(200, "GET", "\(devices)/\(installation)/badge")
                    #expect(badge.text.contains(#""badge":0"#), "\(badge.text)")
                }
                let preview = try await world.command(
                    [
                        "send", "--installation", Self.phones[1].installation, "--body", "{{attributes.name}}",
                        "--preview",
                    ], gateway)
                #expect(preview.printed.contains("no visible text is left for it"), "\(preview.printed)")
                try await gateway.stopGently()
            }
        }

        @Test("can be previewed with one device's values, and is refused if it is malformed")
        func byHand() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [], through: gateway)
                let phone = Self.phones[0]
                let body = phone.registration(named: false).dropLast() + #", "attributes": {"name": "Ann"}}"#
                try await gateway.api.expect(
                    201, "PUT", "/v1/apps/garden/devices/\(phone.installation)", String(body))
                let text = "Hi {{attributes.name | default: 'you'}}"
                let own = try await world.command(
                    ["send", "--installation", phone.installation, "--body", text, "--preview"], gateway)
                #expect(own.code == 0 && own.printed.contains(#""body":"Hi Ann""#), "\(own.input)")
                let anybody = try await world.command(["send", "--all", "--body", text, "--preview"], gateway)
                #expect(anybody.printed.contains(#""body":"Hi you""#))
                let refused = try await world.command(
                    ["send", "--all", "--body", "Hi {{name}}", "--yes"], gateway)
                #expect(refused.code != 0 && refused.input.contains("At character 6 of the text: name is not a field"))
                try await gateway.stopGently()
            }
        }
    }
}
