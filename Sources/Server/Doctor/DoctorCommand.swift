import ArgumentParser
import CommandLine

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the gateway, its settings, database, keys, clock and providers, and says what to do.",
        discussion: """
            Run it beside the gateway, with the same environment as serve: it reads the same settings. It changes \
            nothing. The exit code is 1 if something keeps the gateway from working, for example if the gateway does \
            not run. The last line names what was not checked.

            Root checks the installed service, with its settings in /etc/carillon/settings.env, unless a variable or \
            the folder data names another gateway.
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
