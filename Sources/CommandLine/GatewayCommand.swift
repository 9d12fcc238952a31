import ArgumentParser
import JSON

/// A command that asks a gateway. It prints the answer as JSON for scripts, or as text for people.
protocol GatewayCommand: AsyncParsableCommand {
    var gateway: GatewayOptions { get }

    func ask(_ client: GatewayClient) async throws -> Output
}

extension GatewayCommand {
    func run() async throws {
        try await orComplain(asJSON: gateway.json) {
            let output = try await ask(try gateway.client())
            if gateway.json { writeJSON(output.json) } else { try output.write() }
        }
    }
}

protocol AppCommand: GatewayCommand {
    var app: AppOptions { get }
}

extension AppCommand {
    var gateway: GatewayOptions { app.gateway }
}

struct Output {
    let json: JSONValue
    let write: () throws -> Void

    init(_ json: JSONValue, _ write: @escaping () throws -> Void) { (self.json, self.write) = (json, write) }

    init(_ json: JSONValue, _ sentence: String) { self.init(json) { Console.write(sentence) } }
}

extension CommandConfiguration {
    package init(
        commandName: String? = nil, abstract: String, discussion: String = "", examples: [String], version: String = "",
        shouldDisplay: Bool = true, subcommands: [any ParsableCommand.Type] = [],
        groupedSubcommands: [CommandGroup] = [],
        defaultSubcommand: (any ParsableCommand.Type)? = nil, aliases: [String] = []
    ) {
        self.init(
            commandName: commandName, abstract: abstract,
            discussion: HelpText.of(discussion, examples: examples), version: version, shouldDisplay: shouldDisplay,
            subcommands: subcommands, groupedSubcommands: groupedSubcommands, defaultSubcommand: defaultSubcommand,
            aliases: aliases)
    }
}

extension ArgumentHelp {
    package static func value(_ name: String, _ abstract: String) -> ArgumentHelp {
        ArgumentHelp(abstract, valueName: name)
    }
}
