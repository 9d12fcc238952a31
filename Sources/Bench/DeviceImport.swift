import CommandLine
import Foundation
import JSON

/// An import of many devices through `devices/import`, from a file that is made for it.
struct DeviceImport {
    let world: BenchWorld
    /// The number of devices at the end.
    let devices: Int

    /// - Returns: the run from the first byte to the last answer.
    func run() async throws -> BenchRun { try await run(1..<devices + 1) }

    /// Imports the devices with these numbers in one request.
    func run(_ numbers: Range<Int>) async throws -> BenchRun {
        let path = world.folder.file("devices.ndjson")
        try BenchDevice.write(numbers, to: path, \.line)
        defer { try? FileManager.default.removeItem(atPath: path) }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFault(.failed, "\(path) can't be read")
        }
        let before = try world.used()
        let clock = ContinuousClock()
        let start = clock.now
        var progress = Progress("import")
        var end = JSONValue.null
        try await world.client.stream(BenchWorld.app + "/devices/import", file: file) { line in
            end = line
            progress.show(Int64(numbers.lowerBound - 1) + line.count("resume_after"), of: Int64(devices), "registered")
        }
        let time = clock.now - start
        progress.end()
        guard end.object?["done"]?.bool == true, end.count("refused") == 0 else {
            throw CommandFault(.failed, "the import ended: \(String(decoding: end.bytes, as: UTF8.self))")
        }
        return BenchRun(time: time, used: try world.used() - before)
    }
}
