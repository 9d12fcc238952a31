import Calendar
import JSON
import Model
import ProviderInterface
import Providers
import Store

/// A message's request, in the form in which it can be sent again.
package struct RequestAnswer: Sendable {
    /// nil: the content is deleted, or no sender made the message.
    let request: StoredRequest?
    private let view: TokenView

    /// - Parameter view: tokens are left out unless they are shown whole.
    package init(_ request: StoredRequest?, _ view: TokenView = .masked) {
        self.request = request?.isOfSender == true ? request : nil
        self.view = view
    }

    func write(name: String?, to writer: inout JSONWriter) {
        guard let request else { return writer.optional("request", nil) }
        let content = request.content
        writer.object("request") { writer in
            if let name { writer.member("name", name) }
            writer.object("audience") { write(request.audience, to: &$0) }
            writeNotification(of: content, to: &writer)
            switch content.badge {
            case .none: break
            case .increment: writer.member("badge", "increment")
            case .value(let badge): writer.member("badge", badge)
            }
            if let sound = content.sound { writer.member("sound", sound) }
            if !content.data.isEmpty {
                writer.object("data") { for member in content.data { $0.member(member.name, raw: member.json.bytes) } }
            }
            writer.object("options") { writeOptions(of: request, to: &$0) }
            for provider in content.overrides.providers {
                if let text = content.overrides[provider] { writer.member(provider.name, raw: text.bytes) }
            }
        }
    }

    private func write(_ audience: Audience, to writer: inout JSONWriter) {
        switch audience.selection {
        case .all: writer.member("all", true)
        case .installations(let names): writer.strings("installations", names)
        case .users(let names): writer.strings("users", names)
        case .tags(let tags):
            writer.object("tags") { writer in
                for (name, texts) in [("any", tags.any), ("all", tags.all), ("none", tags.none)] where !texts.isEmpty {
                    writer.strings(name, texts)
                }
            }
        case .filter(let text): writer.member("filter", text)
        case .stale: writer.member("stale", true)
        case .tokens(let targets): writer.objects("tokens", targets) { write($1, to: &$0) }
        case .subscribers, .revoked, .itemSubscribers: break
        }
        if let providers = audience.providers { writer.strings("providers", providers.map(\.name)) }
        if let kind = audience.kind { writer.member("kind", kind.name) }
    }

    private func write(_ target: InlineTarget, to writer: inout JSONWriter) {
        let provider = PushProviders.offered(target.provider)
        writer.member("provider", target.provider.name)
        if provider?.hasSiblingEnvironment == true { writer.member("environment", target.environment.name) }
        if !target.topic.isEmpty { writer.member("topic", target.topic) }
        if case .whole = view, let provider { writer.member("token", provider.text(of: target.token)) }
    }

    private func writeNotification(of content: MessageContent, to writer: inout JSONWriter) {
        let localizations = content.localizations
        guard content.notification != nil || !localizations.isEmpty else { return }
        writer.object("notification") { writer in
            if let common = content.notification { write(common, to: &writer) }
            let presentation = content.presentation
            if let category = presentation.category { writer.member("category", category) }
            if let channel = presentation.channel { writer.member("channel", channel) }
            if let thread = presentation.thread { writer.member("thread", thread) }
            if let level = presentation.interruption { writer.member("interruption", level.name) }
            guard !localizations.isEmpty else { return }
            writer.object("localizations") { writer in
                for localization in localizations {
                    writer.object(localization.locale) { write(localization.text, to: &$0) }
                }
            }
        }
    }

    private func write(_ text: NotificationText, to writer: inout JSONWriter) {
        for part in NotificationPart.allCases { if let own = text[part] { writer.member(part.rawValue, own) } }
    }

    private func writeOptions(of request: StoredRequest, to writer: inout JSONWriter) {
        let options = request.content.options
        if let priority = options.priority { writer.member("priority", priority.name) }
        if let seconds = options.ttlSeconds { writer.member("ttl_seconds", seconds) }
        if let id = options.collapseID { writer.member("collapse_id", id) }
        if options.pushType != .alert { writer.member("push_type", options.pushType.name) }
        switch request.sendAt {
        case nil: break
        case .instant(let instant): writer.time("send_at", instant)
        case .local(let sending):
            writer.member("send_at", RFC3339.formatLocal(sending.hour.inUTC))
            writer.member("device_local_time", true)
            if sending.sendsPassed { writer.member("local_time_passed", "send") }
        }
        if let rate = request.ratePerSecond { writer.member("rate_per_second", rate) }
        if options.isDryRun { writer.member("dry_run", true) }
        if options.ignored.contains(.quietHours) { writer.member("ignore_quiet_hours", true) }
        if options.ignored.contains(.dailyCap) { writer.member("ignore_daily_cap", true) }
    }
}

extension StoredRequest {
    /// Whether a sender asked for the message: the gateway's own have audiences that no request can name.
    var isOfSender: Bool {
        switch audience.selection {
        case .subscribers, .revoked, .itemSubscribers: false
        case .all, .installations, .users, .tags, .filter, .stale, .tokens: true
        }
    }
}
