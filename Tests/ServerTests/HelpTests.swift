import ArgumentParser
import CommandLine
import Foundation
import Model
import Server
import Testing

@Suite("The help of every command")
struct HelpTests {
    /// The commands that do something themselves.
    private static let leaves = leaves(of: CarillonCommand.self)

    private static func leaves(of command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        let subcommands = command.configuration.subcommands
        return subcommands.isEmpty ? [command] : subcommands.flatMap { leaves(of: $0) }
    }

    /// The examples as a terminal of the usual width shows them, with continued lines joined.
    private func examples(_ help: String) -> [String] {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        let section = lines.drop { $0 != "EXAMPLES:" }.dropFirst().prefix { $0.hasPrefix("  ") }
        return section.joined(separator: "\n").replacing(/\\\n */, with: "").split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    /// The arguments that a shell passes to the program, up to a pipe or a redirection.
    private func arguments(_ example: String) -> [String]? {
        var words: [String] = []
        for match in example.matches(of: /"([^"]*)"|'([^']*)'|(\S+)/) {
            words.append(String(match.1 ?? match.2 ?? match.3 ?? ""))
        }
        guard let name = words.firstIndex(of: "carillon") else { return nil }
        return Array(words[(name + 1)...].prefix { $0 != "|" && !$0.hasPrefix("<") && !$0.hasPrefix(">") })
    }

    @Test("contains examples that the program parses as that command")
    func examplesParse() throws {
        #expect(Self.leaves.count > 20)
        for leaf in Self.leaves {
            let examples = examples(CarillonCommand.helpMessage(for: leaf, columns: 80))
            #expect(!examples.isEmpty, "\(leaf) has no example")
            for example in examples {
                let words = try #require(arguments(example), "\(example)")
                let parsed = try? CarillonCommand.parseAsRoot(words)
                #expect(parsed.map { type(of: $0) == leaf } ?? false, "\(leaf): \(example)")
            }
        }
    }

    @Test(
        "takes names of commands, and finds the first unknown name",
        arguments: [
            (["help"], nil), (["help", "keys"], nil), (["help", "keys", "create"], nil), (["help", "--hidden"], nil),
            (["keys", "help"], nil), ([], nil), (["help", "nope"], "nope"), (["help", "keys", "nope"], "nope"),
            (["help", "serve", "keys"], "keys"),
        ] as [([String], String?)])
    func asked(arguments: [String], unknown: String?) {
        #expect(UnknownSubcommand.first(in: arguments)?.word == unknown)
    }

    @Test("explains every scope in the help of keys", arguments: APIScope.allCases)
    func scopes(scope: APIScope) {
        for command in [KeysCommand.self, KeysCommand.configuration.subcommands[1]] as [any ParsableCommand.Type] {
            let lines = [80, 1_000].map { columns in
                CarillonCommand.helpMessage(for: command, columns: columns).split(separator: "\n").first {
                    $0.hasPrefix("  \(scope.rawValue) ")
                }
            }
            #expect(lines[0].map { $0.split(separator: " ").count >= 3 } ?? false, "\(command)")
            #expect(lines[0] == lines[1], "\(command): the line is wrapped")
        }
    }

    @Test("breaks no example over lines, not even for command groups")
    func unbroken() {
        func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
            [command] + command.configuration.subcommands.flatMap { all($0) }
        }
        for command in all(CarillonCommand.self) {
            let shown = examples(CarillonCommand.helpMessage(for: command, columns: 80))
            #expect(!shown.isEmpty, "\(command)")
            #expect(shown == examples(CarillonCommand.helpMessage(for: command, columns: 1_000)), "\(command)")
            for example in shown { #expect(example.contains("carillon "), "\(command): \(example)") }
        }
    }
}

