import Basis
import JSON
import Model
import TriggerRules

/// The body of `PATCH .../subscriptions/{key}`: any members of a subscription to items. null removes one.
package struct ModificationRequest: Equatable, Sendable {
    /// The terms after the modification.
    package let terms: SubscriptionTerms
    /// Whether the subscription is armed again: the request names its trigger, items or fields, changed or not.
    package let rearms: Bool
    /// The message that the terms' template holds; nil: its texts are those that were checked before.
    package let content: MessageContent?

    /// - Parameter terms: those of the stored subscription.
    package static func read(
        _ body: [UInt8], of terms: SubscriptionTerms, now: WallInstant
    ) throws(Problem) -> ModificationRequest {
        var reader = try EnvelopeReader(body: body)
        try reader.refuseMembersOfActivations()
        let rearms = ["trigger", "items", "fields"].contains { reader.names($0) }
        var changed = terms
        try reader.changeScope(of: &changed, now: now)
        // Texts and the trigger name fields: what stays is checked again with the fields that change.
        changed.trigger = try reader.changedTrigger(terms.trigger, fields: changed.fields)
        var content: MessageContent?
        if (PushTemplateRequest.names + ["fields"]).contains(where: { reader.names($0) }) {
            let members = try reader.changedTemplate(try Self.members(of: terms.template))
            let template: PushTemplateRequest
            do throws(Problem) { template = try PushTemplateRequest.read(members, fields: changed.fields) } catch {
                throw reader.explained(error)
            }
            (changed.template, content) = (template.source, template.content)
        } else {
            // An object for a provider that is not offered is refused here too.
            _ = try reader.templateMembers()
        }
        try reader.end()
        return ModificationRequest(terms: changed, rearms: rearms, content: content)
    }

    /// Reads what an earlier request gave.
    private static func members(of template: TemplateSource) throws(Problem) -> JSONObject {
        guard let stored = try? JSONReader.read(template.given, limits: .trusted), let members = stored.object else {
            throw Problem(
                .internalError, "The stored subscription could not be read. Activate it anew.",
                cause: "a subscription's template is no JSON object")
        }
        return members
    }
}

extension EnvelopeReader {
    fileprivate mutating func refuseMembersOfActivations() throws(Problem) {
        for name in ["coalescing", "device"] where takeAny(name) != nil {
            throw Problem(
                .unknownMember, "A modification has no \(name): it belongs to an activation. Leave it out.",
                at: pointer / name)
        }
    }

    /// Changes the members of the terms that are beside trigger and template.
    fileprivate mutating func changeScope(of terms: inout SubscriptionTerms, now: WallInstant) throws(Problem) {
        if names("items") { terms.items = try itemNames() }
        if names("fields") { terms.fields = try fieldNames() }
        if names("mode") || names("selector") {
            let isNamed = names("mode")
            let mode = try updateMode()
            if isNamed { terms.mode = mode }
        }
        if names("pause_seconds") { terms.pauseSeconds = try pauseSeconds() }
        if names("when_paused") { terms.whenPaused = try whenPaused() }
        if names("expires_at") { terms.expiresAt = try subscriptionEnd(now: now) }
    }

    fileprivate mutating func changedTrigger(
        _ trigger: TriggerTerms?, fields: [String]
    ) throws(Problem) -> TriggerTerms? {
        let text = names("trigger") ? try anyString("trigger") : trigger?.text
        guard let text else { return nil }
        do throws(Problem) { return try TriggerTerms.read(text, fields: fields, at: pointer / "trigger") } catch {
            throw explained(error)
        }
    }

    /// Points to `fields` if they no longer have a field that a member names which the request leaves as it is.
    fileprivate func explained(_ problem: Problem) -> Problem {
        guard problem.code == .fieldNotSubscribed, names("fields"), let place = problem.pointer,
            let member = place.tokens.first, !names(member)
        else { return problem }
        return Problem(
            .fieldNotSubscribed, "\(problem.detail) The subscription has it from before, in \(place).",
            at: pointer / "fields")
    }
}
