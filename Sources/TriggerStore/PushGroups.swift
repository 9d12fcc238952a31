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
    /// - Returns: the messages, and the keys of those groups that get none.
    func drafts(
        _ templates: [Int64: [UInt8]], _ order: ItemPushOrder, _ contents: ItemPushContents
    ) -> (drafts: [MessageDraft], failed: [[UInt8]]) {
        var drafts: [MessageDraft] = []
        var failed: [[UInt8]] = []
        for group in groups {
            let made = Self.drafts(group, templates[group.first.template], order, contents)
            if let made { drafts += made } else { failed.append(group.key) }
        }
        return (drafts, failed)
    }

    private static func drafts(
        _ group: Group, _ content: [UInt8]?, _ order: ItemPushOrder, _ contents: ItemPushContents
    ) -> [MessageDraft]? {
        guard let content else { return nil }
        let template = PushTemplateID(group.first.template)
        let asked = ItemPushGroup(
            template: template, content: content, fields: group.first.fields, texts: group.first.texts,
            providers: group.providers.sorted { $0.rawValue < $1.rawValue })
        var drafts: [MessageDraft] = []
        for members in group.messages {
            guard let made = contents.make(asked) else { return nil }
            drafts.append(
                MessageDraft(made, app: group.first.app, template: template, members: members, order))
        }
        return drafts
    }
}
