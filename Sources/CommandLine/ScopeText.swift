import Model

enum ScopeText {
    static let table = APIScope.allCases.map { scope in
        let name = scope.rawValue
        return "  " + name + String(repeating: " ", count: nameColumns - name.count) + meaning(of: scope)
    }.joined(separator: "\n")

    private static let nameColumns = 13

    private static func meaning(of scope: APIScope) -> String {
        switch scope {
        case .devices: "registering and reading devices, badges, erasing users"
        case .tokens: "seeing whole tokens, which other scopes show masked"
        case .messages: "messages to named devices, users and tokens; results"
        case .broadcast: "messages to all, tags, filters and stale devices; results"
        case .feedback: "the feed of token changes; undoing a retirement"
        case .credentials: "adding, activating and retiring credentials"
        case .nodes: "reading and writing the data tree that apps subscribe to"
        case .keys: "creating and revoking keys with no more scopes than its own"
        case .admin: "all of these but tokens, which it may grant; managing apps"
        }
    }
}
