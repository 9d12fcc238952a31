import ArgumentParser
import JSON

/// The message's audience.
struct AudienceOptions: ParsableArguments {
    @Flag(help: "Every device of the app.") var all = false
    @Option(help: ArgumentHelp("This installation; repeatable.", valueName: "name")) var installation: [String] = []
    @Option(help: ArgumentHelp("This user's devices; repeatable.", valueName: "user")) var user: [String] = []
    @Option(help: ArgumentHelp("Devices with this tag; repeatable.", valueName: "tag")) var tag: [String] = []
    @Option(help: ArgumentHelp("Devices that match this filter (docs/filters.md).", valueName: "expression"))
    var filter: String?

    /// nil: the file gives the audience.
    func member(isGivenIn content: [JSONMember]) throws(CommandFault) -> JSONMember? {
        func strings(_ names: [String]) -> JSONValue { .array(names.map { .string($0) }) }
        var given: [JSONValue] = []
        if all { given.append(["all": true]) }
        if !installation.isEmpty { given.append(["installations": strings(installation)]) }
        if !user.isEmpty { given.append(["users": strings(user)]) }
        if !tag.isEmpty { given.append(["tags": ["any": strings(tag)]]) }
        if let filter { given.append(["filter": .string(filter)]) }
        if content.contains(where: { $0.name == "audience" }) {
            guard given.isEmpty else { throw CommandFault(.usage, "the file and the options both name an audience") }
            return nil
        }
        guard given.count == 1 else {
            throw CommandFault(.usage, "give exactly one of --all, --installation, --user, --tag and --filter")
        }
        return JSONMember("audience", given[0])
    }
}
