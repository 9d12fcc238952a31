/// Words that people try for a subcommand, by what they mean.
enum SubcommandMeaning {
    /// Words of one meaning. The first one that the group has is suggested.
    private static let synonyms = [
        "show get view info describe inspect read status details settings list",
        "list ls all index find search",
        "cancel stop abort kill end terminate retire disable revoke",
        "delete remove rm del erase destroy drop unregister cancel revoke retire disable",
        "add create register new make upload insert put rotate renew replace enable",
        "edit change update modify set patch configure config rename settings register add",
        "resume start continue unpause go activate enable on",
        "pause hold suspend halt disable off",
        "watch follow tail monitor progress wait",
        "duplicate copy clone repeat resend",
        "activate use switch promote rollback restore",
        "rate limit throttle speed",
        "failures errors failed problems",
        "push history trace steps",
        "import load bulk",
        "send notify deliver",
        "serve run start server",
        "doctor check health status",
    ].map { $0.split(separator: " ").map(String.init) }

    /// Returns the name that a person probably meant: a word of the same meaning, or one that is written nearly alike.
    static func nearest(to word: String, among names: [String]) -> String? {
        let word = word.lowercased()
        for words in synonyms where words.contains(word) {
            if let name = words.first(where: names.contains) { return name }
        }
        let near = names.map { (name: $0, changes: changes(from: word, to: $0)) }.min { $0.changes < $1.changes }
        return near.flatMap { $0.changes <= max(1, word.count / 3) ? $0.name : nil }
    }

    /// Letters in another order count as one change.
    private static func changes(from word: String, to name: String) -> Int {
        word.sorted() == name.sorted() ? 1 : UnknownSetting.changes(from: word, to: name)
    }
}
