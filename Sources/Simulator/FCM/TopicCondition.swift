/// `'a' in topics && ('b' in topics || !('c' in topics))`
///
/// At most five topics (Firebase, "Build app server send requests").
struct TopicCondition {
    private var remaining: Substring.UTF8View

    private var topics = 0
    private var depth = 0

    private static let topicsMax = 5
    private static let depthMax = 32

    static func isValid(_ text: String) -> Bool {
        var condition = TopicCondition(remaining: Substring(text).utf8)
        guard condition.readAlternatives() else { return false }
        condition.skipSpace()
        return condition.remaining.isEmpty && condition.topics <= topicsMax
    }

    private mutating func readAlternatives() -> Bool {
        repeat {
            repeat {
                guard readTerm() else { return false }
            } while take("&&")
        } while take("||")
        return true
    }

    private mutating func readTerm() -> Bool {
        while take("!") {}
        if take("(") {
            depth += 1
            defer { depth -= 1 }
            return depth <= TopicCondition.depthMax && readAlternatives() && take(")")
        }
        guard take("'") else { return false }
        let name = remaining.prefix(while: MessageReader.isTopicByte)
        remaining = remaining.dropFirst(name.count)
        topics += 1
        return !name.isEmpty && take("'") && take("in") && take("topics")
    }

    private mutating func take(_ text: StaticString) -> Bool {
        skipSpace()
        let expected = String(describing: text).utf8
        guard remaining.starts(with: expected) else { return false }
        remaining = remaining.dropFirst(expected.count)
        return true
    }

    private mutating func skipSpace() { while remaining.first == 0x20 { remaining = remaining.dropFirst() } }
}
