import JSON
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A notification with a picture, a link and a level of interruption")
    struct RichNotificationTests {
        @Test("reaches an iPhone and an Android phone by options of send alone, in each one's form")
        func sent() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let (iPhone, android) = ([Device](.live, 1)[0], "live-0000000000000000")
                try await world.fill(.garden, [iPhone], through: gateway)
                try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
                try await gateway.api.expect(
                    201, "PUT", "/v1/apps/garden/devices/android", #"{"provider": "fcm", "token": "\#(android)"}"#)
                let options = [
                    "--body", "Noon", "--image", "https://a.example/n.png", "--link", "app://noon", "--text",
                    "fr:link=app://midi", "--category", "NEWS", "--channel", "news", "--thread", "t1", "--interruption",
                    "time_sensitive",
                ]
                let receivers = ["--installation", iPhone.installation, "--installation", "android"]
                let sent = try await world.command(["send"] + receivers + options, gateway)
                #expect(sent.code == 0, "\(sent)")

                let push = try #require(await world.production.simulator.received(iPhone.deviceToken).first)
                let payload = try #require(try JSONReader.read(push.body).object)
                #expect(
                    payload["aps"] == [
                        "alert": ["body": "Noon"], "category": "NEWS", "thread-id": "t1",
                        "interruption-level": "time-sensitive", "mutable-content": 1,
                    ])
                #expect(payload["carillon_image"] == "https://a.example/n.png")
                #expect(payload["carillon_link"] == "app://noon")

                let message = try #require(try await world.google.messages(to: android).first)
                #expect(message["notification"] == ["body": "Noon", "image": "https://a.example/n.png"])
                #expect(message["data"]?.object?["carillon_link"] == "app://noon")
                let shown = message["android"]?.object?["notification"]?.object
                #expect(shown?["channel_id"] == "news" && shown?["notification_priority"] == "PRIORITY_HIGH")

                // `messages show` returns the request as it was sent, so that a copy can be edited.
                let id = try #require(sent.printed.split(separator: "\n").first)
                let shownMessage = try await world.command(["messages", "show", String(id), "--json"], gateway)
                let stored = try JSONReader.read(Array(shownMessage.printed.utf8)).object?["request"]?.object
                #expect(stored?["notification"]?.object?["interruption"] == "time_sensitive")
                #expect(stored?["notification"]?.object?["localizations"] == ["fr": ["link": "app://midi"]])
                try await gateway.stopGently()
            }
        }
    }
}
