import ArgumentParser
import Commands
import JSON

/// `carillon doctor`: whether everything is there that the gateway needs, and what to do where it is not.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks settings, database, keys, credentials, clock and providers, and says what to do.",
        discussion: """
            Reads the settings as serve does, so run it with the same environment, beside a running gateway or not. It \
            changes nothing. Ends with 1 where something keeps the gateway from working.
            """)

    @Flag(help: "Prints the findings as JSON.") var json = false

    func run() async throws {
        let findings = await Checkup().run()
        if json {
            Console.write(Self.json(findings))
        } else {
            for finding in findings { Self.say(finding) }
            let bad = findings.count { $0.level == .bad }
            Console.say(bad == 0 ? "Nothing keeps the gateway from working." : "\(bad) to be mended.")
        }
        if findings.contains(where: { $0.level == .bad }) { throw ExitCode.failure }
    }

    private static func say(_ finding: Finding) {
        let mark =
            switch finding.level {
            case .good: "ok  "
            case .note: "note"
            case .bad: "BAD "
            }
        Console.say("\(mark)  \(finding.subject): \(finding.words)")
        if let remedy = finding.remedy { Console.say("      -> \(remedy)") }
    }

    private static func json(_ findings: [Finding]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for finding in findings {
            writer.beginObject()
            writer.member("level", finding.level.rawValue)
            writer.member("subject", finding.subject)
            writer.member("finding", finding.words)
            if let remedy = finding.remedy { writer.member("remedy", remedy) }
            writer.endObject()
        }
        writer.endArray()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

/// What a check found.
struct Finding: Equatable, Sendable {
    enum Level: String, Sendable { case good, note, bad }

    let level: Level
    let subject: String
    let words: String
    let remedy: String?

    static func good(_ subject: String, _ words: String) -> Finding {
        Finding(level: .good, subject: subject, words: words, remedy: nil)
    }

    /// Nothing is wrong yet, or nothing that stops anybody.
    static func note(_ subject: String, _ words: String, _ remedy: String? = nil) -> Finding {
        Finding(level: .note, subject: subject, words: words, remedy: remedy)
    }

    static func bad(_ subject: String, _ words: String, _ remedy: String) -> Finding {
        Finding(level: .bad, subject: subject, words: words, remedy: remedy)
    }
}
