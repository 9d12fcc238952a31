import JSON
import TestSupport
import Testing

extension Journeys {
    /// The behaviours of the described service's document, in its order: docs/triggers.md maps its sentences.
    @Suite("Subscriptions to items, as the described service has them")
    struct TriggerSeedTests {
        typealias Journey = TriggerJourney

        /// The document's first subscription.
        static let quotes = #"""
            {"items": ["anduct"], "mode": "MERGE", "fields": ["last_price", "time", "pct_change", "stock_name"],
             "notification": {"body": "Stock ${stock_name} is now ${last_price}"}, "sound": "Default", "badge": "AUTO",
             "data": {"item": "anduct"}, "category": "STOCK_PRICE_CATEGORY", "coalescing": true}
            """#

        /// A subscription with a trigger.
        static func threshold(_ condition: String) -> String {
            #"""
            {"items": ["anduct"], "fields": ["stock_name", "last_price"],
             "trigger": "Double.parseDouble(${last_price}) \#(condition)",
             "notification": {"body": "${stock_name} \#(condition): ${last_price}"}}
            """#
        }

        /// The forms of `threshold`.
        static let allow = #"{"allow": ["Double[.]parseDouble[(][$][{]last_price[}][)] [<>] [0-9.]+"]}"#

        /// "with only a few restrictions", "these fields must be part of the subscription".
        @Test("refuse modes, selectors and fields that a push can't have, and are off by default")
        func restrictions() async throws {
            try await Journey.within { journey in
                func terms(_ members: String, body: String = "${last_price}") -> String {
                    let text = #""notification": {"body": "\#(body)"}"#
                    return #"{"items": ["anduct"], "fields": ["last_price"], \#(members)\#(text)}"#
                }
                try await journey.register(Journey.iPhone)
                for members in [
                    #""mode": "COMMAND", "#, #""mode": "RAW", "#, #""mode": "UNFILTERED", "#, #""selector": "x", "#,
                ] {
                    try await journey.refused(422, "mode_not_supported", activation: terms(members))
                }
                for text in ["${time}", "$[2]", "$[0]"] {
                    try await journey.refused(422, "field_not_subscribed", activation: terms("", body: text))
                }
                for text in ["${last_price", "{{user}}"] {
                    try await journey.refused(422, "invalid_template", activation: terms("", body: text))
                }
                #expect(try await journey.keys() == [])
                try await journey.set(#"{"enabled": false, "pause_seconds": 30}"#)
                try await journey.refused(403, "disabled", activation: terms(""))
                // A new app shows the defaults.
                let made = #"{"slug": "forest", "name": "Another app"}"#
                try await journey.gateway.api.expect(201, "POST", "/v1/apps", made)
                let shown = try await journey.gateway.api.expect(200, "GET", "/v1/apps/forest").text
                let settings = try JSONReader.read(Array(shown.utf8)).object?["triggers"]?.object
                #expect(settings?["enabled"] == false && settings?["pause_seconds"] == 30)
                #expect(settings?["allow"] == [])
                try await journey.gateway.stopGently()
            }
        }

        /// "Registering the Device": FirstUse, NotChanged, Changed, and a change that fails.
        @Test("belong to the phone that a user's token registered, and go on with its new device token")
        func registration() async throws {
            try await Journey.within { journey in
                let phone = Journey.iPhone
                let renewed = Device(installation: phone.installation, token: [Device](.live, 2)[1].token)
                #expect(try await journey.register(phone) == "first_use")
                #expect(try await journey.register(phone) == "unchanged")
                let quotes = try await journey.activate(Self.quotes)
                #expect(try await journey.register(renewed) == "changed")
                try await journey.update(#"{"stock_name": "Anduct", "last_price": "2.84"}"#)
                #expect(try await journey.shown(1, of: renewed) == ["Stock Anduct is now 2.84"])

                try await journey.set(#"{"hooks": {"token": null}}"#)
                try await journey.refused(
                    403, "permission_denied", "PUT", Journey.device(phone), Journey.registration(phone))
                #expect(try await journey.keys() == [quotes.key], "the subscriptions can still be inquired")
                try await journey.update(#"{"last_price": "2.85"}"#)
                #expect(try await journey.shown(2, of: renewed)[1] == "Stock Anduct is now 2.85")

                // The app starts anew, and activates its subscriptions again.
                try await journey.ann.expect(204, "DELETE", Journey.device(phone))
                #expect(try await journey.register(phone) == "first_use")
                try await journey.activate(Self.quotes)
                try await journey.update(#"{"last_price": "2.86"}"#)
                #expect(try await journey.shown(1) == ["Stock Anduct is now 2.86"])
                #expect(try await journey.shown(2, of: renewed).count == 2)
                try await journey.gateway.stopGently()
            }
        }

        /// "Activating an MPN Subscription on iOS/OS X".
        @Test("show an iPhone the filled format, with a badge that the server counts and the app resets")
        func format() async throws {
            try await Journey.within { journey in
                try await journey.register(Journey.iPhone)
                // Subscriptions have no snapshot: this is never sent.
                try await journey.update(#"{"stock_name": "Anduct", "last_price": "2.80", "time": "10:00"}"#)
                #expect(try await journey.activate(Self.quotes).status == "active")
                try await journey.update(#"{"last_price": "2.84"}"#)
                let first = try await journey.payloads(1)[0]
                let aps = first["aps"]?.object
                #expect(aps?["alert"] == ["body": "Stock Anduct is now 2.84"])
                #expect(aps?["sound"] == "Default" && aps?["badge"] == 1)
                #expect(aps?["category"] == "STOCK_PRICE_CATEGORY")
                #expect(first["item"] == "anduct")
                try await journey.update(#"{"last_price": 2.90}"#)
                let second = try await journey.payloads(2)[1]["aps"]?.object
                #expect(second?["badge"] == 2)
                #expect(second?["alert"] == ["body": "Stock Anduct is now 2.90"])
                try await journey.ann.expect(200, "PUT", Journey.device(Journey.iPhone) + "/badge", #"{"badge": 0}"#)
                try await journey.update(#"{"last_price": "2.90"}"#)
                #expect(try await journey.payloads(3)[2]["aps"]?.object?["badge"] == 1)
                #expect(try await journey.shown(3)[2] == "Stock Anduct is now 2.90", "an unchanged value counts")
                try await journey.gateway.stopGently()
            }
        }

        /// "a default of 1 notification every 30 seconds per device".
        @Test("wait for their device's pause: the newest goes after it, and a trigger's in any case")
        func throttle() async throws {
            try await Journey.within { journey in
                try await journey.set(Self.allow)
                try await journey.set(#"{"pause_seconds": 6}"#)
                try await journey.register(Journey.iPhone)
                try await journey.activate(Self.quotes)
                let threshold = try await journey.activate(Self.threshold("> 2.9"))
                try await journey.modify(threshold.key, #"{"pause_seconds": 0}"#)
                func held(_ count: Int) async throws {
                    try await eventually("\(count) pushes to be held") {
                        try await journey.world.database {
                            try await $0.number("SELECT count(*) FROM held_pushes") == count
                        }
                    }
                }
                try await journey.update(#"{"stock_name": "Anduct", "last_price": "2.84"}"#)
                _ = try await journey.shown(1)
                try await journey.update(#"{"last_price": "2.95"}"#)
                try await held(2)
                try await journey.update(#"{"last_price": "2.70"}"#)
                #expect(
                    try await journey.shown(3) == [
                        "Stock Anduct is now 2.84", "Anduct > 2.9: 2.95", "Stock Anduct is now 2.70",
                    ])
                try await held(0)
                try await journey.gateway.stopGently()
            }
        }

        /// "Activating an MPN Subscription on Android".
        @Test("give an Android app a data map, with collapse key, time to live and priority")
        func dataMap() async throws {
            try await Journey.within { journey in
                try await journey.register(Journey.android)
                let terms = #"""
                    {"items": ["anduct"], "mode": "MERGE", "fields": ["stock_name", "last_price", "time"],
                     "data": {"stock_name": "${stock_name}", "last_price": "$[2]", "time": "${time}"},
                     "collapse_key": "Stock update", "time_to_live": "300", "coalescing": true,
                     "delay_while_idle": "FLAG"}
                    """#
                try await journey.activate(terms.replacing("FLAG", with: "false"), Journey.android)
                try await journey.update(#"{"stock_name": "Anduct", "last_price": "2.84"}"#)
                let first = try await journey.messages(1)[0]
                let data = first["data"]?.object
                #expect(data?["stock_name"] == "Anduct" && data?["last_price"] == "2.84")
                #expect(data?["time"] == "", "a field without a value is empty")
                let android = first["android"]?.object
                #expect(android?["collapse_key"] == "Stock update" && android?["ttl"] == "300s")
                #expect(android?["priority"] == "HIGH")
                #expect(first["notification"] == nil && android?["notification"] == nil)
                #expect(first["webpush"]?.object?["notification"] == nil)

                try await journey.activate(terms.replacing("FLAG", with: "true"), Journey.android, expecting: 200)
                try await journey.update(#"{"time": "10:01"}"#)
                let second = try await journey.messages(2)[1]
                #expect(second["data"]?.object?["last_price"] == "2.84", "MERGE keeps the last value")
                #expect(second["android"]?.object?["priority"] == "NORMAL")
                try await journey.gateway.stopGently()
            }
        }
    }
}
