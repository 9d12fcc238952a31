import JSON
import TestSupport
import Testing

extension Journeys.TriggerSeedTests {
    /// "The Coalescing Flag".
    @Test("overwrite one of the same kind if the call asks for that, and are new otherwise")
    func coalescing() async throws {
        try await Journey.within { journey in
            try await journey.register(Journey.iPhone)
            let first = try await journey.activate(Self.quotes)
            let louder = Self.quotes.replacing("Default", with: "Bell")
            #expect(try await journey.activate(louder, expecting: 200).key == first.key)
            let another = Self.quotes.replacing(#""coalescing": true"#, with: #""coalescing": false"#)
            let second = try await journey.activate(another)
            #expect(second.key != first.key)
            try await journey.update(#"{"stock_name": "Anduct", "last_price": "2.84"}"#)
            let sounds = try await journey.payloads(2).map { $0["aps"]?.object?["sound"]?.string }
            #expect(sounds.count == 2 && Set(sounds) == ["Bell", "Default"])

            // The flag guarantees that two calls at once make one subscription.
            try await journey.register(Journey.android)
            async let one = journey.ann.call("POST", Journey.subscriptions(Journey.android), Self.quotes)
            async let other = journey.ann.call("POST", Journey.subscriptions(Journey.android), Self.quotes)
            let statuses = try await [one.status, other.status].sorted()
            #expect(statuses == [200, 201])
            #expect(try await journey.keys(nil, Journey.android).count == 1)
            try await journey.gateway.stopGently()
        }
    }

    /// "Triggers".
    @Test("send a trigger's push once, stay triggered until armed again, and survive a restart")
    func triggers() async throws {
        try await Journey.within { journey in
            try await journey.register(Journey.iPhone)
            let above = Self.threshold("> 100.0")
            // With the default configuration all triggers are refused.
            try await journey.refused(403, "trigger_not_allowed", activation: above)
            try await journey.set(Self.allow)
            let other = above.replacing("Double.parseDouble", with: "Integer.parseInt")
            try await journey.refused(403, "trigger_not_allowed", activation: other)
            try await journey.refused(422, "invalid_trigger", activation: Self.threshold("> "))
            try await journey.refused(
                422, "field_not_subscribed", activation: above.replacing("(${last_price})", with: "(${time})"))

            let key = try await journey.activate(above).key
            try await journey.update(#"{"stock_name": "Anduct", "last_price": "99.5"}"#)
            try await journey.update(#"{"last_price": "100.0"}"#)
            #expect(try await journey.status(of: key) == "active")
            try await journey.update(#"{"last_price": "100.5"}"#)
            #expect(try await journey.status(of: key) == "triggered")
            #expect(try await journey.shown(1) == ["Anduct > 100.0: 100.5"])
            try await journey.update(#"{"last_price": "101"}"#)

            let next = try await journey.restarted()
            #expect(try await next.status(of: key) == "triggered")
            try await next.ann.expect(200, "POST", Journey.subscription(key) + "/reactivate")
            #expect(try await next.status(of: key) == "active")
            try await next.update(#"{"last_price": "102"}"#)
            #expect(try await next.shown(2) == ["Anduct > 100.0: 100.5", "Anduct > 100.0: 102"])
            try await next.gateway.stopGently()
        }
    }

    /// "Managing MPN subscriptions".
    @Test("answer by key and status, keep their key when modified, and end one by one or by status")
    func managing() async throws {
        try await Journey.within { journey in
            try await journey.set(Self.allow)
            try await journey.register(Journey.iPhone)
            try await journey.register(Journey.android)
            let above = try await journey.activate(Self.threshold("> 100.0")).key
            let below = try await journey.activate(Self.threshold("< 50.0")).key
            let quotes = try await journey.activate(Self.quotes).key
            let foreign = try await journey.activate(Self.quotes, Journey.android).key
            try await journey.update(#"{"stock_name": "Anduct", "last_price": "101"}"#)
            #expect(try await journey.keys() == [above, below, quotes])
            #expect(try await journey.keys("active") == [below, quotes])
            #expect(try await journey.keys("triggered") == [above])
            try await journey.refused(404, "unknown_subscription", "GET", Journey.subscription(foreign))
            #expect(Set(try await journey.shown(2)) == ["Anduct > 100.0: 101", "Stock Anduct is now 101"])

            let format = #"{"notification": {"body": "${stock_name} moved to $[1]"}}"#
            #expect(try await journey.modify(quotes, format).key == quotes)
            try await journey.update(#"{"last_price": "102"}"#)
            #expect(try await journey.shown(3)[2] == "Anduct moved to 102")

            try await journey.deactivate("triggered")
            #expect(try await journey.keys() == [below, quotes])
            try await journey.ann.expect(204, "DELETE", Journey.subscription(below))
            try await journey.refused(404, "unknown_subscription", "GET", Journey.subscription(below))
            #expect(try await journey.keys() == [quotes])
            // The last one takes the device along.
            try await journey.ann.expect(204, "DELETE", Journey.subscription(quotes))
            try await journey.refused(404, "unknown_device", "GET", Journey.subscriptions(Journey.iPhone))
            try await journey.refused(
                404, "unknown_device", "GET", Journey.device(Journey.iPhone), by: journey.gateway.api)
            #expect(try await journey.keys(nil, Journey.android) == [foreign])
            try await journey.gateway.stopGently()
        }
    }

    /// "Authentication and Authorization".
    @Test("ask the app's hooks about devices, items and fields, and never serve another user")
    func authorization() async throws {
        try await Journey.within { journey in
            try await journey.set(
                #"""
                {"hooks": {"device": "root.blocked[auth.sub] != true", "activation": "field != 'book_value'"}}
                """#)
            let (phone, backend) = (Journey.iPhone, journey.gateway.api)
            let path = Journey.subscriptions(phone)
            let terms = #"{"items": ["anduct"], "fields": ["book_value"], "notification": {"body": "$[1]"}}"#
            try await journey.register(phone)
            try await journey.refused(403, "permission_denied", activation: terms)
            // A backend's key is asked nothing.
            let granted = try await backend.expect(201, "POST", path, terms).decoded(Journey.Subscription.self).key
            #expect(try await journey.keys() == [granted])

            try await backend.expect(204, "PUT", "/base/garden/blocked/ann.json", "true")
            try await journey.refused(403, "permission_denied", "GET", path)
            try await journey.refused(403, "permission_denied", activation: Self.quotes)
            try await backend.expect(204, "DELETE", "/base/garden/blocked/ann.json")
            #expect(try await journey.keys() == [granted])

            let eve = try journey.api(of: "eve")
            try await journey.refused(404, "unknown_device", "GET", path, by: eve)
            try await journey.refused(404, "unknown_device", "POST", path, Self.quotes, by: eve)
            try await journey.refused(
                403, "permission_denied", "PUT", Journey.device(phone), Journey.registration(phone), by: eve)
            let asBob = #"{"provider": "fcm", "token": "\#(Journey.android.token)", "user": "bob"}"#
            try await journey.refused(403, "permission_denied", "PUT", Journey.device(Journey.android), asBob)
            try await journey.gateway.stopGently()
        }
    }

    /// "Summing Things Up": the start-up cycle, and the three uses.
    @Test("need one call for each step of an app's start, and for each of its three uses")
    func oneCallEach() async throws {
        try await Journey.within { journey in
            try await journey.set(Self.allow)
            func start() async throws -> Set<String> {
                try await journey.register(Journey.iPhone)
                try await journey.deactivate("triggered")
                return try await journey.keys("active")
            }
            #expect(try await start() == [])
            // Enabling the price notification, also where it is enabled already.
            let price = try await journey.activate(Self.quotes).key
            #expect(try await journey.activate(Self.quotes, expecting: 200).key == price)
            // Adding a threshold, and changing it.
            let threshold = try await journey.activate(Self.threshold("> 100.0")).key
            let moved = #"{"trigger": "Double.parseDouble(${last_price}) > 110.0"}"#
            #expect(try await journey.modify(threshold, moved).key == threshold)
            try await journey.update(#"{"stock_name": "Anduct", "last_price": "105"}"#)
            #expect(try await journey.shown(1) == ["Stock Anduct is now 105"])
            #expect(try await start() == [price, threshold])
            try await journey.update(#"{"last_price": "111"}"#)
            #expect(
                Set(try await journey.shown(3)) == [
                    "Stock Anduct is now 105", "Anduct > 100.0: 111", "Stock Anduct is now 111",
                ])
            // Changing a threshold that has fired arms it again.
            let again = try await journey.modify(
                threshold, #"{"trigger": "Double.parseDouble(${last_price}) > 120.0"}"#)
            #expect(again.key == threshold && again.status == "active")
            try await journey.update(#"{"last_price": "121"}"#)
            _ = try await journey.shown(5)
            #expect(try await start() == [price])

            // A phone that is not registered yet needs one call.
            let device = #"{"device": \#(Journey.registration(Journey.android)), "#
            try await journey.activate(device + String(Self.quotes.dropFirst()), Journey.android)
            #expect(try await journey.keys(nil, Journey.android).count == 1)
            try await journey.gateway.stopGently()
        }
    }
}
