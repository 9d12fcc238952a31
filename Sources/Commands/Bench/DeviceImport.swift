import Foundation
import JSON

/// Many devices through `devices/import`, from a file that is made for it.
struct DeviceImport {
    let world: BenchWorld
    let devices: Int
    private static let linesAtOnce = 10_000

    /// - Returns: from the first byte to the last answer.
    func run() async throws -> Duration {
        let path = world.folder.file("devices.ndjson")
        try write(to: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFault(.failed, "\(path) can't be read")
        }
        let clock = ContinuousClock()
        let start = clock.now
        var progress = Progress("import")
        var end = JSONValue.null
        try await world.client.stream(BenchWorld.app + "/devices/import", file: file) { line in
            end = line
            progress.show(line.object?["line"]?.integer ?? 0, of: Int64(devices), "registered")
        }
        progress.end()
        guard end.object?["done"]?.bool == true, end.count("refused") == 0 else {
            throw CommandFault(.failed, "the import ended: \(String(decoding: end.bytes, as: UTF8.self))")
        }
        return clock.now - start
    }

    private func write(to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil), let out = FileHandle(forWritingAtPath: path)
        else { throw CommandFault(.failed, "\(path) can't be written") }
        for start in stride(from: 1, through: devices, by: Self.linesAtOnce) {
            let lines = (start...min(devices, start + Self.linesAtOnce - 1)).map { BenchDevice(number: $0).line + "\n" }
            try out.write(contentsOf: Data(lines.joined().utf8))
        }
        try out.close()
    }
}
