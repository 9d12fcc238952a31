import ArgumentParser
import CommandLine

/// `carillon-bench broadcast`: one message to many devices, compared with h2load on the same sink.
struct BroadcastBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcast", abstract: "One message to many devices, beside nghttp2's load generator.",
        discussion: HelpText.of(
            """
            Devices are imported once, and used again by the next run. Each round sends a message with a badge to all of \
            them, from its acceptance to the last settled push, with PostgreSQL's default durability; then h2load sends as \
            many requests of that size to the same sink. What holds on another machine are the ratios.

            It fails where the gateway had more than 150 MB of memory, or the first push of a round came later than a second.

            With --answer-ms each round sends a second message, to a sink whose answers all come so late: what a lane \
            makes of a provider that is far away.

            With --values each push says something of its own device, as templates do.

            With --rate, --pause-seconds or --cancel one broadcast is sent by two gateways, limited, or paused or cancelled \
            in its middle. It fails where the sink's count and the account disagree, where something came while it was \
            paused, where it was over before it could be paused or cancelled, where the rate was missed by more than a \
            twentieth in the mean of its seconds (from the third until nine tenths are out) or overrun by a second's worth \
            at any moment, or where one of the two gateways had nothing to send. --rate \
            beside one of the other two slows it down, so that a small one has a middle.

            With --filter or --tag one broadcast goes to those whom it finds; with --local-hour one to everybody, at an \
            hour of their own clocks that is so far ahead in Berlin. What waits for other clocks is cancelled when Berlin's \
            have theirs, or ten minutes after the hour.
            """,
            examples: [
                "carillon-bench broadcast", "carillon-bench broadcast --devices 1000000 --rounds 5 --json",
                "carillon-bench broadcast --answer-ms 50", "carillon-bench broadcast --devices 10000000 --values",
                "carillon-bench broadcast --devices 1000000 --rate 20000",
                "carillon-bench broadcast --devices 1000000 --pause-seconds 60",
                "carillon-bench broadcast --filter \"attributes.plan == 'pro'\"",
                "carillon-bench broadcast --devices 10000000 --local-hour 20",
            ]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices.", valueName: "count")) var devices = 100_000
    @Option(help: ArgumentHelp("How many times both are run, in turn (default: 5).", valueName: "count"))
    var rounds: Int?
    @Option(
        help: ArgumentHelp(
            "Measures also with answers that come so many milliseconds late.", valueName: "milliseconds"))
    var answerMs: Int?
    @Flag(help: "Puts a value of each device's own into its push.") var values = false
    @Option(help: ArgumentHelp("Measures instead how well so many pushes a second are kept.", valueName: "pushes"))
    var rate: Int?
    @Option(help: ArgumentHelp("Pauses instead one in its middle, for so long.", valueName: "seconds"))
    var pauseSeconds: Int?
    @Flag(help: "Cancels instead one in its middle.") var cancel = false
    @Option(help: ArgumentHelp("Sends instead to those of whom this is true.", valueName: "expression"))
    var filter: String?
    @Option(help: ArgumentHelp("Sends instead to those with this tag: news, sport or chess.", valueName: "tag"))
    var tag: String?
    @Option(help: ArgumentHelp("Sends instead at an hour of each clock, so far ahead in Berlin.", valueName: "seconds"))
    var localHour: Int?

    /// The least number of whole seconds that a rate is measured over, including the start and the end, which are not
    /// counted.
    private static let secondsOfRate = 5
    private static let roundsDefault = 5

    func validate() throws {
        guard (10_000...10_000_000).contains(devices) else {
            throw ValidationError("--devices takes 10000 to 10000000.")
        }
        guard (1...100).contains(rounds ?? 1) else { throw ValidationError("--rounds takes 1 to 100.") }
        guard (1...10_000).contains(answerMs ?? 1) else { throw ValidationError("--answer-ms takes 1 to 10000.") }
        guard (1...1_000_000).contains(rate ?? 1) else { throw ValidationError("--rate takes 1 to 1000000.") }
        guard (2...3_600).contains(pauseSeconds ?? 2) else { throw ValidationError("--pause-seconds takes 2 to 3600.") }
        guard (5...600).contains(localHour ?? 5) else { throw ValidationError("--local-hour takes 5 to 600.") }
        try validateTogether()
    }

    /// Refuses combinations of options of which one would have no effect.
    private func validateTogether() throws {
        let given = [
            (rate != nil && pauseSeconds == nil && !cancel, "--rate"), (pauseSeconds != nil, "--pause-seconds"),
            (cancel, "--cancel"), (filter != nil, "--filter"), (tag != nil, "--tag"),
            (localHour != nil, "--local-hour"),
        ].filter(\.0).map(\.1)
        guard given.count <= 1 else { throw ValidationError("Only one of \(given.joined(separator: " and ")).") }
        guard let one = given.first else { return }
        for (isGiven, name) in [(rounds != nil, "--rounds"), (answerMs != nil, "--answer-ms")] where isGiven {
            throw ValidationError("\(name) is of whole rounds: \(one) sends one broadcast.")
        }
        if let rate, one == "--rate", devices / rate < Self.secondsOfRate {
            throw ValidationError("--rate takes a fifth of --devices at most: else there are no seconds to count.")
        }
    }

    private enum Mode {
        case rounds
        case control(BroadcastControl)
        case audience(BroadcastAudience)
    }

    private var mode: Mode {
        if let pauseSeconds { return .control(.pause(.seconds(pauseSeconds))) }
        if cancel { return .control(.cancel) }
        if let rate { return .control(.rate(rate)) }
        if let filter { return .audience(.filter(filter)) }
        if let tag { return .audience(.tag(tag)) }
        if let localHour { return .audience(.localHour(.seconds(localHour))) }
        return .rounds
    }

    func run() async throws {
        try await options.run(standIns: ["--sink", "--open-streams"], data: BenchWorld.data(of: devices)) { world in
            let reference = try ReferenceSender(world.folder, sink: world.standIns, requests: devices)
            let fixture = BroadcastFixture(world: world, devices: devices, hasValues: values)
            try await fixture.fill()
            switch mode {
            case .rounds: try await measure(fixture, reference)
            case .control(let control):
                let figures = try await BroadcastControlBench(fixture: fixture, rate: rate, control: control).measure(
                    reference)
                if options.json { writeJSON(figures.json) } else { figures.write() }
                try complain(of: figures.control.faults)
            case .audience(let audience):
                let figures = try await BroadcastReach(fixture: fixture, audience: audience).measure(reference)
                if options.json { writeJSON(figures.json) } else { figures.write() }
                try complain(of: figures.reach.faults)
            }
        }
    }

    private func complain(of faults: [BroadcastFault]) throws(CommandFault) {
        guard !faults.isEmpty else { return }
        throw CommandFault(.failed, faults.map(\.sentence).joined(separator: "; "))
    }

    private func measure(_ fixture: BroadcastFixture, _ reference: ReferenceSender) async throws {
        // Opens connections, prepares statements, and makes room on the badges' pages.
        _ = try await fixture.broadcast()
        var figures = BroadcastFigures(devices: devices)
        var progress = Progress("broadcasts")
        let rounds = rounds ?? Self.roundsDefault
        for round in 1...rounds {
            let ours = try await fixture.broadcast()
            figures.add(ours, late: try await lateBroadcast(fixture), try reference.run(devices))
            progress.show(Int64(round), of: Int64(rounds), "each beside h2load")
        }
        progress.end()
        figures.memoryBytesMax = fixture.world.memoryBytesMax
        if options.json { writeJSON(figures.json) } else { figures.write(answerMs: answerMs) }
        try complain(of: figures.faults)
    }

    /// The broadcast with late answers; nil: it was not asked for.
    private func lateBroadcast(_ fixture: BroadcastFixture) async throws -> BroadcastFixture.Broadcast? {
        guard let answerMs else { return nil }
        try await fixture.world.standIns.answerLate(by: answerMs)
        let late = try await fixture.broadcast()
        try await fixture.world.standIns.answerLate(by: 0)
        return late
    }
}
