import ArgumentParser
import CommandLine

/// `carillon-bench triggers`: updates of an item with many armed triggers, a stream of updates beside raw SQL, and a
/// round of followers beside a broadcast.
struct TriggerBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "triggers", abstract: "Updates of items that many devices subscribe to.",
        discussion: HelpText.of(
            """
            Devices are imported once, and used again by the next run. Each round arms 1,000, then 10,000 and 100,000 \
            triggers on one item, and times updates that fire none of them, and updates that fire ten each. It sends a \
            stream of updates, and writes the same rows with raw SQL to a second database on the same server. Then all \
            devices follow the item. What is timed is one update, from the end of the second in which updates are \
            gathered to the last push, and a broadcast to the same devices.

            It fails if another number of triggers fires, if a stream's line is refused, or if a device gets another \
            number of pushes than one of the update that it follows.
            """,
            examples: ["carillon-bench triggers", "carillon-bench triggers --devices 1000000 --rounds 5 --json"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices follow the item.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many lines the stream has in a round.", valueName: "count")) var lines = 20_000
    @Option(help: ArgumentHelp("How many times all are run, in turn.", valueName: "count")) var rounds = 3

    func validate() throws {
        guard (1_000...10_000_000).contains(devices) else { throw ValidationError("--devices takes 1000 to 10000000.") }
        guard (1_000...1_000_000).contains(lines) else { throw ValidationError("--lines takes 1000 to 1000000.") }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
    }

    func run() async throws {
        try await options.run(standIns: ["--sink", "--open-streams"], data: BenchWorld.data(of: devices)) { world in
            let broadcasts = BroadcastFixture(world: world, devices: devices)
            try await broadcasts.fill()
            var figures = try await TriggerFixture.within(world, devices: devices) { fixture in
                try await ReferenceItems.within(world) { reference in
                    try await measure(fixture, UpdateStreamFixture(world: world), reference, broadcasts)
                }
            }
            figures.memoryBytesMax = world.memoryBytesMax
            if options.json { writeJSON(figures.json) } else { figures.write() }
        }
    }

    private func measure(
        _ fixture: TriggerFixture, _ stream: UpdateStreamFixture, _ reference: ReferenceItems,
        _ broadcasts: BroadcastFixture
    ) async throws -> TriggerFigures {
        // Makes the items, opens connections and prepares statements.
        let first = 0..<TickerLine.items
        _ = try await stream.run(first)
        _ = try await reference.write(first)
        _ = try await broadcasts.broadcast()
        var figures = TriggerFigures(devices: devices, lines: lines)
        var progress = Progress("triggers")
        for round in 0..<rounds {
            for armed in TriggerFigures.armed { figures.add(try await fixture.updates(armed: armed), armed: armed) }
            let numbers = (first.upperBound + round * lines)..<(first.upperBound + (round + 1) * lines)
            let streamed = try await stream.run(numbers)
            figures.add(streamed: streamed, raw: try await reference.write(numbers))
            let followed = try await fixture.follow()
            figures.add(followed: followed, broadcast: try await broadcasts.broadcast().time)
            progress.show(Int64(round + 1), of: Int64(rounds), "rounds")
        }
        progress.end()
        return figures
    }
}
