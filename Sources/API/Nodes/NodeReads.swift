import JSON
import Model
import Requests
import Store
import WakeUpRules
import WakeUpStore

/// Reads the nodes of data trees, as the text of an answer.
///
/// Equal reads share one, so all devices of an app may read at once the change that they were notified of. Only the
/// reads of large nodes wait for a place. Callers without an API key have their own places and reads (decision 0051).
struct NodeReads: Sendable {
    /// A question. The caller's right to ask it is not examined here.
    struct Question: Hashable, Sendable {
        let app: AppID
        let path: NodePath
        let part: Part
        let isOfStranger: Bool
    }

    enum Part: Hashable, Sendable {
        case whole
        /// The keys of all children.
        case keys
        case page(Page)
    }

    /// A page of the children's keys.
    struct Page: Hashable, Sendable {
        let limit: Int
        /// The last key of the page before, in UTF-8; empty: this is the first page.
        let after: [UInt8]
    }

    private let store: NodeStore
    private let places: ReadAdmission
    private let strangersPlaces: ReadAdmission
    private let strangersTimeMax: Duration
    private let shared = SharedReads<Question, Result<[UInt8], Problem>>()

    init(
        store: NodeStore, ofKeys places: ReadAdmission, ofStrangers strangersPlaces: ReadAdmission,
        strangersTimeMax: Duration
    ) {
        (self.store, self.places, self.strangersPlaces) = (store, places, strangersPlaces)
        self.strangersTimeMax = strangersTimeMax
    }

    func text(_ question: Question) async throws(Problem) -> [UInt8] {
        try await shared.value(question) {
            do throws(Problem) { return .success(try await read(question)) } catch { return .failure(error) }
        }.get()
    }

    private func read(_ question: Question) async throws(Problem) -> [UInt8] {
        let places = question.isOfStranger ? strangersPlaces : places
        if case .page(let page) = question.part {
            let keys = try await places.read(
                of: question.app,
                await store.keys(
                    of: question.path, app: question.app, after: String(decoding: page.after, as: UTF8.self),
                    limit: page.limit + 1, deadline: deadline(of: question)))
            return Self.body(keys, limit: page.limit)
        }
        if case .found(let text) = try await translating(.reads, await text(question, within: .small)) { return text }
        switch try await places.read(of: question.app, await text(question, within: .largest)) {
        case .found(let text): return text
        case .tooLarge where question.part == .keys:
            throw Problem(
                .subtreeTooLarge,
                "The node has more than \(NodeLeaves.countMax) children. Read their keys in pages with "
                    + "shallow=true&limit=1000, and go on with after=, set to the answer's next.")
        case .tooLarge:
            throw Problem(
                .subtreeTooLarge,
                "The node has more than \(NodeLeaves.countMax) values or \(NodeStore.Extent.largest.bytesMax) bytes. Read "
                    + "the keys of its children with shallow=true&limit=1000, and then these one by one.")
        }
    }

    /// The deadline of a read that has a place; nil: the store's own.
    private func deadline(of question: Question) -> Duration? { question.isOfStranger ? strangersTimeMax : nil }

    /// - Parameter keys: one more than the limit if there are more.
    private static func body(_ keys: [String], limit: Int) -> [UInt8] {
        JSONWriter.body { writer in
            writer.object("items") { for key in keys.prefix(limit) { $0.member(key, true) } }
            writer.optional("next", keys.count > limit ? keys[limit - 1] : nil)
        }
    }

    /// The text is composed by the read: that of a large node takes as long as its rows, and the place bounds both.
    private func text(
        _ question: Question, within extent: NodeStore.Extent
    ) async throws(StoreFault) -> NodeStore.Reading<[UInt8]> {
        let (app, path) = (question.app, question.path)
        // A small read takes a few milliseconds, and a deadline of its own costs it another statement.
        let deadline = extent == .small ? nil : deadline(of: question)
        guard question.part == .keys else {
            return try await store.read(path, app: app, within: extent, deadline: deadline).map {
                NodeText.compose($0, at: path)
            }
        }
        return try await store.surface(path, app: app, within: extent, deadline: deadline).map { surface in
            switch surface {
            case .value(let value): Array(value.utf8)
            case .children([]): NodeText.compose([], at: path)
            case .children(let keys): JSONWriter.body { for key in keys { $0.member(key, true) } }
            }
        }
    }
}
