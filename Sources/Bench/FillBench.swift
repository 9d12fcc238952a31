import ArgumentParser
import CommandLine
import Foundation
import JSON

/// `carillon-bench fill`: the time to load a registry of many devices, and its size afterwards.
struct FillBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fill", abstract: "Loads many registrations, beside PostgreSQL's own COPY.",
        discussion: HelpText.of(
            """
            Devices come as a mobile backend would bring them, through the API's import, with users, languages, clocks, \
            tags and attributes. They come in turns, and after each PostgreSQL copies as many rows into the same tables of \
            a second database on the same server, and merges them with what is there: both grow alike. What holds on \
            another machine is the ratio of the times, the median of the turns'.

            The gateway's database stays for other trials, also those of bench broadcast and latency with as many devices \
            in this folder: the last line says where. The second one is dropped at the end, or by the next bench in this \
            folder where this one is killed. Each takes 0.4 GB of disk for 1,000,000 devices, 4 GB for 10,000,000, beside \
            PostgreSQL's log of changes of up to 2 GB.
            """,
            examples: [
                "carillon-bench fill", "carillon-bench fill --devices 10000000 --rounds 10 --folder /var/tmp/bench",
            ]))

    @OptionGroup var options: BenchOptions
    @Option(help: ArgumentHelp("How many devices.", valueName: "count")) var devices = 1_000_000
    @Option(help: ArgumentHelp("In how many turns both are filled.", valueName: "count")) var rounds = 5

    func validate() throws {
        guard (1_000...10_000_000).contains(devices) else {
            throw ValidationError("--devices takes 1000 to 10000000.")
        }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100.") }
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
        try await world.fill()
        let imports = DeviceImport(world: world, devices: devices)
        let figures = try await ReferenceRegistry.within(world) { reference in
            var samples: [FillFigures.Sample] = []
            for numbers in Portions(devices, in: rounds).ranges {
                let ours = try await imports.run(numbers)
                samples.append(
                    FillFigures.Sample(devices: numbers.count, ours: ours, reference: try await reference.copy(numbers))
                )
            }
            let memory = world.memoryBytesMax
            let (sizes, rows) = try await RegistryDatabase.within(world) { (try await $0.sizes(), try await $0.rows()) }
            let copied = try await reference.rows()
            guard rows == copied else {
                throw CommandFault(.failed, "the import wrote \(rows), and PostgreSQL's own COPY \(copied)")
            }
            return FillFigures(samples: samples, sizes: sizes, memoryBytesMax: memory, place: place)
        }
        if options.json { writeJSON(figures.json) } else { figures.write() }
    }
}

/// The results of `carillon-bench fill`.
struct FillFigures: Sendable {
    struct Sample: Sendable {
        let devices: Int
        let ours: BenchRun
        let reference: BenchRun
    }

    /// At least one.
    let samples: [Sample]
    let sizes: [RegistryDatabase.Size]
    let memoryBytesMax: Int64
    let place: String

    private var devices: Int { samples.map(\.devices).reduce(0, +) }
    /// The sum of all samples.
    private var ours: BenchRun { samples.dropFirst().reduce(samples[0].ours) { $0 + $1.ours } }
    private var reference: BenchRun { samples.dropFirst().reduce(samples[0].reference) { $0 + $1.reference } }
    private func perSecond(_ run: BenchRun) -> Double { Double(devices) / (run.time / .seconds(1)) }
    /// Seconds for a million registrations, that is microseconds a registration.
    private func perMillion(_ time: Duration) -> Double { time / .seconds(1) * 1_000_000 / Double(devices) }
    /// In rising order.
    private var timeRatios: [Double] { samples.map { $0.ours.time / $0.reference.time }.sorted() }
    private var timeRatio: Double { timeRatios[timeRatios.count / 2] }
    private var bytes: Int64 { sizes.map(\.bytes).reduce(0, +) }

    func write() {
        func ratio(_ value: Double) -> String { String(format: "%.1f", value) }
        Console.write("\(devices) devices, \(samples.count) turns")
        var table = TextTable("", "DEVICES/S", "CPU S PER MILLION: GATEWAY", "POSTGRESQL")
        func whole(_ value: Double) -> String { String(format: "%.0f", value) }
        table.add(
            "carillon's import", whole(perSecond(ours)), whole(perMillion(ours.used.gateway)),
            whole(perMillion(ours.used.database)))
        table.add("COPY and upsert", whole(perSecond(reference)), "", whole(perMillion(reference.used.database)))
        table.write()
        Console.write(
            "the import took \(ratio(timeRatio)) times as long in the median of the turns, from "
                + "\(ratio(timeRatios[0])) to \(ratio(timeRatios[samples.count - 1])); the gateway's memory was at most "
                + "\(memoryBytesMax >> 20) MiB")
        var parts = TextTable("TABLE OR INDEX", "MIB", "BYTES PER DEVICE")
        for size in sizes {
            parts.add(size.name, String(size.bytes >> 20), String(size.bytes / Int64(devices)))
        }
        parts.add("together", String(bytes >> 20), String(bytes / Int64(devices)))
        parts.write()
        Console.write("It stays: CARILLON_DATA_DIR=\(place) carillon serve")
    }

    var json: JSONValue {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }
        return [
            "devices": .number(.whole(Int64(devices))), "rounds": .number(.whole(Int64(samples.count))),
            "devices_per_second": number(perSecond(ours)), "copy_per_second": number(perSecond(reference)),
            "time_ratio": number(timeRatio), "time_ratio_min": number(timeRatios[0]),
            "time_ratio_max": number(timeRatios[samples.count - 1]),
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
