import API
import ArgumentParser
import CommandLine

/// `carillon errors`: docs/errors.md, as a gateway serves it at `/errors`.
struct ErrorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errors", abstract: "Prints docs/errors.md: every code with its cause and remedy.",
        examples: ["carillon errors >docs/errors.md"], shouldDisplay: false)

    func run() { Console.write(EmbeddedDocuments.errors) }
}
