import JSON
import Model
import Requests
import Store
import WakeUp
import WakeUpRules
import WakeUpStore

/// The routes of an app's data tree: `/base/{app}/{path}.json`.
struct NodeHandlers: Sendable {
    let apps: AppHandlers
    let writer: NodeWriter
    let reads: NodeReads
    let access: ReadAccess

    func read(_ call: Call) async throws(Problem) -> Answer {
        let path = try Self.path(of: call)
        let isShallow = try call.query.choice("shallow", ["true", "false"], Bool.init) ?? false
        let page = try Self.page(call.query, of: path, isShallow: isShallow)
        let app = try await apps.app(of: call)
        try await checkAccess(call, path, app)
        let part: NodeReads.Part = page.map { .page($0) } ?? (isShallow ? .keys : .whole)
        let question = NodeReads.Question(app: app.id, path: path, part: part, isOfStranger: !call.caller.hasKey)
        return Answer(.ok, try await reads.text(question))
    }

    /// Returns nil if the request asks for no page.
    private static func page(_ query: QueryReader, of path: NodePath, isShallow: Bool) throws(Problem) -> NodeReads
        .Page?
    {
        guard query["limit"] != nil || query["after"] != nil else { return nil }
        guard isShallow, query["limit"] != nil else {
            throw Problem(.invalidQuery, "limit needs shallow=true, and after needs limit.")
        }
        let limit = try query.limit()
        guard let after = query["after"] else { return NodeReads.Page(limit: limit, after: []) }
        do throws(NodeFault) { _ = try path.child(after) } catch {
            throw Problem(.invalidQuery, "after must be a child's key, as the answer's next names it.")
        }
        return NodeReads.Page(limit: limit, after: Array(after.utf8))
    }

    /// A caller without a key reads what the app's rules let it read.
    private func checkAccess(_ call: Call, _ path: NodePath, _ app: AppRecord) async throws(Problem) {
        if call.caller.has(.nodes) { return }
        var user: ReadAccess.User?
        if let token = call.caller.userToken {
            user = try await translating(.reads, await access.user(token: token, app: app.id))
            guard user != nil else { throw .invalidUserToken }
        }
        let known = user
        guard try await translating(.reads, await access.mayRead(path, user: known, app: app.id)) else {
            throw Problem(
                .permissionDenied,
                "The app's read rules do not let you read this node. Use a token of a user who may, or an API key with "
                    + "the scope nodes.")
        }
    }

    func replace(_ call: Call) async throws(Problem) -> Answer {
        let (path, value) = (try Self.path(of: call), try Self.value(in: call.body))
        return try await write(call) { () throws(NodeFault) in try .put(value, at: path) }
    }

    func patch(_ call: Call) async throws(Problem) -> Answer {
        let (path, value) = (try Self.path(of: call), try Self.value(in: call.body))
        let members = try value.members(at: .root)
        return try await write(call) { () throws(NodeFault) in try .patch(members, at: path) }
    }

    func remove(_ call: Call) async throws(Problem) -> Answer {
        let path = try Self.path(of: call)
        return try await write(call) { () throws(NodeFault) in try .put(.null, at: path) }
    }

    private func write(_ call: Call, _ make: () throws(NodeFault) -> TreeWrite) async throws(Problem) -> Answer {
        let write: TreeWrite
        do throws(NodeFault) { write = try make() } catch { throw Problem(error, in: .body) }
        let app = try await apps.app(of: call)
        let policy = NodeStore.WritePolicy(gather: app.settings.wakeUp.gather)
        switch try await translating(.isIdempotent, await writer.write(write, app: app.id, policy)) {
        case .written: return .done
        case .removing: return Answer(.accepted, JSONWriter.body { $0.member("removing", true) })
        case .beingRemoved:
            throw Problem(
                .subtreeTooLarge,
                "This node, or one above it, is being removed in portions, and still has too many values. Nothing was "
                    + "changed. Send the request again, until the removal is over.",
                retryAfterSeconds: RetryHint.nodeRemoval)
        case .refused(let fault): throw Problem(fault, in: .body)
        }
    }

    private static func value(in body: [UInt8]) throws(Problem) -> JSONValue {
        guard !body.isEmpty else {
            throw Problem(.malformedJSON, "The body is empty; a JSON value is expected. null removes the node.")
        }
        do throws(JSONError) { return try JSONReader.read(body) } catch { throw Problem(error) }
    }

    /// The node's path: the segments behind the app. An empty one alone is the root.
    private static func path(of call: Call) throws(Problem) -> NodePath {
        do throws(NodeFault) { return try NodePath(call.rest == [""] ? [] : call.rest) } catch {
            throw Problem(error, in: .path)
        }
    }
}

extension Problem {
    enum NodePlace {
        case path, body
    }

    init(_ fault: NodeFault, in place: NodePlace) {
        let code: ProblemCode =
            switch fault {
            case .subtreeTooLarge: .subtreeTooLarge
            case .valueTooLong: .valueTooLong
            case .keyEmpty, .keyTooLong, .keyReserved, .keyHasSlash, .keyHasControlCharacter, .pathTooLong:
                place == .path ? .malformedPath : .invalidValue
            }
        let detail =
            switch fault {
            case .keyEmpty: "A key is empty. Each key between two slashes has at least one character."
            case .keyTooLong: "A key is longer than \(NodeKey.bytesMax) bytes of UTF-8. Use a shorter one."
            case .keyReserved: "A key begins with a point or a dollar sign: these are reserved. Use another key."
            case .keyHasSlash: "A key has a slash, which separates keys. Use another character."
            case .keyHasControlCharacter: "A key has a control character. Remove it."
            case .pathTooLong:
                "A path is longer than \(NodePath.bytesMax) bytes of UTF-8 with its slashes. Use shorter or fewer keys."
            case .valueTooLong:
                "A value has more than \(NodeLeaf.valueBytesMax) bytes as JSON. An array counts as one value. Split it."
            case .subtreeTooLarge:
                "The write adds or replaces more than \(NodeLeaves.countMax) values, or touches too many nodes. Nothing "
                    + "was changed. Write the children one by one. To replace a node that large by something else, remove "
                    + "it first: DELETE and null have no limit."
            }
        self.init(code, detail)
    }
}