@Suite("The newsroom's key")
struct NewsroomKeyTests {
    @Test("has the same scopes in every document and in the help")
    func scopes() throws {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let walk = FileManager.default.enumerator(at: root.appending(path: "docs"), includingPropertiesForKeys: nil)
        let pages = (walk?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "md" }
        let texts =
            try (pages + [root.appending(path: "README.md")]).map { try String(contentsOf: $0, encoding: .utf8) }
            + [CarillonCommand.helpMessage(for: KeysCommand.self, columns: 80).replacing(/\\\n */, with: "")]
        let keys = texts.flatMap { $0.matches(of: /keys create newsroom .*--scopes ([a-z,]+)/).map { String($0.1) } }
        #expect(keys.count >= 3 && Set(keys) == ["devices,messages,broadcast"])
    }
}

@Suite("A word that is no subcommand")
struct UnknownSubcommandTests {
    /// The groups by their names, and the program itself.
    private static let groups = groups(of: CarillonCommand.self, [])

    private static func groups(of command: any ParsableCommand.Type, _ names: [String]) -> [[String]] {
        let subcommands = command.configuration.subcommands
        return subcommands.isEmpty
            ? [] : [names] + subcommands.flatMap { groups(of: $0, names + [$0._commandName]) }
    }

    private func sentence(_ line: String) -> String? {
        UnknownSubcommand.first(in: line.split(separator: " ").map(String.init))?.sentence
    }

    @Test("causes an error that names it in every group, also before options or --help", arguments: groups)
    func madeUp(group: [String]) throws {
        let name = group.isEmpty ? "carillon" : group.joined(separator: " ")
        for options in [[], ["--last"], ["--help"], ["--app", "garden", "x"]] {
            let unknown = try #require(UnknownSubcommand.first(in: group + ["frobnicate"] + options), "\(group)")
            #expect(unknown.sentence.hasPrefix("\(name) has no subcommand frobnicate; "))
        }
        #expect(Self.groups.count == 9)
    }

    @Test(
        "leads to the subcommand of that meaning",
        arguments: [
            ("messages kill --last", "cancel"), ("messages rm", "cancel"), ("messages get x", "show"),
            ("messages start x", "resume"), ("messages copy x", "duplicate"), ("devices get x", "show"),
            ("devices rm x", "remove"), ("devices delete x", "remove"), ("devices ls", "list"),
            ("apps show", "settings"),
            ("apps rm x", "delete"), ("apps add x", "create"), ("apps edit x", "settings"),
            ("credentials rotate", "add"),
            ("credentials rm 7", "delete"), ("credentials show 7", "list"), ("credentials disable 7", "retire"),
            ("keys rotate", "create"), ("keys delete 3", "revoke"), ("keys show 3", "list"), ("wakeup on", "enable"),
            ("wakeup stop", "disable"), ("wakeup subscriptions rm 7", "revoke"), ("messages cnacel x", "cancel"),
            ("message list", "messages"), ("demo wake-up", "wakeup"), ("messages send", "carillon send"),
        ])
    func suggested(line: String, suggestion: String) {
        #expect(sentence(line)?.hasSuffix("; did you mean \(suggestion)?") == true, "\(sentence(line) ?? "")")
    }

    @Test("causes the same error behind options, whose values are not taken for it")
    func behindOptions() {
        #expect(
            sentence("messages --app garden kill --last") == "messages has no subcommand kill; did you mean cancel?")
        #expect(
            sentence("keys --app garden create --scopes devices")
                == "create must stand before the options: carillon keys create ...")
        for line in ["messages --app garden --state", "messages --nope x", "messages --limit many", "wakeup --help"] {
            #expect(sentence(line) == nil, "\(line)")
        }
    }

    @Test(
        "does not include a group's options and aliases",
        arguments: ["messages", "messages --limit 3", "messages stop --last", "devices --tag news", "demo --once"])
    func known(line: String) throws {
        #expect(sentence(line) == nil)
        _ = try CarillonCommand.parseAsRoot(line.split(separator: " ").map(String.init))
    }
}

@Suite("The program's version")
struct VersionTests {
    @Test("equals the newest version in the changelog")
    func changelog() throws {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let changelog = try String(contentsOf: root.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let top = try #require(changelog.split(separator: "\n").first { $0.hasPrefix("## ") })
        #expect(top.split(separator: " ").dropFirst().first.map(String.init) == ProgramVersion.current)
        #expect(CarillonCommand.configuration.version == "carillon \(ProgramVersion.current)")
    }
}
