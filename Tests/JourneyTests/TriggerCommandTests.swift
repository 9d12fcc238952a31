import Foundation
import JSON
import TestSupport
import Testing

extension Journeys {
    @Suite("The demonstration of stocks")
    struct TriggerCommandTests {
        /// A push as the demonstration prints it: its text and its badge.
        private struct Shown: Equatable {
            let text: String?
            let badge: Int64?

            init(_ text: String, _ badge: Int64) { (self.text, self.badge) = (text, badge) }

            init(_ push: JSONValue) { (text, badge) = (push.object?["text"]?.string, push.object?["badge"]?.integer) }
        }

        @Test("shows what a ticker's updates send to three phones, and ends by itself")
        func demo() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let folder = world.folder.appending(path: "demo").path(percentEncoded: false)
                // A second run uses the data of the first.
                for _ in 1...2 {
                    let outcome = try await world.command(["demo", "stocks", "--json", "--folder", folder], gateway)
                    #expect(outcome.code == 0, "\(outcome.input)")
                    #expect(outcome.input.contains("phone-1 shows \"Stock Anduct is now 2.84\" and the badge 1"))
                    #expect(outcome.input.contains("moves the upper threshold to 18.0"))
                    let document = try JSONReader.read(Array(outcome.printed.utf8)).object
                    let phones = document?["phones"]?.array ?? []
                    #expect(phones.map { $0.object?["provider"]?.string } == ["apns", "fcm", "fcm"])
                    let pushes = phones.map { $0.object?["pushes"]?.array ?? [] }
                    try #require(pushes.map(\.count) == [3, 3, 1])
                    #expect(
                        pushes[0].map { Shown($0) } == [
                            Shown("Stock Anduct is now 2.84", 1), Shown("Stock Anduct is now 2.86", 2),
                            Shown("Stock Anduct is now 2.79", 1),
                        ])
                    #expect(
                        pushes[1].map { Shown($0) } == [
                            Shown("Ations Europe is above 17.0: 17.20", 1),
                            Shown("Ations Europe is below 15.0: 14.90", 2),
                            Shown("Ations Europe is above 18.0: 18.10", 3),
                        ])
                    let data = pushes[2][0].object?["data"]?.object
                    #expect(data?["stock_name"] == "Belorum Group" && data?["last_price"] == "7.10")
                }
                try await gateway.stopGently()
            }
        }
    }
}
