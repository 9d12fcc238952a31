import ArgumentParser

/// `carillon help ...`. The library prints the help of the nearest existing command, as if that had been asked for.
package enum HelpRequest {
    /// The first word that names no command; nil: all do, or no help is asked for.
    package static func unknownCommand(in arguments: [String]) -> String? {
        guard arguments.first == "help" else { return nil }
        var command: any ParsableCommand.Type = CarillonCommand.self
        for word in arguments.dropFirst() where !word.hasPrefix("-") {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == word }) else {
                return word
            }
            command = next
        }
        return nil
    }
}

extension CarillonCommand {
    package static func runToEnd() async {
        if let word = HelpRequest.unknownCommand(in: Array(CommandLine.arguments.dropFirst())) {
            exit(withError: ValidationError("Unexpected argument '\(word)'"))
        }
        await main()
    }
}
