import ArgumentParser
import CommandLine
import Requests

/// `carillon errors`: writes docs/errors.md, for developers. A gateway serves the page at `/errors`.
struct ErrorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errors", abstract: "Prints docs/errors.md: every code with its cause and remedy.",
        examples: ["carillon errors >docs/errors.md"], shouldDisplay: false)

    func run() { Console.write(ErrorPage.bytes) }
}
