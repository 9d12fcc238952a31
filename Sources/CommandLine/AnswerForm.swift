import JSON

/// The members that a command requires of an answer. A 200 alone proves little: other programs also answer it, and so
/// does a faulty gateway. Further members are ignored.
package struct AnswerForm: Sendable {
    /// The noun with its article, for the fault's sentence: "something that is not a device".
    let noun: String
    private let members: [(name: String, kind: Kind)]

    enum Kind: Sendable {
        case text
        /// A whole number from 0.
        case count
        case countOrNull
        case counts
        case claim
        case items(AnswerForm)
    }

    private init(_ noun: String, _ members: (name: String, kind: Kind)...) {
        (self.noun, self.members) = (noun, members)
    }

    @discardableResult
    func check(_ answer: JSONValue) throws(CommandFault) -> JSONValue {
        guard let object = answer.object else { throw fault }
        for member in members { try check(object[member.name] ?? .null, member.kind) }
        return answer
    }

    private func check(_ value: JSONValue, _ kind: Kind) throws(CommandFault) {
        switch kind {
        case .text: guard value.string != nil else { throw fault }
        case .count: guard Self.isCount(value) else { throw fault }
        case .countOrNull: guard value.isNull || Self.isCount(value) else { throw fault }
        case .counts:
            guard let counts = value.object, counts.members.allSatisfy({ Self.isCount($0.value) }) else { throw fault }
        case .claim: guard value.bool != nil else { throw fault }
        case .items(let form):
            guard let items = value.array else { throw fault }
            for item in items { try form.check(item) }
        }
    }

    private static func isCount(_ value: JSONValue) -> Bool { value.integer.map { $0 >= 0 } ?? false }

    private var fault: CommandFault {
        CommandFault(.refused, "the gateway answered with something that is not \(noun)")
    }
}

extension AnswerForm {
    package static let app = AnswerForm("an app", ("slug", .text))
    static let key = AnswerForm("a key", ("id", .text), ("name", .text))
    /// The only answer that holds the key itself.
    static let newKey = AnswerForm("a key", ("id", .text), ("key", .text))
    package static let device = AnswerForm(
        "a device", ("installation", .text), ("kind", .text), ("provider", .text), ("state", .text))
    package static let registeredDevice = AnswerForm("a device", ("installation", .text), ("change", .text))
    package static let wholeDevice = AnswerForm("a device", ("installation", .text), ("registrations", .items(device)))
    static let badge = AnswerForm("a badge", ("installation", .text), ("badge", .count))
    static let erasure = AnswerForm("an account of an erasure", ("registrations", .count))
    package static let message = AnswerForm(
        "a message", ("id", .text), ("state", .text), ("audience", .countOrNull), ("outcomes", .counts),
        ("pending", .count))
    static let failure = AnswerForm("a push", ("state", .text), ("reason", .text))
    static let push = AnswerForm(
        "a push", ("installation", .text), ("state", .text), ("steps", .items(AnswerForm("a step", ("step", .text)))))
    package static let credential = AnswerForm(
        "a credential", ("id", .text), ("provider", .text), ("kind", .text), ("state", .text))
    static let revoking = AnswerForm("an order to revoke", ("revoking", .claim))
    static let audienceCount = AnswerForm("a count of an audience", ("count", .count), ("exact", .claim))
    static let feedback = AnswerForm("an entry of the feedback", ("installation", .text), ("verdict", .text))

    package static let wakeUp = AnswerForm(
        "an account of wake-up", ("subscriptions", .count), ("watches", .count), ("due_watches", .count),
        ("revocations", .count), ("notices", .count))
    package static let subscription = AnswerForm(
        "a subscription", ("id", .text), ("path", .text), ("installation", .text), ("state", .text))
    package static let wholeSubscription = AnswerForm(
        "a subscription", ("id", .text), ("path", .text), ("state", .text), ("is_behind", .claim))

    static let itemSubscription = AnswerForm("a subscription", ("key", .text), ("status", .text))

    package static func list(of form: AnswerForm) -> AnswerForm { AnswerForm("a list", ("items", .items(form))) }
}
