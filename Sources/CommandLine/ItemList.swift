import JSON

/// The items that a list command shows, from as many pages as were asked for, in the form of the gateway's lists.
package struct ItemList {
    package var items: [JSONValue]
    package var next: String?

    package init(_ items: [JSONValue] = [], next: String? = nil) { (self.items, self.next) = (items, next) }

    func output(_ columns: KeyValuePairs<String, String>, ifEmpty remark: String) -> Output {
        Output(json) {
            TextTable.write(items, columns, ifEmpty: remark)
            remarkNext()
        }
    }

    func remarkNext() {
        if let next { Console.remark("There are more: --limit shows more at once, --cursor \(next) continues.") }
    }

    package var json: JSONValue { ["items": .array(items), "next": next.map(JSONValue.string) ?? .null] }
}

extension GatewayClient {
    private static let itemsAtOnce = 500
    /// No registry has more pages; a gateway that answers more is faulty.
    private static let pagesMax = 10_000

    /// Reads a paged list: all items, or up to `limit` from the cursor on.
    package func list(
        _ path: String, _ query: [(name: String, value: String?)] = [], of form: AnswerForm, from cursor: String? = nil,
        limit: Int = .max
    ) async throws(CommandFault) -> ItemList {
        guard limit > 0 else { throw CommandFault(.usage, "--limit must be 1 or more") }
        var list = ItemList(next: cursor)
        var followed: Set<String> = []
        for _ in 1...Self.pagesMax {
            let count = min(Self.itemsAtOnce, limit - list.items.count)
            let answer = try await get(
                path, query + [("cursor", list.next), ("limit", String(count))], as: .list(of: form))
            list.items += answer.elements("items")
            list.next = answer.object?["next"]?.string
            guard let next = list.next, list.items.count < limit else { return list }
            guard followed.insert(next).inserted else { break }
        }
        throw CommandFault(.refused, "the gateway's list has no end: a cursor came twice")
    }
}
