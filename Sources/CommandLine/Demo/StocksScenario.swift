import JSON

/// The story of the demonstration of stocks: an app, three phones, and a ticker that updates items.
struct StocksScenario {
    static let app = "stocks"

    private struct Stock {
        let item: String
        let name: String
        let openingPrice: String
    }

    private static let stocks = [
        Stock(item: "anduct", name: "Anduct", openingPrice: "2.80"),
        Stock(item: "ations", name: "Ations Europe", openingPrice: "16.10"),
        Stock(item: "belorum", name: "Belorum Group", openingPrice: "7.05"),
        Stock(item: "corvanta", name: "Corvanta", openingPrice: "31.40"),
        Stock(item: "dorvane", name: "Dorvane PLC", openingPrice: "109.90"),
        Stock(item: "ellipta", name: "Ellipta Motors", openingPrice: "54.25"),
    ]

    private static let allowed = "Double[.]parseDouble[(][$][{]last_price[}][)] [<>] [0-9.]+"
    private static let fields: JSONValue = ["stock_name", "last_price"]

    /// An update of the ticker. The name of a stock comes with its opening price alone, and the item keeps it.
    private struct Update {
        let item: String
        let name: String?
        let price: String

        init(_ item: String, name: String? = nil, _ price: String) {
            (self.item, self.name, self.price) = (item, name, price)
        }

        /// A line of the stream.
        func line(_ number: Int) -> [UInt8] {
            var fields = JSONObject([JSONMember("last_price", .string(price))])
            if let name { fields["stock_name"] = .string(name) }
            let line: JSONValue = ["line": .integer(number), "item": .string(item), "fields": .object(fields)]
            return line.bytes + [UInt8(ascii: "\n")]
        }
    }

    private let narrator: Narrator
    private let client: GatewayClient
    private let standIns: OwnStandIns
    private var phones = [StockPhone.iPhone("phone-1"), .android("phone-2"), .android("phone-3")]
    private var quotesPhone: StockPhone { phones[0] }
    private var thresholdsPhone: StockPhone { phones[1] }
    private var dataPhone: StockPhone { phones[2] }
    /// The ticker's last line that the gateway has taken.
    private var line = 0

    /// A push follows its update within three seconds.
    private static let pushTimeout: Duration = .seconds(60)
    private static let pause: Duration = .milliseconds(50)

    init(narrator: Narrator, client: GatewayClient, standIns: OwnStandIns) {
        (self.narrator, self.client, self.standIns) = (narrator, client, standIns)
    }

    private static func path(_ segments: String...) -> String {
        "/v1/apps/" + ([app] + segments).joined(separator: "/")
    }

    private static func subscriptions(of phone: StockPhone, _ suffix: String = "") -> String {
        path("devices", phone.name, "subscriptions") + suffix
    }

    func prepare() async throws {
        try await client.send("POST", "/v1/apps", ["slug": .string(Self.app), "name": "The Stock List"], as: .app)
        for credential in try standIns.credentials() {
            try await client.send("POST", Self.path("credentials"), credential, as: .list(of: .credential))
        }
        let triggers: JSONValue = ["enabled": true, "pause_seconds": 1, "allow": [.string(Self.allowed)]]
        try await client.send("PATCH", Self.path(), ["triggers": triggers], as: .app)
        narrator.write("The app is \(Self.app). A phone gets a push a second at most.")
        for phone in phones {
            let device = Self.path("devices", phone.name)
            // An earlier run may have left it behind, with its subscriptions and badge.
            do throws(CommandFault) { try await client.order("DELETE", device) } catch {
                guard error.kind == .refused else { throw error }
            }
            try await client.send("PUT", device, phone.registration, as: .registeredDevice)
            narrator.write("\(phone.name) is \(phone.kind).")
        }
    }

    mutating func subscribe() async throws {
        line = try through(of: try await client.call("POST", Self.ticker, []))
        let opening = Self.stocks.map { Update($0.item, name: $0.name, $0.openingPrice) }
        try await tick("The ticker starts. Nobody has subscribed, so that no push is made", opening, [0, 0, 0])
        try await subscribeToQuotes()
        try await subscribeToThresholds()
        try await activate(
            [
                "items": ["belorum"], "fields": Self.fields,
                "data": ["stock_name": "${stock_name}", "last_price": "${last_price}"], "time_to_live": 300,
            ], for: dataPhone)
        narrator.write("\(dataPhone.name) wants the price of Belorum as data, which its app reads itself.")
    }

    private func subscribeToQuotes() async throws {
        let quotes: JSONValue = [
            "items": ["anduct"], "fields": Self.fields, "coalescing": true,
            "notification": ["body": "Stock ${stock_name} is now ${last_price}"], "badge": "AUTO", "pause_seconds": 1,
        ]
        let first = try await activate(quotes, for: quotesPhone)
        guard try await activate(quotes, for: quotesPhone) == first else {
            throw CommandFault(.failed, "two activations with coalescing made two subscriptions")
        }
        narrator.write(
            "\(quotesPhone.name) wants each price of Anduct. Its app says so at each start, by coalescing: there is one "
                + "subscription.")
    }

    private func subscribeToThresholds() async throws {
        for (relation, word, price) in [(">", "above", "17.0"), ("<", "below", "15.0")] {
            var terms = JSONObject([
                JSONMember("items", ["ations"]), JSONMember("fields", Self.fields), JSONMember("badge", "AUTO"),
                JSONMember("pause_seconds", 0),
            ])
            for member in Self.threshold(relation, word, price) { terms[member.name] = member.value }
            try await activate(.object(terms), for: thresholdsPhone)
            narrator.write("\(thresholdsPhone.name) wants to know once when Ations is \(word) \(price).")
        }
    }

