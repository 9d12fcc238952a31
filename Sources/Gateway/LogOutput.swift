import Logging

/// Where the log goes: standard error, one line an event. Secrets are types that can't be written out.
enum LogOutput {
    static func start(level: Logger.Level) -> Logger {
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        return Logger(label: "carillon")
    }
}
