import Basis
import JSON
import Model
import TriggerRules

/// An item. None is removed: worlds are too short for that.
package struct ItemRow: Equatable, Sendable {
    package let id: Int64
    package let app: AppID
    package let name: String
    package var state = ItemState.empty
    package var updatedAt: WallInstant
}

package struct PushTemplateRow: Equatable, Sendable {
    package let id: Int64
    package let app: AppID
    package let given: [UInt8]
    package let content: [UInt8]
}

package struct ItemSubscriptionRow: Equatable, Sendable {
    package let id: Int64
    package let app: AppID
    package var registration: RegistrationID
    package var isTriggered = false
    package var terms: SubscriptionTerms
    package var template: Int64
    package var templateChangedAt: WallInstant?
    package var revision: Int32 = 1
    package let createdAt: WallInstant

    package func isExpired(_ now: WallInstant) -> Bool { terms.expiresAt.map { $0 <= now } ?? false }

    /// The pause of apps that set none.
    func push(isTriggered: Bool) -> ItemPush {
        ItemPush(
            isTriggered: isTriggered, pause: terms.pauseSeconds.map { Duration.seconds($0) } ?? ItemPush.pauseDefault,
            whenPaused: terms.whenPaused)
    }
}

/// A subscription without a trigger, at one of its items.
package struct ItemFollowerRow: Equatable, Sendable {
    package let item: Int64
    package let subscription: Int64
    package var sentSeq: Int64
}

package struct HeldPushRow: Equatable, Sendable {
    package let subscription: Int64
    package let app: AppID
    package var registration: RegistrationID
    package var item: Int64
    /// Those of a trigger's push; nil: they are read when the push goes.
    package let texts: [String?]?
    package let readyAt: WallInstant
    package var dueAt: WallInstant

    package var isTriggered: Bool { texts != nil }
}

package struct DeviceWindowRow: Equatable, Sendable {
    package let registration: RegistrationID
    /// nil: no push has shut it.
    package var opensAt: WallInstant?
}

package struct DueItemRow: Equatable, Sendable {
    package let item: Int64
    package let app: AppID
    package var dueAt: WallInstant
    package var after: Int64 = 0
    package var roundSeq: Int64?
}

// Updates, and the triggers that they fire.
extension SimulatedStore {
    package func item(_ id: Int64) -> ItemRow? { items.first { $0.id == id } }
    package func item(_ name: String, of app: AppID) -> ItemRow? { items.first { $0.app == app && $0.name == name } }
    package func itemSubscription(_ id: Int64) -> ItemSubscriptionRow? { itemSubscriptions.first { $0.id == id } }
    package func heldPush(of subscription: Int64) -> HeldPushRow? {
        heldPushes.first { $0.subscription == subscription }
    }

    /// Takes updates of one app in one transaction. All are within the limits of their items.
    ///
    /// - Returns: whether items have become due, or pushes are held.
    package mutating func update(_ updates: [ItemUpdate], app: AppID, now: WallInstant) -> Bool {
        makeItems(updates.map(\.item), app, now)
        let own = items.filter { $0.app == app }
        let batch = UpdateBatch(updates, items: own.map { (name: $0.name, state: $0.state) })
        var raised = fire(batch, app, now)
        for (name, state) in batch.items {
            guard let place = items.firstIndex(where: { $0.app == app && $0.name == name }) else { continue }
            let updatedAt = now + .microseconds(batch.lastOrder(of: name) ?? 0)
            (items[place].state, items[place].updatedAt) = (state, max(items[place].updatedAt, updatedAt))
            let id = items[place].id
            guard itemFollowers.contains(where: { $0.item == id }), !dueItems.contains(where: { $0.item == id }) else {
                continue
            }
            dueItems.append(DueItemRow(item: id, app: app, dueAt: now + ThrottleWindow.gathering))
            raised = true
        }
        return raised
    }

    private mutating func makeItems(_ names: [String], _ app: AppID, _ now: WallInstant) {
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        where item(name, of: app) == nil {
            items.append(ItemRow(id: Int64(items.count + 1), app: app, name: name, updatedAt: now))
        }
    }

    /// Asks the armed triggers that may fire. Returns whether one did.
    private mutating func fire(_ batch: UpdateBatch, _ app: AppID, _ now: WallInstant) -> Bool {
        let before = heldPushes.count
        for place in itemSubscriptions.indices where itemSubscriptions[place].app == app {
            let (row, terms) = (itemSubscriptions[place], itemSubscriptions[place].terms)
            guard let trigger = terms.trigger, !row.isTriggered, !row.isExpired(now), heldPush(of: row.id) == nil,
                registration(row.registration)?.isLive == true,
                let expression = try? TriggerExpression(parsing: trigger.text, fields: terms.fields),
                let fired = batch.firing(expression, of: terms.fields, items: terms.items, terms.mode),
                let item = item(fired.item, of: app)
            else { continue }
            itemSubscriptions[place].isTriggered = true
            heldPushes.append(
                HeldPushRow(
                    subscription: row.id, app: app, registration: row.registration, item: item.id, texts: fired.texts,
                    readyAt: now, dueAt: now))
        }
        return heldPushes.count > before
    }
}

