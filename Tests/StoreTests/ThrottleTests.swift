import Basis
import Model
import Store
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

@Suite("A device whose item is updated 50 times a second")
struct ThrottleTests {
    private static let updatesPerSecond = 50
    private static let stepsPerSecond = 2
    private static let seconds = 120

    /// The number of the last update by this time.
    private static func update(at seconds: Double) -> Int {
        min(Int(seconds * Double(stepsPerSecond)) + 1, Self.seconds * stepsPerSecond)
            * (updatesPerSecond / stepsPerSecond)
    }

    private static func pushes(of phone: String, at times: [Double]) -> [String] {
        times.map { "\(phone) price: \(update(at: $0))" }
    }

    /// Two minutes of updates, and the time until the last push. Each step takes its updates, and does what is due.
    private static func run(_ items: ItemWorld) async throws {
        let inStep = updatesPerSecond / stepsPerSecond
        for step in 0..<(seconds + 30) * stepsPerSecond {
            let now = dawn + .milliseconds(1_000 * step / stepsPerSecond)
            if step < seconds * stepsPerSecond {
                let updates = try (step * inStep + 1...(step + 1) * inStep).map { number in
                    try ItemWorld.update("anduct", #"{"last_price": \#(number)}"#)
                }
                let result = await items.stores.updates.take(updates, app: items.world.app, now: now)
                #expect(result.replies.allSatisfy { $0 == .success(.taken) })
            }
            try await items.follow(at: now)
            try await items.release(at: now)
        }
    }

    @Test("gets a push each 30 seconds for two minutes, and the newest texts last")
    func twoMinutes() async throws {
        try await withItems { items in
            for (phone, pause, whenPaused) in [
                ("holder", Int32(30), WhenPaused.newest), ("dropper", 30, .drop), ("eager", 0, .newest),
            ] {
                try await items.register(phone)
                let terms = try ItemWorld.terms(["anduct"], text: "price").pausing(pause, whenPaused)
                try await items.subscribe(phone, terms)
            }
            try await Self.run(items)
            let cut = try await items.cut()
            func pushes(of phone: String) -> [String] { cut.filter { $0.hasPrefix(phone) } }
            // The first second of updates is gathered. Each push then shuts the window for 30 seconds.
            let whenOpen: [Double] = [1, 31, 61, 91]
            #expect(pushes(of: "holder") == Self.pushes(of: "holder", at: whenOpen + [121]).sorted())
            #expect(Self.update(at: 121) == 6_000, "the last push has the newest text")
            // A round ends the gathering, and the update of the next step begins another one.
            #expect(pushes(of: "dropper") == Self.pushes(of: "dropper", at: whenOpen).sorted())
            let rounds = stride(from: 1, to: Double(Self.seconds), by: 1.5)
            #expect(pushes(of: "eager") == Self.pushes(of: "eager", at: Array(rounds)).sorted())
            #expect(try await items.held() == [])
            #expect(try await items.number(of: "item_due") == 0)
        }
    }

    @Test("gets a trigger's push once, in its turn, with the text that fired it")
    func triggered() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"], text: "price"))
            let trigger = "Integer.parseInt(${last_price}) >= 2000"
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"], trigger: trigger, text: "alert"))
            try await Self.run(items)
            // It fires after 39.5 seconds. The followers' push has waited longer, so the trigger's goes at 91 seconds.
            let expected = ["phone alert: 2000"] + Self.pushes(of: "phone", at: [1, 31, 61, 121])
            #expect(try await items.cut() == expected.sorted())
            #expect(try await items.held() == [])
        }
    }
}
