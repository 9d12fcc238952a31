import Encodings
import Model
import TriggerRules
import Worlds

// Items, the subscriptions to them, and their pushes.
extension StateText {
    /// The sections of `statement` with the tables of items. A trigger is armed in one of two tables.
    static let items = """
        SELECT 24, id::text, id, concat_ws('|', 'item', id, app_id, name, seq, array_to_string(field_names, ','),
            array_to_string(field_texts, ',', '-'), array_to_string(field_seqs, ','), \(micros("updated_at")))
        FROM items
        UNION ALL
        SELECT 25, id::text, id, concat_ws('|', 'template', id, app_id, encode(content, 'hex')) FROM push_templates
        UNION ALL
        SELECT 26, id::text, id, concat_ws('|', 'item subscription', id, app_id, registration_id, status,
            array_to_string(items, ','), coalesce(trigger, '-'), template_id, coalesce(pause_seconds, -1), when_paused,
            revision, \(micros("expires_at")), \(micros("created_at")))
        FROM item_subscriptions
        UNION ALL
        SELECT 27, lpad(subscription_id::text, 9, '0'), item_id,
            concat_ws('|', 'follower', item_id, subscription_id, sent_seq)
        FROM item_followers
        UNION ALL
        SELECT 28, lpad(subscription_id::text, 9, '0'), item_id, concat_ws('|', 'armed', item_id, subscription_id)
        FROM (
            SELECT item_id, subscription_id FROM armed
            UNION ALL SELECT item_id, subscription_id FROM armed_other
        ) AS each
        UNION ALL
        SELECT 29, subscription_id::text, subscription_id, concat_ws('|', 'held push', subscription_id, app_id,
            registration_id, item_id, is_triggered::int, coalesce(array_to_string(texts, ',', '-'), 'later'),
            \(micros("ready_at")), \(micros("due_at")))
        FROM held_pushes
        UNION ALL
        SELECT 30, registration_id::text, registration_id, concat_ws('|', 'window', registration_id,
            \(micros("nullif(opens_at, '-infinity')")))
        FROM device_windows
        UNION ALL
        SELECT 31, item_id::text, item_id, concat_ws('|', 'due item', item_id, app_id, \(micros("due_at")),
            after_subscription, coalesce(round_seq, -1))
        FROM item_due
        """

    static func items(of store: SimulatedStore) -> [[Any]] {
        let followers = store.itemFollowers.sorted { ($0.item, $0.subscription) < ($1.item, $1.subscription) }
        let armed = store.itemSubscriptions.filter { $0.terms.trigger != nil && !$0.isTriggered }.flatMap { row in
            row.terms.items.compactMap { store.item($0, of: row.app)?.id }.map { (item: $0, subscription: row.id) }
        }
        let windows = store.deviceWindows.sorted { $0.registration < $1.registration }
        var rows: [[Any]] = store.items.map(\.cells)
        rows += store.pushTemplates.map(\.cells)
        rows += store.itemSubscriptions.map(\.cells)
        for row in followers { rows.append(["follower", row.item, row.subscription, row.sentSeq]) }
        for row in armed.sorted(by: { ($0.item, $0.subscription) < ($1.item, $1.subscription) }) {
            rows.append(["armed", row.item, row.subscription])
        }
        rows += store.heldPushes.sorted { $0.subscription < $1.subscription }.map(\.cells)
        for row in windows { rows.append(["window", row.registration.value, row.opensAt.cell]) }
        return rows + store.dueItems.sorted { $0.item < $1.item }.map(\.cells)
    }
}

private func joined(_ texts: [String?]) -> String { texts.map { $0 ?? "-" }.joined(separator: ",") }

extension ItemRow {
    fileprivate var cells: [Any] {
        [
            "item", id, app.value, name, state.seq, joined(state.fields.map { $0.name }),
            joined(state.fields.map { $0.text }), joined(state.fields.map { "\($0.seq)" }), updatedAt.microseconds,
        ]
    }
}

extension PushTemplateRow {
    fileprivate var cells: [Any] {
        ["template", id, app.value, Hexadecimal.text(content)]
    }
}

extension ItemSubscriptionRow {
    fileprivate var cells: [Any] {
        [
            "item subscription", id, app.value, registration.value, isTriggered ? 2 : 1, joined(terms.items),
            terms.trigger?.text ?? "-", template, terms.pauseSeconds ?? -1, terms.whenPaused == .newest ? 1 : 2,
            revision, terms.expiresAt.cell, createdAt.microseconds,
        ]
    }
}

extension HeldPushRow {
    fileprivate var cells: [Any] {
        [
            "held push", subscription, app.value, registration.value, item, isTriggered ? 1 : 0,
            texts.map(joined) ?? "later", readyAt.microseconds, dueAt.microseconds,
        ]
    }
}

extension DueItemRow {
    fileprivate var cells: [Any] {
        ["due item", item, app.value, dueAt.microseconds, after, roundSeq ?? -1]
    }
}
