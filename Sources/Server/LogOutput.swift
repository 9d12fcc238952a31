import CommandLine
import Foundation
import Logging
import Reactor
import Synchronization

/// The destination of the log: standard error, one line per event. Secrets are types that can't be written out.
enum LogOutput {
    static func start(level: Logger.Level, format: LogFormat) -> Logger {
        LoggingSystem.bootstrap { label in
            var handler = LineLogHandler(label: label, format: format) { StandardError.write($0) }
            handler.logLevel = level
            return handler
        }
        return Logger(label: "carillon")
    }

    /// Reports why the program can't go on: a sentence for people, or a line of the log for log collectors. The log need
    /// not have been started.
    static func complain(_ fault: String, _ format: LogFormat) {
        guard format == .json else { return Console.complain(fault) }
        let handler = LineLogHandler(label: "carillon", format: format) { StandardError.write($0) }
        Logger(label: "carillon") { _ in handler }.critical("The gateway can't run", metadata: ["fault": "\(fault)"])
    }

    /// The format until the settings are read.
    static var formatOfEnvironment: LogFormat {
        let text = ProcessInfo.processInfo.environment[SettingsReader.prefix + SettingsCatalogue.places.logFormat.name]
        return text.flatMap(LogFormat.init(rawValue:)) ?? .text
    }

    static func start(_ settings: Settings) -> Logger { start(level: settings.logLevel, format: settings.logFormat) }
}

package struct LineLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let format: LogFormat
    private let output: @Sendable ([UInt8]) -> Void

    package init(label: String, format: LogFormat, output: @escaping @Sendable ([UInt8]) -> Void) {
        (self.label, self.format, self.output) = (label, format, output)
    }

    package subscript(metadataKey name: String) -> Logger.MetadataValue? {
        get { metadata[name] }
        set { metadata[name] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata
        for more in [metadataProvider?.get(), event.metadata] { all.merge(more ?? [:]) { _, new in new } }
        output(LogLine(event, label: label, metadata: all, time: Clocks.wallNow()).bytes(format))
    }
}

/// Standard error. A line stays whole, whichever threads write.
private enum StandardError {
    private static let lock = Mutex(())

    /// A failure has nowhere to be reported.
    static func write(_ line: [UInt8]) {
        lock.withLock { _ in try? FileHandle.standardError.write(contentsOf: Data(line)) }
    }
}
