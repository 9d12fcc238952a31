import Model

/// The meaning of each scope of an API key, for help texts.
enum ScopeText {
    /// One line for each scope.
    static let table = APIScope.allCases.map { scope in
        let name = scope.rawValue
        return "  " + name + String(repeating: " ", count: nameColumns - name.count) + meaning(of: scope)
    }.joined(separator: "\n")

    private static let nameColumns = 13

    private static func meaning(of scope: APIScope) -> String {
        switch scope {
        case .devices: "registering and reading devices, badges, erasing people"
        case .tokens: "tokens whole, where another scope shows them masked"
        case .messages: "sending to devices, users and tokens that are named; accounts"
        case .broadcast: "sending to all, to tags and to stale devices; accounts"
        case .feedback: "the feed of what became of tokens; undoing a retirement"
        case .credentials: "handing in, activating and retiring credentials"
        case .keys: "making and revoking keys that open no more than this one"
        case .admin: "all of these but tokens, which it may grant; apps themselves"
        }
    }
}
