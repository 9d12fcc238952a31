import ArgumentParser
import CommandLine

/// A word that stands where a subcommand is expected, and names none.
///
/// The library passes such a word to the group's default subcommand, whose complaint is about something else.
package struct UnknownSubcommand {
    package let word: String
    /// The names of the group, without the program's own; empty: the program.
    private let groupNames: [String]
    private let subcommands: [any ParsableCommand.Type]

    private init(_ word: String, in group: CommandPath) {
        (self.word, groupNames, subcommands) = (word, group.names, group.last.configuration.subcommands)
    }

    /// Returns the first such word of a command line; nil: there is none.
    package static func first(in arguments: [String]) -> UnknownSubcommand? {
        var path = CommandPath()
        let asksHelp = arguments.first == "help"
        for (place, word) in arguments.enumerated() where !(word == "help" && path.isGroup) {
            if word.hasPrefix("-") { return asksHelp ? nil : behindOptions(arguments, from: place, in: path) }
            guard path.isGroup else { return asksHelp ? UnknownSubcommand(word, in: path) : nil }
            guard path.enter(word) else { return UnknownSubcommand(word, in: path) }
        }
        return nil
    }

    /// Finds the word behind options of the group's default subcommand: the first that no option takes as its value.
    private static func behindOptions(
        _ arguments: [String], from start: Int, in path: CommandPath
    ) -> UnknownSubcommand? {
        func parses(_ words: ArraySlice<String>) -> Bool { (try? CarillonCommand.parseAsRoot(Array(words))) != nil }
        guard path.isGroup, !path.names.isEmpty, !parses(arguments[...]) else { return nil }
        let word = arguments.indices.dropFirst(start).first { place in
            !arguments[place].hasPrefix("-") && parses(arguments[..<place]) && !parses(arguments[...place])
        }
        return word.map { UnknownSubcommand(arguments[$0], in: path) }
    }

    /// "messages has no subcommand abort; did you mean cancel?".
    package var sentence: String {
        let group = (["carillon"] + groupNames).joined(separator: " ")
        let names = subcommands.map { $0.givenName }
        if subcommands.contains(where: { $0.isCalled(word) }) {
            return "\(word) must stand before the options: \(group) \(word) ..."
        }
        let subject = groupNames.isEmpty ? "carillon" : groupNames.joined(separator: " ")
        let help = "\(group) --help lists what there is"
        guard !names.isEmpty else { return "\(subject) has no subcommand \(word); \(help)" }
        if let near = SubcommandMeaning.nearest(to: word, among: names) {
            return "\(subject) has no subcommand \(word); did you mean \(near)?"
        }
        let others = CarillonCommand.configuration.subcommands.map { $0.givenName }
        return others.contains(word)
            ? "\(subject) has no subcommand \(word); did you mean carillon \(word)?"
            : "\(subject) has no subcommand \(word); \(help)"
    }
}

/// The commands that a command line has named so far.
private struct CommandPath {
    private(set) var names: [String] = []
    private(set) var last: any ParsableCommand.Type = CarillonCommand.self

    var isGroup: Bool { !last.configuration.subcommands.isEmpty }

    /// - Returns: false if no subcommand has this name.
    mutating func enter(_ word: String) -> Bool {
        guard let next = last.configuration.subcommands.first(where: { $0.isCalled(word) }) else { return false }
        names.append(word)
        last = next
        return true
    }
}

extension ParsableCommand {
    fileprivate static var givenName: String { _commandName }

    fileprivate static func isCalled(_ word: String) -> Bool {
        givenName == word || configuration.aliases.contains(word)
    }
}

extension CarillonCommand {
    package static func runToEnd() async {
        if let unknown = UnknownSubcommand.first(in: Array(CommandLine.arguments.dropFirst())) {
            Console.complain(unknown.sentence)
            exit(withError: ExitCode(CommandFault.Kind.usage.rawValue))
        }
        await main()
    }
}
