import ArgumentParser
import Foundation
import JSON

/// `carillon bench fill`: a registry of many devices, what it takes to load it, and how large it is then.
struct FillBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fill", abstract: "Loads many registrations, beside PostgreSQL's own COPY.",
        discussion: HelpText.of(
            """
            Devices come as a mobile backend would bring them, through the API's import, with users, languages, clocks, \
            tags and attributes. Beside it stands what PostgreSQL needs to copy as many rows into the same tables and to \
            merge them with what is there; those are rolled back. The database stays for other trials, also those of \
            bench broadcast and latency with as many devices in this folder: the last line says where.
            """,
            examples: ["carillon bench fill", "carillon bench fill --devices 10000000 --folder /var/tmp/bench"]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices.", valueName: "count")) var devices = 1_000_000

    func validate() throws {
        guard (1_000...10_000_000).contains(devices) else {
            throw ValidationError("--devices takes 1000 to 10000000.")
        }
    }

    func run() async throws {
        try await options.run(data: BenchWorld.data(of: devices)) { world in try await measure(world) }
    }

    private func measure(_ world: BenchWorld) async throws {
        let place = world.folder.file(BenchWorld.data(of: devices))
        guard (try? await world.client.get(BenchWorld.app, as: .app)) == nil else {
            throw CommandFault(
                .failed, "\(place) has its devices already: serve it, or remove it, or name another --folder")
        }
        try await world.furnish()
        let before = try world.used()
        let time = try await DeviceImport(world: world, devices: devices).run()
        let ours = FillFigures.Run(time: time, used: try world.used() - before)
        let memory = world.memoryBytesMax
        let figures = try await RegistryDatabase.within(world) { database in
            let sizes = try await database.sizes()
            let start = try world.used()
            let time = try await database.copyAndRollBack(devices)
            let reference = FillFigures.Run(time: time, used: try world.used() - start)
            return FillFigures(
                devices: devices, ours: ours, reference: reference, sizes: sizes, memoryBytesMax: memory, place: place)
        }
        if options.json { sayJSON(figures.json) } else { figures.say() }
    }
}

/// What `carillon bench fill` found.
struct FillFigures: Sendable {
    struct Run: Sendable {
        let time: Duration
        let used: BenchUsage
    }

    let devices: Int
    let ours: Run
    let reference: Run
    let sizes: [RegistryDatabase.Size]
    let memoryBytesMax: Int64
    let place: String

    private func perSecond(_ run: Run) -> Double { Double(devices) / (run.time / .seconds(1)) }
    /// Seconds for a million registrations, that is microseconds a registration.
    private func perMillion(_ time: Duration) -> Double { time / .seconds(1) * 1_000_000 / Double(devices) }
    private var timeRatio: Double { ours.time / reference.time }
    private var bytes: Int64 { sizes.map(\.bytes).reduce(0, +) }

    func say() {
        Console.say("\(devices) devices")
        var table = TextTable("", "DEVICES/S", "CPU S PER MILLION: GATEWAY", "POSTGRESQL")
        func whole(_ value: Double) -> String { String(format: "%.0f", value) }
        table.add(
            "carillon's import", whole(perSecond(ours)), whole(perMillion(ours.used.gateway)),
            whole(perMillion(ours.used.database)))
        table.add("COPY and upsert", whole(perSecond(reference)), "", whole(perMillion(reference.used.database)))
        table.say()
        Console.say(
            "the import took \(String(format: "%.1f", timeRatio)) times as long; the gateway's memory was at most "
                + "\(memoryBytesMax >> 20) MiB")
        var parts = TextTable("TABLE OR INDEX", "MIB", "BYTES PER DEVICE")
        for size in sizes {
            parts.add(size.name, String(size.bytes >> 20), String(size.bytes / Int64(devices)))
        }
        parts.add("together", String(bytes >> 20), String(bytes / Int64(devices)))
        parts.say()
        Console.say("It stays: CARILLON_DATA_DIR=\(place) carillon serve")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "devices": .number(.whole(Int64(devices))), "devices_per_second": number(perSecond(ours)),
            "copy_per_second": number(perSecond(reference)), "time_ratio": number(timeRatio),
            "gateway_cpu_s_per_million": number(perMillion(ours.used.gateway)),
            "database_cpu_s_per_million": number(perMillion(ours.used.database)),
            "copy_cpu_s_per_million": number(perMillion(reference.used.database)),
            "memory_bytes_max": .number(.whole(memoryBytesMax)),
            "bytes_per_device": number(Double(bytes) / Double(devices)),
            "sizes": .array(
                sizes.map { ["name": .string($0.name), "bytes": .number(.whole($0.bytes))] }),
            "data_folder": .string(place),
        ]
    }
}
