import ArgumentParser
import JSON

struct AudienceOptions: ParsableArguments {
    @Flag(help: "Every device of the app.") var all = false
    @Option(help: .value("name", "This installation; repeatable.")) var installation: [String] = []
    @Option(help: .value("user", "This user's devices; repeatable.")) var user: [String] = []
    @Option(help: .value("tag", "Devices with this tag; repeatable.")) var tag: [String] = []
    @Option(help: .value("expression", "Devices that match this filter (docs/filters.md).")) var filter: String?

    /// nil: the file gives the audience, or a test needs none.
    func member(isGivenIn content: [JSONMember], isRequired: Bool) throws(CommandFault) -> JSONMember? {
        let given = try given()
        if content.contains(where: { $0.name == "audience" }) {
            guard given == nil else { throw CommandFault(.usage, "the file and the options both name an audience") }
            return nil
        }
        guard let given else {
            guard isRequired else { return nil }
            throw Self.notOne
        }
        return JSONMember("audience", given)
    }

    /// nil: no option names an audience.
    func given() throws(CommandFault) -> JSONValue? {
        var given: [JSONValue] = []
        if all { given.append(["all": true]) }
        if !installation.isEmpty { given.append(["installations": .list(of: installation)]) }
        if !user.isEmpty { given.append(["users": .list(of: user)]) }
        if !tag.isEmpty { given.append(["tags": ["any": .list(of: tag)]]) }
        if let filter { given.append(["filter": .string(filter)]) }
        guard given.count <= 1 else { throw Self.notOne }
        return given.first
    }

    private static let notOne = CommandFault(
        .usage, "give exactly one of --all, --installation, --user, --tag and --filter")
}
