import Glibc
import Synchronization
import Testing

/// PostgreSQL's log of these tests, as an operator would read it.
final class ServersLog: Sendable {
    private let path: String
    private let read = Mutex(0)

    init(path: String) { self.path = path }

    /// Text that occurs in the secrets of these tests: device tokens, API keys, signing keys, messages.
    private static let marks = ["abababababababab", GatewayWorld.key, "PRIVATE KEY", "Twelve o'clock"]

    /// Lines logged since the last call that contain a secret (promise P9). Expected to be empty.
    func secrets() -> [String] {
        let found: String? = read.withLock { place in
            guard let bytes = Self.bytes(path, from: place) else { return nil }
            place += bytes.count
            return String(decoding: bytes, as: UTF8.self)
        }
        // A missing log must not pass as a log without secrets.
        guard let text = found else { return ["there is no log at \(path)"] }
        return text.split(separator: "\n").filter { line in Self.marks.contains { line.contains($0) } }.map(String.init)
    }

    private static func bytes(_ path: String, from place: Int) -> [UInt8]? {
        guard let file = unsafe fopen(path, "r") else { return nil }
        defer { unsafe fclose(file) }
        guard unsafe fseek(file, place, SEEK_SET) == 0 else { return nil }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }
}