// Subscriptions of devices.
extension SimulatedStore {
    /// Adds a subscription, or overwrites an equal one. Returns its id.
    @discardableResult
    package mutating func activate(
        _ terms: SubscriptionTerms, coalescing: Bool, registration: RegistrationID, app: AppID, now: WallInstant
    ) -> (id: Int64, isNew: Bool) {
        makeItems(terms.items, app, now)
        let template = template(of: terms, app)
        let alike = itemSubscriptions.firstIndex { row in
            coalescing && row.registration == registration && !row.isExpired(now)
                && row.terms.identityBytes == terms.identityBytes
        }
        if let alike {
            if itemSubscriptions[alike].template != template { itemSubscriptions[alike].templateChangedAt = now }
            (itemSubscriptions[alike].terms, itemSubscriptions[alike].template) = (terms, template)
            itemSubscriptions[alike].isTriggered = false
            itemSubscriptions[alike].revision += 1
            return (itemSubscriptions[alike].id, false)
        }
        lastItemSubscription += 1
        let row = ItemSubscriptionRow(
            id: lastItemSubscription, app: app, registration: registration, terms: terms, template: template,
            createdAt: now)
        itemSubscriptions.append(row)
        guard terms.trigger == nil else { return (row.id, true) }
        for followed in terms.items.compactMap({ item($0, of: app) }) {
            itemFollowers.append(ItemFollowerRow(item: followed.id, subscription: row.id, sentSeq: followed.state.seq))
        }
        return (row.id, true)
    }

    private mutating func template(of terms: SubscriptionTerms, _ app: AppID) -> Int64 {
        let source = terms.template
        let known = pushTemplates.first {
            $0.app == app && $0.given == source.given && $0.content == source.content
        }
        if let known { return known.id }
        let id = Int64(pushTemplates.count + 1)
        pushTemplates.append(PushTemplateRow(id: id, app: app, given: source.given, content: source.content))
        return id
    }

    /// Arms a trigger again that has fired. Returns false if the subscription has ended.
    package mutating func reactivate(_ subscription: Int64, now: WallInstant) -> Bool {
        guard let place = itemSubscriptions.firstIndex(where: { $0.id == subscription }),
            !itemSubscriptions[place].isExpired(now)
        else { return false }
        guard itemSubscriptions[place].isTriggered else { return true }
        itemSubscriptions[place].isTriggered = false
        itemSubscriptions[place].revision += 1
        return true
    }

    /// Removes subscriptions with what they hold. Returns how many.
    @discardableResult
    package mutating func removeItemSubscriptions(where isRemoved: (ItemSubscriptionRow) -> Bool) -> Int {
        let gone = itemSubscriptions.filter(isRemoved).map(\.id)
        itemSubscriptions.removeAll { gone.contains($0.id) }
        itemFollowers.removeAll { gone.contains($0.subscription) }
        heldPushes.removeAll { gone.contains($0.subscription) }
        return gone.count
    }

    /// Ends the subscriptions of devices that were removed, or were somebody's and have another user now.
    mutating func endItemSubscriptions(since before: [RegistrationRow]) {
        for former in before {
            let current = registration(former.id)
            let user = former.stored.profile[.user]
            if current == nil || user != nil && user != current?.stored.profile[.user] {
                deviceWindows.removeAll { $0.registration == former.id }
                removeItemSubscriptions { $0.registration == former.id }
            }
        }
    }

    /// Makes the windows of two devices, if the first one has subscriptions.
    /// - Parameter holder: nil: it is not registered yet.
    mutating func makeWindows(movingFrom former: RegistrationID, to holder: RegistrationID?) {
        guard itemSubscriptions.contains(where: { $0.registration == former }) else { return }
        for device in [former, holder].compactMap(\.self) where window(of: device) == nil {
            deviceWindows.append(DeviceWindowRow(registration: device))
        }
    }

    private func window(of device: RegistrationID) -> Int? {
        deviceWindows.firstIndex { $0.registration == device }
    }

    /// Gives the subscriptions of a token to the device that holds it now, unless that one has another user.
    mutating func moveItemSubscriptions(from former: RegistrationID, to holder: RegistrationID) {
        guard let one = registration(former), let other = registration(holder), other.stored.kind == .alert,
            itemSubscriptions.contains(where: { $0.registration == former })
        else { return }
        let user = one.stored.profile[.user]
        guard user == nil || user == other.stored.profile[.user] else {
            removeItemSubscriptions { $0.registration == former }
            return
        }
        for place in itemSubscriptions.indices where itemSubscriptions[place].registration == former {
            itemSubscriptions[place].registration = holder
        }
        for place in heldPushes.indices where heldPushes[place].registration == former {
            heldPushes[place].registration = holder
        }
        let opensAt = window(of: former).flatMap { deviceWindows[$0].opensAt }
        guard let place = window(of: holder) else {
            deviceWindows.append(DeviceWindowRow(registration: holder, opensAt: opensAt))
            return
        }
        if let opensAt, deviceWindows[place].opensAt.map({ $0 < opensAt }) ?? true {
            deviceWindows[place].opensAt = opensAt
        }
    }

    /// Whether no subscription lets the device get a message whose pushes have the template.
    func lacksItemSubscription(
        _ registration: RegistrationID, to message: MessageRow, _ template: PushTemplateID
    ) -> Bool {
        !itemSubscriptions.contains {
            $0.registration == registration && $0.createdAt <= message.acceptedAt
                && ($0.template == template.value || $0.templateChangedAt.map { $0 >= message.acceptedAt } ?? false)
        }
    }
}

extension ItemUpdate {
    /// Reads an update as a backend sends it; nil: it is none.
    package init?(_ item: String, _ json: String) {
        guard let object = (try? JSONReader.read(Array(json.utf8)))?.object,
            let fields = try? UpdateFields(object)
        else { return nil }
        self.init(item: item, fields: fields)
    }
}
