import Model
import Store
import TriggerRules

/// A push that goes.
struct LeavingPush: Sendable {
    let app: AppID
    let member: Member
    let provider: Provider
    let template: Int64
    let fields: [String]
    /// One for each field.
    let texts: [String?]

    /// The same for all pushes that share a message. UTF-8 never has the bytes that begin a field or a text here.
    var groupKey: [UInt8] {
        var key = Array(String(template).utf8)
        for field in fields {
            key.append(0xFD)
            key += field.utf8
        }
        for text in texts {
            key.append(text == nil ? 0xFE : 0xFF)
            if let text { key += text.utf8 }
        }
        return key
    }
}

/// The pushes that one transaction cuts, grouped into messages.
struct PushGroups: Sendable {
    /// Pushes with the same template and texts.
    private struct Group {
        let key: [UInt8]
        let first: LeavingPush
        var providers: [Provider] = []
        /// A device is a member of a message once. The second push of a device goes to a second message.
        var messages: [[Member]] = []
        /// How many of the messages each registration is in.
        var counts: [Int64: Int] = [:]  // lookup only
    }

    /// The messages that were made of the groups.
    struct Made: Sendable {
        var drafts: [MessageDraft] = []
        /// The keys of those groups that get none.
        var failed: [[UInt8]] = []
        /// The next message would exceed the bytes of a transaction: it and those behind it are missing.
        var isFull = false
    }

    /// The most bytes of the contents of one transaction's messages, unless a single message is larger. They are in
    /// memory together, and their transaction may not be idle for long.
    private static let contentBytesMax = 8 << 20

    private var groups: [Group] = []
    private var places: [[UInt8]: Int] = [:]  // lookup only
    private(set) var messageCount = 0
    private(set) var pushCount = 0

    mutating func add(_ push: LeavingPush, key: [UInt8]) {
        let place = places[key] ?? groups.count
        if place == groups.count {
            groups.append(Group(key: key, first: push))
            places[key] = place
        }
        if !groups[place].providers.contains(push.provider) { groups[place].providers.append(push.provider) }
        let message = groups[place].counts[push.member.id, default: 0]
        groups[place].counts[push.member.id] = message + 1
        if message == groups[place].messages.count {
            groups[place].messages.append([])
            messageCount += 1
        }
        groups[place].messages[message].append(push.member)
        pushCount += 1
    }

    /// The templates of the pushes, rising.
    var templates: [Int64] { groups.map(\.first.template).rising }

    /// Makes the messages.
    ///
    /// - Parameter templates: the contents of templates. The pushes of one that is missing are not sent.
    func drafts(_ templates: [Int64: [UInt8]], _ order: ItemPushOrder, _ contents: ItemPushContents) -> Made {
        var made = Made()
        var bytes = 0
        for group in groups {
            let template = PushTemplateID(group.first.template)
            for members in group.messages {
                guard let asked = Self.asked(group, templates), let content = contents.make(asked) else {
                    made.failed.append(group.key)
                    break
                }
                bytes += content.content.count
                if bytes > Self.contentBytesMax, !made.drafts.isEmpty {
                    made.isFull = true
                    return made
                }
                made.drafts.append(
                    MessageDraft(content, app: group.first.app, template: template, members: members, order))
            }
        }
        return made
    }

    private static func asked(_ group: Group, _ templates: [Int64: [UInt8]]) -> ItemPushGroup? {
        templates[group.first.template].map { content in
            ItemPushGroup(
                template: PushTemplateID(group.first.template), content: content, fields: group.first.fields,
                texts: group.first.texts, providers: group.providers.sorted { $0.rawValue < $1.rawValue })
        }
    }
}
