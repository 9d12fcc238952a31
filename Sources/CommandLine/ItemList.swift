import JSON

/// What a list command shows: the form that every list of the gateway's has, over as many pages as were asked for.
package struct ItemList {
    package var items: [JSONValue]
    /// Where the next one goes on; nil at the end.
    package var next: String?

    package init(_ items: [JSONValue] = [], next: String? = nil) {
        self.items = items
        self.next = next
    }

    /// For people, under a table that is not the whole list.
    func remarkOnOthers() {
        if let next { Console.remark("There is more: --limit shows more at once, --cursor \(next) goes on.") }
    }

    package var json: JSONValue { ["items": .array(items), "next": next.map(JSONValue.string) ?? .null] }
}

extension GatewayClient {
    private static let itemsAtOnce = 500
    /// More is no registry's list any more, but a gateway that invents cursors.
    private static let pagesMax = 10_000

    /// The items of a paged list: all there are, or so many from the cursor on, or what the first so many pages have.
    package func list(
        _ path: String, _ query: [(name: String, value: String?)] = [], of form: AnswerForm, from cursor: String? = nil,
        limit: Int = .max, pagesAtMost: Int = .max
    ) async throws(CommandFault) -> ItemList {
        guard limit > 0 else { throw CommandFault(.usage, "--limit must be 1 or more") }
        var list = ItemList(next: cursor)
        var followed: Set<String> = []
        for page in 1...Self.pagesMax {
            let count = min(Self.itemsAtOnce, limit - list.items.count)
            let answer = try await get(
                path, query + [("cursor", list.next), ("limit", String(count))], as: .list(of: form))
            list.items += answer.object?["items"]?.array ?? []
            list.next = answer.object?["next"]?.string
            guard let next = list.next, list.items.count < limit, page < pagesAtMost else { return list }
            guard followed.insert(next).inserted else { break }
        }
        throw CommandFault(.refused, "the gateway's list has no end: it leads to a place where it has been")
    }
}
