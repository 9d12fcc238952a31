import Logging
import Synchronization

/// Records log lines as level and message, and their fields.
final class RecordedLog: Sendable {
    private let lines = Mutex<[(text: String, fields: [String: String])]>([])

    var reported: [String] { lines.withLock { $0.map(\.text) } }
    var logger: Logger { Logger(label: "delivery-test") { _ in Handler(log: self) } }

    /// The fields of the line with this level and message.
    func fields(of text: String) -> [String: String]? { lines.withLock { $0.first { $0.text == text }?.fields } }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey name: String) -> Logger.MetadataValue? {
            get { metadata[name] }
            set { metadata[name] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).mapValues(\.description)
            log.lines.withLock { $0.append(("\(event.level): \(event.message)", fields)) }
        }
    }
}