    /// The members of a subscription that a moved threshold changes.
    private static func threshold(_ relation: String, _ word: String, _ price: String) -> [JSONMember] {
        [
            JSONMember("trigger", .string("Double.parseDouble(${last_price}) \(relation) \(price)")),
            JSONMember("notification", ["body": .string("${stock_name} is \(word) \(price): ${last_price}")]),
        ]
    }

    @discardableResult
    private func activate(_ terms: JSONValue, for phone: StockPhone) async throws -> String {
        try await client.send("POST", Self.subscriptions(of: phone), terms, as: .itemSubscription).shown("key")
    }
}

// The ticker, and the pushes that its updates make.
extension StocksScenario {
    private static var ticker: String { path("updates") + "?producer=ticker" }

    mutating func trade() async throws {
        try await tick(
            "Anduct rises twice within a second: one push shows the newest price",
            [Update("anduct", "2.83"), Update("anduct", "2.84"), Update("ations", "16.40"), Update("belorum", "7.10")],
            [1, 0, 1])
        try await tick(
            "Ations rises above the upper threshold",
            [Update("anduct", "2.86"), Update("ations", "17.20"), Update("corvanta", "31.65")], [1, 1, 0])
        try await client.send("PUT", Self.path("devices", quotesPhone.name, "badge"), ["badge": 0], as: .badge)
        narrator.write("\(quotesPhone.name) opens its app, which resets the badge.")
        try await tick(
            "Ations rises further, and its threshold has fired already",
            [Update("anduct", "2.79"), Update("ations", "17.60"), Update("dorvane", "109.20")], [1, 0, 0])
        try await tick(
            "Ations falls below the lower threshold", [Update("ations", "14.90"), Update("ellipta", "54.30")],
            [0, 1, 0])
        try await moveThreshold()
        try await tick("Ations rises above the moved threshold", [Update("ations", "18.10")], [0, 1, 0])
    }

    /// Moves the upper threshold by one call, which also arms it again.
    private func moveThreshold() async throws {
        let triggered = try await client.get(
            Self.subscriptions(of: thresholdsPhone), [("status", "triggered")], as: .list(of: .itemSubscription))
        guard let upper = triggered.elements("items").first(where: { $0.shown("trigger").contains(">") }) else {
            throw CommandFault(.failed, "the upper threshold is not triggered")
        }
        let change = JSONValue.object(JSONObject(Self.threshold(">", "above", "18.0")))
        let moved = try await client.send(
            "PATCH", Self.subscriptions(of: thresholdsPhone, "/" + upper.shown("key")), change, as: .itemSubscription)
        guard moved.shown("key") == upper.shown("key"), moved.shown("status") == "active" else {
            throw CommandFault(.failed, "the moved threshold is not active")
        }
        narrator.write("\(thresholdsPhone.name) moves the upper threshold to 18.0, which arms it again.")
    }

    func unsubscribe() async throws {
        let triggered = Self.subscriptions(of: thresholdsPhone, "?status=triggered")
        guard try await client.get(triggered, as: .list(of: .itemSubscription)).elements("items").count == 2 else {
            throw CommandFault(.failed, "both thresholds have fired, and the gateway has not two")
        }
        try await client.order("DELETE", triggered)
        narrator.write("\(thresholdsPhone.name) deletes its two thresholds, which have fired.")
        for phone in phones { try await client.order("DELETE", Self.subscriptions(of: phone)) }
        narrator.write("Further updates make no push.")
    }

    /// Sends updates, and waits until each phone has as many pushes of them.
    private mutating func tick(_ sentence: String, _ updates: [Update], _ counts: [Int]) async throws {
        narrator.write("\(sentence): \(updates.map { "\($0.item) \($0.price)" }.joined(separator: ", "))")
        try await send(updates)
        let clock = ContinuousClock()
        let limit = clock.now + Self.pushTimeout
        for (place, count) in counts.enumerated() {
            var missing = count
            repeat {
                let name = phones[place].name
                let arrived = try await phones[place].receive(from: standIns)
                for push in arrived { narrator.write("  \(name) \(push.sentence)") }
                missing -= arrived.count
                guard missing >= 0 else { throw CommandFault(.failed, "\(name) got more pushes than it should") }
                guard clock.now < limit else { throw CommandFault(.failed, "\(name) got no push within a minute") }
                if missing > 0 { try await Task.sleep(for: Self.pause) }
            } while missing > 0
        }
    }

    /// Sends updates as one request of a stream.
    private mutating func send(_ updates: [Update]) async throws {
        var body: [UInt8] = []
        for update in updates {
            line += 1
            body += update.line(line)
        }
        guard try through(of: try await client.call("POST", Self.ticker, body)) == line else {
            throw CommandFault(.failed, "the gateway did not take all updates of the ticker")
        }
    }

    /// Returns the last line that an answer to the ticker names.
    private func through(of answer: GatewayClient.Answer) throws -> Int {
        let lines = answer.body.split(separator: UInt8(ascii: "\n"))
        let last = try lines.last.map { try GatewayClient.Answer(status: answer.status, body: Array($0)).json() }
        guard let through = last?.object?["through"]?.integer else {
            throw CommandFault(.failed, "the gateway's answer to the ticker names no line")
        }
        return Int(through)
    }

    var json: JSONValue { ["phones": .array(phones.map(\.json))] }
}
