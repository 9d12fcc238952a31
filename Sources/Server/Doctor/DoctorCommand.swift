import ArgumentParser
import CommandLine

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the gateway, its settings, database, keys, clock and providers, and says what to do.",
        discussion: """
            Reads the settings as serve does, so run it with the same environment, beside the running gateway. It \
            changes nothing. Ends with 1 where something keeps the gateway from working, as when it does not run. The \
            last line names what was not checked.

            Root checks the installed service, with its settings in /etc/carillon/settings.env, if no variable names a \
            gateway and the folder data has none.
            """,
        examples: [
            "carillon doctor",
            #"carillon doctor --json | jq -r '.items[] | select(.level == "bad") | .finding'"#,
        ])

    @Flag(help: "Prints the findings as one JSON document, for scripts.") var json = false

    func run() async throws {
        let findings = await Checkup().run()
        if json {
            writeJSON(Finding.json(findings))
        } else {
            for finding in findings { Self.write(finding) }
            Console.write(DoctorRules.conclusion(findings))
        }
        let code = Finding.exitCode(findings)
        if code != 0 { throw ExitCode(code) }
    }

    private static func write(_ finding: Finding) {
        let mark =
            switch finding.level {
            case .good: "ok  "
            case .note: "note"
            case .bad: "BAD "
            case .unchecked: "skip"
            }
        Console.write("\(mark)  \(finding.subject): \(finding.text)")
        if let remedy = finding.remedy { Console.write("      -> \(remedy)") }
    }
}
