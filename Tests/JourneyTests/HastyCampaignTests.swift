import Foundation
import Glibc
import TestSupport
import Testing

extension Journeys {
    @Suite("A campaign that is stopped in a hurry")
    struct HastyCampaignTests {
        @Test("prints its id first, continues after Ctrl-C, and is cancelled without its id")
        func stopped() async throws {
            let live = [Device](.live, 500)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                let settings = ["URL": gateway.api.base.absoluteString, "KEY": gateway.api.key, "APP": "garden"]
                let sender = try Program(
                    ["send", "--all", "--body", World.text, "--rate", "1", "--yes"], settings: settings,
                    logs: world.folder)
                let id = try await foundEventually("the command to print the message's id") {
                    sender.printed.split(separator: "\n").first.map(String.init)
                }
                try await world.production.accepted(atLeast: 1)
                sender.kill(SIGINT)
                #expect(try await sender.end() == .exited(130), "\(sender.loggedLast)")
                #expect(sender.logged.contains("carillon messages cancel \(id) --app garden"))
                #expect(sender.printed.hasPrefix(id + "\n"))

                // Nobody can be asked here. The command names the message and what to add.
                let asked = try await world.command(["messages", "cancel", "--last"], gateway)
                #expect(asked.code == 64 && asked.input.contains("--yes"), "\(asked.input)")
                for part in [id, World.text, "to: everybody", "pushes sent so far: "] {
                    #expect(asked.input.contains(part), "\(asked.input)")
                }
                let cancelled = try await world.command(["messages", "cancel", "--last", "--yes"], gateway)
                #expect(cancelled.code == 0 && cancelled.printed.contains("message \(id)  cancelled"))
                #expect(try await gateway.account(id, of: .garden).state == "cancelled")
                try await gateway.stopGently()
            }
        }

        @Test("asks before the same text goes to the same audience again")
        func twice() async throws {
            let live = [Device](.live, 3)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                let send = ["send", "--all", "--body", World.text, "--text", "fr:body=Midi"]
                let first = try await world.command(send + ["--yes"], gateway)
                let id = try #require(first.printed.split(separator: "\n").first)
                let again = try await world.command(send, gateway)
                #expect(again.code == 64 && again.input.contains("The message \(id) with the same text"))
                #expect(again.input.contains("Send to all 3 devices"), "\(again.input)")
                let other = try await world.command(send + ["--title", "Noon"], gateway)
                #expect(other.code == 64 && !other.input.contains("with the same text"), "\(other.input)")
                #expect(try await world.command(send + ["--yes"], gateway).code == 0)
                try await gateway.stopGently()
            }
        }
    }
}
